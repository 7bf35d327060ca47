//! Inlines every call: what Gradient and Plan work on is flat.
//!
//! A called body's nodes take the place of the call, in program order, so that effects keep their order and Simplify sees
//! across functions. Reads and assigns of a variable are connected across bodies: after an assign, a read is the assigned
//! value itself.

use smallvec::SmallVec;
use std::sync::Arc;

use super::{Body, Graph, Node, NodeId};
use crate::ops;
use entigrad_components::Attributes;

/// `graph` without calls. Bodies nest at most as deep as traces may, so this recursion is bounded.
pub fn flatten(graph: &Arc<Graph>) -> Arc<Graph> {
    if graph.bodies.is_empty() {
        return graph.clone();
    }
    let bodies: Vec<Arc<Graph>> = graph.bodies.iter().map(|body| flatten(&body.graph)).collect();
    let mut flat = Flat {
        graph: Graph {
            nodes: Vec::with_capacity(graph.nodes.len()),
            bodies: Vec::new(),
            inlined: graph.functions(),
            depth: 0,
            outputs: Vec::new(),
            ..(**graph).clone()
        },
        current: vec![None; graph.weak.len()],
    };
    let mut places: Vec<NodeId> = Vec::with_capacity(graph.nodes.len());
    let mut results: Vec<Vec<NodeId>> = vec![Vec::new(); graph.nodes.len()];
    for (index, node) in graph.nodes.iter().enumerate() {
        let place = if node.op == ops::CALL {
            let body = ops::index_of(&node.attributes).unwrap_or_default();
            let operands: Vec<NodeId> = node.operands.iter().map(|operand| places[operand.index()]).collect();
            results[index] = flat.splice(&graph.bodies[body], &bodies[body], &operands);
            NodeId(u32::MAX)
        } else if node.op == ops::RESULT {
            let result = ops::index_of(&node.attributes).unwrap_or_default();
            results[node.operands[0].index()][result]
        } else {
            flat.push(node, |operand| places[operand.index()], |weak| weak)
        };
        places.push(place);
    }
    flat.graph.outputs = graph.outputs.iter().map(|output| places[output.index()]).collect();
    Arc::new(flat.graph)
}

/// A flat graph being written, and the value that each variable has at this point of the program.
struct Flat {
    graph: Graph,
    current: Vec<Option<NodeId>>,
}

impl Flat {
    /// Adds `node` with its operands and weak reference translated.
    fn push(&mut self, node: &Node, operand: impl Fn(NodeId) -> NodeId, weak: impl Fn(u32) -> u32) -> NodeId {
        let operands: SmallVec<_> = node.operands.iter().map(|id| operand(*id)).collect();
        if node.op != ops::READ && node.op != ops::ASSIGN {
            return self.graph.push(Node { operands, ..node.clone() });
        }
        let slot = weak(ops::index_of(&node.attributes).unwrap_or_default() as u32);
        if node.op == ops::READ
            && let Some(current) = self.current[slot as usize]
        {
            return current;
        }
        let value = operands.first().copied();
        let place = self.graph.push(Node { operands, attributes: Attributes::Index(slot), ..node.clone() });
        self.current[slot as usize] = value.or(Some(place));
        place
    }

    /// Puts the nodes of a called body here; returns the places of its outputs.
    fn splice(&mut self, body: &Body, inner: &Graph, inputs: &[NodeId]) -> Vec<NodeId> {
        let captures = self.graph.captures.len() as u32;
        self.graph.captures.extend(inner.captures.iter().cloned());
        self.graph.constraints.extend(inner.constraints.iter().cloned());
        let mut places: Vec<NodeId> = Vec::with_capacity(inner.nodes.len());
        for node in &inner.nodes {
            let index = ops::index_of(&node.attributes).unwrap_or_default();
            let place = if node.op == ops::INPUT {
                inputs[index]
            } else if node.op == ops::CAPTURE {
                let attributes = Attributes::Index(captures + index as u32);
                self.graph.push(Node { attributes, ..node.clone() })
            } else {
                self.push(node, |operand| places[operand.index()], |weak| body.weak[weak as usize])
            };
            places.push(place);
        }
        inner.outputs.iter().map(|output| places[output.index()]).collect()
    }
}
