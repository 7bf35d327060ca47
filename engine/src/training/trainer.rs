//! Trainers: spawning one, and asking how far it has come.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::creation::next_creation_index;
use entigrad_components::{CreationIndex, Failed, Trainer, TrainerId};
use entigrad_systems::call::function_name;
use entigrad_systems::function::derived_function;
use entigrad_systems::gradient::Derivation;
use entigrad_systems::query::with_query;
use entigrad_systems::structure::Parts;
use entigrad_systems::training::{DataSource, Feed, Fixed};
use entigrad_systems::{Error, Optimizer};
use std::sync::Arc;

use super::batches::{Batches, Shuffle};

/// A training that is being described: it still needs an optimiser.
#[must_use = "give it an optimiser and spawn it"]
pub struct Training<'w> {
    world: &'w mut World,
    loss: Entity,
    parts: Result<Parts, Error>,
    source: Option<Result<Box<dyn DataSource>, Error>>,
}

/// A training that can be spawned.
#[must_use = "spawn it"]
pub struct WithOptimizer<'w> {
    training: Training<'w>,
    optimizer: Arc<dyn Optimizer>,
}

/// A description of a training of `loss` on arguments taken apart.
pub(crate) fn builder(world: &mut World, loss: Entity, parts: Result<Parts, Error>) -> Training<'_> {
    Training { world, loss, parts, source: None }
}

impl<'w> Training<'w> {
    /// Trains on so many rows a step: every tensor of the arguments is cut along its first axis, the last batch of an epoch
    /// may be smaller, and each epoch takes the rows in the order that `shuffle` says.
    pub fn batches(mut self, rows: usize, shuffle: Shuffle) -> Self {
        if let Ok(parts) = &self.parts {
            let batches = Batches::new(parts.leaves.clone(), rows, shuffle);
            self.source = Some(batches.map(|batches| Box::new(batches) as Box<dyn DataSource>));
        }
        self
    }

    /// Trains on what `source` gives: leaves of the structure that the arguments have.
    pub fn source(mut self, source: impl DataSource) -> Self {
        self.source = Some(Ok(Box::new(source)));
        self
    }

    /// Trains by this optimiser.
    pub fn with(self, optimizer: impl Optimizer) -> WithOptimizer<'w> {
        WithOptimizer { training: self, optimizer: Arc::new(optimizer) }
    }
}

impl WithOptimizer<'_> {
    /// Spawns the trainer. It is traced and planned at its first step. A trainer owns its optimiser's state, and nothing
    /// else: not the loss, not what is trained.
    pub fn spawn(self) -> Result<TrainerId, Error> {
        let Training { world, loss, parts, source } = self.training;
        let parts = parts?;
        self.optimizer.check()?;
        let name = function_name(world, loss)?;
        let source = source.unwrap_or_else(|| Ok(Box::new(Fixed(parts.leaves))))?;
        let step_function = derived_function(world, loss, Derivation::Step(self.optimizer))?;
        let trainer = Trainer { name, step_function, step_count: 0, last_loss: None, loss_sum: (0.0, 0) };
        let feed = Feed { tokens: parts.tokens, models: parts.models, source };
        let index = next_creation_index(world);
        let entity = world.spawn((trainer, feed, index)).id();
        Ok(TrainerId::new(world.id(), entity))
    }
}

/// How far a trainer has come.
#[derive(Clone, Debug)]
pub struct TrainerReport {
    /// Steps done.
    pub step_count: u64,
    /// The loss of the last step, before its update.
    pub last_loss: Option<f64>,
    /// The sum of the losses of all steps, and their number.
    pub loss_sum: (f64, u64),
    /// Why it failed, where it did: it is left out of updates until it is despawned or the mark is removed.
    pub error: Option<Error>,
}

/// What one update did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateReport {
    /// Trainers that are well.
    pub running: usize,
    /// Trainers that failed, now or before.
    pub failed: usize,
}

pub(crate) fn report(world: &World, trainer: TrainerId) -> Result<TrainerReport, Error> {
    let found = world.get::<Trainer>(trainer.entity);
    let found = found.ok_or_else(|| Error::invalid("this entity is no trainer"))?;
    Ok(TrainerReport {
        step_count: found.step_count,
        last_loss: found.last_loss,
        loss_sum: found.loss_sum,
        error: failure(world, trainer),
    })
}

pub(crate) fn failure(world: &World, trainer: TrainerId) -> Option<Error> {
    world.get::<Failed<Error>>(trainer.entity).map(|failed| failed.0.clone())
}

pub(crate) fn failures(world: &mut World) -> Vec<(TrainerId, Error)> {
    let mut query = world.query::<(Entity, &CreationIndex, &Trainer, &Failed<Error>)>();
    let mut failed: Vec<_> =
        query.iter(world).map(|(trainer, index, _, failed)| (*index, trainer, failed.0.clone())).collect();
    failed.sort_by_key(|(index, ..)| *index);
    failed.into_iter().map(|(_, trainer, error)| (TrainerId::new(world.id(), trainer), error)).collect()
}

pub(crate) fn update_report(world: &mut World) -> UpdateReport {
    with_query::<(&Trainer, Option<&Failed<Error>>), (), _>(world, |query, world| {
        let mut report = UpdateReport::default();
        for (_, failed) in query.iter(world) {
            match failed {
                Some(_) => report.failed += 1,
                None => report.running += 1,
            }
        }
        report
    })
}
