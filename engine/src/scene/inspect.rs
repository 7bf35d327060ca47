//! Showing what a scene becomes: the graphs of the forward pass, of the loss, and of one training step, or the plans of the same.

use bevy_ecs::entity::Entity;
use entigrad_components::{ConcreteId, Tensor};
use entigrad_systems::plan::{self, Plans, instance_for};
use entigrad_systems::{Error, OpTable, call, graph};
use std::io::Write;

use super::build::{Built, build};
use super::data::{self, DataSet};
use super::error::SceneError;
use super::load::Scene;
use crate::Autodiff;

/// What of a scene is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inspected {
    /// Graphs, as they were traced.
    Graphs,
    /// Plans for one batch: instructions on buffers, with what they take.
    Plans,
}

/// Prints the graphs or the plans of a scene to `output`; trains nothing and writes no file.
pub fn inspect(scene: &Scene, inspected: Inspected, output: &mut dyn Write) -> Result<(), SceneError> {
    let data = data::read(scene)?;
    let mut built = build(scene, &data, scene.settings.seed)?;
    let batch_rows = scene.settings.train.batch_rows.min(data.train.count());
    let texts = texts(&mut built, &data, inspected, batch_rows).map_err(|cause| scene.failed(cause))?;
    for (title, text) in texts {
        writeln!(output, "{}: {title}\n{text}", scene.name)?;
    }
    Ok(output.flush()?)
}

/// What is shown, with titles.
fn texts(
    built: &mut Built,
    data: &DataSet,
    inspected: Inspected,
    batch_rows: usize,
) -> Result<Vec<(&'static str, String)>, Error> {
    let (inputs, targets) = (&data.train.inputs, &data.train.targets);
    let forward = built.engine.concrete(built.forward, (built.model, inputs.clone()))?;
    let loss = built.engine.concrete(built.loss, (built.model, inputs.clone(), targets.clone()))?;
    let step = built.engine.step_concrete(built.trainer)?;
    let (inputs, targets) = (rows_like(inputs, batch_rows)?, rows_like(targets, batch_rows)?);
    let mut print = |concrete: ConcreteId, batch: &[Tensor]| match inspected {
        Inspected::Graphs => print(built, concrete.entity),
        Inspected::Plans => print_plan(built, concrete.entity, batch),
    };
    Ok(vec![
        ("the forward pass", print(forward, std::slice::from_ref(&inputs))?),
        ("the loss", print(loss, &[inputs.clone(), targets.clone()])?),
        ("one training step", print(step, &[inputs, targets])?),
    ])
}

/// So many rows of zeros: plans depend on lengths alone.
fn rows_like(rows: &Tensor, count: usize) -> Result<Tensor, Error> {
    let shape: Vec<usize> = std::iter::once(count).chain(rows.shape().iter().skip(1).copied()).collect();
    Ok(Tensor::zeros(rows.dtype(), &shape)?)
}

/// A graph as text, without the places of the code that wrote it, which are not the scene's.
fn print(built: &Built, concrete: Entity) -> Result<String, Error> {
    let world = built.engine.world();
    let table = world.get_resource::<OpTable>().cloned().unwrap_or_default();
    Ok(graph::print(&*graph::collect(world, concrete)?, &table, false))
}

/// The plan for such a batch as text.
fn print_plan(built: &mut Built, concrete: Entity, batch: &[Tensor]) -> Result<String, Error> {
    let world = built.engine.world_mut();
    call::ensure_plan(world, concrete)?;
    instance_for(world, concrete, batch)?;
    Ok(world.get::<Plans>(concrete).map(|plans| plan::print(plans, false)).unwrap_or_default())
}
