//! Training: how a trainer comes to have a plan, stage by stage, and how it takes a step.
//!
//! The stages are the passes over trainers; an update runs each stage for all trainers in a system of its own, a run calls
//! them in a row for one. *Invariant*: a trainer whose stage or step fails is marked [`Failed`] and stops nobody else.

use bevy_ecs::change_detection::Mut;
use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::query::{With, Without};
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use entigrad_components::{
    CacheKey, CreationIndex, DerivedFrom, Dim, Failed, FuncGraph, ModelVersion, Tensor, TensorSpec, Token, Trainer,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::call::ensure_plan;
use crate::error::Error;
use crate::execute::{Job, KeptJob, bind_with_state, check_variables, execute, execute_repeatedly};
use crate::function::{make_key, model_signature};
use crate::gradient::{self, gradient};
use crate::graph::Draft;
use crate::plan::{Plans, instance_for, plan};
use crate::query::with_query;
use crate::simplify::simplify;
use crate::structure::Models;
use crate::trace;
use crate::trace::pass::panic_message;
use entigrad_components::Kind;

/// Where a trainer's arguments come from.
pub trait DataSource: Send + Sync + 'static {
    /// The leaves of the arguments of step `step`, counted from 0. Asked twice for one step, it gives the same.
    fn leaves(&mut self, step: u64) -> Result<Vec<Tensor>, Error>;

    /// The same into the tensors of an earlier step, whose storage may be used again. What it holds after an error does not
    /// matter.
    fn refill(&mut self, step: u64, leaves: &mut Vec<Tensor>) -> Result<(), Error> {
        *leaves = self.leaves(step)?;
        Ok(())
    }
}

/// The same arguments at every step.
pub struct Fixed(pub Vec<Tensor>);

impl DataSource for Fixed {
    fn leaves(&mut self, _: u64) -> Result<Vec<Tensor>, Error> {
        Ok(self.0.clone())
    }

    fn refill(&mut self, _: u64, leaves: &mut Vec<Tensor>) -> Result<(), Error> {
        if leaves.len() != self.0.len() || !leaves.iter().zip(&self.0).all(|(leaf, fixed)| leaf.is_same(fixed)) {
            leaves.clone_from(&self.0);
        }
        Ok(())
    }
}

/// Stands in for a source while steps use it; of no size, so that its box allocates nothing.
struct Taken;

impl DataSource for Taken {
    fn leaves(&mut self, _: u64) -> Result<Vec<Tensor>, Error> {
        Err(Error::invalid("the data source is in use"))
    }
}

/// A trainer's arguments. Written where the trainer is made; read at each step.
#[derive(Component)]
pub struct Feed {
    /// The skeleton of the arguments.
    pub tokens: Vec<Token>,
    /// The models among them.
    pub models: Models,
    /// The leaves.
    pub source: Box<dyn DataSource>,
}

/// What a trainer runs. Written by the plan stage; read at each step; made anew when the arguments' specs or a model's
/// variables change.
#[derive(Component, Debug)]
pub struct Prepared {
    versions: Vec<ModelVersion>,
    concrete: Entity,
    /// The step with its buffers; taken out while it runs.
    job: Option<KeptJob>,
}

/// The jobs of an update, kept for the next.
#[derive(Resource, Default)]
pub struct StepJobs {
    running: Vec<(CreationIndex, Entity)>,
    trainers: Vec<Entity>,
    jobs: Vec<KeptJob>,
}

/// The trainers that are between two stages of an update.
#[derive(Resource, Default)]
pub struct Preparation(pub Vec<Stage>);

/// How far one trainer has come.
pub struct Stage {
    trainer: Entity,
    arguments: CacheKey,
    models: Models,
    /// The concrete of the loss, then that of the step.
    concrete: Option<Entity>,
    error: Option<Error>,
}

/// A trainer that did not fail.
type Running = (With<Trainer>, Without<Failed<Error>>);

/// The trainers that did not fail and have no plan, in creation order.
pub fn unprepared(world: &mut World) -> Vec<Entity> {
    with_query::<(Entity, &CreationIndex), (Running, Without<Prepared>), _>(world, |query, world| {
        in_order(query.iter(world).map(|(trainer, index)| (*index, trainer)))
    })
}

fn in_order(found: impl Iterator<Item = (CreationIndex, Entity)>) -> Vec<Entity> {
    let mut found: Vec<_> = found.collect();
    found.sort();
    found.into_iter().map(|(_, trainer)| trainer).collect()
}

/// Begins to prepare trainers: makes the keys of their next steps.
pub fn begin(world: &mut World, trainers: &[Entity]) -> Vec<Stage> {
    let one = |trainer: &Entity| match next_arguments(world, *trainer) {
        Ok((arguments, models)) => Stage { trainer: *trainer, arguments, models, concrete: None, error: None },
        Err(error) => Stage {
            trainer: *trainer,
            arguments: CacheKey([].into()),
            models: Models::new(),
            concrete: None,
            error: Some(error),
        },
    };
    trainers.iter().map(one).collect()
}

/// The key of a trainer's next step, and its models.
fn next_arguments(world: &mut World, trainer: Entity) -> Result<(CacheKey, Models), Error> {
    let (tokens, models) = next_tokens(world, trainer)?;
    let loss = loss(world, step_function(world, trainer)?)?;
    Ok((make_key(world, loss, &tokens)?, models))
}

/// The skeleton of a trainer's next arguments: its tokens with the specs of the next leaves and the models' signatures.
fn next_tokens(world: &mut World, trainer: Entity) -> Result<(Vec<Token>, Models), Error> {
    let leaves = next_leaves(world, trainer)?;
    let feed = world.get::<Feed>(trainer).ok_or_else(|| Error::gone(Kind::Trainer, None))?;
    let (mut tokens, models) = (feed.tokens.clone(), feed.models.clone());
    let mut specs = leaves.iter().map(Tensor::spec);
    for token in &mut tokens {
        match token {
            Token::Leaf(spec) => *spec = specs.next().ok_or_else(too_few_leaves)?,
            Token::Model(place, signature) => {
                let model = models[*place as usize];
                let gone = Error::gone(Kind::Model, crate::names::remembered(world, model));
                *signature = model_signature(world, model).ok_or(gone)?;
            }
            Token::Tuple(_) | Token::Vector(_) | Token::Absent | Token::Present => {}
            Token::Entity(entity) if world.get_entity(*entity).is_err() => {
                return Err(Error::invalid(format!("the entity {entity} given as an argument was despawned")));
            }
            Token::Static(_) | Token::Entity(_) | Token::Variable(_) => {}
        }
    }
    if specs.next().is_some() { Err(too_few_leaves()) } else { Ok((tokens, models)) }
}

fn too_few_leaves() -> Error {
    Error::invalid("a data source gave another number of tensors than the loss function takes")
}

fn next_leaves(world: &mut World, trainer: Entity) -> Result<Vec<Tensor>, Error> {
    let mut leaves = Vec::new();
    refill_next(world, trainer, &mut leaves)?;
    Ok(leaves)
}

/// Asks the data source of a trainer for the leaves of its next step.
fn refill_next(world: &mut World, trainer: Entity, leaves: &mut Vec<Tensor>) -> Result<(), Error> {
    let gone = || Error::gone(Kind::Trainer, None);
    let step = world.get::<Trainer>(trainer).ok_or_else(gone)?.step_count;
    let mut feed = world.get_mut::<Feed>(trainer).ok_or_else(gone)?;
    refill(&mut *feed.source, step, leaves)
}

/// Asks a data source for the leaves of a step.
fn refill(source: &mut dyn DataSource, step: u64, leaves: &mut Vec<Tensor>) -> Result<(), Error> {
    // A source may be a user's own.
    catch_unwind(AssertUnwindSafe(|| source.refill(step, leaves))).unwrap_or_else(|panic| {
        let message = panic_message(&*panic);
        Err(Error::invalid(format!("the data source panicked at step {step}: {message}")))
    })
}

fn step_function(world: &World, trainer: Entity) -> Result<Entity, Error> {
    let trainer = world.get::<Trainer>(trainer).ok_or_else(|| Error::gone(Kind::Trainer, None))?;
    Ok(trainer.step_function)
}

/// The loss that a step function was derived from.
fn loss(world: &World, step_function: Entity) -> Result<Entity, Error> {
    let gone = || Error::gone(Kind::Function, crate::names::remembered(world, step_function));
    Ok(world.get::<DerivedFrom>(step_function).ok_or_else(gone)?.0)
}

/// The trace pass over trainers: the concretes of their losses.
pub fn trace_stage(world: &mut World, stages: &mut [Stage]) {
    let request = |world: &World, stage: &Stage| {
        let function = loss(world, step_function(world, stage.trainer)?)?;
        Ok(trace::Request { function, key: stage.arguments.clone(), models: stage.models.clone() })
    };
    through(world, stages, request, trace::trace);
}

/// The gradient pass over trainers: the concretes of their steps.
pub fn gradient_stage(world: &mut World, stages: &mut [Stage]) {
    let request = |world: &World, stage: &Stage| {
        let function = step_function(world, stage.trainer)?;
        let source = stage.concrete.ok_or_else(|| Error::gone(Kind::Concrete, None))?;
        Ok(gradient::Request { function, key: stage.arguments.clone(), source })
    };
    through(world, stages, request, gradient);
}

/// Takes all stages that are well through a pass.
fn through<R>(
    world: &mut World,
    stages: &mut [Stage],
    request: impl Fn(&World, &Stage) -> Result<R, Error>,
    pass: impl Fn(&mut World, &[R]) -> Vec<Result<Entity, Error>>,
) {
    let mut places: Vec<usize> = Vec::new();
    let mut requests: Vec<R> = Vec::new();
    for (place, stage) in stages.iter_mut().enumerate().filter(|(_, stage)| stage.error.is_none()) {
        match request(world, stage) {
            Ok(request) => {
                places.push(place);
                requests.push(request);
            }
            Err(error) => stage.error = Some(error),
        }
    }
    for (place, outcome) in places.into_iter().zip(pass(world, &requests)) {
        match outcome {
            Ok(concrete) => stages[place].concrete = Some(concrete),
            Err(error) => stages[place].error = Some(error),
        }
    }
}

/// The simplify pass over every draft in the world, in creation order: bodies before what calls them.
pub fn simplify_stage(world: &mut World) {
    let drafts = with_query::<(Entity, &CreationIndex), With<Draft>, _>(world, |query, world| {
        in_order(query.iter(world).map(|(concrete, index)| (*index, concrete)))
    });
    simplify(world, &drafts);
}

/// The plan pass over trainers.
pub fn plan_stage(world: &mut World, stages: &mut [Stage]) {
    let wanted: Vec<(usize, Entity)> = stages
        .iter()
        .enumerate()
        .filter(|(_, stage)| stage.error.is_none())
        .filter_map(|(place, stage)| Some((place, stage.concrete?)))
        .collect();
    let concretes: Vec<Entity> = wanted.iter().map(|(_, concrete)| *concrete).collect();
    for ((place, _), outcome) in wanted.into_iter().zip(plan(world, &concretes)) {
        if let Err(error) = outcome {
            stages[place].error = Some(error);
        }
    }
}

/// Finds each trainer's variables, makes the state that it lacks, and marks who failed on the way.
pub fn finish(world: &mut World, stages: Vec<Stage>) {
    for stage in stages {
        let trainer = stage.trainer;
        let outcome = prepared(world, stage);
        let Ok(mut entity) = world.get_entity_mut(trainer) else { continue };
        match outcome {
            Ok(prepared) => drop(entity.insert(prepared)),
            Err(error) => drop(entity.insert(Failed(error))),
        }
    }
}

fn prepared(world: &mut World, stage: Stage) -> Result<Prepared, Error> {
    if let Some(error) = stage.error {
        return Err(error);
    }
    let concrete = stage.concrete.ok_or_else(|| Error::gone(Kind::Concrete, None))?;
    let inputs = next_leaves(world, stage.trainer)?;
    let instance = instance_for(world, concrete, &inputs)?;
    let variables = bind_with_state(world, &instance.skeleton, &stage.models, stage.trainer)?;
    let versions = stage.models.iter().map(|model| ModelVersion::of(world, *model)).collect();
    Ok(Prepared { versions, concrete, job: Some(Box::new(Job::new(instance, inputs, variables))) })
}

/// Prepares trainers, all stages in a row.
pub fn prepare(world: &mut World, trainers: &[Entity]) {
    let mut stages = begin(world, trainers);
    trace_stage(world, &mut stages);
    gradient_stage(world, &mut stages);
    simplify_stage(world);
    plan_stage(world, &mut stages);
    finish(world, stages);
}

/// Runs one step of every trainer that did not fail, in creation order where they share variables; marks who fails.
pub fn run_step(world: &mut World) {
    let kept = world.get_resource_mut::<StepJobs>().map(|mut kept| std::mem::take(&mut *kept));
    let StepJobs { mut running, trainers: mut places, mut jobs } = kept.unwrap_or_default();
    with_query::<(Entity, &CreationIndex), Running, _>(world, |query, world| {
        running.extend(query.iter(world).map(|(trainer, index)| (*index, trainer)));
    });
    running.sort_unstable();
    for (_, trainer) in running.drain(..) {
        match next_job(world, trainer) {
            Ok(job) => {
                places.push(trainer);
                jobs.push(job);
            }
            Err(error) => fail(world, trainer, error),
        }
    }
    execute(world, &mut jobs);
    for (trainer, mut job) in places.drain(..).zip(jobs.drain(..)) {
        let outcome = std::mem::replace(&mut job.outcome, Ok(()));
        let loss = outcome.and_then(|()| loss_value(&job.outputs));
        keep_job(world, trainer, job);
        match loss {
            Ok(loss) => {
                if let Some(mut trainer) = world.get_mut::<Trainer>(trainer) {
                    trainer.count_step(loss);
                }
            }
            Err(error) => fail(world, trainer, error),
        }
    }
    world.insert_resource(StepJobs { running, trainers: places, jobs });
}

/// Runs so many steps of one trainer; marks it where one fails. The job begins once for as long as the arguments keep
/// their specs: nothing else can touch the variables in between.
pub fn run_steps(world: &mut World, trainer: Entity, count: u64) {
    let mut left = count;
    while left > 0 {
        let ran = next_job(world, trainer).and_then(|mut job| {
            let outcome = run_through(world, trainer, &mut job, &mut left);
            keep_job(world, trainer, job);
            outcome
        });
        if let Err(error) = ran {
            fail(world, trainer, error);
            return;
        }
    }
}

/// Runs steps of a job, until there are none left or the next one has arguments of other specs.
fn run_through(world: &mut World, trainer: Entity, job: &mut Job, left: &mut u64) -> Result<(), Error> {
    let gone = || Error::gone(Kind::Trainer, None);
    let (Some(mut progress), Some(mut feed)) = (
        world.get::<Trainer>(trainer).cloned(),
        world.get_mut::<Feed>(trainer).map(|mut feed| std::mem::replace(&mut feed.source, Box::new(Taken))),
    ) else {
        return Err(gone());
    };
    let outcome = execute_repeatedly(world, job, |inputs, outputs| {
        progress.count_step(loss_value(outputs)?);
        *left -= 1;
        if *left > 0 {
            refill(&mut *feed, progress.step_count, inputs)?;
        }
        Ok(*left > 0)
    });
    if let Some(mut trainer) = world.get_mut::<Trainer>(trainer) {
        *trainer = progress;
    }
    if let Some(mut kept) = world.get_mut::<Feed>(trainer) {
        kept.source = feed;
    }
    outcome
}

/// The next step of a trainer, prepared anew where its arguments changed their specs or its models their variables.
fn next_job(world: &mut World, trainer: Entity) -> Result<KeptJob, Error> {
    // The tensors of the last step may be filled again.
    let inputs_of = |mut prepared: Mut<'_, Prepared>| Some(std::mem::take(&mut prepared.job.as_mut()?.inputs));
    let mut inputs = world.get_mut::<Prepared>(trainer).and_then(inputs_of).unwrap_or_default();
    refill_next(world, trainer, &mut inputs)?;
    ensure_prepared(world, trainer, &inputs)?;
    let gone = || Error::gone(Kind::Trainer, None);
    let mut prepared = world.get_mut::<Prepared>(trainer).ok_or_else(gone)?;
    let concrete = prepared.concrete;
    let mut job = prepared.job.take().ok_or_else(gone)?;
    job.inputs = inputs;
    if world.get::<Plans>(concrete).is_none() || !job.instance.takes(&job.inputs) {
        ensure_plan(world, concrete)?;
        job.instance = instance_for(world, concrete, &job.inputs)?;
    }
    Ok(job)
}

fn keep_job(world: &mut World, trainer: Entity, job: KeptJob) {
    if let Some(mut prepared) = world.get_mut::<Prepared>(trainer) {
        prepared.job = Some(job);
    }
}

/// The concrete that is the next step of a trainer, prepared if it is not yet.
pub fn step_concrete(world: &mut World, trainer: Entity) -> Result<Entity, Error> {
    let inputs = next_leaves(world, trainer)?;
    ensure_prepared(world, trainer, &inputs)?;
    Ok(world.get::<Prepared>(trainer).ok_or_else(|| Error::gone(Kind::Trainer, None))?.concrete)
}

/// Prepares a trainer where what it has does not fit its next step.
fn ensure_prepared(world: &mut World, trainer: Entity, inputs: &[Tensor]) -> Result<(), Error> {
    if !is_current(world, trainer, inputs) {
        // Where what it ran on is gone, and nothing took its place, that is the error to tell.
        let stale = check_prepared(world, trainer);
        prepare(world, &[trainer]);
        if let Some(failed) = world.get::<Failed<Error>>(trainer) {
            let failed = failed.0.clone();
            return stale.and(Err(failed));
        }
    }
    Ok(())
}

/// Checks that the variables that a trainer ran on are alive.
fn check_prepared(world: &World, trainer: Entity) -> Result<(), Error> {
    let Some(prepared) = world.get::<Prepared>(trainer) else { return Ok(()) };
    let Some(job) = &prepared.job else { return Ok(()) };
    check_variables(world, &job.instance.skeleton, &job.variables)
}

/// Whether what a trainer has prepared fits its next step. A dead model counts as fitting: the check of weak references
/// then says what is gone.
fn is_current(world: &World, trainer: Entity, inputs: &[Tensor]) -> bool {
    let (Some(prepared), Some(feed)) = (world.get::<Prepared>(trainer), world.get::<Feed>(trainer)) else {
        return false;
    };
    if world.get::<FuncGraph>(prepared.concrete).is_none() {
        return false;
    }
    let versions = feed.models.iter().zip(&prepared.versions);
    let mut versions = versions.filter_map(|(model, version)| Some((world.get::<ModelVersion>(*model)?, version)));
    let fits = prepared.job.as_ref().is_some_and(|job| {
        let specs = &job.instance.skeleton.graph.inputs;
        inputs.len() == specs.len() && inputs.iter().zip(specs).all(|(input, spec)| is_of(input, spec))
    });
    fits && versions.all(|(now, then)| now == then)
}

/// Whether a tensor fits a spec whose dims may be symbols.
fn is_of(input: &Tensor, spec: &TensorSpec) -> bool {
    let fits = |(length, dim): (&usize, &Dim)| dim.known().is_none_or(|known| known == *length);
    input.dtype() == spec.dtype
        && input.shape().len() == spec.rank()
        && input.shape().iter().zip(spec.dims.iter()).all(fits)
}

fn loss_value(outputs: &[Tensor]) -> Result<f64, Error> {
    let loss = outputs.first().ok_or_else(|| Error::invalid("a loss function returned no loss"))?;
    Ok(loss.to_scalar()?.to_f64())
}

fn fail(world: &mut World, trainer: Entity, error: Error) {
    if let Ok(mut trainer) = world.get_entity_mut(trainer) {
        trainer.insert(Failed(error));
    }
}
