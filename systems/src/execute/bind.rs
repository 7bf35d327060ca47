//! Finds the variables of a call: captured ones, roles in its models, and state that is made on first use.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::creation::next_creation_index;
use entigrad_components::reference::refer;
use entigrad_components::variable::StateName;
use entigrad_components::{
    Binding, BindingOf, Bindings, ModelVersion, OwnedStates, Scalar, StateOf, States, Stored, Tensor, Variable,
    Variables, VersionedModels, WeakReference, WeakSource,
};
use std::sync::Arc;

use super::stale::stale_variable;
use crate::error::Error;
use crate::plan::Skeleton;
use crate::structure::Models;

/// The variable of each weak reference of a plan, for a call with these models. A binding is kept at the first model, so that
/// only a model's first call looks anything up.
pub fn bind_variables(
    world: &mut World,
    concrete: Entity,
    skeleton: &Skeleton,
    models: &[Entity],
) -> Result<Arc<[Entity]>, Error> {
    if let Some(variables) = known_variables(world, concrete, skeleton, models) {
        return Ok(variables);
    }
    let Some(owner) = models.first().copied() else {
        return Err(Error::invalid(format!("function `{}` reads state that only a trainer keeps", skeleton.name())));
    };
    let variables: Arc<[Entity]> = find_roles(world, skeleton, models)?.into();
    let models = ModelVersion::of_each(world, models);
    let binding = Binding { concrete, models, variables: variables.clone() };
    match outdated(world, concrete, &binding.models) {
        Some(entity) => {
            world.entity_mut(entity).insert(binding);
        }
        None => {
            let others: Models = binding.models.iter().skip(1).map(|(model, _)| *model).collect();
            let entity = world.spawn((binding, BindingOf(owner))).id();
            refer(world, entity, concrete);
            others.into_iter().for_each(|model| refer(world, entity, model));
        }
    }
    Ok(variables)
}

/// The same without a trace of it: for calls that change nothing.
pub fn find_variables(
    world: &World,
    concrete: Entity,
    skeleton: &Skeleton,
    models: &[Entity],
) -> Result<Arc<[Entity]>, Error> {
    match known_variables(world, concrete, skeleton, models) {
        Some(variables) => Ok(variables),
        None => Ok(find_roles(world, skeleton, models)?.into()),
    }
}

/// The variables that need no look-up: all captured, or bound.
fn known_variables(world: &World, concrete: Entity, skeleton: &Skeleton, models: &[Entity]) -> Option<Arc<[Entity]>> {
    skeleton.captured.clone().or_else(|| bound(world, concrete, models))
}

/// The variable of each weak reference, where none is state.
pub fn find_roles(world: &World, skeleton: &Skeleton, models: &[Entity]) -> Result<Vec<Entity>, Error> {
    let found = |weak| find(world, weak, models).ok_or_else(|| missing(skeleton, weak));
    let variables = skeleton.weak().iter().map(found).collect::<Result<Vec<Entity>, Error>>()?;
    check_aliases(skeleton, &variables)?;
    Ok(variables)
}

/// The variable of a weak reference that is no state.
fn find(world: &World, weak: &WeakReference, models: &[Entity]) -> Option<Entity> {
    match &weak.source {
        WeakSource::Captured(entity) => Some(*entity),
        WeakSource::Role { argument, path } => role(world, *models.get(*argument as usize)?, path),
        WeakSource::State { .. } => None,
    }
}

fn missing(skeleton: &Skeleton, weak: &WeakReference) -> Error {
    Error::invalid(format!("function `{}` finds no variable `{}`", skeleton.name(), weak.path))
}

/// The same with state that `keeper` keeps: made where it is not there yet.
pub(crate) fn bind_with_state(
    world: &mut World,
    skeleton: &Skeleton,
    models: &[Entity],
    keeper: Entity,
) -> Result<Arc<[Entity]>, Error> {
    let mut variables: Vec<Entity> = Vec::with_capacity(skeleton.weak().len());
    for weak in skeleton.weak() {
        let found = match &weak.source {
            WeakSource::State { of, name, initial } => {
                let served = of.map(|of| (&skeleton.weak()[of as usize], variables[of as usize]));
                if let Some((served, variable)) = served
                    && world.get_entity(variable).is_err()
                {
                    return Err(stale_variable(world, skeleton.name(), served, variable).into());
                }
                let owner = served.map_or(keeper, |(_, variable)| variable);
                Some(state(world, weak, owner, StateName { name, keeper }, *initial)?)
            }
            WeakSource::Captured(_) | WeakSource::Role { .. } => find(world, weak, models),
        };
        variables.push(found.ok_or_else(|| missing(skeleton, weak))?);
    }
    check_aliases(skeleton, &variables)?;
    Ok(variables.into())
}

fn bindings(world: &World, model: Entity) -> impl Iterator<Item = (Entity, &Binding)> {
    let bindings = world.get::<Bindings>(model).map(Bindings::as_slice).unwrap_or_default();
    bindings.iter().filter_map(|entity| Some((*entity, world.get::<Binding>(*entity)?)))
}

/// The variables of a binding that still holds.
fn bound(world: &World, concrete: Entity, models: &[Entity]) -> Option<Arc<[Entity]>> {
    let holds = |binding: &Binding| {
        binding.concrete == concrete
            && binding.models.len() == models.len()
            && binding
                .models
                .iter()
                .zip(models)
                .all(|((bound, at), model)| bound == model && *at == ModelVersion::of(world, *model))
    };
    let found = bindings(world, *models.first()?).find(|(_, binding)| holds(binding));
    Some(found?.1.variables.clone())
}

/// A binding of the same concrete and models that holds no longer: it is replaced, not added to.
fn outdated(world: &World, concrete: Entity, models: &VersionedModels) -> Option<Entity> {
    let is_same = |binding: &Binding| {
        binding.concrete == concrete
            && binding.models.iter().map(|(model, _)| model).eq(models.iter().map(|(model, _)| model))
    };
    let mut found = bindings(world, models.first()?.0).filter(|(_, binding)| is_same(binding));
    found.next().map(|(entity, _)| entity)
}

/// The variable of a path in a model; a model that is itself a variable stands for it (an optimiser's update).
fn role(world: &World, model: Entity, path: &str) -> Option<Entity> {
    if path.is_empty() {
        return Some(model);
    }
    let variables = world.get::<Variables>(model)?.as_slice();
    let is_it = |entity: &&Entity| world.get::<Variable>(**entity).is_some_and(|variable| *variable.name == *path);
    variables.iter().find(is_it).copied()
}

/// The state of this name that its keeper keeps for a variable or for all, made where there is none.
fn state(
    world: &mut World,
    weak: &WeakReference,
    owner: Entity,
    name: StateName,
    initial: Scalar,
) -> Result<Entity, Error> {
    let known = world.get::<States>(owner).map(States::as_slice).unwrap_or_default();
    if let Some(found) = known.iter().find(|entity| world.get::<StateName>(**entity) == Some(&name)) {
        return Ok(*found);
    }
    let shape: Vec<usize> = weak.spec.dims.iter().filter_map(entigrad_components::Dim::known).collect();
    let value = Tensor::full(&shape, initial)?;
    let keeper = name.keeper;
    let index = next_creation_index(world);
    let entity = world.spawn((name, Stored(value), StateOf(owner), index)).id();
    if let Some(mut owned) = world.get_mut::<OwnedStates>(keeper) {
        owned.0.insert(entity);
    }
    Ok(entity)
}

/// A variable that reaches a function in two ways would be written, or have its gradient taken, as if it were two.
fn check_aliases(skeleton: &Skeleton, variables: &[Entity]) -> Result<(), Error> {
    for (place, variable) in variables.iter().enumerate() {
        let Some(other) = variables[..place].iter().position(|other| other == variable) else { continue };
        let weak = &skeleton.weak()[place];
        let does = if weak.is_written || skeleton.weak()[other].is_written {
            "assigns"
        } else if skeleton.graph.takes_gradients && weak.trainable {
            "takes the gradient of"
        } else {
            continue;
        };
        let (path, function) = (&weak.path, skeleton.name());
        return Err(Error::invalid(format!(
            "function `{function}` {does} `{path}`, which reaches it in two ways: captured and through a model"
        )));
    }
    Ok(())
}
