//! Handles: the ids that can be despawned.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::WorldId;
use entigrad_components::{ConcreteId, Function, Kind, ModelId, TrainerId, VariableId};

/// The id of something that a user can despawn.
pub trait Handle: Copy {
    /// The entity.
    fn entity(self) -> Entity;
    /// The world it lives in.
    fn world(self) -> WorldId;
    /// What it is.
    fn kind(self) -> Kind;
}

/// Implements [`Handle`] for an id.
macro_rules! handle {
    ($type:ty, $kind:ident $(, $parameter:ident)*) => {
        impl<$($parameter),*> Handle for $type {
            fn entity(self) -> Entity {
                self.entity
            }
            fn world(self) -> WorldId {
                self.world
            }
            fn kind(self) -> Kind {
                Kind::$kind
            }
        }
    };
}
handle!(ModelId, Model);
handle!(VariableId, Variable);
handle!(ConcreteId, Concrete);
handle!(TrainerId, Trainer);
handle!(Function<A, R>, Function, A, R);
