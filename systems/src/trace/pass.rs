//! The trace pass: requests for concretes become drafts, many in parallel.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{CacheKey, ConcreteOf, FunctionCache, Token, TraceCount};
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::{Claims, Snapshot, TraceState, Value, produce};
use crate::error::Error;
use crate::function::{Closure, cached_concrete};
use crate::graph::{Draft, Graph};
use crate::ops::{self, OpTable};
use crate::parallel;
use crate::structure::{Models, Untraced};
use entigrad_components::Attributes;
use entigrad_components::creation::next_creation_index;

/// A rough guess of what a body takes.
const BODY_NANOSECONDS: usize = 50_000;

/// A concrete that is wanted.
#[derive(Clone, Debug)]
pub struct Request {
    /// The function.
    pub function: Entity,
    /// The key.
    pub key: CacheKey,
    /// The models of the call, for messages.
    pub models: Models,
}

/// Gives the concrete of each request, tracing where there is none yet: each new one gets a [`Draft`].
///
/// *Reads* the whole world, *writes* concretes and function caches. A request that fails leaves nothing behind.
pub fn trace(world: &mut World, requests: &[Request]) -> Vec<Result<Entity, Error>> {
    // One of many that want the same is traced: the first, so that no thread decides whose names an error tells.
    let mut places: HashMap<(Entity, &CacheKey), usize> = HashMap::new();
    let mut missing: Vec<&Request> = Vec::new();
    for request in requests.iter().filter(|request| cached_concrete(world, request.function, &request.key).is_none()) {
        places.entry((request.function, &request.key)).or_insert_with(|| {
            missing.push(request);
            missing.len() - 1
        });
    }
    let graphs = trace_graphs(world, &missing);
    let commit_one = |request: &Request| match cached_concrete(world, request.function, &request.key) {
        Some(concrete) => Ok(concrete),
        None => {
            let graph = graphs[places[&(request.function, &request.key)]].clone()?;
            Ok(commit(world, request.function, &request.key, &graph))
        }
    };
    requests.iter().map(commit_one).collect()
}

/// The compute step: bodies run against a read-only world, in parallel where there are several.
fn trace_graphs(world: &World, requests: &[&Request]) -> Vec<Result<Arc<Graph>, Error>> {
    let claims = Claims::default();
    let table = world.get_resource::<OpTable>().cloned().unwrap_or_default();
    let one = |(root, request): (usize, &&Request)| {
        let snapshot = Snapshot { world, claims: &claims, root, frame: None, models: request.models.clone() };
        produce(&snapshot, &table, request.function, &request.key)
    };
    // A body may take any time, so two are worth two threads; of thousands that want the same, all but one just look.
    parallel::map(requests.iter().enumerate().collect(), requests.len() * BODY_NANOSECONDS, one)
}

/// The commit step: spawns a concrete for `graph` and, before it, for every body it runs that has none.
///
/// The order is that of the graph, not of the threads that traced it. Bodies nest at most as deep as traces may.
fn commit(world: &mut World, function: Entity, key: &CacheKey, graph: &Arc<Graph>) -> Entity {
    let mut seen: HashSet<*const Graph> = HashSet::new();
    for body in &graph.bodies {
        if seen.insert(Arc::as_ptr(&body.graph)) && cached_concrete(world, body.function, &body.key).is_none() {
            commit(world, body.function, &body.key, &body.graph);
        }
    }
    commit_draft(world, function, key.clone(), graph.clone())
}

/// Spawns one concrete with its draft and puts it into its function's cache.
pub(crate) fn commit_draft(world: &mut World, function: Entity, key: CacheKey, graph: Arc<Graph>) -> Entity {
    let index = next_creation_index(world);
    let concrete = world.spawn((ConcreteOf(function), Draft(graph), index)).id();
    if let Some(mut cache) = world.get_mut::<FunctionCache>(function) {
        cache.0.insert(key, concrete);
    }
    if let Some(mut count) = world.get_mut::<TraceCount>(function) {
        count.0 += 1;
    }
    concrete
}

/// Runs a body once and gives its graph, or what went wrong: a recorded error wins over a panic.
pub(super) fn run_body(
    snapshot: &Snapshot<'_>,
    table: &OpTable,
    closure: &Closure,
    name: Arc<str>,
    key: CacheKey,
) -> Result<Arc<Graph>, Error> {
    let mut graph = Graph::new(name.clone(), key.clone());
    graph.inputs = key.leaf_specs().cloned().collect();
    let state = TraceState::new(table, snapshot.clone(), graph);
    let outcome = {
        let trace = state.trace();
        let origin = closure.origin;
        let inputs: Vec<Value<'_>> = trace.at(origin, || {
            let specs = key.leaf_specs().enumerate();
            specs
                .map(|(place, spec)| trace.emit_source(ops::INPUT, Attributes::Index(place as u32), spec.clone()))
                .collect()
        });
        let run = || (closure.run)(trace, &key.0, &inputs).map(|outputs| traced_outputs(&outputs));
        catch_unwind(AssertUnwindSafe(run))
    };
    let (mut graph, errors) = state.finish();
    let function = name;
    if !errors.is_empty() {
        return Err(Error::Trace { function, errors: errors.into() });
    }
    match outcome {
        Ok(Some((tokens, outputs))) => {
            graph.output_skeleton = tokens.into();
            graph.outputs = outputs;
            Ok(Arc::new(graph))
        }
        Ok(None) => Err(Error::invalid(format!("function `{function}` was given arguments of another structure"))),
        Err(panic) => Err(Error::BodyPanicked { function, message: panic_message(&*panic) }),
    }
}

fn traced_outputs(outputs: &Untraced<'_>) -> (Vec<Token>, Vec<crate::graph::NodeId>) {
    (outputs.tokens.clone(), outputs.leaves.iter().map(|value| value.id()).collect())
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> Arc<str> {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it gave no message").into()
}
