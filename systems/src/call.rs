//! A call: from a function and its arguments over a concrete, a plan and its variables to results.
//!
//! *Invariant*: once a key is planned and bound, a call is a look-up, the check of weak references, and the program: no
//! schedule, no request.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{FunctionName, Kind, OutputSkeleton, Tensor, Token};
use std::sync::Arc;

use crate::error::Error;
use crate::execute::{Job, bind_variables, check_captured, execute_one};
use crate::function::{Body, cached_concrete, make_key};
use crate::gradient::{self, gradient};
use crate::names;
use crate::plan::{Plans, instance_for, plan};
use crate::structure::{Models, Parts};
use crate::trace;
use crate::training::simplify_stage;

/// What a call gave: the leaves of the result, their structure, and the variables that it ran on.
#[derive(Debug)]
pub struct Called {
    /// The leaves.
    pub leaves: Vec<Tensor>,
    /// The skeleton.
    pub skeleton: OutputSkeleton,
    /// The models of the call.
    pub models: Models,
    /// The variable of each weak reference.
    pub variables: Arc<[Entity]>,
}

/// Calls `function` with arguments taken apart.
pub fn call(world: &mut World, function: Entity, parts: Parts) -> Result<Called, Error> {
    let concrete = concrete_for(world, function, &parts.tokens, &parts.models)?;
    call_concrete(world, concrete, parts)
}

/// Calls a concrete whose key is that of the arguments.
pub fn call_concrete(world: &mut World, concrete: Entity, parts: Parts) -> Result<Called, Error> {
    ensure_plan(world, concrete)?;
    let instance = instance_for(world, concrete, &parts.leaves)?;
    let variables = bind_variables(world, concrete, &instance.skeleton, &parts.models)?;
    let skeleton = instance.skeleton.graph.output_skeleton.clone();
    let mut job = Job::new(instance, parts.leaves, variables);
    execute_one(world, &mut job)?;
    Ok(Called { leaves: job.outputs, skeleton, models: parts.models, variables: job.variables })
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
