//! The plan pass: a concrete's ops become a linear program on buffers.
//!
//! A plan is a skeleton, which holds for all lengths, and an instance for each set of lengths that it was called with: a
//! program that is compiled when they are first met. Within one, every length is a number.

mod combine;
mod compile;
mod effects;
mod factor;
mod follow;
mod fuse;
mod groups;
mod instance;
mod late;
mod layout;
mod print;
mod registers;
mod stored;
mod values;
mod writer;

pub(crate) use instance::function_name;
pub use instance::{Instance, instance_for, settle};
pub use print::print;

use bevy_ecs::component::Component;
use bevy_ecs::entity::{Entity, EntityHashMap, EntityHashSet};
use bevy_ecs::world::World;
use entigrad_components::{TensorSpec, WeakReference, WeakSource};
use std::sync::Arc;

use crate::error::{Error, RunError};
use crate::graph::{Graph, collect, flatten};
use crate::ops::OpTable;
use crate::parallel;
use crate::simplify::simplified;

/// How many instances a plan keeps; the one unused for longest goes first.
pub const INSTANCE_COUNT_MAX: usize = 64;

/// A rough guess of what a node takes.
const NODE_NANOSECONDS: usize = 200;

/// The plan of a concrete. Written by the plan pass; read at each call; removed by the sweep when a captured variable dies.
#[derive(Component, Clone, Debug)]
pub struct Plans {
    /// What holds for all lengths.
    pub skeleton: Arc<Skeleton>,
    /// What holds for some, latest used last.
    pub instances: Vec<Arc<Instance>>,
}

/// A flat graph, and what a call has to know of it.
#[derive(Debug)]
pub struct Skeleton {
    /// The rows of its ops.
    pub table: OpTable,
    /// The graph: without calls, simplified.
    pub graph: Arc<Graph>,
    /// The variables, where each is one captured entity: then no call has to look them up.
    pub captured: Option<Arc<[Entity]>>,
    /// Functions whose bodies it runs.
    pub functions: Vec<Entity>,
    /// Whether any length is known only at a call.
    pub has_symbols: bool,
}

impl Skeleton {
    /// Of a flat graph.
    pub fn new(table: &OpTable, graph: Arc<Graph>) -> Self {
        let is_symbolic = |spec: &TensorSpec| spec.dims.iter().any(|dim| dim.known().is_none());
        let mut specs = graph.inputs.iter().chain(graph.nodes.iter().map(|node| &node.spec));
        let has_symbols = specs.any(is_symbolic) || !graph.constraints.is_empty();
        let (captured, functions) = (captured(&graph.weak), graph.functions());
        Self { table: table.clone(), graph, captured, functions, has_symbols }
    }

    /// The function's name, for messages.
    pub fn name(&self) -> &Arc<str> {
        &self.graph.name
    }

    /// Variables that it reads or writes.
    pub fn weak(&self) -> &[WeakReference] {
        &self.graph.weak
    }
}

/// A node that cannot be planned for these lengths, and why.
#[derive(Debug)]
pub(crate) struct PlanError {
    /// Its place in the graph.
    pub node: usize,
    /// Why.
    pub cause: RunError,
}

/// Gives every concrete of `concretes` that has none a plan, also where it is there for many trainers; what went wrong, in their
/// order.
///
/// *Reads* op entities, *writes* [`Plans`].
pub fn plan(world: &mut World, concretes: &[Entity]) -> Vec<Result<(), Error>> {
    // Collect.
    let table = world.get_resource::<OpTable>().cloned().unwrap_or_default();
    let mut seen = EntityHashSet::default();
    let is_new = |concrete: &&Entity| world.get::<Plans>(**concrete).is_none() && seen.insert(**concrete);
    let wanted: Vec<Entity> = concretes.iter().filter(is_new).copied().collect();
    let graphs: Vec<Result<Arc<Graph>, Error>> = wanted.iter().map(|concrete| collect(world, *concrete)).collect();
    // Compute.
    let nodes: usize = graphs.iter().flatten().map(|graph| graph.nodes.len()).sum();
    let skeletons: Vec<Result<Skeleton, Error>> =
        parallel::map(graphs, nodes * NODE_NANOSECONDS, |graph| Ok(skeleton(&table, &graph?)));
    // Commit.
    let mut failed: EntityHashMap<Error> = EntityHashMap::default();
    for (concrete, skeleton) in wanted.into_iter().zip(skeletons) {
        match skeleton {
            Ok(skeleton) => {
                let plans = Plans { skeleton: Arc::new(skeleton), instances: Vec::new() };
                world.entity_mut(concrete).insert(plans);
            }
            Err(error) => drop(failed.insert(concrete, error)),
        }
    }
    concretes.iter().map(|concrete| failed.get(concrete).map_or(Ok(()), |error| Err(error.clone()))).collect()
}

/// The skeleton of a graph. A graph without calls was simplified when it was committed.
fn skeleton(table: &OpTable, graph: &Arc<Graph>) -> Skeleton {
    let flat = if graph.bodies.is_empty() {
        graph.clone()
    } else {
        Arc::new(simplified(Arc::unwrap_or_clone(flatten(graph))))
    };
    Skeleton::new(table, flat)
}

/// The variables of `weak`, where each is one captured entity.
fn captured(weak: &[WeakReference]) -> Option<Arc<[Entity]>> {
    let entity = |weak: &WeakReference| match weak.source {
        WeakSource::Captured(entity) => Some(entity),
        WeakSource::Role { .. } | WeakSource::State { .. } => None,
    };
    weak.iter().map(entity).collect()
}
