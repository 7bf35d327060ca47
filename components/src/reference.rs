//! Weak references seen from their target: who to tell when an entity dies.
//!
//! A reference that keeps nothing alive is a plain `Entity`. So that what is cached for a dead entity can be thrown away in
//! time linear in what died, the target carries the list of its referrers, and its hook queues them for the next sweep.

use bevy_ecs::component::Component;
use bevy_ecs::entity::{Entity, EntityHashSet};
use bevy_ecs::lifecycle::HookContext;
use bevy_ecs::resource::Resource;
use bevy_ecs::world::{DeferredWorld, World};

use smallvec::SmallVec;

use crate::key::CacheKey;

/// Who names this entity: concretes, by capture or key, and for a concrete or a model the bindings that it does not own. Written when those are committed;
/// read by the sweep. Sparse, so that marking a user's entity moves none of its components.
#[derive(Component, Debug, Default)]
#[component(storage = "SparseSet", on_despawn = Referenced::on_despawn)]
pub struct Referenced {
    /// The referrers.
    pub by: EntityHashSet,
}

impl Referenced {
    fn on_despawn(mut world: DeferredWorld, context: HookContext) {
        let by = world.get_mut::<Self>(context.entity).map(|mut referenced| std::mem::take(&mut referenced.by));
        queue_death(&mut world, Death::Referenced { entity: context.entity, by: by.unwrap_or_default() });
    }
}

/// What a hook tells the next sweep.
#[derive(Debug)]
pub enum Death {
    /// An entity died that concretes name.
    Referenced {
        /// The dead entity.
        entity: Entity,
        /// Who named it.
        by: EntityHashSet,
    },
    /// A concrete died: its function's cache need not hold it, and what it named need not remember it.
    Concrete {
        /// The dead concrete.
        entity: Entity,
        /// Its function.
        function: Option<Entity>,
        /// Its key there.
        key: CacheKey,
        /// What it named.
        named: Vec<Entity>,
    },
    /// A binding died: its concrete and the models that do not own it need not remember it.
    Binding {
        /// The dead binding.
        entity: Entity,
        /// What it named.
        named: SmallVec<[Entity; 2]>,
    },
}

/// What died since the last sweep, in order.
#[derive(Resource, Debug, Default)]
pub struct DeathQueue(pub Vec<Death>);

/// Queues a death where the world has a queue (a plain world that never met the engine has none, and needs none).
pub fn queue_death(world: &mut DeferredWorld, death: Death) {
    if let Some(mut queue) = world.get_resource_mut::<DeathQueue>() {
        queue.0.push(death);
    }
}

/// Lets `named` know that `referrer` names it. Nothing happens where `named` is gone.
pub fn refer(world: &mut World, referrer: Entity, named: Entity) {
    let Ok(mut entity) = world.get_entity_mut(named) else { return };
    match entity.get_mut::<Referenced>() {
        Some(mut referenced) => drop(referenced.by.insert(referrer)),
        None => drop(entity.insert(Referenced { by: [referrer].into_iter().collect() })),
    }
}

/// Lets `named` forget that `referrer` named it.
pub fn forget(world: &mut World, referrer: Entity, named: Entity) {
    let Ok(mut entity) = world.get_entity_mut(named) else { return };
    let Some(mut referenced) = entity.get_mut::<Referenced>() else { return };
    referenced.by.remove(&referrer);
    if referenced.by.is_empty() {
        entity.remove::<Referenced>();
    }
}
