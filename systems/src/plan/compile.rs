//! From a flat graph with settled lengths to a program.
//!
//! *Steps*: what each node is -> what is stored, level by level -> groups and their fused instructions -> an order -> places in
//! memory. Two findings send it back to store more: a view that no strides can say, and a value that would be computed again
//! in several groups at more than its storing costs.

use entigrad_components::{Attributes, Tensor};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering};

use super::PlanError;
use super::effects::{Known, effects};
use super::factor::factor;
use super::follow::follow;
use super::fuse::Fusing;
use super::groups::{Group, groups};
use super::layout::layout;
use super::stored::{Stored, linear_base};
use super::values::{Class, Value, dtype_of};
use crate::graph::Graph;
use crate::kernels::program::{Buffer, BufferId, Fused, Instruction, Opaque, Place, Product, Program, Work};
use crate::ops::OpTable;

/// A value is stored where computing it again takes longer than this many picoseconds an element: small ones from the cache,
/// large ones from memory.
const AGAIN_PICOSECONDS: [u64; 3] = [250, 300, 2500];
/// What is small for that, in elements.
const SMALL_LENGTHS: [usize; 2] = [64, 65_536];

/// How many elements a value has for each of those that it is made of where it is spread: pairs of rows and columns, which are not
/// stored for being dear. A small value may be.
const SPREAD: usize = 16;

/// How many programs were made.
static PROGRAM_COUNT: AtomicU64 = AtomicU64::new(0);

/// How often the pass may go back to store more before it stores every value that several groups want.
const ROUNDS_MAX: usize = 8;

/// An instruction with what decides when it runs.
pub(super) struct Scheduled {
    /// The level, and what comes first within one.
    pub order: (u32, Rank, usize),
    /// The instruction.
    pub instruction: Instruction,
}

/// What comes first within a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Copies of values as they are before anything runs.
    Snapshot,
    /// What computes.
    Compute,
    /// What writes variables.
    Assign,
}

/// The program of a flat graph whose nodes have the specs of `values`.
pub(super) fn compile(table: &OpTable, graph: &Graph, values: &[Value]) -> Result<Program, PlanError> {
    let mut wanted = vec![false; values.len()];
    let mut round = 0;
    let (stored, mut buffers, groups, fused) = loop {
        let stored = Stored::new(graph, values, &wanted);
        let buffers = Buffers::new(graph, values, &stored);
        let groups = groups(graph, values, &stored);
        let fusing = Fusing { table, graph, values, stored: &stored, buffers: &buffers.of_node };
        match fuse_all(fusing, &groups) {
            Err(view) => want(&mut wanted, view),
            Ok((fused, computed)) => {
                let more =
                    if round < ROUNDS_MAX { computed_again(graph, values, &stored, &computed) } else { Vec::new() };
                if more.is_empty() {
                    match unreadable_factor(graph, values, &stored, &buffers) {
                        Some(view) => want(&mut wanted, view),
                        None => break (stored, buffers, groups, fused),
                    }
                }
                more.into_iter().for_each(|node| wanted[node] = true);
                round += 1;
            }
        }
    };
    let known = Known { graph, values, stored: &stored, groups: &groups, fused: &fused };
    let mut scheduled = effects(&known, &mut buffers);
    for (place, (group, fused)) in groups.iter().zip(fused).enumerate() {
        let node = &graph.nodes[*group.stores.first().or(group.folds.first()).expect("a group stores something")];
        let instruction =
            Instruction { work: Work::Fused(Box::new(fused)), op: table.name(node.op), origin: node.origin };
        scheduled.push(Scheduled { order: (group.level, Rank::Compute, place), instruction });
    }
    for (index, value) in values.iter().enumerate().filter(|(index, _)| stored.is_needed[*index]) {
        let node = &graph.nodes[index];
        let work = match value.class {
            Class::Product => Work::Product(Box::new(product(graph, values, &stored, &buffers, index))),
            Class::Opaque(kernel) => {
                let operand = |id: &crate::graph::NodeId| {
                    let base = linear_base(graph, values, &stored.is_stored, *id).index();
                    (buffers.of(base), dtype_of(graph, base), values[id.index()].shape.clone())
                };
                let operands = node.operands.iter().map(operand).collect();
                let result = (buffers.of(index), dtype_of(graph, index), value.shape.clone());
                Work::Opaque(Box::new(Opaque { kernel, operands, result, attributes: node.attributes.clone() }))
            }
            _ => continue,
        };
        let instruction = Instruction { work, op: table.name(node.op), origin: node.origin };
        scheduled.push(Scheduled { order: (stored.level[index], Rank::Compute, groups.len() + index), instruction });
    }
    scheduled.sort_by_key(|scheduled| scheduled.order);
    let instructions = scheduled.into_iter().map(|scheduled| scheduled.instruction).collect();
    Ok(finish(graph, values, buffers, instructions))
}

/// Asks for a view to be stored, which then has strides that say it.
fn want(wanted: &mut [bool], view: usize) {
    assert!(!std::mem::replace(&mut wanted[view], true), "a stored view lies dense");
}

/// The buffers of nodes, before they have places in the arena.
pub(super) struct Buffers {
    /// All buffers; those that instructions fill are in the arena, at no place yet.
    pub list: Vec<Buffer>,
    /// The buffer of each node that has one.
    pub of_node: Vec<Option<BufferId>>,
    /// Tensors that the program holds.
    pub constants: Vec<Tensor>,
}

impl Buffers {
    fn new(graph: &Graph, values: &[Value], stored: &Stored) -> Self {
        let mut buffers = Self { list: Vec::new(), of_node: vec![None; values.len()], constants: Vec::new() };
        let mut dense = vec![false; values.len()];
        for (index, node) in graph.nodes.iter().enumerate().filter(|(index, _)| stored.is_needed[*index]) {
            if matches!(values[index].class, Class::Product | Class::Opaque(_) | Class::Assign(_)) {
                for operand in &node.operands {
                    dense[linear_base(graph, values, &stored.is_stored, *operand).index()] = true;
                }
            }
        }
        for output in &graph.outputs {
            dense[linear_base(graph, values, &stored.is_stored, *output).index()] = true;
        }
        for (index, value) in values.iter().enumerate().filter(|(index, _)| stored.is_needed[*index]) {
            let place = match &value.class {
                Class::Input(place) => Place::Input(*place),
                Class::Variable(place) => Place::Variable(*place),
                Class::Constant(tensor) => buffers.constant(tensor.clone()),
                Class::Uniform(number) if dense[index] => match Tensor::full(&value.shape, *number) {
                    Ok(tensor) => buffers.constant(tensor),
                    Err(_) => continue,
                },
                Class::Assign(_) => continue,
                _ if stored.is_stored[index] => Place::Arena(0),
                _ => continue,
            };
            buffers.of_node[index] = Some(buffers.push(graph, index, value.length, place));
        }
        buffers
    }

    fn constant(&mut self, tensor: Tensor) -> Place {
        self.constants.push(tensor);
        Place::Constant(self.constants.len() as u32 - 1)
    }

    /// Adds a buffer like that of a node.
    pub(super) fn push(&mut self, graph: &Graph, node: usize, length: usize, place: Place) -> BufferId {
        self.list.push(Buffer { place, dtype: dtype_of(graph, node), length, node: node as u32 });
        BufferId(self.list.len() as u32 - 1)
    }

    /// The buffer of a node that has one.
    pub(super) fn of(&self, node: usize) -> BufferId {
        self.of_node[node].expect("this node has a buffer")
    }
}

/// Fuses every group; what each computes.
fn fuse_all(fusing: Fusing<'_>, groups: &[Group]) -> Result<(Vec<Fused>, Vec<Vec<usize>>), usize> {
    let both: Vec<(Fused, Vec<usize>)> = groups.iter().map(|group| fusing.fuse(group)).collect::<Result<_, _>>()?;
    Ok(both.into_iter().unzip())
}

/// Values that several groups compute, and that are cheaper to store: of those that follow from one another the last.
fn computed_again(graph: &Graph, values: &[Value], stored: &Stored, computed: &[Vec<usize>]) -> Vec<usize> {
    let mut times = vec![0_u64; values.len()];
    for node in computed.iter().flatten() {
        times[*node] += 1;
    }
    if times.iter().all(|times| *times < 2) {
        return Vec::new();
    }
    // What a value takes with all that it needs and nobody stores; more than once where it is used more than once, which only
    // errs on the side of storing.
    let mut picoseconds = vec![0_u64; values.len()];
    let mut is_last = vec![false; values.len()];
    for (index, value) in values.iter().enumerate() {
        let operands = &graph.nodes[index].operands;
        let behind = |operand: &crate::graph::NodeId| {
            if stored.is_stored[operand.index()] { 0 } else { picoseconds[operand.index()] }
        };
        let sum = operands.iter().map(behind).fold(0_u64, u64::saturating_add);
        picoseconds[index] = match value.class {
            Class::Elementwise(_, weight) => sum.saturating_add(u64::from(weight)),
            Class::View(_) => sum,
            _ => 0,
        };
        if stored.is_needed[index] {
            for operand in operands {
                is_last[operand.index()] |= times[index] < 2;
            }
        }
    }
    let limit = |length: usize| {
        let class = SMALL_LENGTHS.iter().position(|small| length <= *small).unwrap_or(SMALL_LENGTHS.len());
        AGAIN_PICOSECONDS[class]
    };
    let is_dear = |node: &usize| {
        let again = picoseconds[*node].saturating_mul(times[*node] - 1);
        matches!(values[*node].class, Class::Elementwise(..)) && again > limit(values[*node].length)
    };
    let sources = source_lengths(graph, values, stored);
    let is_spread =
        |node: &usize| values[*node].length > SMALL_LENGTHS[1] && values[*node].length / SPREAD >= sources[*node];
    (0..values.len())
        .filter(|node| times[*node] > 1 && is_last[*node] && !stored.is_stored[*node] && is_dear(node))
        .filter(|node| !is_spread(node))
        .collect()
}

/// How many elements the longest has of what lies in memory and a value is computed from.
fn source_lengths(graph: &Graph, values: &[Value], stored: &Stored) -> Vec<usize> {
    let mut sources = vec![0; values.len()];
    for (index, value) in values.iter().enumerate() {
        sources[index] = match value.class {
            Class::Elementwise(..) | Class::View(_) if !stored.is_stored[index] => {
                let operands = graph.nodes[index].operands.iter();
                operands.map(|operand| sources[operand.index()]).max().unwrap_or(0)
            }
            _ => value.length,
        };
    }
    sources
}

/// A view that is a factor of a product and that no strides can say.
fn unreadable_factor(graph: &Graph, values: &[Value], stored: &Stored, buffers: &Buffers) -> Option<usize> {
    let products =
        (0..values.len()).filter(|index| stored.is_needed[*index] && matches!(values[*index].class, Class::Product));
    let mut operands = products.flat_map(|index| graph.nodes[index].operands.iter());
    operands.find_map(|operand| factor(graph, values, stored, &buffers.of_node, *operand, false).err())
}

fn product(graph: &Graph, values: &[Value], stored: &Stored, buffers: &Buffers, index: usize) -> Product {
    let node = &graph.nodes[index];
    let (left_transposed, right_transposed) = match node.attributes {
        Attributes::Flags(left, right) => (left, right),
        _ => (false, false),
    };
    let factor = |operand: usize, is_transposed: bool| {
        let factor = factor(graph, values, stored, &buffers.of_node, node.operands[operand], is_transposed);
        factor.expect("what strides cannot say is stored by now")
    };
    let shape = &values[index].shape;
    let left = &values[node.operands[0].index()].shape;
    let inner = left[left.len() - 1 - usize::from(left_transposed)];
    Product {
        batch: shape[..shape.len() - 2].iter().product(),
        rows: shape[shape.len() - 2],
        inner,
        columns: shape[shape.len() - 1],
        left: factor(0, left_transposed),
        right: factor(1, right_transposed),
        result: buffers.of(index),
        dtype: dtype_of(graph, index),
        is_followed: false,
    }
}

/// Gives buffers their places, and puts the program together.
fn finish(graph: &Graph, values: &[Value], mut buffers: Buffers, mut instructions: Vec<Instruction>) -> Program {
    follow(&mut instructions, &buffers.list);
    let arena_bytes = layout(&mut buffers.list, &mut instructions);
    let outputs = graph
        .outputs
        .iter()
        .map(|output| (dtype_of(graph, output.index()), values[output.index()].shape.clone()))
        .collect();
    let work = instructions.iter().map(|instruction| instruction.work.nanoseconds());
    let work_nanoseconds = work.fold(0_usize, usize::saturating_add);
    let is_outside = |(_, buffer): &(usize, &Buffer)| buffer.is_outside();
    let outside = buffers.list.iter().enumerate().filter(is_outside);
    Program {
        number: PROGRAM_COUNT.fetch_add(1, Ordering::Relaxed) + 1,
        outside: outside.map(|(number, _)| BufferId(number as u32)).collect(),
        constants: buffers.constants,
        buffers: buffers.list,
        instructions,
        outputs,
        is_written: graph.weak.iter().map(|weak| weak.is_written).collect::<SmallVec<[bool; 8]>>().into_vec(),
        arena_bytes,
        work_nanoseconds,
    }
}
