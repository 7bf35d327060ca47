//! Reverse mode: from a scalar back to its sources, one rule an op.

use entigrad_components::{Dim, Origin};
use smallvec::SmallVec;

use crate::error::GradientError;
use crate::graph::{Graph, NodeId};
use crate::ops::{Derivative, OpTable, Vjp};
use crate::trace::{Trace, Value};

/// The cotangent of one source, and whether the target depends on it at all.
#[derive(Clone, Copy, Debug)]
pub struct Cotangent<'t> {
    /// The cotangent; `None` where it is zero everywhere.
    pub value: Option<Value<'t>>,
    /// Whether the target depends on the source structurally; an op whose derivative is zero connects.
    pub is_connected: bool,
}

/// Emits the cotangents of `sources`, given `seed` as that of `target`. `graph` is what the trace held before.
pub fn reverse<'t>(
    trace: Trace<'t>,
    table: &OpTable,
    graph: &Graph,
    target: NodeId,
    seed: Value<'t>,
    sources: &[NodeId],
) -> Result<Vec<Cotangent<'t>>, GradientError> {
    let flow = Flow::new(table, graph, sources);
    let mut cotangents: Vec<Option<Value<'t>>> = vec![None; graph.nodes.len()];
    cotangents[target.index()] = Some(seed);
    for index in (0..=target.index()).rev() {
        if !flow.is_active[index] {
            continue;
        }
        let Some(cotangent) = cotangents[index] else { continue };
        let node = &graph.nodes[index];
        let row = table.row(node.op);
        let Some(Derivative::Rule(rules)) = row.map(|row| row.derivative) else {
            // An active op has a rule, or is a source.
            continue;
        };
        let operands: SmallVec<[Value<'t>; 3]> =
            node.operands.iter().map(|operand| Value::of(trace, *operand)).collect();
        let output = Value::of(trace, NodeId(index as u32));
        let vjp = Vjp { operands: &operands, output, cotangent, attributes: &node.attributes };
        for (place, operand) in node.operands.iter().enumerate() {
            let Some(rule) = rules.get(place).copied().flatten() else { continue };
            if !flow.is_active[operand.index()] {
                continue;
            }
            let given = trace.at(node.origin, || rule(&vjp));
            let name = row.map_or("?", |row| row.name);
            let given = trace.at(node.origin, || fitted(given, Value::of(trace, *operand)));
            check(name, node.origin, given, Value::of(trace, *operand))?;
            let sum = cotangents[operand.index()];
            let sum = sum.map_or(given, |sum| trace.at(node.origin, || sum + given));
            cotangents[operand.index()] = Some(sum);
        }
    }
    flow.unfinished(table, graph, target)?;
    let reached = flow.reached(graph, target);
    let result =
        |source: &NodeId| Cotangent { value: cotangents[source.index()], is_connected: reached[source.index()] };
    Ok(sources.iter().map(result).collect())
}

/// A cotangent whose dims are only named otherwise than its operand's, such as `K` for 3, under the operand's dims: that they agree
/// was noted when the op was traced.
fn fitted<'t>(given: Value<'t>, operand: Value<'t>) -> Value<'t> {
    let (from, into) = (given.shape(), operand.shape());
    let may_agree = |(left, right): (&Dim, &Dim)| left == right || left.known().is_none() || right.known().is_none();
    let is_other_name = from != into && from.len() == into.len() && from.iter().zip(into.iter()).all(may_agree);
    if is_other_name { given.reshape(into) } else { given }
}

/// A rule must give a cotangent of its operand's spec: a fault in a row is an error that names it.
fn check(op: &'static str, origin: Origin, given: Value<'_>, operand: Value<'_>) -> Result<(), GradientError> {
    let (given, wanted) = (given.spec(), operand.spec());
    if given == wanted { Ok(()) } else { Err(GradientError::WrongCotangent { op, origin, given, wanted }) }
}

/// Which ops lie behind the sources.
struct Flow {
    /// Depends on a source, over ops of any derivative but those that stop it.
    is_connected: Vec<bool>,
    /// Carries a cotangent back: floating point, over ops with a rule.
    is_active: Vec<bool>,
}

impl Flow {
    fn new(table: &OpTable, graph: &Graph, sources: &[NodeId]) -> Self {
        let mut is_connected = vec![false; graph.nodes.len()];
        let mut is_active = is_connected.clone();
        for source in sources {
            is_connected[source.index()] = true;
            is_active[source.index()] = true;
        }
        for (index, node) in graph.nodes.iter().enumerate() {
            let derivative = table.row(node.op).map_or(Derivative::Stop, |row| row.derivative);
            if !matches!(derivative, Derivative::Stop) {
                is_connected[index] |= node.operands.iter().any(|operand| is_connected[operand.index()]);
            }
            if matches!(derivative, Derivative::Rule(_)) && node.spec.dtype.is_float() {
                is_active[index] |= node.operands.iter().any(|operand| is_active[operand.index()]);
            }
        }
        Self { is_connected, is_active }
    }

    /// Whether each node is something that the target depends on, over connected ops.
    fn reached(&self, graph: &Graph, target: NodeId) -> Vec<bool> {
        let mut reached = vec![false; graph.nodes.len()];
        reached[target.index()] = self.is_connected[target.index()];
        for index in (0..=target.index()).rev() {
            if reached[index] {
                for operand in &graph.nodes[index].operands {
                    reached[operand.index()] |= self.is_connected[operand.index()];
                }
            }
        }
        reached
    }

    /// Fails where the target depends on a source over an op whose rule is not worked out.
    fn unfinished(&self, table: &OpTable, graph: &Graph, target: NodeId) -> Result<(), GradientError> {
        let reached = self.reached(graph, target);
        for (index, node) in graph.nodes.iter().enumerate().filter(|(index, _)| reached[*index]) {
            let Some(row) = table.row(node.op) else { continue };
            let is_behind = node.operands.iter().any(|operand| self.is_active[operand.index()]);
            if matches!(row.derivative, Derivative::NotYet) && is_behind && reached[index] {
                return Err(GradientError::NotYet { op: row.name, origin: node.origin });
            }
        }
        Ok(())
    }
}
