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

/// The matrix products of a big_gemm_step by themselves: what the rest of the step can be compared with.
pub fn big_gemm_products(session: &mut Session) -> Result<()> {
    let (rows, sizes) = (512, [1024, 2048, 2048, 1024]);
    // The values of each layer and their gradients, and the weights between them.
    let mut values = Vec::new();
    for (layer, size) in sizes.into_iter().enumerate() {
        values.push(session.arrays.floats(&format!("h{layer}"), &[rows, size], |_, z| z)?);
    }
    let layers = session.arrays.layers(&[], &sizes)?;
    let weights: Vec<Tensor> = layers.into_iter().map(|(weights, _)| weights).collect();
    let mut engine = Engine::new();
    let arguments = (values, weights);
    let mut products = Vec::new();
    let (first_call_ms, function) = session.clock.first_call(|| {
        let function =
            engine.function::<(Vec<Tensor>, Vec<Tensor>), Vec<Tensor>>("products", |_, (values, weights)| {
                let mut products = Vec::new();
                for (layer, weights) in weights.into_iter().enumerate() {
                    let (below, above) = (values[layer], values[layer + 1]);
                    products.push(below.matmul(weights));
                    products.push(below.matmul_with(above, true, false));
                    if layer > 0 {
                        products.push(above.matmul_with(weights, false, true));
                    }
                }
                products
            });
        engine.call_into(function, arguments.clone(), &mut products)?;
        Ok(function)
    })?;
    let median_us = session.clock.median_microseconds(|count| {
        for _ in 0..count {
            engine.call_into(function, arguments.clone(), &mut products)?;
        }
        Ok(())
    })?;
    let (variant, unit) = ("call_into", "us/step");
    session.report(&Measured { variant, unit, first_call_ms, median_us, check: None, gradnorm: None });
    Ok(())
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
