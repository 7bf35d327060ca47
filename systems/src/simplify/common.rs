//! Common subexpressions: ops of one row on the same operands with the same attributes are one op.

use std::collections::HashMap;

use crate::graph::{Graph, Node, NodeId, NodeIds};
use crate::ops;
use entigrad_components::{Attributes, OpId};

/// `graph` with every op computed once. Reads, assigns and calls stay as they are: each happens at its own point of the
/// program.
pub fn without_common(graph: &Graph) -> Graph {
    let mut merged = Graph { nodes: Vec::with_capacity(graph.nodes.len()), ..header(graph) };
    let mut places: Vec<NodeId> = Vec::with_capacity(graph.nodes.len());
    let mut known: HashMap<(OpId, NodeIds, Attributes), NodeId> = HashMap::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let operands: NodeIds = node.operands.iter().map(|operand| places[operand.index()]).collect();
        let translated = Node { operands, ..node.clone() };
        let place = if matches!(node.op, ops::READ | ops::ASSIGN | ops::CALL) {
            merged.push(translated)
        } else {
            let key = (node.op, translated.operands.clone(), node.attributes.clone());
            *known.entry(key).or_insert_with(|| merged.push(translated))
        };
        places.push(place);
    }
    merged.outputs = graph.outputs.iter().map(|output| places[output.index()]).collect();
    merged
}

/// Everything of a graph but its nodes.
pub(super) fn header(graph: &Graph) -> Graph {
    Graph {
        name: graph.name.clone(),
        key: graph.key.clone(),
        nodes: Vec::new(),
        inputs: graph.inputs.clone(),
        outputs: Vec::new(),
        output_skeleton: graph.output_skeleton.clone(),
        captures: graph.captures.clone(),
        weak: graph.weak.clone(),
        bodies: graph.bodies.clone(),
        constraints: graph.constraints.clone(),
    }
}
