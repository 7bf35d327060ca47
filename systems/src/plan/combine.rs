//! Steps that become one: a product that only one sum or difference reads is computed with it, in one pass over the tile. Both
//! round as they did before.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::fuse::{Computed, Seen};
use super::values::dtype_of;
use crate::graph::Graph;
use crate::kernels::elementwise::{Combination, combined};
use crate::ops;

/// Combines what can be, in steps that stand in descending order; `uses` says how often each value is read.
pub(super) fn combine(graph: &Graph, steps: &mut Vec<Computed>, uses: &FxHashMap<Seen, u32>) {
    let places: FxHashMap<Seen, usize> = steps.iter().enumerate().map(|(place, step)| (step.seen, place)).collect();
    let mut is_gone = vec![false; steps.len()];
    for place in 0..steps.len() {
        let node = &graph.nodes[steps[place].seen.0 as usize];
        let dtype = dtype_of(graph, steps[place].seen.0 as usize);
        let is_product = |operand: &Seen| {
            let product =
                places.get(operand).filter(|place| graph.nodes[steps[**place].seen.0 as usize].op == ops::MUL);
            product.copied().filter(|_| uses.get(operand) == Some(&1))
        };
        let [left, right] = steps[place].operands[..] else { continue };
        let (product, other, combination) = match (node.op, is_product(&left), is_product(&right)) {
            (ops::ADD, Some(product), _) => (product, right, Combination::MulAdd),
            (ops::ADD, None, Some(product)) => (product, left, Combination::MulAdd),
            (ops::SUB, Some(product), _) => (product, right, Combination::MulSub),
            (ops::SUB, None, Some(product)) => (product, left, Combination::SubMul),
            _ => continue,
        };
        let Some(kernel) = combined(combination, dtype) else { continue };
        is_gone[product] = true;
        let factors = steps[product].operands.clone();
        let picoseconds = steps[product].picoseconds;
        let product_node = steps[product].nodes[0];
        let step = &mut steps[place];
        step.operands = factors.into_iter().chain([other]).collect::<SmallVec<[Seen; 3]>>();
        (step.kernel, step.op, step.nodes[0]) = (kernel, combination.name(), product_node);
        step.picoseconds = step.picoseconds.max(picoseconds);
    }
    let mut is_gone = is_gone.into_iter();
    steps.retain(|_| !is_gone.next().unwrap_or(false));
}
