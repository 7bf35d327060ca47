//! From what a group computes to a fused instruction: where its operands come from, the registers, the tile.

use entigrad_components::{DType, Scalar};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::fuse::{Accesses, Computed, Fusing, Seen, Wanted};
use super::groups::Group;
use super::registers::{Register, Registers};
use super::values::{Class, dtype_of};
use crate::kernels::elementwise;
use crate::kernels::fold::{column_state_bytes, row_state_bytes};
use crate::kernels::lanes::LANES;
use crate::kernels::memory::Pool;
use crate::kernels::program::{BufferId, Direct, Fold, Fused, Slot, Step, Store, Strided, Uniform};
use crate::kernels::tile::TileKernel;

/// Registers of a tile shall fit in the first-level cache, with room for what is read where it is.
const REGISTER_BYTES_MAX: usize = 24 * 1024;
/// The longest tile.
const TILE_MAX: usize = 512;

/// Where a step's operand comes from before registers have places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
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
pub(super) struct Writer<'a> {
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

impl<'a> Writer<'a> {
    /// Nothing yet.
    pub(super) fn new(fusing: Fusing<'a>, accesses: Accesses) -> Self {
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
    pub(super) fn write(&mut self, group: &Group, wanted: &Wanted) -> Vec<Source> {
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
    pub(super) fn finish(self, group: &Group, roots: Vec<Source>) -> Fused {
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
