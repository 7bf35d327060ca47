//! Showing what a scene becomes: the graphs of the forward pass, of the loss, and of one training step.

use bevy_ecs::entity::Entity;
use entigrad_systems::{Error, OpTable, graph};
use std::io::Write;

use super::build::{Built, build};
use super::data::{self, DataSet};
use super::error::SceneError;
use super::load::Scene;
use crate::Autodiff;

/// Prints the graphs of a scene to `output`; trains nothing and writes no file.
pub fn inspect(scene: &Scene, output: &mut dyn Write) -> Result<(), SceneError> {
    let data = data::read(scene)?;
    let mut built = build(scene, &data, scene.settings.seed)?;
    let graphs = graphs(&mut built, &data).map_err(|cause| scene.failed(cause))?;
    for (title, text) in graphs {
        writeln!(output, "{}: {title}\n{text}", scene.name)?;
    }
    Ok(output.flush()?)
}

/// The graphs with their titles.
fn graphs(built: &mut Built, data: &DataSet) -> Result<Vec<(&'static str, String)>, Error> {
    let rows = &data.train;
    let arguments = (built.model, rows.inputs.clone(), rows.targets.clone());
    let forward = built.engine.concrete(built.forward, (built.model, rows.inputs.clone()))?;
    let loss = built.engine.concrete(built.loss, arguments)?;
    let step = built.engine.step_concrete(built.trainer)?;
    let print = |concrete| print(built, concrete);
    Ok(vec![
        ("the forward pass", print(forward.entity)?),
        ("the loss", print(loss.entity)?),
        ("one training step", print(step.entity)?),
    ])
}

/// A graph as text, without the places of the code that wrote it, which are not the scene's.
fn print(built: &Built, concrete: Entity) -> Result<String, Error> {
    let world = built.engine.world();
    let table = world.get_resource::<OpTable>().cloned().unwrap_or_default();
    Ok(graph::print(&*graph::collect(world, concrete)?, &table, false))
}
