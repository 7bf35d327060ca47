//! Calls that were made lately, ready to be made again.
//!
//! A call whose arguments have the structure, specs and models of an earlier one runs that one's job: no key, no look-up of its
//! concrete, plan or variables, and no buffers but those of its results.

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{DerivedFunctions, ModelVersion};

use super::many::forget_crowd;
use super::{concrete_for, new_job};
use crate::error::Error;
use crate::execute::{Job, bind_variables};
use crate::structure::{Flattened, Known, Models, Recognized, Structure};

/// How many calls a function keeps ready: one for each shape or structure that it is called with in turns.
const CALL_COUNT_MAX: usize = 8;

/// The calls that a function answered lately, the last one first. Written and read at each call; cleared where a concrete, its
/// plan or an input signature goes.
#[derive(Component, Debug, Default)]
pub struct WarmCalls(Vec<WarmCall>);

/// A call that can be made again.
#[derive(Debug)]
pub(super) struct WarmCall {
    known: Known,
    concrete: Entity,
    /// Its run.
    pub job: Job,
}

impl WarmCall {
    /// The models of the call.
    pub fn models(&self) -> Models {
        self.known.models.iter().map(|(model, _)| *model).collect()
    }
}

/// Takes `arguments` apart, makes the call ready where it is not, and lets `run` make it.
pub(super) fn with_call<A: Structure, T>(
    world: &mut World,
    function: Entity,
    arguments: A,
    run: impl FnOnce(&mut World, &mut WarmCall) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut calls = match world.get_mut::<WarmCalls>(function) {
        Some(mut warm) => std::mem::take(&mut warm.0),
        None => Vec::new(),
    };
    let outcome = ready(world, function, &mut calls, arguments).and_then(|()| {
        let call = &mut calls[0];
        let outcome = run(world, call);
        call.job.inputs.clear();
        outcome
    });
    if let Some(mut warm) = world.get_mut::<WarmCalls>(function) {
        warm.0 = calls;
    } else if let Ok(mut function) = world.get_entity_mut(function) {
        function.insert(WarmCalls(calls));
    }
    outcome
}

/// Makes the call with these arguments the first of `calls`, with its inputs in place.
fn ready<A: Structure>(
    world: &mut World,
    function: Entity,
    calls: &mut Vec<WarmCall>,
    arguments: A,
) -> Result<(), Error> {
    let nothing = Known::default();
    let (known, leaves) = match calls.first_mut() {
        Some(call) => (&call.known, std::mem::take(&mut call.job.inputs)),
        None => (&nothing, Vec::new()),
    };
    let Recognized { tokens, leaves, models, are_models_known } =
        Flattened::recognize(world, known, leaves, arguments)?;
    let place = match &tokens {
        None if calls.is_empty() => None,
        None => Some(0),
        Some(tokens) => calls.iter().position(|call| call.known.tokens == *tokens),
    };
    if let Some(place) = place {
        calls[..=place].rotate_right(1);
        let call = &mut calls[0];
        if !are_models_known {
            call.job.variables = bind_variables(world, call.concrete, &call.job.instance.skeleton, &models)?;
            call.known.models = ModelVersion::of_each(world, &models);
        }
        call.job.inputs = leaves;
        return Ok(());
    }
    let tokens = tokens.unwrap_or_default();
    let concrete = concrete_for(world, function, &tokens, &models)?;
    let job = new_job(world, concrete, leaves, &models)?;
    let known = Known { models: ModelVersion::of_each(world, &models), tokens };
    calls.truncate(CALL_COUNT_MAX - 1);
    calls.insert(0, WarmCall { known, concrete, job });
    Ok(())
}

/// Forgets the calls that ran a concrete which is gone, or whose plan is.
pub(crate) fn forget_calls_of(world: &mut World, function: Entity, concrete: Entity) {
    if let Some(mut warm) = world.get_mut::<WarmCalls>(function) {
        warm.0.retain(|call| call.concrete != concrete);
    }
    forget_crowd(world, function, Some(concrete));
}

/// Forgets all calls of a function and of those derived from it: they may mean other concretes now.
pub fn forget_calls(world: &mut World, function: Entity) {
    let mut open = vec![function];
    while let Some(function) = open.pop() {
        if let Some(mut warm) = world.get_mut::<WarmCalls>(function) {
            warm.0.clear();
        }
        forget_crowd(world, function, None);
        open.extend(world.get::<DerivedFunctions>(function).into_iter().flat_map(|derived| derived.as_slice()));
    }
}
