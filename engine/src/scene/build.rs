//! From settings to an engine: the model with its variables, the functions, and the trainer.

use entigrad_components::{DType, Dim, Function, ModelId, Scalar, Tensor, TensorSpec, TrainerId};
use entigrad_systems::{Adam, Error, Sgd, Value};

use super::check::check_size;
use super::data::{DataSet, Rows};
use super::error::SceneError;
use super::initial;
use super::load::Scene;
use super::schema::{Activation, Loss, Model, Optimizer, Settings};
use crate::training::Shuffle;
use crate::{Autodiff, Engine};

/// A model and rows of inputs and targets.
pub(crate) type Arguments = (ModelId, Tensor, Tensor);

/// An engine with everything that a scene describes.
pub(crate) struct Built {
    pub engine: Engine,
    pub model: ModelId,
    /// The output of the model for rows of inputs.
    pub forward: Function<(ModelId, Tensor), Tensor>,
    /// What is made small.
    pub loss: Function<Arguments, Tensor>,
    /// The loss, and for classes how many rows are predicted rightly, as i32.
    pub evaluate: Function<Arguments, (Tensor, Option<Tensor>)>,
    pub trainer: TrainerId,
}

/// Builds a scene on its training rows; `seed` stands for the scene's own.
pub(crate) fn build(scene: &Scene, data: &DataSet, seed: u64) -> Result<Built, SceneError> {
    if let Some((field, message)) = check_size(&dims(&scene.settings, data)) {
        return Err(scene.wrong(&field, message));
    }
    build_checked(&scene.settings, data, seed).map_err(|cause| scene.failed(cause))
}

fn build_checked(settings: &Settings, data: &DataSet, seed: u64) -> Result<Built, Error> {
    let mut engine = Engine::new();
    let Model::Mlp { layers, activation } = &settings.model;
    let model = engine.spawn_model("model");
    spawn_variables(&mut engine, model, &dims(settings, data), *activation, seed)?;

    let (layer_count, activation, loss_kind) = (layers.len(), *activation, settings.loss);
    let forward = engine.method::<Tensor, Tensor>("forward", move |_, model, x| mlp(model, x, layer_count, activation));
    let loss = engine.function::<Arguments, Tensor>("loss", move |t, (model, x, y)| {
        loss_value(t.call(forward, (model, x)), y, loss_kind)
    });
    let evaluate = engine.function::<Arguments, (Tensor, Option<Tensor>)>("evaluate", move |t, (model, x, y)| {
        let output = t.call(forward, (model, x));
        (loss_value(output, y, loss_kind), correct_count(output, y, loss_kind))
    });
    // A batch, the smaller last one and the test rows differ in their number alone, which is one dim of one trace.
    let specs = [with_rows(&data.train.inputs), with_rows(&data.train.targets)];
    engine.set_signature(forward, specs[..1].to_vec())?;
    engine.set_signature(loss, specs.clone())?;
    engine.set_signature(evaluate, specs)?;
    let trainer = spawn_trainer(&mut engine, loss, model, &data.train, settings, seed)?;
    Ok(Built { engine, model, forward, loss, evaluate, trainer })
}

/// The number of inputs, then the width of each layer.
pub(crate) fn dims(settings: &Settings, data: &DataSet) -> Vec<usize> {
    let Model::Mlp { layers, .. } = &settings.model;
    std::iter::once(data.train.input_count()).chain(layers.iter().copied()).collect()
}

fn spawn_variables(
    engine: &mut Engine,
    model: ModelId,
    dims: &[usize],
    activation: Activation,
    seed: u64,
) -> Result<(), Error> {
    for (layer, pair) in dims.windows(2).enumerate() {
        let is_last = layer + 2 == dims.len();
        let before = (!is_last).then_some(activation);
        let w = initial::weights(seed, layer, (pair[0], pair[1]), before)?;
        engine.variable(model, &format!("layers/{layer}/w"), w)?;
        engine.variable(model, &format!("layers/{layer}/b"), Tensor::full(&[pair[1]], Scalar::F32(0.0))?)?;
    }
    Ok(())
}

/// The spec of a tensor of any number of such rows.
fn with_rows(rows: &Tensor) -> TensorSpec {
    let width = rows.shape().iter().skip(1).map(|length| Dim::from(*length));
    TensorSpec::new(rows.dtype(), std::iter::once(Dim::from("n")).chain(width))
}

fn mlp<'t>(model: entigrad_systems::TracedModel<'t>, x: Value<'t>, layers: usize, activation: Activation) -> Value<'t> {
    (0..layers).fold(x, |x, layer| {
        let (w, b) = (model.read(&format!("layers/{layer}/w")), model.read(&format!("layers/{layer}/b")));
        let linear = x.matmul(w) + b;
        match activation {
            _ if layer + 1 == layers => linear,
            Activation::Relu => linear.relu(),
            Activation::Tanh => linear.tanh(),
            Activation::Sigmoid => linear.sigmoid(),
        }
    })
}

fn loss_value<'t>(output: Value<'t>, targets: Value<'t>, loss: Loss) -> Value<'t> {
    match loss {
        Loss::CrossEntropy => output.cross_entropy(targets),
        Loss::Mse => output.mse(targets),
    }
}

fn correct_count<'t>(output: Value<'t>, targets: Value<'t>, loss: Loss) -> Option<Value<'t>> {
    match loss {
        Loss::CrossEntropy => Some(output.argmax_rows().equal(targets).cast(DType::I32).sum()),
        Loss::Mse => None,
    }
}

fn spawn_trainer(
    engine: &mut Engine,
    loss: Function<Arguments, Tensor>,
    model: ModelId,
    rows: &Rows,
    settings: &Settings,
    seed: u64,
) -> Result<TrainerId, Error> {
    let arguments = (model, rows.inputs.clone(), rows.targets.clone());
    let training = engine.train(loss, arguments).batches(settings.train.batch_rows, Shuffle::Seeded(seed));
    match settings.train.optimizer {
        Optimizer::Sgd { learning_rate, momentum } => training.with(Sgd { learning_rate, momentum }).spawn(),
        Optimizer::Adam { learning_rate, beta1, beta2, epsilon } => {
            training.with(Adam { learning_rate, beta1, beta2, epsilon }).spawn()
        }
    }
}
