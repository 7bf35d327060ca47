//! The gradient pass: graph to graph, by the rules of the op table.
//!
//! *Invariants*: a rule emits ops and computes nothing, so a gradient can be printed, simplified and differentiated again;
//! every rule's cotangents are added up, none overwrites; dependence is structural and known before Simplify; calls are
//! inlined first, so no rule sees one.

mod derive;
mod gradients;
mod reverse;

pub use derive::{Derivation, Sources, derive};
pub use gradients::{Gradients, TracedGradients};
pub use reverse::reverse;

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{CacheKey, FunctionName, Kind};
use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Error;
use crate::function::{Body, cached_concrete};
use crate::graph::{Graph, collect};
use crate::names;
use crate::ops::OpTable;
use crate::parallel;
use crate::trace;

/// A rough guess of what a node takes.
const NODE_NANOSECONDS: usize = 500;

/// A derived concrete that is wanted, and the concrete that it is derived from.
#[derive(Clone, Debug)]
pub struct Request {
    /// The derived function.
    pub function: Entity,
    /// The key.
    pub key: CacheKey,
    /// The concrete of its source for the same key.
    pub source: Entity,
}

/// What a derivation starts from.
type Collected = (Arc<Graph>, Derivation, Arc<str>);

/// Gives the concrete of each request, deriving where there is none yet: each new one gets a draft.
///
/// *Reads* concretes, *writes* concretes and function caches. A request that fails leaves nothing behind.
pub fn gradient(world: &mut World, requests: &[Request]) -> Vec<Result<Entity, Error>> {
    // Collect: the source graphs, in the order of the requests, one for all requests that want the same.
    let table = world.get_resource::<OpTable>().cloned().unwrap_or_default();
    let mut places: HashMap<(Entity, &CacheKey), usize> = HashMap::new();
    let mut wanted: Vec<&Request> = Vec::new();
    for request in requests.iter().filter(|request| cached_concrete(world, request.function, &request.key).is_none()) {
        places.entry((request.function, &request.key)).or_insert_with(|| {
            wanted.push(request);
            wanted.len() - 1
        });
    }
    let collected: Vec<Result<Collected, Error>> =
        wanted.iter().map(|request| collect_request(world, request)).collect();
    // Compute.
    let one = |collected: Result<Collected, Error>| {
        let (graph, derivation, name) = collected?;
        derive(&table, &graph, &derivation, name).map(Arc::new)
    };
    let nodes: usize = collected.iter().flatten().map(|(graph, ..)| graph.nodes.len()).sum();
    let derived: Vec<Result<Arc<Graph>, Error>> = parallel::map(collected, nodes * NODE_NANOSECONDS, one);
    // Commit.
    let commit = |request: &Request| {
        if let Some(concrete) = cached_concrete(world, request.function, &request.key) {
            return Ok(concrete);
        }
        let graph = derived[places[&(request.function, &request.key)]].clone()?;
        Ok(trace::commit_draft(world, request.function, request.key.clone(), graph))
    };
    requests.iter().map(commit).collect()
}

fn collect_request(world: &World, request: &Request) -> Result<Collected, Error> {
    let gone = || Error::gone(Kind::Function, names::remembered(world, request.function));
    let name = world.get::<FunctionName>(request.function).ok_or_else(gone)?.0.clone();
    let Some(Body::Derived { derivation, .. }) = world.get::<Body>(request.function) else { return Err(gone()) };
    Ok((collect(world, request.source)?, derivation.clone(), name))
}
