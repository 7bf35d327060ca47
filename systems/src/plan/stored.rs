//! Which values are stored, and in which order what stores them can run.
//!
//! What is not stored is computed wherever it is used. Every stored value has a *level*: it depends on values of lower levels, and,
//! element by element, on fused ones of its own. So what has one level and one length can be one fused instruction, and running
//! level by level is an order that works.

use entigrad_components::Attributes;
use smallvec::SmallVec;

use super::late::delay;
use super::values::{Class, Value, view_operand};
use crate::graph::{Graph, NodeId};
use crate::kernels::access::{View, row_major};
use crate::kernels::program::Extents;
use crate::ops;

/// What is known of the nodes of a graph besides their values.
#[derive(Debug)]
pub(super) struct Stored {
    /// Whether anything asks for the node.
    pub is_needed: Vec<bool>,
    /// Whether the node has a buffer that an instruction fills.
    pub is_stored: Vec<bool>,
    /// The level of the instruction that fills it.
    pub level: Vec<u32>,
}

/// How the operand of a reduction is looked at as a matrix: its domain, where that is another order than its own, and the extents.
pub(super) fn fold_extents(operand: &[usize], attributes: &Attributes) -> (Option<View>, Extents) {
    let reduced: SmallVec<[usize; 6]> = match attributes {
        Attributes::Axes(axes) => {
            let mut axes: SmallVec<[usize; 6]> = axes.iter().map(|axis| usize::from(*axis)).collect();
            axes.sort_unstable();
            axes
        }
        _ => SmallVec::new(),
    };
    let is_reduced = |axis: &usize| reduced.contains(axis);
    let length = |axes: &mut dyn Iterator<Item = usize>| axes.map(|axis| operand[axis]).product::<usize>();
    let rank = operand.len();
    let extents = |is_inner| Extents {
        reduced: length(&mut (0..rank).filter(is_reduced)),
        kept: length(&mut (0..rank).filter(|axis| !is_reduced(axis))),
        is_inner,
    };
    // Axes of length 1 are on either side.
    let axes: SmallVec<[usize; 6]> = (0..rank).filter(|axis| operand[*axis] != 1).collect();
    let count = axes.iter().filter(|axis| is_reduced(axis)).count();
    if axes[axes.len() - count..].iter().all(&is_reduced) {
        return (None, extents(true));
    }
    if axes[..count].iter().all(&is_reduced) {
        return (None, extents(false));
    }
    // Otherwise the last axis stays the last, so that reads run along it.
    let is_inner = axes.last().is_some_and(is_reduced);
    let all = row_major(operand);
    let (kept, reduced): (Vec<usize>, Vec<usize>) = (0..rank).partition(|axis| !is_reduced(axis));
    let order = if is_inner { [kept, reduced].concat() } else { [reduced, kept].concat() };
    (Some(View { axes: order.into_iter().map(|axis| all[axis]).collect(), offset: 0 }), extents(is_inner))
}

/// Whether a view keeps the order of elements: then it is its operand under another shape.
pub(super) fn is_linear(view: &View, operand_length: usize) -> bool {
    let length: usize = view.axes.iter().map(|axis| axis.extent).product();
    length == operand_length
        && crate::kernels::access::Access::new(view.axes.iter().copied(), view.offset).is_identity()
}

/// The node that `node` shows in the same order: `node` itself, or what it reshapes.
pub(super) fn linear_base(graph: &Graph, values: &[Value], is_stored: &[bool], node: NodeId) -> NodeId {
    let mut base = node;
    while let Class::View(view) = &values[base.index()].class {
        let operand = view_operand(graph, values, base.index());
        if is_stored[base.index()] || !is_linear(view, values[operand.index()].length) {
            break;
        }
        base = operand;
    }
    base
}

/// The node that `node` is a view of, and whether some view on the way shows an element more than once.
pub(super) fn base_of(graph: &Graph, values: &[Value], is_stored: &[bool], node: NodeId) -> (NodeId, bool) {
    let (mut base, mut repeats) = (node, false);
    while let Class::View(_) = &values[base.index()].class {
        if is_stored[base.index()] {
            break;
        }
        let operand = view_operand(graph, values, base.index());
        repeats |= values[base.index()].length > values[operand.index()].length;
        base = operand;
    }
    (base, repeats)
}

impl Stored {
    /// Decides what is stored; `wanted` are nodes that have to be for other reasons.
    pub(super) fn new(graph: &Graph, values: &[Value], wanted: &[bool]) -> Self {
        let is_needed = needed(graph, values);
        let mut is_stored: Vec<bool> = wanted.to_vec();
        for (index, value) in values.iter().enumerate().filter(|(index, _)| is_needed[*index]) {
            if matches!(value.class, Class::Fold(_) | Class::Product | Class::Opaque(_)) {
                is_stored[index] = true;
            }
        }
        for (index, value) in values.iter().enumerate().filter(|(index, _)| is_needed[*index]) {
            for operand in &graph.nodes[index].operands {
                store_operand(graph, values, &mut is_stored, &value.class, *operand);
            }
        }
        for output in &graph.outputs {
            store_base(graph, values, &mut is_stored, *output);
        }
        let mut level = levels(graph, values, &is_needed, &is_stored);
        delay(graph, values, &is_needed, &is_stored, &mut level);
        Self { is_needed, is_stored, level }
    }
}

/// Which nodes results and effects need, behind numbers that were folded.
fn needed(graph: &Graph, values: &[Value]) -> Vec<bool> {
    let mut is_needed = vec![false; values.len()];
    for output in &graph.outputs {
        is_needed[output.index()] = true;
    }
    for index in (0..values.len()).rev() {
        is_needed[index] |= matches!(values[index].class, Class::Assign(_));
        match values[index].class {
            Class::Input(_) | Class::Variable(_) | Class::Constant(_) | Class::Uniform(_) => {}
            Class::View(_) if is_needed[index] => is_needed[view_operand(graph, values, index).index()] = true,
            _ if is_needed[index] => {
                for operand in &graph.nodes[index].operands {
                    is_needed[operand.index()] = true;
                }
            }
            _ => {}
        }
    }
    is_needed
}

/// Marks what an operand needs to be stored for a user of this class.
fn store_operand(graph: &Graph, values: &[Value], is_stored: &mut [bool], user: &Class, operand: NodeId) {
    match user {
        Class::Opaque(_) | Class::Assign(_) => store_base(graph, values, is_stored, operand),
        // A product reads by strides; what it cannot is found when its factors are made.
        Class::Product => {
            let (base, _) = base_of(graph, values, is_stored, operand);
            if matches!(values[base.index()].class, Class::Elementwise(..)) {
                is_stored[base.index()] = true;
            }
        }
        // What is spread over many elements is computed once, not once for each.
        Class::Elementwise(..) | Class::Fold(_) => {
            let (base, repeats) = base_of(graph, values, is_stored, operand);
            if repeats && matches!(values[base.index()].class, Class::Elementwise(..)) {
                is_stored[base.index()] = true;
            }
        }
        Class::Input(_) | Class::Variable(_) | Class::Constant(_) | Class::Uniform(_) | Class::View(_) => {}
    }
}

/// Marks what has to be stored for a value to lie dense in memory.
fn store_base(graph: &Graph, values: &[Value], is_stored: &mut [bool], node: NodeId) {
    let base = linear_base(graph, values, is_stored, node);
    if matches!(values[base.index()].class, Class::Elementwise(..) | Class::View(_)) {
        is_stored[base.index()] = true;
    }
}

/// From which level on a value can be used.
#[derive(Clone, Copy, Default)]
struct Available {
    /// Element by element, by a fused instruction of one domain.
    near: u32,
    /// In any way.
    far: u32,
}

/// The level of each node. Ops that may fail and assigns keep the order that they have in the program.
fn levels(graph: &Graph, values: &[Value], is_needed: &[bool], is_stored: &[bool]) -> Vec<u32> {
    let mut level = vec![0_u32; values.len()];
    let mut available = vec![Available::default(); values.len()];
    let is_assigned = assigned_bases(graph, values, is_stored);
    // The first level behind all that may fail so far, and behind all that was assigned so far.
    let (mut behind_fallible, mut behind_assigns) = (0_u32, 0_u32);
    for index in (0..values.len()).filter(|index| is_needed[*index]) {
        let operands = &graph.nodes[index].operands;
        let near = operands.iter().map(|operand| available[operand.index()].near).max().unwrap_or(0);
        let far = operands.iter().map(|operand| available[operand.index()].far).max().unwrap_or(0);
        let fence = if is_assigned[index] { behind_fallible } else { 0 };
        let own = match &values[index].class {
            Class::Input(_) | Class::Variable(_) | Class::Constant(_) | Class::Uniform(_) => 0,
            Class::Elementwise(..) => near.max(fence),
            Class::View(view) => {
                let operand = view_operand(graph, values, index);
                let linear = is_linear(view, values[operand.index()].length);
                let from = available[operand.index()];
                let near = if linear { from.near } else { from.far };
                if !is_stored[index] {
                    available[index] = Available { near, far: from.far };
                    continue;
                }
                near.max(fence)
            }
            Class::Fold(_) => {
                let operand = graph.nodes[index].operands[0].index();
                let (view, _) = fold_extents(&values[operand].shape, &graph.nodes[index].attributes);
                if view.is_some() { far } else { near }.max(fence)
            }
            Class::Product => far.max(fence),
            Class::Opaque(_) => far.max(behind_assigns),
            Class::Assign(_) => far.max(behind_fallible),
        };
        level[index] = own;
        available[index] = match values[index].class {
            Class::Elementwise(..) | Class::View(_) if is_stored[index] => Available { near: own, far: own + 1 },
            Class::Elementwise(..) => Available { near, far },
            Class::Fold(_) | Class::Product | Class::Opaque(_) | Class::Assign(_) => {
                Available { near: own + 1, far: own + 1 }
            }
            Class::Input(_) | Class::Variable(_) | Class::Constant(_) | Class::Uniform(_) | Class::View(_) => {
                Available::default()
            }
        };
        match values[index].class {
            Class::Opaque(_) => behind_fallible = behind_fallible.max(own + 1),
            Class::Assign(_) => behind_assigns = behind_assigns.max(own + 1),
            _ => {}
        }
    }
    level
}

/// Which nodes hold values that variables are assigned.
fn assigned_bases(graph: &Graph, values: &[Value], is_stored: &[bool]) -> Vec<bool> {
    let mut is_assigned = vec![false; values.len()];
    for node in graph.nodes.iter().filter(|node| node.op == ops::ASSIGN) {
        let base = linear_base(graph, values, is_stored, node.operands[0]);
        is_assigned[base.index()] = true;
    }
    is_assigned
}
