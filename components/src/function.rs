//! Graph functions and their traces, as far as they are data: names, caches, what a concrete reads and gives.
//!
//! The bodies (closures) of graph functions live in `entigrad-systems`, which knows what tracing is.

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::lifecycle::HookContext;
use bevy_ecs::world::DeferredWorld;
use std::collections::HashMap;
use std::sync::Arc;

use crate::dims::Dim;
use crate::dtype::Scalar;
use crate::key::{CacheKey, Token};
use crate::op::Origin;
use crate::reference::{Death, queue_death};
use crate::spec::TensorSpec;
use crate::tensor::Tensor;
use crate::tombstone::{Cause, Kind, Tombstone, Tombstones, short_name};

/// The name of a graph function. Written where it is made; read for messages.
#[derive(Component, Clone, Debug, PartialEq, Eq)]
#[component(immutable, on_despawn = FunctionName::on_despawn)]
#[require(FunctionCache, TraceCount)]
pub struct FunctionName(pub Arc<str>);

impl FunctionName {
    fn on_despawn(mut world: DeferredWorld, context: HookContext) {
        let entity = context.entity;
        let Some(name) = world.get::<Self>(entity).map(|name| short_name(&[&name.0])) else { return };
        if let Some(mut tombstones) = world.get_resource_mut::<Tombstones>() {
            tombstones.push(Tombstone { entity, kind: Kind::Function, name, cause: Cause::Itself });
        }
    }
}

/// Dtype and dims that every leaf of the arguments is traced with, instead of its own. Written by the engine's `set_signature`; read
/// where keys are made. (Inserted by hand, it does not reach calls that are kept ready.)
#[derive(Component, Clone, Debug, PartialEq)]
pub struct InputSignature(pub Vec<TensorSpec>);

/// The concretes of a function by key. Written when one is committed or swept; read at each call.
#[derive(Component, Debug, Default)]
pub struct FunctionCache(pub HashMap<CacheKey, Entity>);

/// How often the body was traced (for a derived function: derived), lost traces included; eviction does not reset it.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCount(pub u64);

/// The function that this concrete is a trace of: it goes with it.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[relationship(relationship_target = Concretes)]
pub struct ConcreteOf(pub Entity);

/// The traces of a function. Kept by [`ConcreteOf`].
#[derive(Component, Debug)]
#[relationship_target(relationship = ConcreteOf, linked_spawn)]
pub struct Concretes(Vec<Entity>);

impl Concretes {
    /// The concretes, in the order of their commits.
    pub fn as_slice(&self) -> &[Entity] {
        &self.0
    }
}

/// The function that this one was derived from (its gradient, its training step): it goes with it.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[relationship(relationship_target = DerivedFunctions)]
pub struct DerivedFrom(pub Entity);

/// The functions derived from this one. Kept by [`DerivedFrom`].
#[derive(Component, Debug)]
#[relationship_target(relationship = DerivedFrom, linked_spawn)]
pub struct DerivedFunctions(Vec<Entity>);

impl DerivedFunctions {
    /// The derived functions, in the order they were made.
    pub fn as_slice(&self) -> &[Entity] {
        &self.0
    }
}

/// How a concrete finds a variable at a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WeakSource {
    /// This entity and no other.
    Captured(Entity),
    /// The variable of this path in a model argument.
    Role {
        /// Which model argument.
        argument: u32,
        /// The path in the model.
        path: Arc<str>,
    },
    /// State that a trainer or optimiser keeps for a variable, made on first use.
    State {
        /// The variable it serves, by its place among the weak references; none where it serves all that its keeper trains.
        of: Option<u32>,
        /// Its name.
        name: &'static str,
        /// What it is filled with when made.
        initial: Scalar,
    },
}

/// A variable that a concrete reads or writes. Weak: it keeps nothing alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeakReference {
    /// How it is found.
    pub source: WeakSource,
    /// Dtype and dims.
    pub spec: TensorSpec,
    /// Whether gradients are taken for it.
    pub trainable: bool,
    /// Its path when traced, for messages.
    pub path: Arc<str>,
    /// The function whose body touched it first, for messages.
    pub function: Arc<str>,
    /// Where that was written.
    pub origin: Origin,
    /// When it was made, where one entity is meant; else 0. Gradients come in this order, then by place in this list.
    pub created: u64,
    /// Whether an assign writes it.
    pub is_written: bool,
}

/// Two lengths that must agree at a call, or else an op cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// One.
    pub left: Dim,
    /// The other.
    pub right: Dim,
    /// The op that needs it, by name.
    pub op: &'static str,
    /// Where that was written.
    pub origin: Origin,
}

/// A concrete function: one trace of a graph function for one key. Its ops are entities that it owns ([`crate::Ops`]).
/// Written at commit; read by every pass after it.
#[derive(Component, Clone, Debug)]
#[component(immutable, on_despawn = FuncGraph::on_despawn)]
pub struct FuncGraph {
    /// The name of its function, for messages.
    pub name: Arc<str>,
    /// What selected it.
    pub key: CacheKey,
    /// Dtype and dims of its inputs: the leaves of the arguments.
    pub inputs: Vec<TensorSpec>,
    /// The ops that give its outputs.
    pub outputs: Vec<Entity>,
    /// The outputs' structure.
    pub output_skeleton: OutputSkeleton,
    /// Tensors from outside, in order of first use; held strongly, since they are values.
    pub captures: Vec<Tensor>,
    /// Variables it reads or writes, in order of first touch.
    pub weak: Vec<WeakReference>,
    /// Functions whose bodies it runs.
    pub functions: Vec<Entity>,
    /// Whether gradients of variables were taken on the way.
    pub takes_gradients: bool,
    /// How deep its calls nest.
    pub depth: usize,
    /// Lengths that must agree.
    pub constraints: Vec<Constraint>,
}

/// The skeleton of a result.
pub type OutputSkeleton = Arc<[Token]>;

impl FuncGraph {
    /// Every entity that this concrete names: captures, functions, and what its key holds.
    pub fn named_entities(&self) -> impl Iterator<Item = Entity> {
        let captured = self.weak.iter().filter_map(|weak| match weak.source {
            WeakSource::Captured(entity) => Some(entity),
            WeakSource::Role { .. } | WeakSource::State { .. } => None,
        });
        captured.chain(self.functions.iter().copied()).chain(self.key.entities())
    }

    fn on_despawn(mut world: DeferredWorld, context: HookContext) {
        let entity = context.entity;
        let Some(graph) = world.get::<Self>(entity) else { return };
        let (name, key, named) = (short_name(&[&graph.name]), graph.key.clone(), graph.named_entities().collect());
        let function = world.get::<ConcreteOf>(entity).map(|function| function.0);
        queue_death(&mut world, Death::Concrete { entity, function, key, named });
        if let Some(mut tombstones) = world.get_resource_mut::<Tombstones>() {
            tombstones.push(Tombstone { entity, kind: Kind::Concrete, name, cause: Cause::Itself });
        }
    }
}
