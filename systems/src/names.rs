//! Names of the dead, for messages.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{Cause, Tombstones};
use std::sync::Arc;

/// The name that `entity` had, where its tombstone still stands.
pub fn remembered(world: &World, entity: Entity) -> Option<Arc<str>> {
    let tombstone = world.get_resource::<Tombstones>()?.get(entity)?;
    Some(tombstone.name.as_str().into())
}

/// The name of the model that `entity` went along with, where that is remembered.
pub fn owner_remembered(world: &World, entity: Entity) -> Option<Arc<str>> {
    let Cause::Owner(owner) = world.get_resource::<Tombstones>()?.get(entity)?.cause else { return None };
    remembered(world, owner)
}
