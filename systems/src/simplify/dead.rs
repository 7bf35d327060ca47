//! Dead ops: what neither a result nor an effect needs.

use super::common::header;
use crate::graph::{Graph, Node, NodeId};
use crate::ops;

/// `graph` with only the ops that its outputs and effects need.
pub fn without_dead(graph: &Graph) -> Graph {
    let mut is_needed = vec![false; graph.nodes.len()];
    for output in &graph.outputs {
        is_needed[output.index()] = true;
    }
    // Operands come before their users, so one walk backwards reaches everything.
    for (index, node) in graph.nodes.iter().enumerate().rev() {
        is_needed[index] |= is_effect(graph, node);
        if is_needed[index] {
            for operand in &node.operands {
                is_needed[operand.index()] = true;
            }
        }
    }
    let mut living = Graph { nodes: Vec::with_capacity(graph.nodes.len()), ..header(graph) };
    let mut places: Vec<NodeId> = Vec::with_capacity(graph.nodes.len());
    for (node, is_needed) in graph.nodes.iter().zip(is_needed) {
        places.push(match is_needed {
            true => living.push(Node {
                operands: node.operands.iter().map(|operand| places[operand.index()]).collect(),
                ..node.clone()
            }),
            // Nothing that lives refers to a dead op.
            false => NodeId(u32::MAX),
        });
    }
    living.outputs = graph.outputs.iter().map(|output| places[output.index()]).collect();
    living
}

/// Whether an op does something besides giving a value.
fn is_effect(graph: &Graph, node: &Node) -> bool {
    match node.op {
        ops::ASSIGN => true,
        ops::CALL => {
            let body = ops::index_of(&node.attributes).and_then(|index| graph.bodies.get(index));
            body.is_some_and(|body| body.graph.weak.iter().any(|weak| weak.is_written))
        }
        _ => false,
    }
}
