//! Variables: named tensors that a model owns, their gradients, and the optimiser state that serves them.

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::lifecycle::HookContext;
use bevy_ecs::world::DeferredWorld;
use std::sync::Arc;

use crate::model::{Model, ModelVersion, Variables};
use crate::spec::TensorSpec;
use crate::tensor::Tensor;
use crate::tombstone::{Cause, Kind, ShortName, Tombstone, Tombstones, short_name};
use crate::trainer::OwnedStates;

/// What is fixed of a variable. Written where it is made; replaced as a whole, so that its model's signature follows.
#[derive(Component, Clone, Debug, PartialEq)]
#[component(immutable, on_insert = Variable::on_insert, on_discard = Variable::on_discard,
    on_despawn = Variable::on_despawn)]
pub struct Variable {
    /// Its name within its model; may hold `/`.
    pub name: Arc<str>,
    /// Dtype and dims of its value, all known.
    pub spec: TensorSpec,
    /// Whether training changes it and gradients are taken for it.
    pub trainable: bool,
}

impl Variable {
    fn on_insert(mut world: DeferredWorld, context: HookContext) {
        bump_owner(&mut world, context.entity);
    }

    fn on_discard(mut world: DeferredWorld, context: HookContext) {
        bump_owner(&mut world, context.entity);
    }

    fn on_despawn(mut world: DeferredWorld, context: HookContext) {
        let entity = context.entity;
        let Some(name) = world.get::<Self>(entity).map(|variable| variable.name.clone()) else { return };
        let owner = world.get::<VariableOf>(entity).map(|owner| owner.0);
        let alive = owner.and_then(|owner| world.get::<Model>(owner)).map(|model| short_name(&[&model.name, &name]));
        let Some(mut tombstones) = world.get_resource_mut::<Tombstones>() else { return };
        // A linked despawn takes the owner first, whose tombstone then stands already.
        let dead = |owner: Entity| tombstones.get(owner).map(|stone| (owner, short_name(&[&stone.name, &name])));
        let (name, cause): (ShortName, Cause) = match (alive, owner.and_then(dead)) {
            (_, Some((owner, path))) => (path, Cause::Owner(owner)),
            (Some(path), None) => (path, Cause::Itself),
            (None, None) => (short_name(&[&name]), Cause::Itself),
        };
        tombstones.push(Tombstone { entity, kind: Kind::Variable, name, cause });
    }
}

/// Tells the owner, where there is one, that its set of variables changed.
fn bump_owner(world: &mut DeferredWorld, variable: Entity) {
    let Some(owner) = world.get::<VariableOf>(variable).map(|owner| owner.0) else { return };
    if let Some(mut version) = world.get_mut::<ModelVersion>(owner) {
        version.0 += 1;
    }
}

/// The model that owns this variable.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[relationship(relationship_target = Variables)]
pub struct VariableOf(pub Entity);

/// The value of a variable or of a piece of state. Written by the execute pass and by the user; of the spec that its
/// [`Variable`] or [`StateOf`] says.
#[derive(Component, Clone, Debug, PartialEq)]
pub struct Stored(pub Tensor);

/// A gradient that the user accumulated for a variable, of the variable's spec. Written by the user; read and removed by
/// the optimize pass.
#[derive(Component, Clone, Debug, PartialEq)]
pub struct Gradient(pub Tensor);

/// Says that this entity is optimiser state, and of which variable, or of the keeper itself where all its variables share it: it
/// goes with it.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[relationship(relationship_target = States)]
pub struct StateOf(pub Entity);

/// The optimiser state of a variable, all optimisers together, or of a keeper. Kept by [`StateOf`].
#[derive(Component, Debug)]
#[relationship_target(relationship = StateOf, linked_spawn)]
pub struct States(Vec<Entity>);

impl States {
    /// The state entities, in creation order.
    pub fn as_slice(&self) -> &[Entity] {
        &self.0
    }
}

/// What a piece of state is called and which trainer or optimiser keeps it. Written where it is made.
#[derive(Component, Clone, Debug, PartialEq, Eq)]
#[component(immutable, on_despawn = StateName::on_despawn)]
pub struct StateName {
    /// Its name (`momentum`, `mean`, …).
    pub name: &'static str,
    /// Who keeps it.
    pub keeper: Entity,
}

impl StateName {
    fn on_despawn(mut world: DeferredWorld, context: HookContext) {
        let Some(keeper) = world.get::<Self>(context.entity).map(|name| name.keeper) else { return };
        if let Some(mut owned) = world.get_mut::<OwnedStates>(keeper) {
            owned.0.remove(&context.entity);
        }
    }
}
