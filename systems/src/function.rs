//! Graph functions: their bodies, and how a call's arguments become a key.

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{
    CacheKey, CachedSignature, ConcreteOf, DerivedFrom, DerivedFunctions, FunctionCache, FunctionName, InputSignature,
    Kind, Model, ModelSignature, ModelVersion, Origin, SignatureEntry, TensorSpec, Token, Variable, Variables,
};
use std::sync::Arc;

use crate::error::{Error, spec_list};
use crate::gradient::Derivation;
use crate::names;
use crate::optimize::Optimizer;
use crate::structure::{Structure, TracedParts, Untraced};
use crate::trace::{Trace, Value};

/// What a graph function runs when it is traced. Written where the function is made; read by Trace and Gradient.
#[derive(Component, Clone)]
#[component(immutable)]
pub enum Body {
    /// A closure that the user wrote.
    Closure(Closure),
    /// A graph made from the graph of another function for the same key.
    Derived {
        /// The other function.
        source: Entity,
        /// What is made of it.
        derivation: Derivation,
    },
    /// One update of an optimiser, for a variable that is an argument.
    Update(Arc<dyn Optimizer>),
}

/// A body with its types erased.
#[derive(Clone)]
pub struct Closure {
    /// Runs the body on traced leaves; `None` where the skeleton is of another structure.
    pub run: Arc<RunBody>,
    /// Where the function was made.
    pub origin: Origin,
}

/// The erased form of a body.
pub type RunBody = dyn for<'t> Fn(Trace<'t>, &[Token], &[Value<'t>]) -> Option<Untraced<'t>> + Send + Sync;

impl Closure {
    /// Erases the types of a body.
    #[track_caller]
    pub fn new<A: Structure, R: Structure>(
        body: impl for<'t> Fn(Trace<'t>, A::Traced<'t>) -> R::Traced<'t> + Send + Sync + 'static,
    ) -> Self {
        let run = erase(move |trace, tokens, leaves| erased::<A, R>(&body, trace, tokens, leaves));
        Self { run, origin: Origin::here() }
    }
}

/// Lets the compiler see that a closure takes any lifetime.
fn erase<F>(run: F) -> Arc<RunBody>
where
    F: for<'t> Fn(Trace<'t>, &[Token], &[Value<'t>]) -> Option<Untraced<'t>> + Send + Sync + 'static,
{
    Arc::new(run)
}

fn erased<'t, A: Structure, R: Structure>(
    body: &impl Fn(Trace<'t>, A::Traced<'t>) -> R::Traced<'t>,
    trace: Trace<'t>,
    tokens: &[Token],
    leaves: &[Value<'t>],
) -> Option<Untraced<'t>> {
    let arguments = A::traced(&mut TracedParts { trace, tokens, leaves, weak: &[], models: &[] })?;
    let mut outputs = Untraced { tokens: Vec::new(), leaves: Vec::new() };
    R::untrace(body(trace, arguments), &mut outputs);
    Some(outputs)
}

/// The key of a call: the skeleton of its arguments, under the function's input signature where it has one.
pub fn make_key(world: &World, function: Entity, tokens: &[Token]) -> Result<CacheKey, Error> {
    let Some(name) = world.get::<FunctionName>(function) else {
        return Err(Error::gone(Kind::Function, names::remembered(world, function)));
    };
    let Some(signature) = input_signature(world, function) else { return Ok(CacheKey(tokens.into())) };
    let mut wanted = signature.0.iter();
    let mut fits = true;
    let under_signature = tokens.iter().map(|token| match token {
        Token::Leaf(given) => match wanted.next() {
            Some(spec) if is_of(given, spec) => Token::Leaf(spec.clone()),
            _ => {
                fits = false;
                token.clone()
            }
        },
        other => other.clone(),
    });
    let key = CacheKey(under_signature.collect());
    if fits && wanted.next().is_none() {
        return Ok(key);
    }
    let given = CacheKey(tokens.into());
    let (wanted, given) = (spec_list(&signature.0), spec_list(given.leaf_specs()));
    Err(Error::Arguments { function: name.0.clone(), wanted, given })
}

/// The input signature of a function; a derived one has its source's.
fn input_signature(world: &World, function: Entity) -> Option<&InputSignature> {
    let mut function = function;
    loop {
        if let Some(signature) = world.get::<InputSignature>(function) {
            return Some(signature);
        }
        let Some(Body::Derived { source, .. }) = world.get::<Body>(function) else { return None };
        function = *source;
    }
}

/// Whether a spec fits one whose dims may be symbols.
fn is_of(given: &TensorSpec, wanted: &TensorSpec) -> bool {
    given.dtype == wanted.dtype
        && given.rank() == wanted.rank()
        && given.dims.iter().zip(wanted.dims.iter()).all(|(given, wanted)| wanted.known().is_none() || given == wanted)
}

/// The concrete of a function for a key, where there is one and it lives: a user may have despawned it since the last sweep.
pub fn cached_concrete(world: &World, function: Entity, key: &CacheKey) -> Option<Entity> {
    let concrete = *world.get::<FunctionCache>(function)?.0.get(key)?;
    world.get::<ConcreteOf>(concrete).map(|_| concrete)
}

/// The signature of a model, from its cache where that is of the model's version; `None` where there is no such model.
pub fn model_signature(world: &World, model: Entity) -> Option<Arc<ModelSignature>> {
    world.get::<Model>(model)?;
    let version = ModelVersion::of(world, model);
    let cached = world.get::<CachedSignature>(model);
    if let Some(signature) = cached.and_then(|cached| cached.of_version(version)) {
        return Some(signature);
    }
    let variables = world.get::<Variables>(model).map(Variables::as_slice).unwrap_or_default();
    let entries = variables.iter().filter_map(|variable| world.get::<Variable>(*variable)).map(|variable| {
        SignatureEntry { path: variable.name.clone(), spec: variable.spec.clone(), trainable: variable.trainable }
    });
    let signature = Arc::new(ModelSignature::new(entries.collect()));
    if let Some(cached) = cached {
        cached.keep(version, signature.clone());
    }
    Some(signature)
}

/// The function derived from `source` in this way: found among those it has, or spawned as owned by it.
pub fn derived_function(world: &mut World, source: Entity, derivation: Derivation) -> Result<Entity, Error> {
    let Some(name) = world.get::<FunctionName>(source) else {
        return Err(Error::gone(Kind::Function, names::remembered(world, source)));
    };
    let name = match &derivation {
        Derivation::ValueAndGradient(_) => format!("gradient of {}", name.0),
        Derivation::Step(optimizer) => format!("{} step of {}", optimizer.name(), name.0),
    };
    let known = world.get::<DerivedFunctions>(source).map(DerivedFunctions::as_slice).unwrap_or_default();
    let is_it = |function: &&Entity| matches!(world.get::<Body>(**function), Some(Body::Derived { derivation: known, .. }) if known.is_same(&derivation));
    if let Some(found) = known.iter().find(is_it) {
        return Ok(*found);
    }
    let body = Body::Derived { source, derivation };
    Ok(world.spawn((FunctionName(name.into()), body, DerivedFrom(source))).id())
}
