//! How long each pass takes for a long chain of ops, per traced op: trace, gradient, simplify and
//! spawn, plan; the least of several rounds, in microseconds.
//!
//! `cargo bench --bench phases`

use entigrad::prelude::*;
use entigrad::systems::function::{derived_function, make_key};
use entigrad::systems::gradient::{self, Derivation, Sources, gradient};
use entigrad::systems::plan::plan;
use entigrad::systems::structure::{Flattened, Models};
use entigrad::systems::trace;
use entigrad::systems::training::simplify_stage;
use std::time::Instant;

/// Least microseconds a traced op of each phase, over the rounds.
#[derive(Clone, Copy)]
struct Phases([f64; 4]);

fn main() -> Result<(), Error> {
    println!(
        "{:>8} {:>12} {:>8} {:>8} {:>9} {:>15} {:>8} {:>8}",
        "ops", "values", "ops got", "trace", "gradient", "simplify+spawn", "plan", "sum"
    );
    for (op_count, rounds) in [(1_000, 30), (10_000, 10), (100_000, 4)] {
        for shape in [&[][..], &[16]] {
            let mut best = Phases([f64::INFINITY; 4]);
            let mut traced = 0;
            for _ in 0..rounds {
                let (phases, count) = round(op_count, shape)?;
                traced = count;
                for (best, time) in best.0.iter_mut().zip(phases.0) {
                    *best = best.min(time);
                }
            }
            let [trace, gradient, simplify, plan] = best.0;
            let sum = trace + gradient + simplify + plan;
            println!(
                "{op_count:>8} {:>12} {traced:>8} {trace:>8.3} {gradient:>9.3} {simplify:>15.3} {plan:>8.3} {sum:>8.3}",
                format!("f64{shape:?}")
            );
        }
    }
    Ok(())
}

/// One function of about `op_count` ops, taken through every pass in a new world.
fn round(op_count: usize, shape: &[usize]) -> Result<(Phases, usize), Error> {
    let mut world = World::new();
    let model = world.spawn_model("model");
    let w = world.variable(model, "w", Tensor::full(shape, Scalar::F64(0.5))?)?;
    let function = world.function::<(), Tensor>("chain", move |t, ()| {
        let w = t.read(w);
        let mut x = w;
        for step in 0..op_count / 4 {
            x = match step % 3 {
                0 => (x * w + x).sin() - w,
                1 => -(x.tanh() * w) + w,
                _ => (x - w * x) * w.cos(),
            };
        }
        x.sum()
    });
    let derived = derived_function(&mut world, function.entity, Derivation::ValueAndGradient(Sources::Variables))?;
    let tokens = Flattened::of(&world, ())?.tokens;
    let key = make_key(&world, function.entity, &tokens)?;
    let mut times = Vec::new();
    let mut clock = Instant::now();
    let mut lap = |times: &mut Vec<f64>| {
        times.push(clock.elapsed().as_secs_f64() * 1e6);
        clock = Instant::now();
    };

    let request = trace::Request { function: function.entity, key: key.clone(), models: Models::new() };
    let source = trace::trace(&mut world, &[request]).remove(0)?;
    lap(&mut times);
    let request = gradient::Request { function: derived, key, source };
    let concrete = gradient(&mut world, &[request]).remove(0)?;
    lap(&mut times);
    simplify_stage(&mut world);
    lap(&mut times);
    plan(&mut world, &[concrete]).remove(0)?;
    lap(&mut times);
    let traced = world.get::<entigrad::components::Ops>(source).map_or(0, |ops| ops.as_slice().len());
    let per_op = |time: f64| time / traced as f64;
    let phases = [times[0], times[1], times[2], times[3]].map(per_op);
    Ok((Phases(phases), traced))
}
