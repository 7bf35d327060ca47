//! What a scene must be beyond its form: numbers in range, parts that fit each other. Needs no data.

use super::schema::{Data, Inputs, Loss, Model, Optimizer, Scaling, Settings, Train};

/// A layer wider than this is taken for a slip.
const WIDTH_MAX: usize = 1 << 20;
/// And so is a model of more parameters than this: a gigabyte, and with the state of an optimiser four.
const PARAMETERS_MAX: usize = 1 << 28;

/// What is wrong with one field: its path, and the rest of a sentence that begins with it.
pub(crate) type Finding = (String, String);

/// The first thing that is wrong with a scene, in the order of the schema.
pub(crate) fn check(settings: &Settings) -> Option<Finding> {
    let Settings { seed: _, data, model, loss, train } = settings;
    check_data(data).or_else(|| check_model(model, *loss)).or_else(|| check_train(train))
}

fn finding(path: impl Into<String>, message: impl Into<String>) -> Option<Finding> {
    Some((path.into(), message.into()))
}

fn check_data(data: &Data) -> Option<Finding> {
    if data.file.is_empty() {
        return finding("data.file", "is empty: give the path of a CSV file, from the scene file");
    }
    if let Inputs::Columns(columns) = &data.inputs {
        if columns.is_empty() {
            return finding("data.inputs", "names no column: the model needs at least one");
        }
        for (place, column) in columns.iter().enumerate() {
            let path = format!("data.inputs[{place}]");
            if *column == data.target {
                return finding(path, "is the target, which the model must not be given");
            }
            if columns[..place].contains(column) {
                return finding(path, format!("names the column `{column}` a second time"));
            }
        }
    }
    match data.scaling {
        Scaling::Divide(divisor) if divisor == 0.0 || !divisor.is_finite() => {
            finding("data.scaling", format!("divides by {divisor}: give a finite number other than 0"))
        }
        Scaling::Divide(_) | Scaling::Unscaled | Scaling::Standardise => None,
    }
}

fn check_model(model: &Model, loss: Loss) -> Option<Finding> {
    let Model::Mlp { layers, activation: _ } = model;
    let Some(last) = layers.last().copied() else {
        return finding("model.layers", "is empty: give at least the width of the output");
    };
    for (place, width) in layers.iter().enumerate() {
        if !(1..=WIDTH_MAX).contains(width) {
            let message = format!("is {width}: a layer is from 1 to {WIDTH_MAX} wide");
            return finding(format!("model.layers[{place}]"), message);
        }
    }
    let path = format!("model.layers[{}]", layers.len() - 1);
    match loss {
        Loss::CrossEntropy if last < 2 => {
            finding(path, "is 1: `CrossEntropy` needs the number of classes here, at least 2")
        }
        Loss::Mse if last != 1 => {
            finding(path, format!("is {last}: `Mse` has one target, so the last layer is 1 wide"))
        }
        Loss::CrossEntropy | Loss::Mse => None,
    }
}

/// Whether a model of these dims, the number of inputs being the first, can be held in memory.
pub(crate) fn check_size(dims: &[usize]) -> Option<Finding> {
    let mut sum = 0_usize;
    for pair in dims.windows(2) {
        sum = sum.saturating_add(pair[0].saturating_add(1).saturating_mul(pair[1]));
    }
    let message = || format!("makes a model of {sum} parameters, where up to {PARAMETERS_MAX} can be trained");
    if sum <= PARAMETERS_MAX { None } else { finding("model.layers", message()) }
}

fn check_train(train: &Train) -> Option<Finding> {
    let Train { optimizer, batch_rows, epochs } = train;
    // Parameters are f32, so these numbers are met as f32.
    let positive = |name: &str, value: f64| {
        let message = format!("is {value}: give a number above 0 that f32 can hold");
        let is_held = value as f32 > 0.0 && (value as f32).is_finite();
        if is_held { None } else { finding(format!("train.optimizer.{name}"), message) }
    };
    let fraction = |name: &str, value: f64| {
        let message = format!("is {value}: give a number from 0 up to, not including, 1");
        if (0.0..1.0).contains(&(value as f32)) { None } else { finding(format!("train.optimizer.{name}"), message) }
    };
    let found = match optimizer {
        Optimizer::Sgd { learning_rate, momentum } => {
            positive("learning_rate", *learning_rate).or_else(|| fraction("momentum", *momentum))
        }
        Optimizer::Adam { learning_rate, beta1, beta2, epsilon } => positive("learning_rate", *learning_rate)
            .or_else(|| fraction("beta1", *beta1))
            .or_else(|| fraction("beta2", *beta2))
            .or_else(|| positive("epsilon", *epsilon)),
    };
    if found.is_some() {
        return found;
    }
    if *batch_rows == 0 {
        return finding("train.batch_rows", "is 0: a step needs at least one row");
    }
    if *epochs == 0 {
        return finding("train.epochs", "is 0: train for at least one epoch");
    }
    None
}
