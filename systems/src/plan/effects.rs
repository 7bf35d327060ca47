//! Where results and new values of variables are written: at once where they belong, wherever nothing still needs what lies
//! there; else by a copy.

use entigrad_components::Origin;

use super::compile::{Buffers, Rank, Scheduled};
use super::groups::Group;
use super::stored::{Stored, base_of, linear_base};
use super::values::{Class, Value};
use crate::graph::{Graph, NodeId};
use crate::kernels::program::{BufferId, Fused, Instruction, Place, Work};

/// The assign of a variable.
struct Assign {
    node: usize,
    variable: u32,
    /// The node whose buffer holds the new value.
    base: usize,
}

/// What the pass knows of a graph when it decides.
pub(super) struct Known<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// Its values.
    pub values: &'a [Value],
    /// What is stored.
    pub stored: &'a Stored,
    /// Its groups.
    pub groups: &'a [Group],
    /// Their instructions.
    pub fused: &'a [Fused],
}

/// Gives the buffers of results and new values their places; the copies that are left.
pub(super) fn effects(known: &Known<'_>, buffers: &mut Buffers) -> Vec<Scheduled> {
    let Known { graph, values, stored, .. } = known;
    let mut copies = Vec::new();
    let mut is_placed = vec![false; values.len()];
    let base = |node: NodeId| linear_base(graph, values, &stored.is_stored, node).index();
    let assigns: Vec<Assign> = (0..values.len())
        .filter_map(|node| match values[node].class {
            Class::Assign(variable) => Some(Assign { node, variable, base: base(graph.nodes[node].operands[0]) }),
            _ => None,
        })
        .collect();
    for assign in &assigns {
        let is_only = assigns.iter().filter(|other| other.variable == assign.variable).count() == 1;
        if is_only && !is_placed[assign.base] && known.can_write_in_place(buffers, assign, &assigns) {
            is_placed[assign.base] = true;
            let buffer = buffers.of(assign.base);
            buffers.list[buffer.index()].place = Place::Variable(assign.variable);
            continue;
        }
        // What was there before stays readable: reads see a copy of it, and a buffer of its own is the variable.
        if let Some(read) = known.read_of(assign.variable)
            && buffers.list[buffers.of(read).index()].place != Place::Arena(0)
        {
            let old = buffers.of(read);
            let length = values[read].length;
            buffers.list[old.index()].place = Place::Arena(0);
            let from = buffers.push(graph, read, length, Place::Variable(assign.variable));
            copies.push(copy(graph, read, from, old, (0, Rank::Snapshot, 0)));
        }
        let to = buffers.push(graph, assign.base, values[assign.base].length, Place::Variable(assign.variable));
        let order = (stored.level[assign.node], Rank::Assign, assign.node);
        copies.push(copy(graph, assign.node, buffers.of(assign.base), to, order));
    }
    for (place, output) in graph.outputs.iter().enumerate() {
        let node = base(*output);
        if stored.is_stored[node] && !is_placed[node] {
            is_placed[node] = true;
            let buffer = buffers.of(node);
            buffers.list[buffer.index()].place = Place::Output(place as u32);
            continue;
        }
        let to = buffers.push(graph, node, values[node].length, Place::Output(place as u32));
        // A variable is read before anything writes it.
        let order = match values[node].class {
            Class::Variable(_) => (0, Rank::Snapshot, 1 + place),
            _ => (u32::MAX, Rank::Assign, place),
        };
        copies.push(copy(graph, node, buffers.of(node), to, order));
    }
    copies
}

fn copy(graph: &Graph, node: usize, from: BufferId, to: BufferId, order: (u32, Rank, usize)) -> Scheduled {
    let origin: Origin = graph.nodes[node].origin;
    Scheduled { order, instruction: Instruction { work: Work::Copy { from, to }, op: "copy", origin } }
}

impl Known<'_> {
    /// The read of a variable, where there is one.
    fn read_of(&self, variable: u32) -> Option<usize> {
        let is_it = |node: &usize| matches!(self.values[*node].class, Class::Variable(place) if place == variable);
        (0..self.values.len()).find(|node| self.stored.is_needed[*node] && is_it(node))
    }

    /// Whether the instruction that computes a new value may write it over the old one: nothing reads the old one later, and
    /// nothing that comes before the assign in the program may still fail.
    fn can_write_in_place(&self, buffers: &Buffers, assign: &Assign, assigns: &[Assign]) -> bool {
        let (stored, base) = (self.stored, assign.base);
        let level = stored.level[base];
        let is_product = matches!(self.values[base].class, Class::Product);
        if !stored.is_stored[base] || matches!(self.values[base].class, Class::Opaque(_)) {
            return false;
        }
        let is_needed = |node: &usize| stored.is_needed[*node];
        let mut fallible = (0..assign.node).filter(|node| matches!(self.values[*node].class, Class::Opaque(_)));
        if fallible.any(|node| is_needed(&node) && stored.level[node] >= level) {
            return false;
        }
        let Some(read) = self.read_of(assign.variable) else { return true };
        let old = buffers.of(read);
        let writer = self.groups.iter().position(|group| group.stores.binary_search(&base).is_ok());
        let groups_allow = self.groups.iter().zip(self.fused).enumerate().all(|(place, (group, fused))| {
            let reads = reads(fused, old);
            match writer {
                Some(writer) if writer == place => reads.is_none_or(|is_even| is_even),
                Some(writer) => reads.is_none() || (group.level, place) < (level, writer),
                None => reads.is_none() || group.level < level,
            }
        });
        let is_fold = writer.is_none() && !is_product;
        let mut others = (0..self.values.len())
            .filter(|node| is_needed(node) && matches!(self.values[*node].class, Class::Product | Class::Opaque(_)));
        let reads_old = |node: usize| {
            let mut operands = self.graph.nodes[node].operands.iter();
            operands.any(|operand| base_of(self.graph, self.values, &stored.is_stored, *operand).0.index() == read)
        };
        let others_allow = others.all(|node| !reads_old(node) || stored.level[node] < level);
        let assigns_allow = assigns.iter().all(|other| other.base != read || stored.level[other.node] < level);
        groups_allow && others_allow && assigns_allow && !is_fold
    }
}

/// Whether an instruction reads a buffer, and if it does, whether only element by element.
fn reads(fused: &Fused, buffer: BufferId) -> Option<bool> {
    let directs = fused.directs.iter().filter(|direct| direct.buffer == buffer).map(|direct| direct.offset == 0);
    let uniforms = fused.uniforms.iter().filter(|uniform| uniform.buffer == buffer).map(|_| fused.length == 1);
    let strideds = fused.strideds.iter().filter(|strided| strided.buffer == buffer).map(|_| false);
    directs.chain(uniforms).chain(strideds).reduce(|left, right| left && right)
}
