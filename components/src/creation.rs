//! Creation order: the one order that sums over entities, gradients and checkpoints may depend on.
//!
//! Neither query order nor the order of ids is the order of creation, so each variable and trainer gets a number at commit.

use bevy_ecs::component::Component;
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;

/// When this entity was made, counted over the world. Written once, where the entity becomes one; read wherever an order is
/// needed.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[component(immutable)]
pub struct CreationIndex(pub u64);

/// The number that the next created entity gets.
#[derive(Resource, Debug, Default)]
pub struct CreationCounter(u64);

/// The next creation index of this world.
pub fn next_creation_index(world: &mut World) -> CreationIndex {
    let mut counter = world.get_resource_or_init::<CreationCounter>();
    counter.0 += 1;
    CreationIndex(counter.0)
}
