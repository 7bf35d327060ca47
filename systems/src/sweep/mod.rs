//! The sweep pass: what was cached for the dead is thrown away, in time linear in what died.
//!
//! *Reads* the death queue that hooks fill, *writes* function caches, plans, warm calls, bindings and reverse references. Runs at each
//! engine entry and first and last in an update.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::reference::forget;
use entigrad_components::{Binding, CacheKey, ConcreteOf, Death, DeathQueue, FuncGraph, FunctionCache};

use crate::call::forget_calls_of;
use crate::plan::Plans;

/// Drains the death queue; whether anything had died.
pub fn sweep(world: &mut World) -> bool {
    let Some(queue) = world.get_resource::<DeathQueue>() else { return false };
    if queue.0.is_empty() {
        return false;
    }
    // An eviction despawns, which queues again; the buffer is handed back, so that a world that sweeps for ever allocates
    // once.
    let mut deaths = Vec::new();
    loop {
        std::mem::swap(&mut world.resource_mut::<DeathQueue>().0, &mut deaths);
        if deaths.is_empty() {
            return true;
        }
        for death in deaths.drain(..) {
            match death {
                Death::Referenced { entity, by } => by.into_iter().for_each(|referrer| evict(world, referrer, entity)),
                Death::Concrete { entity, function, key, named } => {
                    named.into_iter().for_each(|named| forget(world, entity, named));
                    forget_concrete(world, function, &key, entity);
                }
                Death::Binding { entity, named } => {
                    named.into_iter().for_each(|named| forget(world, entity, named));
                }
            }
        }
    }
}

/// Throws away what `referrer` kept for `dead`.
fn evict(world: &mut World, referrer: Entity, dead: Entity) {
    if world.get::<Binding>(referrer).is_some() {
        // Its concrete, or one of its models, is gone.
        world.despawn(referrer);
        return;
    }
    let Some(graph) = world.get::<FuncGraph>(referrer) else { return };
    if graph.key.entities().any(|entity| entity == dead) {
        // No later entity has this id: the key can never be asked for again.
        world.despawn(referrer);
    } else {
        // The concrete stays to say what is gone when it is called; only what it would run with goes.
        world.entity_mut(referrer).remove::<Plans>();
        if let Some(function) = world.get::<ConcreteOf>(referrer).map(|function| function.0) {
            forget_calls_of(world, function, referrer);
        }
    }
}

fn forget_concrete(world: &mut World, function: Option<Entity>, key: &CacheKey, concrete: Entity) {
    let Some(function) = function else { return };
    forget_calls_of(world, function, concrete);
    let Some(mut cache) = world.get_mut::<FunctionCache>(function) else { return };
    if cache.0.get(key) == Some(&concrete) {
        cache.0.remove(key);
    }
}
