//! Calls that change nothing in the world: any number of threads may make them at once.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;

use super::{function_name, result};
use crate::error::Error;
use crate::execute::{Job, execute_shared, find_variables};
use crate::function::{cached_concrete, make_key};
use crate::plan::Plans;
use crate::structure::{Flattened, Parts, Structure};

/// Calls `function`, which was called with arguments like these before and assigns no variable.
pub fn call_shared<A: Structure, R: Structure>(world: &World, function: Entity, arguments: A) -> Result<R, Error> {
    let Parts { tokens, leaves, models } = Flattened::of(world, arguments)?;
    let key = make_key(world, function, &tokens)?;
    let concrete = cached_concrete(world, function, &key);
    let planned = concrete.and_then(|concrete| Some((concrete, world.get::<Plans>(concrete)?)));
    let instance = planned.and_then(|(concrete, plans)| {
        let mut instances = plans.instances.iter().rev();
        Some((concrete, instances.find(|instance| instance.takes(&leaves))?.clone()))
    });
    let Some((concrete, instance)) = instance else {
        if let Some(concrete) = concrete {
            crate::execute::check_captured(world, concrete)?;
        }
        let name = function_name(world, function)?;
        return Err(Error::invalid(format!(
            "function `{name}` has no plan for arguments like these, and a shared call makes none: call it once before"
        )));
    };
    let variables = find_variables(world, concrete, &instance.skeleton, &models)?;
    let mut job = Job::new(instance, leaves, variables);
    execute_shared(world, &mut job)?;
    result(world, &mut job, &models)
}
