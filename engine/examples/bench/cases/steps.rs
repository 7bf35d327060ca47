//! Training steps of one network: forward, backward, update.

use crate::network::{self, Activation};
use crate::session::{Measured, Result, Session};
use entigrad::prelude::*;

/// A network, its data and how it is trained.
struct Setting {
    sizes: &'static [usize],
    rows: usize,
    activation: Activation,
    loss: Loss,
}

/// The loss, and the optimiser that goes with it.
#[derive(Clone, Copy)]
enum Loss {
    /// Mean squared error; SGD of rate 0.05.
    MeanSquare,
    /// Softmax cross-entropy; Adam of rate 0.001.
    CrossEntropy,
}

/// How steps are asked for.
#[derive(Clone, Copy)]
enum Request {
    /// Each by itself.
    Call,
    /// As many as there are, at once.
    Loop,
}

/// 4-16-1, 8 rows.
pub fn tiny_step(session: &mut Session) -> Result<()> {
    let setting = Setting { sizes: &[4, 16, 1], rows: 8, activation: Activation::Tanh, loss: Loss::MeanSquare };
    steps(session, &setting, &[Request::Call, Request::Loop])
}

/// 64-128-128-10, 64 rows.
pub fn small_step(session: &mut Session) -> Result<()> {
    let sizes = &[64, 128, 128, 10];
    let setting = Setting { sizes, rows: 64, activation: Activation::Relu, loss: Loss::CrossEntropy };
    steps(session, &setting, &[Request::Call, Request::Loop])
}

/// 784-512-512-10, 256 rows.
pub fn mid_step(session: &mut Session) -> Result<()> {
    let sizes = &[784, 512, 512, 10];
    let setting = Setting { sizes, rows: 256, activation: Activation::Relu, loss: Loss::CrossEntropy };
    steps(session, &setting, &[Request::Call])
}

/// 1024-2048-2048-1024, 512 rows.
pub fn big_gemm_step(session: &mut Session) -> Result<()> {
    let sizes = &[1024, 2048, 2048, 1024];
    let setting = Setting { sizes, rows: 512, activation: Activation::Gelu, loss: Loss::MeanSquare };
    steps(session, &setting, &[Request::Call])
}

fn steps(session: &mut Session, setting: &Setting, requests: &[Request]) -> Result<()> {
    let ends = (setting.sizes[0], setting.sizes[setting.sizes.len() - 1]);
    let x = session.arrays.floats("x", &[setting.rows, ends.0], |_, z| z)?;
    let y = match setting.loss {
        Loss::MeanSquare => session.arrays.floats("y", &[setting.rows, ends.1], |_, z| z)?,
        Loss::CrossEntropy => session.arrays.indices("y", &[setting.rows], ends.1)?,
    };
    let layers = session.arrays.layers(&[], setting.sizes)?;
    for request in requests {
        let mut engine = Engine::new();
        let model = network::spawn(&mut engine, "network", &layers)?;
        let data = (model, (x.clone(), y.clone()));
        let (first_call_ms, trainer) = session.clock.first_call(|| {
            let trainer = spawn_trainer(&mut engine, setting, data)?;
            engine.run(trainer, 1)?;
            Ok(trainer)
        })?;
        let check = engine.run(trainer, 9)?;
        let median_us = session.clock.median_microseconds(|count| {
            match request {
                Request::Call => (0..count).try_for_each(|_| engine.run(trainer, 1).map(drop))?,
                Request::Loop => drop(engine.run(trainer, count)?),
            }
            Ok(())
        })?;
        let variant = match request {
            Request::Call => "call",
            Request::Loop => "loop",
        };
        session.report(&Measured { variant, unit: "us/step", first_call_ms, median_us, check, gradnorm: None });
    }
    Ok(())
}

fn spawn_trainer(
    engine: &mut Engine,
    setting: &Setting,
    data: (ModelId, (Tensor, Tensor)),
) -> std::result::Result<TrainerId, Error> {
    let (layers, activation, loss) = (setting.sizes.len() - 1, setting.activation, setting.loss);
    let function = engine.method::<(Tensor, Tensor), Tensor>("loss", move |_, model, (x, y)| {
        let output = network::apply(model, layers, activation, x);
        match loss {
            Loss::MeanSquare => output.mse(y),
            Loss::CrossEntropy => output.cross_entropy(y),
        }
    });
    let training = engine.train(function, data);
    match loss {
        Loss::MeanSquare => training.with(Sgd::new(0.05)).spawn(),
        Loss::CrossEntropy => training.with(Adam::new(1e-3)).spawn(),
    }
}
