//! The simplify pass: drafts without ops that nobody needs or that compute the same twice become op entities.
//!
//! *Invariants*: what a graph computes keeps its bits; effects stay, each one, in program order; an op is spawned once.

mod common;
mod dead;

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use rayon::prelude::*;
use std::sync::Arc;

use crate::graph::{Draft, Graph, spawn_ops};

/// `graph` without common subexpressions and dead ops.
pub fn simplified(graph: &Graph) -> Graph {
    dead::without_dead(&common::without_common(graph))
}

/// Simplifies the drafts of `concretes` and spawns their ops.
///
/// *Reads and removes* [`Draft`], *writes* op entities and [`entigrad_components::FuncGraph`]. What has no draft is done
/// already.
pub fn simplify(world: &mut World, concretes: &[Entity]) {
    // Collect.
    let take = |concrete: &Entity| Some((*concrete, world.get::<Draft>(*concrete)?.0.clone()));
    let drafts: Vec<(Entity, Arc<Graph>)> = concretes.iter().filter_map(take).collect();
    // Compute.
    let one = |(concrete, graph): &(Entity, Arc<Graph>)| (*concrete, simplified(graph));
    let done: Vec<(Entity, Graph)> = match &drafts[..] {
        [only] => vec![one(only)],
        _ => drafts.par_iter().map(one).collect(),
    };
    // Commit.
    for (concrete, graph) in done {
        if world.get::<Draft>(concrete).is_some() {
            world.entity_mut(concrete).remove::<Draft>();
            spawn_ops(world, concrete, &graph);
        }
    }
}
