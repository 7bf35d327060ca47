//! Ops as entities: what one step of a concrete function is.
//!
//! *Invariant*: an op is spawned once, when its concrete is committed, and never changed. Its operands are earlier ops of
//! the same concrete, as plain ids: dataflow owns nothing. Its value's dtype and dims are its [`crate::TensorSpec`].

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::lifecycle::HookContext;
use bevy_ecs::world::DeferredWorld;
use smallvec::SmallVec;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use crate::dims::{Dim, Dims};
use crate::dtype::{DType, Scalar};
use crate::ids::OpId;

/// Which row of the op table this is, and what is fixed of it besides its operands.
#[derive(Component, Clone, Debug, PartialEq)]
#[component(immutable)]
pub struct Op {
    /// The row.
    pub id: OpId,
    /// What the row needs besides operands.
    pub attributes: Attributes,
}

/// A list of axes or a permutation.
pub type Axes = SmallVec<[u8; 6]>;

/// What is fixed of an op besides its operands. Each row says which form it takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Attributes {
    /// Nothing.
    #[default]
    None,
    /// A number.
    Number(Scalar),
    /// A dim as a number of this type, known at the call at the latest.
    Length(Dim, DType),
    /// The dims of the result.
    Dims(Dims),
    /// Axes, or a permutation of all axes.
    Axes(Axes),
    /// Whether each of two operands lies transposed.
    Flags(bool, bool),
    /// One axis.
    Axis(u8),
    /// The place of something in a table of the concrete: an input, a capture, a weak reference, a body, a result.
    Index(u32),
    /// An element type.
    DType(DType),
}

/// The operands, in order.
#[derive(Component, Clone, Debug, PartialEq, Eq)]
#[component(immutable)]
pub struct Operands(pub SmallVec<[Entity; 3]>);

/// The concretes that an op runs: what it calls.
#[derive(Component, Clone, Debug, PartialEq, Eq)]
#[component(immutable)]
pub struct Bodies(pub SmallVec<[BodyUse; 1]>);

/// One concrete that an op runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyUse {
    /// The concrete, as a plain id.
    pub concrete: Entity,
    /// The place, among the outer concrete's weak references, of each of the body's.
    pub weak: Arc<[u32]>,
}

/// Where the user wrote what became this op.
#[derive(Component, Clone, Copy, PartialEq, Eq, Hash)]
#[component(immutable)]
pub struct Origin(pub &'static Location<'static>);

impl Origin {
    /// The place of the caller.
    #[track_caller]
    pub fn here() -> Self {
        Self(Location::caller())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0.file(), self.0.line())
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The ops of a concrete function in program order, which is a topological order. Written once, when they are spawned. They
/// are despawned with it, by a hook instead of a relationship, which would cost as much again for each op.
#[derive(Component, Debug)]
#[component(immutable, on_despawn = Ops::on_despawn)]
pub struct Ops(pub Vec<Entity>);

impl Ops {
    /// The ops, in program order.
    pub fn as_slice(&self) -> &[Entity] {
        &self.0
    }

    fn on_despawn(mut world: DeferredWorld, context: HookContext) {
        let ops = world.get::<Self>(context.entity).map(|ops| ops.0.clone()).unwrap_or_default();
        let mut commands = world.commands();
        for op in ops {
            commands.entity(op).try_despawn();
        }
    }
}
