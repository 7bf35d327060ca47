//! The check of weak references, and the words for what is gone.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{FuncGraph, FunctionName, Kind, Stored, WeakReference, WeakSource};
use std::sync::Arc;

use crate::error::{Error, Stale};
use crate::names;
use crate::plan::{Skeleton, function_name};

/// Checks that every function whose body `name` runs is alive.
pub fn check_functions(world: &World, name: &Arc<str>, functions: &[Entity]) -> Result<(), Error> {
    let is_dead = |function: &&Entity| world.get::<FunctionName>(**function).is_none();
    let Some(dead) = functions.iter().find(is_dead) else { return Ok(()) };
    Err(Error::Stale(Arc::new(Stale {
        function: name.clone(),
        reads: None,
        kind: Kind::Function,
        path: function_name(world, *dead),
        model: None,
        origin: None,
        is_role: false,
    })))
}

/// Checks that every variable and function that `concrete` captured is alive: what a concrete without a plan is asked first, since a plan
/// goes with the variables it read.
pub fn check_captured(world: &World, concrete: Entity) -> Result<(), Error> {
    let Some(graph) = world.get::<FuncGraph>(concrete) else { return Ok(()) };
    check_functions(world, &graph.name, &graph.functions)?;
    for weak in &graph.weak {
        if let WeakSource::Captured(variable) = weak.source {
            check_variable(world, &graph.name, weak, variable)?;
        }
    }
    Ok(())
}

/// Checks that the variable of one weak reference of `function` is alive.
pub fn check_variable(world: &World, function: &Arc<str>, weak: &WeakReference, variable: Entity) -> Result<(), Error> {
    match world.get::<Stored>(variable) {
        Some(_) => Ok(()),
        None => Err(stale_variable(world, function, weak, variable).into()),
    }
}

/// Why a call cannot use a variable: it is gone, or what it holds is of another spec now.
pub(super) fn unusable_variable(world: &World, function: &Arc<str>, weak: &WeakReference, variable: Entity) -> Error {
    let Some(stored) = world.get::<Stored>(variable) else {
        return stale_variable(world, function, weak, variable).into();
    };
    let (given, wanted, path) = (stored.0.spec(), &weak.spec, &weak.path);
    Error::invalid(format!("function `{function}` takes `{path}` as {wanted}, but it holds {given} now"))
}

/// Checks that the variables that a plan would run on are alive.
pub fn check_variables(world: &World, skeleton: &Skeleton, variables: &[Entity]) -> Result<(), Error> {
    let mut pairs = skeleton.weak().iter().zip(variables);
    pairs.try_for_each(|(weak, variable)| check_variable(world, skeleton.name(), weak, *variable))
}

/// What is said of a variable that a function reads and that is gone.
pub(super) fn stale_variable(world: &World, function: &Arc<str>, weak: &WeakReference, variable: Entity) -> Arc<Stale> {
    Arc::new(Stale {
        function: function.clone(),
        reads: (weak.function != *function).then(|| weak.function.clone()),
        kind: Kind::Variable,
        path: names::remembered(world, variable).unwrap_or_else(|| weak.path.clone()),
        model: names::owner_remembered(world, variable),
        origin: Some(weak.origin),
        is_role: matches!(weak.source, WeakSource::Role { .. }),
    })
}
