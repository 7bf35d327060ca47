//! Training a scene: epochs, what is measured after each, and the files at the end.

use entigrad_components::Tensor;
use entigrad_systems::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::build::{Built, build, dims};
use super::data::{self, DataSet, Rows};
use super::error::SceneError;
use super::load::Scene;
use super::metrics::{EpochMetrics, TestMetrics, epoch_line, table};
use super::write::{Staging, safetensors};
use crate::Autodiff;

/// What may be said of a training beside its scene.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// In place of the scene's number of epochs; at least 1.
    pub epochs: Option<u32>,
    /// In place of the scene's seed.
    pub seed: Option<u64>,
    /// The folder for the files, in place of `out/<scene name>`. It is made where it is not there.
    pub out: Option<PathBuf>,
}

/// What a training gave.
#[derive(Clone, Debug)]
pub struct Trained {
    /// What was measured, an entry an epoch.
    pub epochs: Vec<EpochMetrics>,
    /// The parameters at the end, by name.
    pub parameters: Vec<(String, Tensor)>,
    /// Steps done.
    pub step_count: u64,
    /// Wall time of building and training, in seconds.
    pub seconds: f64,
    /// The files written.
    pub files: Vec<PathBuf>,
}

/// Trains a scene, with a line an epoch and a summary to `output`. What it computes depends on the scene, its data and the seed
/// alone. Nothing is written where it fails.
pub fn train(scene: &Scene, options: &Options, output: &mut dyn Write) -> Result<Trained, SceneError> {
    let data = data::read(scene)?;
    let folder = options.out.clone().unwrap_or_else(|| Path::new("out").join(&scene.name));
    let staging = Staging::new(&folder, &["parameters.safetensors", "metrics.csv"])?;
    let begin = Instant::now();
    let seed = options.seed.unwrap_or(scene.settings.seed);
    let epoch_count = options.epochs.unwrap_or(scene.settings.train.epochs);
    let mut built = build(scene, &data, seed)?;
    writeln!(output, "{}", headline(scene, &data, seed))?;

    let mut epochs = Vec::new();
    for epoch in 1..=epoch_count {
        let metrics = run_epoch(&mut built, scene, &data, epoch)?;
        writeln!(output, "{}", epoch_line(&metrics, epoch_count))?;
        epochs.push(metrics);
    }
    let parameters = parameters(&built).map_err(|cause| scene.failed(cause))?;
    check_parameters(scene, &parameters, epoch_count)?;
    let step_count = built.engine.trainer(built.trainer).map_err(|cause| scene.failed(cause))?.step_count;
    let seconds = begin.elapsed().as_secs_f64();

    let about = [
        ("scene", scene.name.clone()),
        ("seed", seed.to_string()),
        ("epochs", epoch_count.to_string()),
        ("dims", joined(&dims(&scene.settings, &data), ",")),
    ];
    let bytes = safetensors(&parameters, &about).map_err(|message| scene.failed(Error::invalid(message)))?;
    let files = staging.finish(&[&bytes, table(&epochs).as_bytes()])?;
    let trained = Trained { epochs, parameters, step_count, seconds, files };
    summarise(scene, &trained, output)?;
    Ok(trained)
}

fn headline(scene: &Scene, data: &DataSet, seed: u64) -> String {
    let dims = dims(&scene.settings, data);
    let parameter_count: usize = dims.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum();
    let (train, test) = (data.train.count(), data.test.as_ref().map_or(0, Rows::count));
    let (name, dims) = (&scene.name, joined(&dims, "-"));
    format!("{name}: {train} rows to train on, {test} to test; {dims}, {parameter_count} parameters; seed {seed}")
}

fn joined(numbers: &[usize], joint: &str) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(joint)
}

fn finite(scene: &Scene, what: &str, value: f64, epoch: u32) -> Result<f64, SceneError> {
    let (scene, what) = (scene.name.clone(), what.to_owned());
    if value.is_finite() { Ok(value) } else { Err(SceneError::Diverged { scene, what, value, epoch }) }
}

/// Takes the steps of one epoch, then measures.
fn run_epoch(built: &mut Built, scene: &Scene, data: &DataSet, epoch: u32) -> Result<EpochMetrics, SceneError> {
    let finite = |what: &str, value: f64| finite(scene, what, value, epoch);
    let (row_count, batch_rows) = (data.train.count(), scene.settings.train.batch_rows);
    let mut loss_sum = 0.0;
    for first in (0..row_count).step_by(batch_rows) {
        let loss = built.engine.run(built.trainer, 1).map_err(|cause| scene.failed(cause))?;
        let loss = finite("training loss", loss.unwrap_or(f64::NAN))?;
        loss_sum += loss * batch_rows.min(row_count - first) as f64;
    }
    let test = match &data.test {
        Some(rows) => Some(evaluate(built, rows).map_err(|cause| scene.failed(cause))?),
        None => None,
    };
    if let Some(test) = test {
        finite("test loss", test.loss)?;
    }
    Ok(EpochMetrics { epoch, train_loss: loss_sum / row_count as f64, test })
}

fn evaluate(built: &mut Built, rows: &Rows) -> Result<TestMetrics, Error> {
    let arguments = (built.model, rows.inputs.clone(), rows.targets.clone());
    let (loss, correct) = built.engine.call(built.evaluate, arguments)?;
    let count = |correct: Tensor| Ok::<usize, Error>(correct.to_scalar()?.to_f64() as usize);
    let correct_count = correct.map(count).transpose()?;
    Ok(TestMetrics { loss: loss.to_scalar()?.to_f64(), correct_count, row_count: rows.count() })
}

/// The model's variables by name, in creation order.
fn parameters(built: &Built) -> Result<Vec<(String, Tensor)>, Error> {
    let engine = &built.engine;
    let named = engine
        .variables(built.model)?
        .into_iter()
        .map(|variable| Ok((engine.variable_name(variable)?, engine.value(variable)?)));
    named.collect()
}

/// Whether the last step, whose loss nobody looks at, left numbers.
fn check_parameters(scene: &Scene, parameters: &[(String, Tensor)], epoch: u32) -> Result<(), SceneError> {
    for (name, value) in parameters {
        let numbers = value.to_vec::<f32>().map_err(|cause| scene.failed(cause.into()))?;
        let odd = numbers.into_iter().find(|number| !number.is_finite());
        finite(scene, &format!("parameter `{name}`"), f64::from(odd.unwrap_or(0.0)), epoch)?;
    }
    Ok(())
}

fn summarise(scene: &Scene, trained: &Trained, output: &mut dyn Write) -> Result<(), SceneError> {
    let Trained { epochs, step_count, seconds, files, .. } = trained;
    if let Some(last) = epochs.last() {
        writeln!(output, "{}: {last} after {step_count} steps in {seconds:.2} s", scene.name)?;
    }
    for file in files {
        writeln!(output, "wrote {}", file.display())?;
    }
    Ok(output.flush()?)
}
