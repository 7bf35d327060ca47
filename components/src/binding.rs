//! Bindings: which variables of one model a concrete finds under its roles.

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::lifecycle::HookContext;
use bevy_ecs::world::DeferredWorld;
use std::sync::Arc;

use crate::model::VersionedModels;
use crate::reference::{Death, queue_death};

/// The variables that one concrete uses when called with these models. Written at the first call; read at each later one;
/// replaced when a model's version moved on. A trace and a plan serve every model of a signature, this is all that each
/// one has of its own.
#[derive(Component, Clone, Debug)]
#[component(immutable, on_despawn = Binding::on_despawn)]
pub struct Binding {
    /// The concrete, as a plain id.
    pub concrete: Entity,
    /// The model arguments, each with its version when bound.
    pub models: VersionedModels,
    /// The variable of each weak reference, in order.
    pub variables: Arc<[Entity]>,
}

impl Binding {
    fn on_despawn(mut world: DeferredWorld, context: HookContext) {
        let Some(binding) = world.get::<Self>(context.entity) else { return };
        let others = binding.models.iter().skip(1).map(|(model, _)| *model);
        let named = [binding.concrete].into_iter().chain(others).collect();
        queue_death(&mut world, Death::Binding { entity: context.entity, named });
    }
}

/// The model that owns this binding: the first model argument.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[relationship(relationship_target = Bindings)]
pub struct BindingOf(pub Entity);

/// The bindings of a model. Kept by [`BindingOf`].
#[derive(Component, Debug)]
#[relationship_target(relationship = BindingOf, linked_spawn)]
pub struct Bindings(Vec<Entity>);

impl Bindings {
    /// The bindings, oldest first.
    pub fn as_slice(&self) -> &[Entity] {
        &self.0
    }
}
