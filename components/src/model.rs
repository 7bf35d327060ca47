//! Models: entities that own variables.
//!
//! Ownership is flat: a model owns its variables directly, and a variable's name may hold `/` (`layers/0/w`), so that
//! despawning one never walks deep.

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::lifecycle::HookContext;
use bevy_ecs::world::{DeferredWorld, World};
use smallvec::SmallVec;
use std::sync::{Arc, PoisonError, RwLock};

use crate::key::ModelSignature;
use crate::tombstone::{Cause, Kind, Tombstone, Tombstones, short_name};
use crate::variable::VariableOf;

/// A thing that can be trained. Written by the user; read for names and as the first argument of methods.
#[derive(Component, Clone, Debug)]
#[component(on_despawn = Model::on_despawn)]
#[require(ModelVersion, CachedSignature)]
pub struct Model {
    /// What messages and checkpoints call it.
    pub name: Arc<str>,
}

impl Model {
    /// A model of this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.into() }
    }

    fn on_despawn(mut world: DeferredWorld, context: HookContext) {
        let Some(name) = world.get::<Self>(context.entity).map(|model| short_name(&[&model.name])) else { return };
        if let Some(mut tombstones) = world.get_resource_mut::<Tombstones>() {
            let (entity, cause) = (context.entity, Cause::Itself);
            tombstones.push(Tombstone { entity, kind: Kind::Model, name, cause });
        }
    }
}

/// The variables of a model, in creation order. They are despawned with it. Kept by [`VariableOf`].
#[derive(Component, Debug)]
#[relationship_target(relationship = VariableOf, linked_spawn)]
pub struct Variables(Vec<Entity>);

impl Variables {
    /// The variables, in creation order.
    pub fn as_slice(&self) -> &[Entity] {
        &self.0
    }
}

/// Counts the changes of a model's set of variables (their names, specs, trainability; not their values). Written by the
/// hooks of [`crate::Variable`]; read to tell whether a cached signature or a binding still holds. Moving a
/// variable to another model counts only where its [`crate::Variable`] is inserted again with the new [`VariableOf`].
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelVersion(pub u64);

/// Models, each with its version.
pub type VersionedModels = SmallVec<[(Entity, ModelVersion); 1]>;

impl ModelVersion {
    /// That of a model now; the first where there is no such model.
    pub fn of(world: &World, model: Entity) -> Self {
        world.get::<Self>(model).copied().unwrap_or_default()
    }

    /// Those of some models now.
    pub fn of_each(world: &World, models: &[Entity]) -> VersionedModels {
        models.iter().map(|model| (*model, Self::of(world, *model))).collect()
    }
}

/// The signature of a model at some version. Written and read where keys are made; behind a lock, since calls that change
/// nothing make keys too.
#[derive(Component, Debug, Default)]
pub struct CachedSignature(RwLock<Option<(ModelVersion, Arc<ModelSignature>)>>);

impl CachedSignature {
    /// The signature at this version, where it is known.
    pub fn of_version(&self, version: ModelVersion) -> Option<Arc<ModelSignature>> {
        // A panic leaves nothing half written here.
        let cached = self.0.read().unwrap_or_else(PoisonError::into_inner);
        cached.as_ref().filter(|(at, _)| *at == version).map(|(_, signature)| signature.clone())
    }

    /// Keeps the signature at a version.
    pub fn keep(&self, version: ModelVersion, signature: Arc<ModelSignature>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some((version, signature));
    }
}
