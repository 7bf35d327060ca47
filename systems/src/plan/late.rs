//! Updates that can wait for each other: small new values of variables that nothing reads in the same run become one instruction
//! with those of the same length, at the level of the last.

use rustc_hash::{FxHashMap, FxHashSet};

use super::stored::linear_base;
use super::values::{Class, Value};
use crate::graph::Graph;

/// Larger values are written at once: what they were computed from takes room as long as they wait.
const LENGTH_MAX: usize = 4096;

/// Raises the levels of what can wait.
pub(super) fn delay(graph: &Graph, values: &[Value], is_needed: &[bool], is_stored: &[bool], level: &mut [u32]) {
    let waiting = waiting(graph, values, is_needed, is_stored);
    let mut last: FxHashMap<usize, u32> = FxHashMap::default();
    for node in &waiting {
        let last = last.entry(values[*node].length).or_default();
        *last = level[*node].max(*last);
    }
    for node in &waiting {
        level[*node] = last[&values[*node].length];
    }
    let mut assigned: FxHashMap<u32, u32> = FxHashMap::default();
    for node in 0..values.len() {
        let Class::Assign(variable) = values[node].class else { continue };
        let base = linear_base(graph, values, is_stored, graph.nodes[node].operands[0]).index();
        if waiting.contains(&base) {
            level[node] = level[node].max(level[base] + 1);
        }
        // Within a level assigns keep their order; those of one variable keep it from level to level.
        let last = assigned.entry(variable).or_default();
        *last = level[node].max(*last);
        level[node] = *last;
    }
}

/// The stored values that are assigned, and that nothing else reads but such values of their own length, element by element: those
/// wait with them.
fn waiting(graph: &Graph, values: &[Value], is_needed: &[bool], is_stored: &[bool]) -> FxHashSet<usize> {
    let mut is_waited_for = vec![false; values.len()];
    let mut do_users_wait = vec![true; values.len()];
    for output in &graph.outputs {
        do_users_wait[output.index()] = false;
    }
    let (mut waiting, mut may_fail_later) = (FxHashSet::default(), false);
    for node in (0..values.len()).rev().filter(|node| is_needed[*node]) {
        let can_wait = match values[node].class {
            // What may fail later must find everything before it assigned.
            Class::Assign(_) => !may_fail_later,
            Class::Elementwise(..) => {
                values[node].length <= LENGTH_MAX && do_users_wait[node] && (is_waited_for[node] || !is_stored[node])
            }
            _ => false,
        };
        may_fail_later |= matches!(values[node].class, Class::Opaque(_));
        if can_wait && is_stored[node] {
            waiting.insert(node);
        }
        for operand in &graph.nodes[node].operands {
            let is_even = values[operand.index()].length == values[node].length;
            do_users_wait[operand.index()] &= can_wait && is_even;
        }
        if matches!(values[node].class, Class::Assign(_)) {
            is_waited_for[graph.nodes[node].operands[0].index()] = true;
        }
    }
    waiting
}
