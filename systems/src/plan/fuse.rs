//! From a group to a fused instruction: what it reads and how, the steps in order, and the registers they use.

use entigrad_components::{DType, Scalar};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeSet;

use super::combine::combine;
use super::groups::Group;
use super::registers::{Register, Registers};
use super::stored::Stored;
use super::values::{Class, Value, dtype_of, view_operand};
use crate::graph::Graph;
use crate::kernels::access::Access;
use crate::kernels::elementwise;
use crate::kernels::fold::{column_state_bytes, row_state_bytes};
use crate::kernels::lanes::LANES;
use crate::kernels::memory::Pool;
use crate::kernels::program::{BufferId, Direct, Fold, Fused, Slot, Step, Store, Strided, Uniform};
use crate::kernels::tile::TileKernel;
use crate::ops::OpTable;

/// Registers of a tile shall fit in the first-level cache, with room for what is read where it is.
const REGISTER_BYTES_MAX: usize = 24 * 1024;
/// The longest tile.
const TILE_MAX: usize = 512;

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
struct Accesses {
    list: Vec<Access>,
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

/// Where a step's operand comes from before registers have places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Register(Register),
    Pool(u32),
    Direct(u32),
    Store(u32),
}

/// A step before registers have places.
struct Draft {
    kernel: TileKernel,
    result: Source,
    operands: SmallVec<[Source; 3]>,
    op: &'static str,
    nodes: [u32; 2],
}

/// A fused instruction being written.
struct Writer<'a> {
    fusing: Fusing<'a>,
    accesses: Accesses,
    sources: FxHashMap<Seen, Source>,
    registers: Registers,
    pool: Vec<Scalar>,
    pool_places: FxHashMap<Scalar, u32>,
    directs: Vec<(BufferId, usize, DType, Register)>,
    uniforms: Vec<(BufferId, usize, DType, Register)>,
    strideds: Vec<(BufferId, u32, DType, Register)>,
    stores: Vec<(BufferId, DType, Register)>,
    drafts: Vec<Draft>,
    picoseconds: usize,
}

/// What a group computes.
struct Wanted {
    /// In descending order.
    steps: Vec<Computed>,
    roots: Vec<Seen>,
    /// How often a register is read.
    uses: FxHashMap<Seen, u32>,
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

impl<'a> Writer<'a> {
    fn new(fusing: Fusing<'a>, accesses: Accesses) -> Self {
        Self {
            fusing,
            accesses,
            sources: FxHashMap::default(),
            registers: Registers::default(),
            pool: Vec::new(),
            pool_places: FxHashMap::default(),
            directs: Vec::new(),
            uniforms: Vec::new(),
            strideds: Vec::new(),
            stores: Vec::new(),
            drafts: Vec::new(),
            picoseconds: 0,
        }
    }

    /// Writes all steps; the source of each root.
    fn write(&mut self, group: &Group, wanted: &Wanted) -> Vec<Source> {
        let mut uses = wanted.uses.clone();
        // What is read once a run, or tile by tile before the steps, has its registers first.
        let operands = wanted.steps.iter().flat_map(|step| &step.operands).chain(&wanted.roots);
        let computed: FxHashMap<Seen, ()> = wanted.steps.iter().map(|step| (step.seen, ())).collect();
        for seen in operands {
            if !computed.contains_key(seen) && !self.sources.contains_key(seen) {
                let source = self.read(*seen);
                self.sources.insert(*seen, source);
            }
        }
        let store_of: FxHashMap<Seen, u32> = wanted.roots[..group.stores.len()]
            .iter()
            .enumerate()
            .filter(|(place, root)| root.0 as usize == group.stores[*place])
            .map(|(place, root)| (*root, place as u32))
            .collect();
        for store in &group.stores {
            let dtype = dtype_of(self.fusing.graph, *store);
            let buffer = self.fusing.buffers[*store].expect("what is stored has a buffer");
            let stand_in = self.registers.stand_in(dtype);
            self.stores.push((buffer, dtype, stand_in));
        }
        for Computed { seen, operands, kernel, picoseconds, op, nodes } in wanted.steps.iter().rev() {
            let sources: SmallVec<[Source; 3]> = operands.iter().map(|operand| self.sources[operand]).collect();
            for operand in operands {
                let left = uses.get_mut(operand).expect("every operand was counted");
                *left -= 1;
                if let (0, Source::Register(register)) = (*left, self.sources[operand]) {
                    self.registers.release(register);
                }
            }
            let result = match store_of.get(seen) {
                Some(place) => Source::Store(*place),
                None => Source::Register(self.registers.take(dtype_of(self.fusing.graph, seen.0 as usize))),
            };
            self.sources.insert(*seen, result);
            self.picoseconds += *picoseconds as usize;
            self.drafts.push(Draft { kernel: *kernel, result, operands: sources, op, nodes: *nodes });
        }
        self.copy_roots(group, wanted);
        wanted.roots.iter().map(|root| self.sources[root]).collect()
    }

    /// Stores that hold what was read, or what another store holds, are copies.
    fn copy_roots(&mut self, group: &Group, wanted: &Wanted) {
        for (place, store) in group.stores.iter().enumerate() {
            let source = self.sources[&wanted.roots[place]];
            if source == Source::Store(place as u32) {
                continue;
            }
            let dtype = dtype_of(self.fusing.graph, *store);
            let kernel = elementwise::copy(&[dtype], dtype).expect("every element type can be copied");
            let (result, nodes) = (Source::Store(place as u32), [*store as u32; 2]);
            let operands = [source].into_iter().collect();
            self.drafts.push(Draft { kernel, result, operands, op: Step::COPY, nodes });
        }
    }

    /// Where a value that the group does not compute is read from.
    fn read(&mut self, (node, access): Seen) -> Source {
        let (index, access_number) = (node as usize, access);
        if let Class::Uniform(number) = self.fusing.values[index].class {
            let next = self.pool.len() as u32;
            let place = *self.pool_places.entry(number).or_insert(next);
            if place == next {
                self.pool.push(number);
            }
            return Source::Pool(place);
        }
        let access = &self.accesses.list[access_number as usize];
        let buffer = self.fusing.buffers[index].expect("what is read has a buffer");
        let dtype = dtype_of(self.fusing.graph, index);
        if access.is_uniform() {
            let register = self.registers.hold(dtype);
            self.uniforms.push((buffer, access.offset(), dtype, register));
            Source::Register(register)
        } else if access.is_direct() {
            let stand_in = self.registers.stand_in(dtype);
            self.directs.push((buffer, access.offset(), dtype, stand_in));
            Source::Direct(self.directs.len() as u32 - 1)
        } else {
            let register = self.registers.take_early(dtype);
            self.strideds.push((buffer, access_number, dtype, register));
            Source::Register(register)
        }
    }

    fn tile(&self, group: &Group) -> usize {
        let element_bytes = self.registers.working_bytes().max(1);
        let state_bytes = match group.extents {
            Some(extents) if !extents.is_inner => {
                group.folds.iter().map(|fold| self.column_bytes(*fold, extents.reduced, LANES) / LANES).sum()
            }
            _ => 0,
        };
        let fits = REGISTER_BYTES_MAX / (element_bytes + state_bytes);
        let most = TILE_MAX.min(group.length.next_power_of_two()).max(LANES);
        (1_usize << fits.max(1).ilog2()).clamp(LANES, most)
    }

    fn column_bytes(&self, fold: usize, reduced: usize, width: usize) -> usize {
        let operand = self.fusing.graph.nodes[fold].operands[0].index();
        column_state_bytes(dtype_of(self.fusing.graph, operand).size_bytes(), reduced, width)
    }

    /// The reductions of a group, each with room for its partial results.
    fn folds(
        &self,
        group: &Group,
        tile: usize,
        value: impl Fn(usize) -> Slot,
        register_bytes: &mut usize,
    ) -> Vec<Fold> {
        let Some(extents) = group.extents else { return Vec::new() };
        let fold = |(number, fold): (usize, &usize)| {
            let Class::Fold(kernels) = self.fusing.values[*fold].class else { panic!("a fold is a fold") };
            let state = *register_bytes as u32;
            let bytes = if extents.is_inner {
                row_state_bytes(kernels.element_bytes)
            } else {
                column_state_bytes(kernels.element_bytes, extents.reduced, extents.kept.min(tile))
            };
            *register_bytes += bytes.next_multiple_of(128);
            let op = self.fusing.table.name(self.fusing.graph.nodes[*fold].op);
            let buffer = self.fusing.buffers[*fold].expect("what is stored has a buffer");
            Fold { value: value(number), buffer, kernels, state, op }
        };
        group.folds.iter().enumerate().map(fold).collect()
    }

    /// The instruction, now that all registers are known.
    fn finish(self, group: &Group, roots: Vec<Source>) -> Fused {
        let tile = self.tile(group);
        let place = |register: Register| self.registers.offset(register, tile) as u32;
        let first_store = Slot::FIRST_DIRECT + self.directs.len() as u32;
        let (pool, pool_offsets) = pool(&self.pool, tile);
        let slot = |source: Source| match source {
            Source::Register(register) => Slot { base: Slot::REGISTERS, offset: place(register) },
            Source::Pool(number) => Slot { base: Slot::POOL, offset: pool_offsets[number as usize] },
            Source::Direct(number) => Slot { base: Slot::FIRST_DIRECT + number, offset: 0 },
            Source::Store(number) => Slot { base: first_store + number, offset: 0 },
        };
        let steps = self.drafts.iter().map(|draft| {
            let operand = |place: usize| slot(*draft.operands.get(place).unwrap_or(&draft.operands[0]));
            let (result, operands) = (slot(draft.result), [0, 1, 2].map(operand));
            Step { kernel: draft.kernel, result, operands, op: draft.op, nodes: draft.nodes }
        });
        let value = |number: usize| {
            roots.get(group.stores.len() + number).map_or(Slot { base: Slot::REGISTERS, offset: 0 }, |root| slot(*root))
        };
        let mut register_bytes = self.registers.bytes(tile);
        let folds = self.folds(group, tile, value, &mut register_bytes);
        let directs = self.directs.iter().map(|(buffer, offset, dtype, stand_in)| Direct {
            buffer: *buffer,
            offset: *offset,
            readable: 0,
            element_bytes: dtype.size_bytes(),
            stand_in: place(*stand_in),
        });
        let uniforms = self.uniforms.iter().map(|(buffer, offset, dtype, register)| Uniform {
            buffer: *buffer,
            offset: *offset,
            element_bytes: dtype.size_bytes(),
            register: place(*register),
        });
        let strideds = self.strideds.iter().map(|(buffer, access, dtype, register)| Strided {
            buffer: *buffer,
            access: self.accesses.list[*access as usize].clone(),
            element_bytes: dtype.size_bytes(),
            register: place(*register),
        });
        let stores = self.stores.iter().map(|(buffer, dtype, stand_in)| Store {
            buffer: *buffer,
            element_bytes: dtype.size_bytes(),
            stand_in: place(*stand_in),
            is_deferred: false,
        });
        let streams = self.directs.len() + self.stores.len() + 5 * self.strideds.len();
        Fused {
            length: group.length,
            tile,
            directs: directs.collect(),
            uniforms: uniforms.collect(),
            strideds: strideds.collect(),
            steps: steps.collect(),
            stores: stores.collect(),
            extents: group.extents,
            folds,
            pool,
            register_bytes,
            element_picoseconds: self.picoseconds + 100 * (streams + group.folds.len()),
        }
    }
}

/// The constants, each repeated over a tile, and where each begins.
fn pool(numbers: &[Scalar], tile: usize) -> (Pool, Vec<u32>) {
    let mut pool = Pool::default();
    let offsets = numbers.iter().map(|number| pool.push(*number, tile) as u32).collect();
    (pool, offsets)
}
