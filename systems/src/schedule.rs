//! The order of an update: one schedule, single-threaded, ambiguity an error; rayon inside the passes is the only
//! parallelism.

use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{LogLevel, ScheduleBuildSettings, ScheduleLabel, SingleThreadedExecutor};
use entigrad_components::{CreationCounter, DeathQueue, Tombstones};

use crate::error::Error;
use crate::execute::{JobGroups, Workspaces};
use crate::ops::OpTable;
use crate::optimize::{optimize, wanted_updates};
use crate::query::Queries;
use crate::sweep::sweep;
use crate::training::{self, Preparation, StepJobs};
use entigrad_components::Failed;

/// One step of every trainer in the world.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntigradUpdate;

/// The passes of an update, in their order. Systems of a user's own go between them by `before` and `after`.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntigradSystems {
    /// Throws away what was cached for the dead.
    Sweep,
    /// Traces the losses of trainers that have no plan yet.
    Trace,
    /// Derives their steps.
    Gradient,
    /// Simplifies drafts and spawns their ops.
    Simplify,
    /// Plans the steps and finds their variables.
    Plan,
    /// Runs one step of every trainer.
    Execute,
    /// Updates variables that have a gradient and an optimiser of their own.
    Optimize,
    /// Throws away what died in this update.
    LastSweep,
}

/// Puts the engine's resources and its schedule into a world. Doing it twice does nothing.
pub fn install(world: &mut World) {
    if world.contains_resource::<DeathQueue>() {
        return;
    }
    world.init_resource::<DeathQueue>();
    world.init_resource::<Tombstones>();
    world.init_resource::<CreationCounter>();
    world.init_resource::<OpTable>();
    world.init_resource::<Preparation>();
    world.init_resource::<Workspaces>();
    world.init_resource::<JobGroups>();
    world.init_resource::<StepJobs>();
    world.init_resource::<Queries>();
    world.add_schedule(update_schedule());
}

fn update_schedule() -> Schedule {
    use EntigradSystems as Set;
    let mut schedule = Schedule::new(EntigradUpdate);
    // Not `default()`, which leaves the commands of the last systems unapplied.
    schedule.set_executor(SingleThreadedExecutor::new());
    let settings = ScheduleBuildSettings { ambiguity_detection: LogLevel::Error, ..Default::default() };
    schedule.set_build_settings(settings);
    schedule.configure_sets(
        (Set::Sweep, Set::Trace, Set::Gradient, Set::Simplify, Set::Plan, Set::Execute, Set::Optimize, Set::LastSweep)
            .chain(),
    );
    schedule.add_systems((
        sweep_dead.in_set(Set::Sweep),
        trace_losses.in_set(Set::Trace),
        derive_steps.in_set(Set::Gradient),
        simplify_drafts.in_set(Set::Simplify),
        plan_steps.in_set(Set::Plan),
        run_steps.in_set(Set::Execute),
        optimize_gradients.in_set(Set::Optimize),
        sweep_dead.in_set(Set::LastSweep),
    ));
    schedule
}

fn sweep_dead(world: &mut World) {
    sweep(world);
}

/// Begins the preparation of every trainer that has none, and traces what they need.
fn trace_losses(world: &mut World) {
    let trainers = training::unprepared(world);
    let mut stages = training::begin(world, &trainers);
    training::trace_stage(world, &mut stages);
    world.resource_mut::<Preparation>().0 = stages;
}

fn derive_steps(world: &mut World) {
    world
        .resource_scope(|world, mut preparation: Mut<Preparation>| training::gradient_stage(world, &mut preparation.0));
}

fn simplify_drafts(world: &mut World) {
    training::simplify_stage(world);
}

fn plan_steps(world: &mut World) {
    let mut stages = std::mem::take(&mut world.resource_mut::<Preparation>().0);
    training::plan_stage(world, &mut stages);
    training::finish(world, stages);
}

fn run_steps(world: &mut World) {
    training::run_step(world);
}

/// Updates what has a gradient; an optimiser that cannot is marked with why.
fn optimize_gradients(world: &mut World) {
    for (optimizer, variables) in wanted_updates(world) {
        let outcome: Result<usize, Error> = optimize(world, optimizer, &variables);
        if let (Err(error), Ok(mut optimizer)) = (outcome, world.get_entity_mut(optimizer)) {
            optimizer.insert(Failed(error));
        }
    }
}
