//! The trace: where the ops that a body writes are recorded, and the pass that runs bodies.
//!
//! *Invariants*: a trace sees a read-only world; nothing it does stays behind unless it is committed; errors are recorded
//! where they happen and returned once, the first cause first, so that operators stay operators.

mod call;
mod claims;
mod compositions;
mod model;
mod operators;
pub(crate) mod pass;
mod products;
mod value;
mod weak;

pub use claims::{Claims, Frame, Snapshot, TRACE_DEPTH_MAX};
pub use model::TracedModel;
pub use operators::Operand;
pub use pass::{Request, trace};
pub use value::Value;
pub use weak::variable_path;

pub(crate) use claims::produce;
pub(crate) use pass::commit_draft;

use bevy_ecs::entity::Entity;
use entigrad_components::function::Constraint;
use entigrad_components::{
    Attributes, CacheKey, DType, Dim, Dims, ModelSignature, OpId, Origin, Scalar, Tensor, TensorSpec, Token,
    VariableId, WeakSource,
};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::error::{OpError, TraceCause, TraceError};
use crate::graph::{Graph, Node, NodeId};
use crate::ops::{self, Infer, OpTable};

/// A trace being written: what bodies, gradient rules and optimisers emit ops into.
#[derive(Clone, Copy)]
pub struct Trace<'t>(&'t TraceState<'t>);

/// What a trace is made of. Covariant in its lifetime, so that `Trace` and `Value` need only one.
pub struct TraceState<'w> {
    table: &'w OpTable,
    snapshot: Option<Snapshot<'w>>,
    models: Vec<TracedModelInfo>,
    graph: RefCell<Graph>,
    errors: RefCell<Vec<TraceError>>,
    weak_places: RefCell<HashMap<WeakSource, u32>>,
    /// The value that each variable has at this point of the program.
    current: RefCell<Vec<Option<NodeId>>>,
    /// The captures of each storage.
    capture_places: RefCell<HashMap<usize, SmallVec<[usize; 1]>>>,
    /// The calls that could not be traced: why is recorded once.
    failed_calls: RefCell<HashSet<(Entity, CacheKey)>>,
    /// The refused values and all that was computed from them.
    tainted: RefCell<HashSet<NodeId>>,
    /// The place that ops are said to be written at, where a composition or a rule emits them.
    origin: Cell<Option<Origin>>,
}

/// A model argument of the function being traced.
struct TracedModelInfo {
    signature: Arc<ModelSignature>,
    /// The name of the model that asked for this trace; it serves others too.
    name: Arc<str>,
}

impl<'w> TraceState<'w> {
    /// A trace that goes on writing `graph`, without a world: for gradient rules and optimisers.
    pub fn resume(table: &'w OpTable, graph: Graph) -> Self {
        let weak = graph.weak.iter().enumerate();
        let weak_places = weak.map(|(place, weak)| (weak.source.clone(), place as u32)).collect();
        let mut current = vec![None; graph.weak.len()];
        for (id, node) in graph.nodes.iter().enumerate() {
            if let (ops::READ | ops::ASSIGN, Some(place)) = (node.op, ops::index_of(&node.attributes)) {
                current[place] = Some(node.operands.first().copied().unwrap_or(NodeId(id as u32)));
            }
        }
        Self {
            table,
            snapshot: None,
            models: Vec::new(),
            graph: RefCell::new(graph),
            errors: RefCell::default(),
            weak_places: RefCell::new(weak_places),
            current: RefCell::new(current),
            capture_places: RefCell::default(),
            failed_calls: RefCell::default(),
            tainted: RefCell::default(),
            origin: Cell::new(None),
        }
    }

    /// A new trace of a function for a key.
    pub fn new(table: &'w OpTable, snapshot: Snapshot<'w>, graph: Graph) -> Self {
        let models = model_tokens(&graph.key.0);
        let name_of = |argument: usize| snapshot.model_name(argument).unwrap_or_else(|| "?".into());
        let models = models.into_iter().enumerate();
        let models =
            models.map(|(argument, signature)| TracedModelInfo { signature, name: name_of(argument) }).collect();
        Self { snapshot: Some(snapshot), models, ..Self::resume(table, graph) }
    }

    /// The trace.
    pub fn trace(&self) -> Trace<'_> {
        Trace(self)
    }

    /// The graph and what was recorded as wrong with it.
    pub fn finish(self) -> (Graph, Vec<TraceError>) {
        (self.graph.into_inner(), self.errors.into_inner())
    }
}

/// The signature of each model argument of a key.
fn model_tokens(tokens: &[Token]) -> Vec<Arc<ModelSignature>> {
    let mut models: Vec<Arc<ModelSignature>> = Vec::new();
    for token in tokens {
        if let Token::Model(argument, signature) = token
            && *argument as usize == models.len()
        {
            models.push(signature.clone());
        }
    }
    models
}

impl<'t> Trace<'t> {
    /// The name of the function being traced.
    pub fn name(self) -> Arc<str> {
        self.0.graph.borrow().name.clone()
    }

    /// A tensor from outside. It is held as long as the concrete is; the same tensor is captured once.
    #[track_caller]
    pub fn constant(self, tensor: impl Into<Tensor>) -> Value<'t> {
        let tensor = tensor.into();
        let spec = tensor.spec();
        let place = {
            let captures = &mut self.0.graph.borrow_mut().captures;
            let mut places = self.0.capture_places.borrow_mut();
            let of_storage = places.entry(tensor.storage_id()).or_default();
            let known = of_storage.iter().copied().find(|place| captures[*place].is_same(&tensor));
            known.unwrap_or_else(|| {
                of_storage.push(captures.len());
                captures.push(tensor);
                captures.len() - 1
            })
        };
        self.emit_source(ops::CAPTURE, Attributes::Index(place as u32), spec)
    }

    /// A number as a scalar of the given dtype, written into the graph.
    #[track_caller]
    pub fn number(self, number: f64, dtype: DType) -> Value<'t> {
        let number = Scalar::from_f64(number, dtype);
        self.emit_source(ops::NUMBER, Attributes::Number(number), TensorSpec::scalar(dtype))
    }

    /// 0, 1, 2, … as i32, along one axis.
    #[track_caller]
    pub fn iota(self, dims: impl Into<Dims>) -> Value<'t> {
        self.emit(ops::IOTA, &[], Attributes::Dims(dims.into()))
    }

    /// A dim as a scalar of the given dtype: a number where it is known, else what it is at the call.
    #[track_caller]
    pub fn length(self, dim: &Dim, dtype: DType) -> Value<'t> {
        match dim.known() {
            Some(known) => self.number(known as f64, dtype),
            None => {
                let attributes = Attributes::Length(dim.clone(), dtype);
                self.emit_source(ops::LENGTH, attributes, TensorSpec::scalar(dtype))
            }
        }
    }

    /// The value of a variable at this point of the program. The trace holds the variable weakly.
    #[track_caller]
    pub fn read(self, variable: VariableId) -> Value<'t> {
        match self.captured(variable) {
            Ok(place) => self.read_weak(place),
            Err(cause) => self.refuse(cause, &[]),
        }
    }

    /// Gives a variable a new value of its spec whenever the function runs, in program order.
    #[track_caller]
    pub fn assign(self, variable: VariableId, value: Value<'t>) {
        match self.captured(variable) {
            Ok(place) => self.assign_weak(place, value),
            Err(cause) => drop(self.refuse(cause, &[value])),
        }
    }

    /// Emits an op of the table: for rows without a method, such as a user's own.
    #[track_caller]
    pub fn emit(self, op: OpId, operands: &[Value<'t>], attributes: Attributes) -> Value<'t> {
        match self.infer(op, operands, &attributes) {
            Ok(spec) => self.push(op, operands, attributes, spec),
            Err(cause) => self.refuse(cause, operands),
        }
    }

    /// Emits an op whose spec no rule infers.
    #[track_caller]
    pub(crate) fn emit_source(self, op: OpId, attributes: Attributes, spec: TensorSpec) -> Value<'t> {
        self.push(op, &[], attributes, spec)
    }

    /// Runs with every op said to be written at `origin`, unless an outer one says so already.
    pub(crate) fn at<R>(self, origin: Origin, emit: impl FnOnce() -> R) -> R {
        let outer = self.0.origin.get();
        self.0.origin.set(outer.or(Some(origin)));
        let result = emit();
        self.0.origin.set(outer);
        result
    }

    #[track_caller]
    fn origin(self) -> Origin {
        // Not `unwrap_or_else`: a closure would be the caller then.
        match self.0.origin.get() {
            Some(origin) => origin,
            None => Origin::here(),
        }
    }

    #[track_caller]
    fn push(self, op: OpId, operands: &[Value<'t>], attributes: Attributes, spec: TensorSpec) -> Value<'t> {
        let is_tainted = self.is_tainted(operands);
        let operands = operands.iter().map(|operand| operand.id).collect();
        let origin = self.origin();
        let id = self.0.graph.borrow_mut().push(Node { op, spec, operands, attributes, origin });
        if is_tainted {
            self.0.tainted.borrow_mut().insert(id);
        }
        Value { trace: self, id }
    }

    /// The spec that a row gives for these operands, with what must agree noted.
    #[track_caller]
    fn infer(self, op: OpId, operands: &[Value<'t>], attributes: &Attributes) -> Result<TensorSpec, TraceCause> {
        self.check_ours(operands)?;
        let mut agreements = Vec::new();
        let outcome = {
            let graph = self.0.graph.borrow();
            let specs: SmallVec<[&TensorSpec; 4]> =
                operands.iter().map(|operand| &graph.node(operand.id).spec).collect();
            let refused = |cause| {
                let operands = specs.iter().map(|spec| (*spec).clone()).collect();
                TraceCause::Op { op: self.0.table.name(op), operands, cause }
            };
            match self.0.table.row(op) {
                None => Err(refused(OpError::Malformed("there is no such row in the op table"))),
                Some(row) if row.arity.is_some_and(|arity| arity != operands.len()) => {
                    Err(refused(OpError::Malformed("the number of operands is not the row's")))
                }
                Some(row) => {
                    let mut infer = Infer { operands: &specs, attributes, agreements: &mut agreements };
                    (row.infer)(&mut infer).map_err(refused)
                }
            }
        };
        if !agreements.is_empty() && outcome.is_ok() {
            let (op, origin) = (self.0.table.name(op), self.origin());
            let constraints = &mut self.0.graph.borrow_mut().constraints;
            for (left, right) in agreements {
                let constraint = Constraint { left, right, op, origin };
                if !constraints.iter().any(|known| (&known.left, &known.right) == (&constraint.left, &constraint.right))
                {
                    constraints.push(constraint);
                }
            }
        }
        outcome
    }

    /// Records an error.
    #[track_caller]
    fn record(self, cause: TraceCause) {
        let origin = self.origin();
        self.0.errors.borrow_mut().push(TraceError { origin, cause });
    }

    /// Records why an op is refused, unless that follows from an operand that was refused; gives a stand-in for its value,
    /// which answers `shape()`.
    #[track_caller]
    pub(crate) fn refuse(self, cause: TraceCause, operands: &[Value<'t>]) -> Value<'t> {
        if !self.is_tainted(operands) && !matches!(cause, TraceCause::StandIn) {
            self.record(cause);
        }
        let ours = operands.iter().find(|operand| std::ptr::eq(operand.trace.0, self.0));
        self.poison(ours.copied())
    }

    /// A stand-in for a refused value, of the spec of another one.
    #[track_caller]
    pub(crate) fn poison(self, like: Option<Value<'t>>) -> Value<'t> {
        let spec = like.map_or_else(|| TensorSpec::scalar(DType::F32), |like| like.spec());
        let value = self.push(ops::POISON, &[], Attributes::None, spec);
        self.0.tainted.borrow_mut().insert(value.id);
        value
    }

    /// Checks that values belong to this trace.
    fn check_ours(self, values: &[Value<'t>]) -> Result<(), TraceCause> {
        let foreign = values.iter().find(|value| !std::ptr::eq(value.trace.0, self.0));
        match foreign {
            Some(foreign) => Err(TraceCause::ForeignValue { theirs: foreign.trace.name(), ours: self.name() }),
            None => Ok(()),
        }
    }

    /// How many errors are recorded.
    pub(crate) fn error_count(self) -> usize {
        self.0.errors.borrow().len()
    }

    /// The first error recorded after so many.
    pub(crate) fn error_after(self, count: usize) -> Option<TraceError> {
        self.0.errors.borrow().get(count).cloned()
    }

    fn is_tainted(self, operands: &[Value<'t>]) -> bool {
        let tainted = self.0.tainted.borrow();
        !tainted.is_empty() && operands.iter().any(|operand| tainted.contains(&operand.id))
    }
}
