//! A call: from a function and its arguments over a concrete, a plan and its variables to results.
//!
//! *Invariant*: once a key is planned and bound, a call is a look-up, the check of weak references, and the program: no
//! schedule, no request. A call like one that was made lately does not even make its key ([`WarmCalls`]).

mod many;
mod shared;
mod warm;

pub use many::{WarmCrowd, call_many};
pub use shared::call_shared;
pub(crate) use warm::forget_calls_of;
pub use warm::{WarmCalls, forget_calls};

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{FunctionName, Kind, Tensor, Token};
use std::sync::Arc;

use crate::error::Error;
use crate::execute::{Job, bind_variables, check_captured, execute_one};
use crate::function::{Body, cached_concrete, make_key};
use crate::gradient::{self, gradient};
use crate::names;
use crate::plan::{Plans, instance_for, plan};
use crate::structure::{Exchanged, Models, Parts, Rebuilt, Structure};
use crate::trace;
use crate::training::simplify_stage;

/// Calls `function`.
pub fn call<A: Structure, R: Structure>(world: &mut World, function: Entity, arguments: A) -> Result<R, Error> {
    warm::with_call(world, function, arguments, |world, call| {
        execute_one(world, &mut call.job)?;
        let models = call.models();
        result(world, &mut call.job, &models)
    })
}

/// Calls `function`; its result goes where the earlier one is, as far as that has the same structure and specs.
pub fn call_into<A: Structure, R: Structure>(
    world: &mut World,
    function: Entity,
    arguments: A,
    earlier: &mut R,
) -> Result<(), Error> {
    warm::with_call(world, function, arguments, |world, call| {
        let models = call.models();
        let job = &mut call.job;
        job.outputs.resize_with(job.instance.program.outputs.len(), Tensor::default);
        let is_lent = exchange(world, job, &models, earlier);
        let outcome = execute_one(world, job);
        if is_lent {
            exchange(world, job, &models, earlier);
        } else if outcome.is_ok() {
            *earlier = result(world, job, &models)?;
        }
        outcome
    })
}

/// Calls a concrete whose key is that of the arguments.
pub fn call_concrete<R: Structure>(world: &mut World, concrete: Entity, parts: Parts) -> Result<R, Error> {
    let (mut job, models) = (new_job(world, concrete, parts.leaves, &parts.models)?, parts.models);
    execute_one(world, &mut job)?;
    result(world, &mut job, &models)
}

/// A job for the plan of a concrete, planned and bound where it is not yet.
fn new_job(world: &mut World, concrete: Entity, leaves: Vec<Tensor>, models: &Models) -> Result<Job, Error> {
    ensure_plan(world, concrete)?;
    let instance = instance_for(world, concrete, &leaves)?;
    let variables = bind_variables(world, concrete, &instance.skeleton, models)?;
    Ok(Job::new(instance, leaves, variables))
}

/// The result of a job that ran, from its leaves, which it gives away.
fn result<R: Structure>(world: &World, job: &mut Job, models: &Models) -> Result<R, Error> {
    rebuilt(world, &job.instance.skeleton.graph.output_skeleton, &mut job.outputs, models, &job.variables)
}

/// A result from its skeleton and its leaves.
fn rebuilt<R: Structure>(
    world: &World,
    tokens: &[Token],
    leaves: &mut Vec<Tensor>,
    models: &[Entity],
    variables: &[Entity],
) -> Result<R, Error> {
    let mut parts = Rebuilt { world: world.id(), tokens, leaves: leaves.drain(..), models, variables };
    let result = R::rebuild(&mut parts);
    let is_whole = parts.is_at_end();
    let other = || Error::invalid("the result is of another structure than was asked for");
    result.filter(|_| is_whole).ok_or_else(other)
}

/// Swaps the leaves of a job's result with those of an earlier one; false where that is of another structure.
fn exchange<R: Structure>(world: &World, job: &mut Job, models: &Models, earlier: &mut R) -> bool {
    let mut parts = Exchanged {
        world: world.id(),
        tokens: &job.instance.skeleton.graph.output_skeleton,
        leaves: job.outputs.iter_mut(),
        models,
        variables: &job.variables,
    };
    earlier.exchange(&mut parts) && parts.is_at_end()
}

/// The concrete of `function` for these arguments: found, or traced, derived and simplified now.
pub fn concrete_for(world: &mut World, function: Entity, tokens: &[Token], models: &Models) -> Result<Entity, Error> {
    let key = make_key(world, function, tokens)?;
    if let Some(concrete) = cached_concrete(world, function, &key) {
        return Ok(concrete);
    }
    // A derived function is made from its source, and that from its own, down to one that has a body.
    let mut chain = vec![function];
    while let Some(Body::Derived { source, .. }) = world.get::<Body>(chain[chain.len() - 1]) {
        chain.push(*source);
    }
    let mut concrete = None;
    for function in chain.into_iter().rev() {
        let outcomes = match concrete {
            None => trace::trace(world, &[trace::Request { function, key: key.clone(), models: models.clone() }]),
            Some(source) => gradient(world, &[gradient::Request { function, key: key.clone(), source }]),
        };
        let outcome = outcomes.into_iter().next().ok_or_else(|| gone(world, function))?;
        if outcome.is_err() {
            // The sources of what cannot be derived are whole functions themselves.
            simplify_stage(world);
        }
        concrete = Some(outcome?);
    }
    simplify_stage(world);
    concrete.ok_or_else(|| gone(world, function))
}

fn gone(world: &World, function: Entity) -> Error {
    Error::gone(Kind::Function, names::remembered(world, function))
}

/// Gives a concrete a plan where it has none.
pub fn ensure_plan(world: &mut World, concrete: Entity) -> Result<(), Error> {
    if world.get::<Plans>(concrete).is_some() {
        return Ok(());
    }
    // A plan goes with the variables that it read, so this is where most calls of a stale function end.
    check_captured(world, concrete)?;
    plan(world, &[concrete]).into_iter().collect()
}

/// The name of a function that lives.
pub fn function_name(world: &World, function: Entity) -> Result<Arc<str>, Error> {
    Ok(world.get::<FunctionName>(function).ok_or_else(|| gone(world, function))?.0.clone())
}
