//! The plan pass: a concrete's ops become a linear program on buffers.
//!
//! A plan is a skeleton, which holds for all lengths, and an instance for each set of lengths it was called with: an
//! instance only settles the shapes. The skeleton's instructions are in program order.
//! *Place left*: fusion and memory layout come between [`lower`] and the instructions; a fused group, a matrix product, a
//! loop are further kinds of [`Work`].

mod instance;
mod lower;

pub(crate) use instance::function_name;
pub use instance::{Instance, instance_for};
pub use lower::lower;

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::function::Constraint;
use entigrad_components::{
    Attributes, DType, Dim, Origin, OutputSkeleton, Tensor, TensorSpec, WeakReference, WeakSource,
};
use smallvec::SmallVec;
use std::sync::Arc;

use crate::error::Error;
use crate::graph::{Graph, collect, flatten};
use crate::ops::{Kernel, OpTable};
use crate::parallel;
use crate::simplify::simplified;

/// How many instances a plan keeps; the one unused for longest goes first.
pub const INSTANCE_COUNT_MAX: usize = 64;

/// A rough guess of what a node takes.
const NODE_NANOSECONDS: usize = 200;

/// The place of a buffer in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferId(pub u32);

impl BufferId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The plan of a concrete. Written by the plan pass; read at each call; removed by the sweep when a captured variable dies.
#[derive(Component, Clone, Debug)]
pub struct Plans {
    /// What holds for all lengths.
    pub skeleton: Arc<Skeleton>,
    /// What holds for some, latest used last.
    pub instances: Vec<Arc<Instance>>,
}

/// A linear program on buffers.
#[derive(Debug)]
pub struct Skeleton {
    /// The function's name, for messages.
    pub name: Arc<str>,
    /// Dtype and dims of the inputs.
    pub inputs: Vec<TensorSpec>,
    /// What each buffer holds.
    pub buffers: Vec<TensorSpec>,
    /// What is in some buffers before anything runs.
    pub sources: Vec<(BufferId, Source)>,
    /// The program.
    pub instructions: Vec<Instruction>,
    /// The buffers that are the outputs.
    pub outputs: Vec<BufferId>,
    /// The outputs' structure.
    pub output_skeleton: OutputSkeleton,
    /// Variables that it reads or writes.
    pub weak: Vec<WeakReference>,
    /// The variables, where each is one captured entity: then no call has to look them up.
    pub captured: Option<Arc<[Entity]>>,
    /// Functions whose bodies it runs.
    pub functions: Vec<Entity>,
    /// Whether gradients of variables were taken on the way.
    pub takes_gradients: bool,
    /// Lengths that must agree.
    pub constraints: Vec<Constraint>,
    /// Whether any length is known only at a call.
    pub has_symbols: bool,
}

/// What is in a buffer before anything runs.
#[derive(Clone, Debug)]
pub enum Source {
    /// A leaf of the arguments.
    Input(u32),
    /// A tensor of the plan's own: a capture or a number.
    Constant(Tensor),
    /// A length.
    Length(Dim, DType),
    /// A variable's value when the call begins.
    Variable(u32),
}

/// One step of the program.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// What it does.
    pub work: Work,
    /// What it reads.
    pub operands: SmallVec<[BufferId; 3]>,
    /// What it writes.
    pub result: BufferId,
    /// What its op is called, for messages.
    pub op: &'static str,
    /// Attributes of its op.
    pub attributes: Attributes,
    /// Where its op was written, for messages.
    pub origin: Origin,
    /// Which of the first 64 operands nobody reads after it, a bit each.
    pub released: u64,
}

/// What an instruction does.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// One op by its kernel.
    Opaque(Kernel),
    /// Gives the variable at a place a new value.
    Assign(u32),
}

/// Gives every concrete of `concretes` that has none a plan; what went wrong, in their order.
///
/// *Reads* op entities, *writes* [`Plans`].
pub fn plan(world: &mut World, concretes: &[Entity]) -> Vec<Result<(), Error>> {
    // Collect.
    let table = world.get_resource::<OpTable>().cloned().unwrap_or_default();
    let graph = |concrete: &Entity| match world.get::<Plans>(*concrete) {
        Some(_) => Ok(None),
        None => collect(world, *concrete).map(Some),
    };
    let graphs: Vec<Result<Option<Arc<Graph>>, Error>> = concretes.iter().map(graph).collect();
    // Compute.
    let one = |graph: Result<Option<Arc<Graph>>, Error>| Ok(graph?.map(|graph| skeleton(&table, &graph)));
    let nodes: usize = graphs.iter().flatten().flatten().map(|graph| graph.nodes.len()).sum();
    let skeletons: Vec<Result<Option<Skeleton>, Error>> = parallel::map(graphs, nodes * NODE_NANOSECONDS, one);
    // Commit.
    let commit = |(concrete, skeleton): (&Entity, Result<Option<Skeleton>, Error>)| {
        if let Some(skeleton) = skeleton? {
            let plans = Plans { skeleton: Arc::new(skeleton), instances: Vec::new() };
            world.entity_mut(*concrete).insert(plans);
        }
        Ok(())
    };
    concretes.iter().zip(skeletons).map(commit).collect()
}

/// The skeleton of a graph. A graph without calls was simplified when it was committed.
fn skeleton(table: &OpTable, graph: &Arc<Graph>) -> Skeleton {
    let flat = if graph.bodies.is_empty() {
        graph.clone()
    } else {
        Arc::new(simplified(Arc::unwrap_or_clone(flatten(graph))))
    };
    lower(table, &flat)
}

/// The variables of `weak`, where each is one captured entity.
fn captured(weak: &[WeakReference]) -> Option<Arc<[Entity]>> {
    let entity = |weak: &WeakReference| match weak.source {
        WeakSource::Captured(entity) => Some(entity),
        WeakSource::Role { .. } | WeakSource::State { .. } => None,
    };
    weak.iter().map(entity).collect()
}
