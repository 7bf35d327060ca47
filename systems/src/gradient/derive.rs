//! What is made of a function's graph: its value and gradient, or a whole training step.

use entigrad_components::{Static, Token};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::reverse::{Cotangent, reverse};
use crate::error::{Error, GradientError};
use crate::graph::{Graph, NodeId, flatten};
use crate::ops::{self, OpTable};
use crate::optimize::{self, Optimizer, Updates};
use crate::trace::pass::panic_message;
use crate::trace::{Trace, TraceState, Value};

/// What is made of a function's graph.
#[derive(Clone)]
pub enum Derivation {
    /// `(result, gradient of the result's first tensor)`.
    ValueAndGradient(Sources),
    /// The result; on the way every trainable variable that was read is updated.
    Step(Arc<dyn Optimizer>),
}

/// What gradients are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// Every trainable variable that the function read.
    Variables,
    /// Every floating point leaf of the arguments.
    Arguments,
}

impl std::fmt::Debug for Derivation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ValueAndGradient(sources) => write!(f, "ValueAndGradient({sources:?})"),
            Self::Step(optimizer) => write!(f, "Step({})", optimizer.name()),
        }
    }
}

impl Derivation {
    /// Whether a function derived in this way can serve where `other` is asked for.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::ValueAndGradient(left), Self::ValueAndGradient(right)) => left == right,
            (Self::Step(left), Self::Step(right)) => optimize::is_same(&**left, &**right),
            (Self::ValueAndGradient(_), Self::Step(_)) | (Self::Step(_), Self::ValueAndGradient(_)) => false,
        }
    }
}

/// The derived graph, not yet simplified. Its name is `name`, its key that of `graph`.
pub fn derive(table: &OpTable, graph: &Arc<Graph>, derivation: &Derivation, name: Arc<str>) -> Result<Graph, Error> {
    let flat = flatten(graph);
    let failed = |cause| Error::Gradient { function: graph.name.clone(), cause };
    let target = target(&flat).map_err(failed)?;
    let state = TraceState::resume(table, (*flat).clone());
    let trace = state.trace();
    let emit = || match derivation {
        Derivation::ValueAndGradient(sources) => {
            value_and_gradient(trace, table, &flat, target, *sources).map_err(failed)
        }
        Derivation::Step(optimizer) => step(trace, table, &flat, target, &**optimizer).map(|()| None),
    };
    // Rules may be a user's own.
    let outcome = catch_unwind(AssertUnwindSafe(emit));
    let (mut derived, errors) = state.finish();
    let panicked = |panic: Box<dyn Any + Send>| failed(GradientError::RulePanicked { message: panic_message(&*panic) });
    // What was recorded first is the cause; what an optimiser did wrong is told as such.
    let recorded = errors.into_iter().next().map(|error| failed(GradientError::Rule(Box::new(error))));
    let outcome = match (outcome, recorded) {
        (Ok(Err(error @ Error::Optimizer { .. })), _) | (_, Some(error)) => return Err(error),
        (outcome, None) => outcome.map_err(panicked)??,
    };
    if let Some((tokens, gradients)) = outcome {
        derived.output_skeleton =
            [Token::Tuple(2)].into_iter().chain(flat.output_skeleton.iter().cloned()).chain(tokens).collect();
        derived.outputs.extend(gradients);
    }
    derived.takes_gradients |= matches!(derivation, Derivation::ValueAndGradient(Sources::Variables));
    derived.name = name;
    Ok(derived)
}

/// The value that is differentiated: the first tensor of the result. The rest is passed through.
fn target(graph: &Graph) -> Result<NodeId, GradientError> {
    let target = *graph.outputs.first().ok_or(GradientError::NoOutput)?;
    let spec = &graph.node(target).spec;
    if !spec.dtype.is_float() {
        return Err(GradientError::NotFloat { spec: spec.clone() });
    }
    if spec.rank() != 0 {
        return Err(GradientError::NotScalar { spec: spec.clone() });
    }
    Ok(target)
}

type Gradients = (Vec<Token>, Vec<NodeId>);

fn value_and_gradient(
    trace: Trace<'_>,
    table: &OpTable,
    graph: &Graph,
    target: NodeId,
    sources: Sources,
) -> Result<Option<Gradients>, GradientError> {
    let all = match sources {
        Sources::Variables => variable_sources(graph),
        Sources::Arguments => argument_sources(graph),
    };
    let cotangents = cotangents(trace, table, graph, target, &all)?;
    let mut gradients: Vec<NodeId> = Vec::with_capacity(all.len());
    let mut tokens = match sources {
        Sources::Variables => vec![Token::Vector(all.len() as u32)],
        Sources::Arguments => graph.key.0.to_vec(),
    };
    for (source, cotangent) in all.iter().zip(cotangents) {
        let spec = source.spec(graph);
        if sources == Sources::Variables {
            tokens.push(Token::Variable(source.place));
            tokens.push(Token::Static(Static::Integer(i128::from(cotangent.is_connected))));
            tokens.push(Token::Leaf(spec.clone()));
        }
        let origin = graph.node(target).origin;
        let zeros = || trace.at(origin, || trace.number(0.0, spec.dtype).broadcast(spec.dims.clone()));
        gradients.push(cotangent.value.unwrap_or_else(zeros).id());
    }
    Ok(Some((tokens, gradients)))
}

/// Appends the update of every trainable variable that was read.
fn step(
    trace: Trace<'_>,
    table: &OpTable,
    graph: &Graph,
    target: NodeId,
    optimizer: &dyn Optimizer,
) -> Result<(), Error> {
    let failed = |cause| Error::Gradient { function: graph.name.clone(), cause };
    let sources = variable_sources(graph);
    let cotangents = cotangents(trace, table, graph, target, &sources).map_err(failed)?;
    if let Some(error) = trace.error_after(0) {
        return Err(failed(GradientError::Rule(Box::new(error))));
    }
    if cotangents.iter().all(|cotangent| !cotangent.is_connected) {
        return Err(failed(GradientError::NothingToTrain));
    }
    let mut updates = Updates::of_step(trace, optimizer);
    for (source, cotangent) in sources.iter().zip(cotangents) {
        // What the loss does not depend on is left as it is, its optimiser state too.
        let Some(gradient) = cotangent.value else { continue };
        let origin = source.node.map_or(graph.node(target).origin, |node| graph.node(node).origin);
        let appended = trace.at(origin, || updates.append(source.place, gradient.id()));
        let (function, optimizer) = (graph.name.clone(), optimizer.name());
        appended.map_err(|cause| Error::Optimizer { function, optimizer, cause })?;
    }
    Ok(())
}

/// Something that a gradient is taken for.
struct Source {
    /// Its place among the weak references or the inputs.
    place: u32,
    /// The op that brings its value in, where one does.
    node: Option<NodeId>,
    is_variable: bool,
}

impl Source {
    fn spec<'g>(&self, graph: &'g Graph) -> &'g entigrad_components::TensorSpec {
        let place = self.place as usize;
        if self.is_variable { &graph.weak[place].spec } else { &graph.inputs[place] }
    }
}

fn cotangents<'t>(
    trace: Trace<'t>,
    table: &OpTable,
    graph: &Graph,
    target: NodeId,
    sources: &[Source],
) -> Result<Vec<Cotangent<'t>>, GradientError> {
    let present: Vec<NodeId> =
        sources.iter().filter(|source| source.spec(graph).dtype.is_float()).filter_map(|source| source.node).collect();
    let dtype = graph.node(target).spec.dtype;
    let seed: Value<'t> = trace.at(graph.node(target).origin, || trace.number(1.0, dtype));
    let mut found = reverse(trace, table, graph, target, seed, &present)?.into_iter();
    let unconnected = Cotangent { value: None, is_connected: false };
    let one = |source: &Source| {
        let is_present = source.node.is_some() && source.spec(graph).dtype.is_float();
        is_present.then(|| found.next()).flatten().unwrap_or(unconnected)
    };
    Ok(sources.iter().map(one).collect())
}

/// Trainable variables, in order of creation, then of first touch.
fn variable_sources(graph: &Graph) -> Vec<Source> {
    let mut reads: Vec<Option<NodeId>> = vec![None; graph.weak.len()];
    for (id, node) in graph.nodes.iter().enumerate().rev() {
        if let (ops::READ, Some(place)) = (node.op, ops::index_of(&node.attributes)) {
            reads[place] = Some(NodeId(id as u32));
        }
    }
    let mut places: Vec<usize> = (0..graph.weak.len()).filter(|place| is_trained(graph, *place)).collect();
    places.sort_by_key(|place| (graph.weak[*place].created, *place));
    places.into_iter().map(|place| Source { place: place as u32, node: reads[place], is_variable: true }).collect()
}

fn is_trained(graph: &Graph, place: usize) -> bool {
    graph.weak[place].trainable && graph.weak[place].spec.dtype.is_float()
}

fn argument_sources(graph: &Graph) -> Vec<Source> {
    let mut nodes: Vec<Option<NodeId>> = vec![None; graph.inputs.len()];
    for (id, node) in graph.nodes.iter().enumerate() {
        if let (ops::INPUT, Some(place)) = (node.op, ops::index_of(&node.attributes)) {
            nodes[place] = Some(NodeId(id as u32));
        }
    }
    let sources = nodes.into_iter().enumerate();
    sources.map(|(place, node)| Source { place: place as u32, node, is_variable: false }).collect()
}
