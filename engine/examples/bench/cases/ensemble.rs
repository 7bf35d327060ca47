//! Many networks that have nothing to do with each other, trained in one world.

use crate::network::{self, Activation};
use crate::session::{Measured, Result, Session};
use entigrad::prelude::*;

const MODEL_COUNT: usize = 1000;
const ROWS: usize = 16;
const SIZES: [usize; 4] = [4, 32, 32, 1];

/// 1,000 networks 4-32-32-1, 16 rows each, with a trainer each: a step of all of them is one update.
pub fn ensemble_1000(session: &mut Session) -> Result<()> {
    let x = session.arrays.floats("x", &[MODEL_COUNT, ROWS, SIZES[0]], |_, z| z)?;
    let y = session.arrays.floats("y", &[MODEL_COUNT, ROWS, SIZES[3]], |_, z| z)?;
    let layers = session.arrays.layers(&[MODEL_COUNT], &SIZES)?;

    let mut engine = Engine::new();
    let mut models = Vec::new();
    for number in 0..MODEL_COUNT {
        let own = |(weights, biases): &(Tensor, Tensor)| Ok((part(weights, number)?, part(biases, number)?));
        let layers = layers.iter().map(own).collect::<Result<Vec<_>>>()?;
        let model = network::spawn(&mut engine, "network", &layers)?;
        models.push((model, (part(&x, number)?, part(&y, number)?)));
    }
    let (first_call_ms, trainers) = session.clock.first_call(|| {
        let loss = engine.method::<(Tensor, Tensor), Tensor>("loss", |_, model, (x, y)| {
            network::apply(model, SIZES.len() - 1, Activation::Tanh, x).mse(y)
        });
        let spawn = |arguments| engine.train(loss, arguments).with(Adam::new(1e-3)).spawn();
        let trainers = models.into_iter().map(spawn).collect::<std::result::Result<Vec<_>, _>>()?;
        engine.update();
        Ok(trainers)
    })?;
    for _ in 0..9 {
        engine.update();
    }
    let check = mean_loss(&engine, &trainers)?;
    let median_us = session.clock.median_microseconds(|count| {
        let failed: usize = (0..count).map(|_| engine.update().failed).sum();
        if failed > 0 { Err(format!("{failed} trainers failed").into()) } else { Ok(()) }
    })?;
    let (variant, unit, check) = ("update", "us/step", Some(check));
    session.report(&Measured { variant, unit, first_call_ms, median_us, check, gradnorm: None });
    Ok(())
}

/// The part `[number]` of a tensor along its first axis.
fn part(tensor: &Tensor, number: usize) -> Result<Tensor> {
    Ok(tensor.rows(&[number])?.reshaped(&tensor.shape()[1..])?)
}

fn mean_loss(engine: &Engine, trainers: &[TrainerId]) -> Result<f64> {
    let mut sum = 0.0;
    for trainer in trainers {
        sum += engine.trainer(*trainer)?.last_loss.ok_or("a trainer has done no step")?;
    }
    Ok(sum / trainers.len() as f64)
}
