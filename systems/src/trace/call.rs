//! Calling a function inside the trace of another one.

use bevy_ecs::entity::Entity;
use entigrad_components::{
    Attributes, CacheKey, DType, Dim, Function, Kind, TensorSpec, Token, WeakReference, WeakSource,
};
use std::sync::Arc;

use super::{Snapshot, TRACE_DEPTH_MAX, Trace, Value, produce};
use crate::error::{Error, TraceCause};
use crate::graph::{Body, Graph};
use crate::ops;
use crate::structure::{Structure, TracedParts, Untraced};

impl<'t> Trace<'t> {
    /// Calls a graph function on traced arguments. The inner function is traced at most once for a key, whoever calls it;
    /// what it reads and writes, this one does too.
    ///
    /// Where the inner function cannot be traced, that is recorded, and a stand-in comes back.
    #[track_caller]
    pub fn call<A: Structure, R: Structure>(self, function: Function<A, R>, arguments: A::Traced<'t>) -> R::Traced<'t> {
        let mut parts = Untraced { tokens: Vec::new(), leaves: Vec::new() };
        A::untrace(arguments, &mut parts);
        let outcome = self.check_ours(&parts.leaves);
        let outcome = outcome.and_then(|()| {
            let found = self.inner_graph(function.entity, function.world, &parts.tokens);
            let found = found.and_then(|(graph, key, models)| match graph.depth < TRACE_DEPTH_MAX {
                true => Ok((graph, key, models)),
                false => Err(Error::invalid(format!("functions call each other more than {TRACE_DEPTH_MAX} deep"))),
            });
            found.map_err(|error| match self.fails_again(function.entity, &parts.tokens) {
                true => TraceCause::StandIn,
                false => TraceCause::Inner(Box::new(error)),
            })
        });
        let (graph, key, models) = match outcome {
            Ok(found) => found,
            Err(cause) => {
                self.refuse(cause, &parts.leaves);
                return R::stand_in(self);
            }
        };
        let weak = self.inner_weak(&graph, &models);
        let results = self.emit_call(function.entity, key, &graph, weak.clone(), &parts.leaves);
        let mut results =
            TracedParts { trace: self, tokens: &graph.output_skeleton, leaves: &results, weak: &weak, models: &models };
        R::traced(&mut results).unwrap_or_else(|| {
            let error =
                Error::invalid(format!("function `{}` returns another structure than was asked for", graph.name));
            self.refuse(TraceCause::Inner(Box::new(error)), &[]);
            R::stand_in(self)
        })
    }

    /// Whether the same call failed before in this trace; the next time it did.
    fn fails_again(self, function: Entity, tokens: &[Token]) -> bool {
        !self.0.failed_calls.borrow_mut().insert((function, CacheKey(tokens.into())))
    }

    /// The graph of the concrete that an inner call needs; its key; the outer model argument of each of its own.
    fn inner_graph(
        self,
        function: Entity,
        world: bevy_ecs::world::WorldId,
        tokens: &[Token],
    ) -> Result<(Arc<Graph>, CacheKey, Vec<u32>), Error> {
        let Some(snapshot) = &self.0.snapshot else {
            return Err(Error::invalid("functions cannot be called in gradient rules and optimisers"));
        };
        if world != snapshot.world.id() {
            return Err(Error::OtherWorld { kind: Kind::Function });
        }
        let mut models: Vec<u32> = Vec::new();
        let renumbered = tokens.iter().map(|token| match token {
            Token::Model(outer, signature) => {
                let place = models.iter().position(|known| known == outer).unwrap_or_else(|| {
                    models.push(*outer);
                    models.len() - 1
                });
                Token::Model(place as u32, signature.clone())
            }
            other => other.clone(),
        });
        let key = CacheKey(renumbered.collect());
        let entity = |outer: &u32| snapshot.models.get(*outer as usize).copied().unwrap_or(Entity::PLACEHOLDER);
        let inner = Snapshot { models: models.iter().map(entity).collect(), ..snapshot.clone() };
        let graph = produce(&inner, self.0.table, function, &key)?;
        Ok((graph, key, models))
    }

    /// The place here of each weak reference of an inner graph.
    fn inner_weak(self, inner: &Graph, models: &[u32]) -> Vec<u32> {
        let mut places: Vec<u32> = Vec::with_capacity(inner.weak.len());
        for weak in &inner.weak {
            let source = match &weak.source {
                WeakSource::Captured(entity) => WeakSource::Captured(*entity),
                WeakSource::Role { argument, path } => {
                    WeakSource::Role { argument: models[*argument as usize], path: path.clone() }
                }
                WeakSource::State { of, name, initial } => {
                    WeakSource::State { of: of.map(|of| places[of as usize]), name, initial: *initial }
                }
            };
            let place = self.weak_place(WeakReference { source, is_written: false, ..weak.clone() });
            self.0.graph.borrow_mut().weak[place as usize].is_written |= weak.is_written;
            places.push(place);
        }
        places
    }

    #[track_caller]
    fn emit_call(
        self,
        function: Entity,
        key: CacheKey,
        graph: &Arc<Graph>,
        weak: Vec<u32>,
        operands: &[Value<'t>],
    ) -> Vec<Value<'t>> {
        let body = {
            let outer = &mut *self.0.graph.borrow_mut();
            outer.depth = outer.depth.max(graph.depth + 1);
            outer.takes_gradients |= graph.takes_gradients;
            let bodies = &mut outer.bodies;
            bodies.push(Body { function, key, graph: graph.clone(), weak: weak.clone() });
            bodies.len() - 1
        };
        let call = self.push(
            ops::CALL,
            operands,
            Attributes::Index(body as u32),
            TensorSpec::new(DType::Bool, [Dim::Known(0)]),
        );
        let results = graph.outputs.iter().enumerate().map(|(place, output)| {
            let spec = graph.node(*output).spec.clone();
            self.push(ops::RESULT, &[call], Attributes::Index(place as u32), spec)
        });
        let results = results.collect();
        // What the body assigned, later reads find by reading again; flattening connects them to the assigned values.
        for (inner, outer) in graph.weak.iter().zip(weak) {
            if inner.is_written {
                self.0.current.borrow_mut()[outer as usize] = None;
            }
        }
        results
    }
}
