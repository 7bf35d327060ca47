//! What a group computes: its steps, and under which access each sees what it reads. Views end here.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeSet;

use super::combine::combine;
use super::groups::Group;
use super::stored::Stored;
use super::values::{Class, Value, dtype_of, view_operand};
use super::writer::Writer;
use crate::graph::Graph;
use crate::kernels::access::Access;
use crate::kernels::program::{BufferId, Fused};
use crate::kernels::tile::TileKernel;
use crate::ops::OpTable;

/// What the pass knows when it fuses.
#[derive(Clone, Copy)]
pub(super) struct Fusing<'a> {
    /// The rows.
    pub table: &'a OpTable,
    /// The graph.
    pub graph: &'a Graph,
    /// Its values.
    pub values: &'a [Value],
    /// What is stored.
    pub stored: &'a Stored,
    /// The buffer of each node that has one.
    pub buffers: &'a [Option<BufferId>],
}

/// A value under an access: what a step computes or an operand is.
pub(super) type Seen = (u32, u32);

/// A step, before it is known where its operands are.
pub(super) struct Computed {
    /// What it computes.
    pub seen: Seen,
    /// What it reads.
    pub operands: SmallVec<[Seen; 3]>,
    /// The kernel.
    pub kernel: TileKernel,
    /// What an element takes in picoseconds.
    pub picoseconds: u32,
    /// The op's name.
    pub op: &'static str,
    /// The nodes that it computes; where it is one, twice.
    pub nodes: [u32; 2],
}

/// Accesses by number; number 0 is the domain's own.
#[derive(Default)]
pub(super) struct Accesses {
    /// All of them.
    pub list: Vec<Access>,
    numbers: FxHashMap<Access, u32>,
}

impl Accesses {
    fn number(&mut self, access: Access) -> u32 {
        let next = self.list.len() as u32;
        let number = *self.numbers.entry(access.clone()).or_insert(next);
        if number == next {
            self.list.push(access);
        }
        number
    }
}

/// What a group computes.
pub(super) struct Wanted {
    /// In descending order.
    pub steps: Vec<Computed>,
    /// What it stores, then what it reduces.
    pub roots: Vec<Seen>,
    /// How often a value is read.
    pub uses: FxHashMap<Seen, u32>,
}

impl<'a> Fusing<'a> {
    /// The instruction of a group and the nodes that it computes; or a view that no access can say, which has to be stored.
    pub(super) fn fuse(self, group: &Group) -> Result<(Fused, Vec<usize>), usize> {
        let mut accesses = Accesses::default();
        let identity = accesses.number(Access::identity(group.length));
        if group.length == 0 {
            let writer = Writer::new(self, accesses);
            return Ok((writer.finish(group, Vec::new()), Vec::new()));
        }
        let mut wanted = self.wanted(group, &mut accesses, identity)?;
        let computed = wanted.steps.iter().map(|step| step.seen.0 as usize).collect();
        combine(self.graph, &mut wanted.steps, &wanted.uses);
        let mut writer = Writer::new(self, accesses);
        let roots = writer.write(group, &wanted);
        Ok((writer.finish(group, roots), computed))
    }

    /// Whether a value is read from memory by this group, and not computed in it.
    fn is_read(self, group: &Group, (node, access): Seen, identity: u32) -> bool {
        let index = node as usize;
        match self.values[index].class {
            Class::Input(_) | Class::Variable(_) | Class::Constant(_) => true,
            Class::Uniform(_) => false,
            _ => self.stored.is_stored[index] && !(access == identity && group.stores.binary_search(&index).is_ok()),
        }
    }

    /// What `node` shows under `access`: itself, or what its views show.
    fn behind_views(
        self,
        accesses: &mut Accesses,
        group: &Group,
        (node, access): Seen,
        identity: u32,
    ) -> Result<Seen, usize> {
        let (mut node, mut access) = (node, access);
        while let Class::View(view) = &self.values[node as usize].class {
            if self.is_read(group, (node, access), identity) {
                break;
            }
            let operand = view_operand(self.graph, self.values, node as usize);
            if self.values[operand.index()].length == 0 {
                return Err(node as usize);
            }
            let through = accesses.list[access as usize].through(view).ok_or(node as usize)?;
            (node, access) = (operand.0, accesses.number(through));
        }
        Ok((node, access))
    }

    fn wanted(self, group: &Group, accesses: &mut Accesses, identity: u32) -> Result<Wanted, usize> {
        let mut open: BTreeSet<Seen> = BTreeSet::new();
        let mut wanted = Wanted { steps: Vec::new(), roots: Vec::new(), uses: FxHashMap::default() };
        for store in &group.stores {
            // A stored view copies what it shows; anything else is computed.
            let seen = match &self.values[*store].class {
                Class::View(view) => {
                    let operand = view_operand(self.graph, self.values, *store);
                    let access = Access::new(view.axes.iter().copied(), view.offset);
                    let through = (operand.0, accesses.number(access));
                    self.behind_views(accesses, group, through, identity)?
                }
                _ => (*store as u32, identity),
            };
            wanted.roots.push(seen);
        }
        for fold in &group.folds {
            let operand = self.graph.nodes[*fold].operands[0];
            let access = match &group.domain {
                Some(view) => accesses.number(Access::new(view.axes.iter().copied(), 0)),
                None => identity,
            };
            wanted.roots.push(self.behind_views(accesses, group, (operand.0, access), identity)?);
        }
        for root in &wanted.roots {
            open.insert(*root);
            *wanted.uses.entry(*root).or_default() += 1;
        }
        // Operands have smaller numbers than their users, so the greatest open value has no user left to come.
        while let Some((node, access)) = open.pop_last() {
            let index = node as usize;
            let Class::Elementwise(kernel, weight) = self.values[index].class else { continue };
            if self.is_read(group, (node, access), identity) {
                continue;
            }
            let mut operands: SmallVec<[Seen; 3]> = SmallVec::new();
            for operand in &self.graph.nodes[index].operands {
                let seen = self.behind_views(accesses, group, (operand.0, access), identity)?;
                *wanted.uses.entry(seen).or_default() += 1;
                open.insert(seen);
                operands.push(seen);
            }
            let picoseconds = weight * dtype_of(self.graph, index).size_bytes().max(4) as u32 / 4;
            let op = self.table.name(self.graph.nodes[index].op);
            wanted.steps.push(Computed { seen: (node, access), operands, kernel, picoseconds, op, nodes: [node; 2] });
        }
        Ok(wanted)
    }
}
