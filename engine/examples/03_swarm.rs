//! A thousand agents with a brain each learn to steer towards the origin; half of them are despawned in the middle, and
//! the rest train on. One trace and one plan serve them all.
//!
//! `cargo run --release --example 03_swarm`

use entigrad::prelude::*;

const AGENT_COUNT: usize = 1000;

fn main() -> Result<(), Error> {
    let mut engine = Engine::new();
    let brain = engine.method::<Tensor, Tensor>("brain", |_, model, position| {
        let hidden = (position.matmul(model.read("w0")) + model.read("b0")).tanh();
        hidden.matmul(model.read("w1"))
    });
    // The agent moves as its brain says; it should end at the origin.
    let loss = engine.function::<(ModelId, Tensor), Tensor>("distance", move |t, (model, position)| {
        let step = t.call(brain, (model, position));
        (position + step).square().mean()
    });

    let mut agents = Vec::new();
    for number in 0..AGENT_COUNT {
        let agent = engine.spawn_model("agent");
        engine.variable(agent, "w0", small_numbers(number, &[2, 8]))?;
        engine.variable(agent, "b0", Tensor::from([0.0_f32; 8]))?;
        engine.variable(agent, "w1", small_numbers(number + 1, &[8, 2]))?;
        let position = small_numbers(number + 2, &[4, 2]);
        let trainer = engine.train(loss, (agent, position)).with(Sgd::new(0.1).momentum(0.9)).spawn()?;
        agents.push((agent, trainer));
    }

    for _ in 0..50 {
        engine.update();
    }
    println!("after 50 updates: mean loss {:.4} of {AGENT_COUNT} agents", mean_loss(&engine, &agents)?);
    println!("traces of the brain: {}, of the loss: {}", engine.trace_count(brain), engine.trace_count(loss));

    for (agent, trainer) in agents.drain(..AGENT_COUNT / 2) {
        engine.despawn(agent);
        engine.despawn(trainer);
    }
    for _ in 0..50 {
        engine.update();
    }
    println!("after 50 more: mean loss {:.4} of {} agents", mean_loss(&engine, &agents)?, agents.len());
    let report = engine.update();
    println!("trainers: {} running, {} failed", report.running, report.failed);
    Ok(())
}

fn mean_loss(engine: &Engine, agents: &[(ModelId, TrainerId)]) -> Result<f64, Error> {
    let mut sum = 0.0;
    for (_, trainer) in agents {
        sum += engine.trainer(*trainer)?.last_loss.unwrap_or(f64::NAN);
    }
    Ok(sum / agents.len() as f64)
}

/// Numbers between -1 and 1 that look random and are the same every time.
fn small_numbers(seed: usize, shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let numbers: Vec<f32> = (0..count).map(|place| ((seed * 31 + place * 17) as f32 * 12.9898).sin()).collect();
    Tensor::new(shape, &numbers).unwrap_or_else(|_| Tensor::from(0.0_f32))
}
