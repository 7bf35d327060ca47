//! Newtypes for entity ids and indices, so that signatures say what they take.
//!
//! *Invariant*: an id carries the world it was made in, since the first entity of any two worlds is the same number.
//! An id keeps nothing alive.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::WorldId;
use std::marker::PhantomData;

/// Defines an id: an entity and its world.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            /// The entity.
            pub entity: Entity,
            /// The world it lives in.
            pub world: WorldId,
        }

        impl $name {
            /// The id of `entity` in `world`.
            pub fn new(world: WorldId, entity: Entity) -> Self {
                Self { entity, world }
            }
        }
    };
}

id! {
    /// A model: an entity that owns variables.
    ModelId
}
id! {
    /// A variable: a named tensor that a model owns.
    VariableId
}
id! {
    /// One trace of a graph function.
    ConcreteId
}
id! {
    /// A trainer: a loss, an optimiser and data.
    TrainerId
}

/// A graph function that takes `A` and returns `R`.
pub struct Function<A, R> {
    /// The entity.
    pub entity: Entity,
    /// The world it lives in.
    pub world: WorldId,
    types: PhantomData<fn(A) -> R>,
}

impl<A, R> Function<A, R> {
    /// The id of `entity` in `world`. Whoever makes one vouches for the types; a call checks them again.
    pub fn new(world: WorldId, entity: Entity) -> Self {
        Self { entity, world, types: PhantomData }
    }
}

impl<A, R> Clone for Function<A, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A, R> Copy for Function<A, R> {}
impl<A, R> PartialEq for Function<A, R> {
    fn eq(&self, other: &Self) -> bool {
        (self.entity, self.world) == (other.entity, other.world)
    }
}
impl<A, R> Eq for Function<A, R> {}
impl<A, R> std::fmt::Debug for Function<A, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Function({})", self.entity)
    }
}

/// Which row of the op table an op is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u16);
