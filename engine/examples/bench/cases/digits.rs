//! A whole training: handwritten digits.

use crate::network::{self, Activation};
use crate::session::{Measured, Result, Session};
use entigrad::prelude::*;
use std::sync::Arc;

const EPOCHS: usize = 20;
const BATCH: usize = 64;
const TRAIN_ROWS: usize = 1500;
const BATCHES_PER_EPOCH: usize = TRAIN_ROWS / BATCH;
const SIZES: [usize; 3] = [64, 64, 10];

/// Rows of the data, which ones at which step written out.
#[derive(Clone)]
struct Listed {
    x: Tensor,
    y: Tensor,
    batches: Arc<[Vec<usize>]>,
}

impl DataSource for Listed {
    fn leaves(&mut self, step: u64) -> std::result::Result<Vec<Tensor>, Error> {
        let rows = &self.batches[step as usize % self.batches.len()];
        Ok(vec![self.x.rows(rows)?, self.y.rows(rows)?])
    }
}

/// 64-64-10, Adam, 20 epochs of 64 rows a batch. The first training is that of a fresh engine; the warm ones are of new
/// networks in the same engine, which begin at the same parameters.
pub fn digits(session: &mut Session) -> Result<()> {
    let x = session.arrays.floats("x_train", &[TRAIN_ROWS, SIZES[0]], |_, z| 0.3 * (1.0 + z))?;
    let y = session.arrays.indices("y_train", &[TRAIN_ROWS], SIZES[2])?;
    let rows = session.arrays.indices("batches", &[EPOCHS, BATCHES_PER_EPOCH, BATCH], TRAIN_ROWS)?.to_vec::<i32>()?;
    let layers = session.arrays.layers(&[], &SIZES)?;
    let batches = rows.chunks(BATCH).map(|rows| rows.iter().map(|row| *row as usize).collect()).collect();
    let data = Listed { x, y, batches };

    let (first_call_ms, (mut engine, loss, check)) = session.clock.first_call(|| {
        let mut engine = Engine::new();
        let loss = engine.method::<(Tensor, Tensor), Tensor>("loss", |_, model, (x, y)| {
            network::apply(model, SIZES.len() - 1, Activation::Relu, x).cross_entropy(y)
        });
        let last_loss = train(&mut engine, loss, &layers, &data)?;
        Ok((engine, loss, last_loss))
    })?;
    let median_us = session.clock.median_microseconds(|count| {
        for _ in 0..count {
            train(&mut engine, loss, &layers, &data)?;
        }
        Ok(())
    })?;
    let (variant, unit) = ("train", "us/training");
    session.report(&Measured { variant, unit, first_call_ms, median_us, check, gradnorm: None });
    Ok(())
}

/// Trains a network from its beginning to its end; the loss of the last step.
fn train(
    engine: &mut Engine,
    loss: Function<(ModelId, (Tensor, Tensor)), Tensor>,
    layers: &[(Tensor, Tensor)],
    data: &Listed,
) -> Result<Option<f64>> {
    let model = network::spawn(engine, "network", layers)?;
    let first = (data.x.rows(&data.batches[0])?, data.y.rows(&data.batches[0])?);
    let trainer = engine.train(loss, (model, first)).source(data.clone()).with(Adam::new(1e-3)).spawn()?;
    let last_loss = engine.run(trainer, data.batches.len() as u64)?;
    engine.despawn(trainer);
    engine.despawn(model);
    Ok(last_loss)
}
