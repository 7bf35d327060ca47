//! The simplify pass: drafts without ops that nobody needs or that compute the same twice become op entities.
//!
//! *Invariants*: what a graph computes keeps its bits; effects stay, each one, in program order; an op is spawned once.

mod common;
mod dead;

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use std::sync::Arc;

use crate::graph::{Draft, Graph, spawn_ops};
use crate::parallel;

/// A rough guess of what a node takes.
const NODE_NANOSECONDS: usize = 200;

/// `graph` without dead ops and common subexpressions. Merging leaves nothing dead behind: what is merged has the operands of
/// what stays.
pub fn simplified(graph: Graph) -> Graph {
    let is_needed = dead::needed(&graph);
    common::without_common(graph, &is_needed)
}

/// Simplifies the drafts of `concretes` and spawns their ops.
///
/// *Reads and removes* [`Draft`], *writes* op entities and [`entigrad_components::FuncGraph`]. What has no draft is done
/// already.
pub fn simplify(world: &mut World, concretes: &[Entity]) {
    // Collect: drafts are taken out, so that one that nobody shares is rewritten in place.
    let mut take = |concrete: &Entity| Some((*concrete, world.get_entity_mut(*concrete).ok()?.take::<Draft>()?.0));
    let drafts: Vec<(Entity, Arc<Graph>)> = concretes.iter().filter_map(&mut take).collect();
    // Compute.
    let one = |(concrete, graph): (Entity, Arc<Graph>)| (concrete, simplified(Arc::unwrap_or_clone(graph)));
    let nodes: usize = drafts.iter().map(|(_, graph)| graph.nodes.len()).sum();
    let done: Vec<(Entity, Graph)> = parallel::map(drafts, nodes * NODE_NANOSECONDS, one);
    // Commit.
    for (concrete, graph) in done {
        spawn_ops(world, concrete, &graph);
    }
}
