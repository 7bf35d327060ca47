//! Optimisers: graph functions of a value, its gradient and some state, written once.
//!
//! A trainer's step has the update appended to its graph, so that a step is one plan; the optimize pass runs the same update
//! over [`Gradient`] components that a user accumulated.

mod adam;
mod sgd;
mod updates;

pub use adam::Adam;
pub use sgd::Sgd;
pub(crate) use updates::Updates;

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{
    Attributes, CacheKey, CreationIndex, Failed, FunctionName, Gradient, Kind, OwnedStates, Tensor, Token, Variable,
    WeakReference, WeakSource,
};
use std::any::Any;
use std::sync::Arc;

use crate::call::{concrete_for, ensure_plan};
use crate::error::Error;
use crate::execute::{Job, KeptJob, bind_with_state, execute};
use crate::function::Body;
use crate::graph::Graph;
use crate::names;
use crate::ops::{self, OpTable};
use crate::plan::instance_for;
use crate::query::with_query;
use crate::trace::{TraceState, Value};
use entigrad_components::Origin;

/// A rule that changes a variable by its gradient. `update` emits ops into the step's graph; it runs once, when the step is
/// traced. [`Sgd`] is an example to start from.
pub trait Optimizer: Any + Send + Sync {
    /// The standard name.
    fn name(&self) -> &'static str;
    /// The settings as numbers: optimisers of one type and equal settings share their graphs.
    fn settings(&self) -> Vec<f64>;
    /// What is wrong with the settings, if anything.
    fn check(&self) -> Result<(), Error>;
    /// The state that it keeps.
    fn states(&self) -> Vec<StateSpec>;
    /// One update, as ops.
    fn update<'t>(&self, update: Update<'_, 't>) -> Updated<'t>;
}

/// A piece of state that an optimiser keeps.
#[derive(Clone, Copy, Debug)]
pub struct StateSpec {
    /// Its name.
    pub name: &'static str,
    /// What it is filled with when made.
    pub initial: f64,
    /// What it is of.
    pub extent: StateExtent,
}

/// What a piece of state is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateExtent {
    /// A tensor of the variable's spec.
    Variable,
    /// A scalar `f64` for each variable.
    Scalar,
    /// A scalar `f64` that all variables of a trainer share, such as a count of steps: what it becomes follows from itself alone,
    /// and the first variable's update says it. Where [`optimize`] updates variables one by one, each has its own.
    Shared,
}

/// What an update is given.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a, 't> {
    /// The variable's value.
    pub value: Value<'t>,
    /// Its gradient, of the same spec.
    pub gradient: Value<'t>,
    /// The state, in the order of [`Optimizer::states`].
    pub states: &'a [Value<'t>],
}

/// What an update gives.
#[derive(Clone, Debug)]
pub struct Updated<'t> {
    /// The variable's new value.
    pub value: Value<'t>,
    /// The new state, in the order of [`Optimizer::states`].
    pub states: Vec<Value<'t>>,
}

/// Whether two optimisers do the same.
pub fn is_same(left: &dyn Optimizer, right: &dyn Optimizer) -> bool {
    let bits = |optimizer: &dyn Optimizer| optimizer.settings().into_iter().map(f64::to_bits).collect::<Vec<_>>();
    left.type_id() == right.type_id() && left.name() == right.name() && bits(left) == bits(right)
}

/// The graph of one update of a variable that is an argument; its input is the gradient.
pub(crate) fn update_graph(
    table: &OpTable,
    optimizer: &dyn Optimizer,
    name: Arc<str>,
    key: CacheKey,
) -> Result<Graph, Error> {
    let mut graph = Graph::new(name.clone(), key);
    graph.inputs = graph.key.leaf_specs().cloned().collect();
    let Some(spec) = graph.inputs.first().cloned() else {
        return Err(Error::invalid(format!("optimizer `{name}` was given no gradient")));
    };
    let state = TraceState::resume(table, graph);
    let trace = state.trace();
    let gradient = trace.emit_source(ops::INPUT, Attributes::Index(0), spec.clone());
    let place = trace.weak_place(WeakReference {
        source: WeakSource::Role { argument: 0, path: "".into() },
        spec,
        trainable: true,
        path: "the variable".into(),
        function: name.clone(),
        origin: Origin::here(),
        created: 0,
        is_written: false,
    });
    let outcome = Updates::of_variable(trace, optimizer).append(place, gradient.id());
    let (graph, errors) = state.finish();
    let refused = errors.into_iter().next().map(|error| error.to_string());
    match outcome.err().or(refused) {
        None => Ok(graph),
        Some(cause) => Err(Error::Optimizer { function: name, optimizer: optimizer.name(), cause }),
    }
}

/// The optimiser that the optimize system uses for this variable's [`Gradient`]. Written by the user; read by the optimize
/// system.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimizedBy(pub Entity);

/// Spawns an optimiser to be used with [`optimize`].
pub fn spawn_optimizer(world: &mut World, optimizer: impl Optimizer) -> Result<Entity, Error> {
    optimizer.check()?;
    let name = FunctionName(optimizer.name().into());
    Ok(world.spawn((name, Body::Update(Arc::new(optimizer)), OwnedStates::default())).id())
}

/// Updates every variable of `variables` that has a [`Gradient`], and removes the gradient; how many were updated.
///
/// *Reads* [`Gradient`], *writes* the variables and the optimiser's state. What is wrong with a gradient is found before anything
/// is updated; where one update fails while it runs, that gradient stays, and the others are used up.
pub fn optimize(world: &mut World, optimizer: Entity, variables: &[Entity]) -> Result<usize, Error> {
    let gone = || Error::gone(Kind::Function, names::remembered(world, optimizer));
    world.get::<Body>(optimizer).filter(|body| matches!(body, Body::Update(_))).ok_or_else(gone)?;
    // Collect: gradients in creation order.
    let mut gradients: Vec<(CreationIndex, Entity, Tensor)> = Vec::new();
    for variable in variables {
        let Some(gradient) = world.get::<Gradient>(*variable) else { continue };
        let Some(known) = world.get::<Variable>(*variable) else { continue };
        if !gradient.0.fits(&known.spec) {
            let (name, wanted, given) = (&known.name, &known.spec, gradient.0.spec());
            return Err(Error::invalid(format!("the gradient of `{name}` is {given}, and the variable is {wanted}")));
        }
        let index = world.get::<CreationIndex>(*variable).copied().unwrap_or(CreationIndex(0));
        gradients.push((index, *variable, gradient.0.clone()));
    }
    gradients.sort_by_key(|(index, variable, _)| (*index, *variable));
    gradients.dedup_by_key(|(_, variable, _)| *variable);
    let mut jobs = update_jobs(world, optimizer, &gradients)?;
    // Compute and commit.
    execute(world, &mut jobs);
    let mut failed = None;
    for ((_, variable, _), job) in gradients.iter().zip(jobs) {
        match job.outcome {
            Ok(_) => drop(world.entity_mut(*variable).remove::<Gradient>()),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(gradients.len()), Err)
}

fn update_jobs(
    world: &mut World,
    optimizer: Entity,
    gradients: &[(CreationIndex, Entity, Tensor)],
) -> Result<Vec<KeptJob>, Error> {
    let mut jobs = Vec::with_capacity(gradients.len());
    for (_, variable, gradient) in gradients {
        let models = [*variable].into_iter().collect();
        let concrete = concrete_for(world, optimizer, &[Token::Leaf(gradient.spec())], &models)?;
        ensure_plan(world, concrete)?;
        let inputs = vec![gradient.clone()];
        let instance = instance_for(world, concrete, &inputs)?;
        let variables = bind_with_state(world, &instance.skeleton, &[*variable], optimizer)?;
        jobs.push(Box::new(Job::new(instance, inputs, variables)));
    }
    Ok(jobs)
}

/// Every variable that has a gradient, by the optimiser that is to use it.
pub(crate) fn wanted_updates(world: &mut World) -> Vec<(Entity, Vec<Entity>)> {
    type Served = (Entity, &'static OptimizedBy, &'static CreationIndex);
    let mut found: Vec<(CreationIndex, Entity, Entity)> =
        with_query::<Served, bevy_ecs::query::With<Gradient>, _>(world, |query, world| {
            query.iter(world).map(|(variable, by, index)| (*index, by.0, variable)).collect()
        });
    found.retain(|(_, optimizer, _)| world.get::<Failed<Error>>(*optimizer).is_none());
    found.sort_by_key(|(index, ..)| *index);
    let mut wanted: Vec<(Entity, Vec<Entity>)> = Vec::new();
    for (_, optimizer, variable) in found {
        match wanted.iter_mut().find(|(known, _)| *known == optimizer) {
            Some((_, variables)) => variables.push(variable),
            None => wanted.push((optimizer, vec![variable])),
        }
    }
    wanted
}

/// Checks that a setting is finite and at least `least`.
pub(crate) fn check_setting(optimizer: &str, setting: &str, value: f64, least: f64, below: f64) -> Result<(), Error> {
    if value >= least && value < below {
        return Ok(());
    }
    let most = if below == f64::INFINITY { "finite".to_owned() } else { format!("below {below}") };
    Err(Error::invalid(format!("the {setting} of {optimizer} is {value}, and must be at least {least} and {most}")))
}
