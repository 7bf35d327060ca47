//! Dead ops: what neither a result nor an effect needs.

use crate::graph::{Graph, Node};
use crate::ops;

/// Which nodes the outputs and effects of `graph` need.
pub(super) fn needed(graph: &Graph) -> Vec<bool> {
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
    is_needed
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
