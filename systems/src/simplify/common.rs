//! One walk that leaves out dead ops and merges common subexpressions: ops of one row on the same operands with the same
//! attributes are one op.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

use crate::graph::{Graph, Node, NodeId};
use crate::ops;

/// `graph` with only the nodes that are needed, each computed once. Reads, assigns and calls are never merged: each happens
/// at its own point of the program.
pub(super) fn without_common(graph: Graph, is_needed: &[bool]) -> Graph {
    let Graph { nodes, outputs, .. } = graph;
    let mut merged: Vec<Node> = Vec::with_capacity(is_needed.iter().filter(|needed| **needed).count());
    let mut places: Vec<NodeId> = Vec::with_capacity(nodes.len());
    let mut known: HashTable<NodeId> = HashTable::with_capacity(nodes.len());
    for (mut node, is_needed) in nodes.into_iter().zip(is_needed) {
        if !is_needed {
            // Nothing that is needed refers to it.
            places.push(NodeId(u32::MAX));
            continue;
        }
        for operand in &mut node.operands {
            *operand = places[operand.index()];
        }
        let place = NodeId(merged.len() as u32);
        let earlier = if matches!(node.op, ops::READ | ops::ASSIGN | ops::CALL) {
            None
        } else {
            let hash = |node: &Node| hash(node);
            let is_same = |id: &NodeId| same(&merged[id.index()], &node);
            match known.entry(hash(&node), is_same, |id| hash(&merged[id.index()])) {
                hashbrown::hash_table::Entry::Occupied(earlier) => Some(*earlier.get()),
                hashbrown::hash_table::Entry::Vacant(free) => {
                    free.insert(place);
                    None
                }
            }
        };
        if earlier.is_none() {
            merged.push(node);
        }
        places.push(earlier.unwrap_or(place));
    }
    let outputs = outputs.iter().map(|output| places[output.index()]).collect();
    Graph { nodes: merged, outputs, ..graph }
}

fn same(left: &Node, right: &Node) -> bool {
    left.op == right.op && left.operands == right.operands && left.attributes == right.attributes
}

/// Equality decides; the hash only has to be quick, and the same every time.
fn hash(node: &Node) -> u64 {
    let mut hasher = FxHasher::default();
    (node.op, &node.operands, &node.attributes).hash(&mut hasher);
    hasher.finish()
}
