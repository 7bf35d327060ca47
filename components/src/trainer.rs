//! Trainers: what is known of a training that runs in the world.

use bevy_ecs::component::Component;
use bevy_ecs::entity::{Entity, EntityHashSet};
use bevy_ecs::lifecycle::HookContext;
use bevy_ecs::world::DeferredWorld;
use std::sync::Arc;

use crate::tombstone::{Cause, Kind, Tombstone, Tombstones, short_name};

/// A loss, an optimiser's step, and how far it has come. Written by the training code and the execute pass.
#[derive(Component, Clone, Debug)]
#[component(on_despawn = Trainer::on_despawn)]
#[require(OwnedStates)]
pub struct Trainer {
    /// The loss function's name, for messages.
    pub name: Arc<str>,
    /// The derived function that is one step: loss, gradient and update.
    pub step_function: Entity,
    /// Steps done.
    pub step_count: u64,
    /// The loss of the last step, before its update.
    pub last_loss: Option<f64>,
    /// The sum of the losses of all steps, and their number.
    pub loss_sum: (f64, u64),
}

impl Trainer {
    /// Counts a step that had this loss.
    pub fn count_step(&mut self, loss: f64) {
        self.step_count += 1;
        self.last_loss = Some(loss);
        self.loss_sum = (self.loss_sum.0 + loss, self.loss_sum.1 + 1);
    }

    fn on_despawn(mut world: DeferredWorld, context: HookContext) {
        let entity = context.entity;
        let Some(name) = world.get::<Self>(entity).map(|trainer| short_name(&[&trainer.name])) else { return };
        if let Some(mut tombstones) = world.get_resource_mut::<Tombstones>() {
            tombstones.push(Tombstone { entity, kind: Kind::Trainer, name, cause: Cause::Itself });
        }
    }
}

/// The state entities that a trainer or an optimiser keeps for the variables it serves. Written when they are made, and by the
/// hook of [`crate::StateName`] when they go. State goes with its variable or with its keeper, whichever dies first.
#[derive(Component, Clone, Debug, Default)]
#[component(on_despawn = OwnedStates::on_despawn)]
pub struct OwnedStates(pub EntityHashSet);

impl OwnedStates {
    fn on_despawn(mut world: DeferredWorld, context: HookContext) {
        let states = world.get_mut::<Self>(context.entity).map(|mut owned| std::mem::take(&mut owned.0));
        for state in states.unwrap_or_default() {
            world.commands().entity(state).try_despawn();
        }
    }
}

/// Marks an entity whose job failed, with why. Written by the pass where it failed; while it is there the trainer is left
/// out of updates. Remove it to try again.
#[derive(Component, Clone, Debug)]
pub struct Failed<E: Send + Sync + 'static>(pub E);
