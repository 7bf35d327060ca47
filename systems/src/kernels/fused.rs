//! Runs a fused instruction: tile by tile, all steps on one tile before the next.
//!
//! `unsafe` is allowed here: buffers are raw memory. What a fused instruction reads and writes is within its buffers because the
//! plan made it so, and buffers are whole [`PADDING_BYTES`], so that whole chunks may be read at their ends.
#![allow(unsafe_code)]

use entigrad_components::tensor::PADDING_BYTES;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::ops::Range;

use super::fold::{BLOCK, SEGMENT_BLOCKS};
use super::lanes::{chunk_count, whole_chunks};
use super::memory::{Line, Memory};
use super::program::{Extents, Fused, Slot};
use super::strided::{copy_strided, fill};
use crate::parallel;

/// Elements of a segment of a long row.
const SEGMENT: usize = BLOCK * SEGMENT_BLOCKS;

/// What a piece of parallel work takes at least.
const PIECE_NANOSECONDS: usize = 100_000;

thread_local! {
    /// What the fused instruction that this thread runs works with.
    static SCRATCH: RefCell<Scratch> = const { RefCell::new(Scratch { registers: Vec::new(), bases: Vec::new() }) };
}

/// Memory of a fused instruction. It grows to the largest and stays.
struct Scratch {
    registers: Vec<Line>,
    /// Where each base of a slot is.
    bases: Vec<*mut u8>,
}

impl Fused {
    /// Runs it on the buffers of `memory`; in pieces on several threads where it is large. How it is cut depends on the
    /// instruction alone.
    ///
    /// # Safety
    /// `memory` is that of the program that this instruction belongs to.
    pub(super) unsafe fn run(&self, memory: Memory<'_>) {
        // SAFETY: the caller's promise; pieces write to different places.
        unsafe {
            match self.extents {
                None => {
                    let tiles = self.length.div_ceil(self.tile);
                    self.in_pieces(tiles, self.tile, |first, last| {
                        self.with_worker(memory, |worker| {
                            worker.tiles(first * self.tile, (last * self.tile).min(self.length))
                        });
                    });
                }
                Some(extents) if extents.reduced == 0 => self.fill(memory, extents),
                Some(extents) if !extents.is_inner => {
                    let widths = extents.kept.div_ceil(self.tile);
                    self.in_pieces(widths, self.tile * extents.reduced, |first, last| {
                        let last = (last * self.tile).min(extents.kept);
                        self.with_worker(memory, |worker| worker.columns(extents, first * self.tile, last));
                    });
                }
                Some(extents) if extents.kept == 1 && extents.reduced > 2 * SEGMENT => self.segments(memory, extents),
                Some(extents) => {
                    self.in_pieces(extents.kept, extents.reduced, |first, last| {
                        self.with_worker(memory, |worker| worker.rows(extents, first, last));
                    });
                }
            }
        }
    }

    /// Calls `f` with ranges that cover `count` units of so many elements.
    fn in_pieces(&self, count: usize, unit_elements: usize, f: impl Fn(usize, usize) + Sync) {
        let unit_nanoseconds = (unit_elements * self.element_picoseconds / 1000).max(1);
        let units = (PIECE_NANOSECONDS / unit_nanoseconds).max(1);
        parallel::each(count.div_ceil(units), count.saturating_mul(unit_nanoseconds), |piece| {
            f(piece * units, ((piece + 1) * units).min(count));
        });
    }

    /// Calls `f` with what this thread runs it with.
    ///
    /// # Safety
    /// As for [`Fused::run`].
    pub(super) unsafe fn with_worker(&self, memory: Memory<'_>, f: impl FnOnce(&mut Worker<'_>)) {
        let lines = self.register_bytes.div_ceil(PADDING_BYTES);
        let base_count = Slot::FIRST_DIRECT as usize + self.directs.len() + self.stores.len();
        SCRATCH.with(|scratch| {
            let Scratch { registers, bases } = &mut *scratch.borrow_mut();
            if registers.len() < lines {
                registers.resize(lines, Line::default());
            }
            let registers = registers.as_mut_ptr().cast();
            if bases.len() < base_count {
                bases.resize(base_count, registers);
            }
            bases[Slot::POOL as usize] = self.pool.pointer().cast_mut();
            bases[Slot::REGISTERS as usize] = registers;
            let mut worker = Worker { fused: self, memory, bases, registers };
            // SAFETY: the caller's promise.
            unsafe { worker.fill_uniforms() };
            f(&mut worker);
        });
    }

    unsafe fn fill(&self, memory: Memory<'_>, extents: Extents) {
        for fold in &self.folds {
            // SAFETY: a result holds as many elements as are kept.
            unsafe { (fold.kernels.fill)(memory.pointer(fold.buffer), extents.kept) }
        }
    }

    /// One long row: whole segments side by side, then what is left.
    unsafe fn segments(&self, memory: Memory<'_>, extents: Extents) {
        let count = extents.reduced / SEGMENT;
        let mut results: SmallVec<[u64; 256]> = SmallVec::from_elem(0, count * self.folds.len());
        let pointer = Shared(results.as_mut_ptr());
        let nanoseconds = extents.reduced * self.element_picoseconds / 1000;
        parallel::each(count, nanoseconds, |segment| {
            let pointer = &pointer;
            // SAFETY: the caller's promise; each segment writes its own results.
            unsafe {
                self.with_worker(memory, |worker| {
                    worker.long_row(segment * SEGMENT, (segment + 1) * SEGMENT, |fold, finish| {
                        finish(pointer.0.add(segment * self.folds.len() + fold).cast());
                    });
                });
            }
        });
        // SAFETY: as above.
        unsafe {
            self.with_worker(memory, |worker| {
                worker.begin();
                for (place, result) in results.iter().enumerate() {
                    let fold = &self.folds[place % self.folds.len()];
                    (fold.kernels.take_segment)(worker.register(fold.state), std::ptr::from_ref(result).cast());
                }
                worker.extend(count * SEGMENT, extents.reduced);
                worker.finish(0);
            });
        }
    }
}

/// A pointer that pieces of work share, each for its own elements.
struct Shared<T>(*mut T);
// SAFETY: what is written through it is written by one piece alone.
unsafe impl<T> Sync for Shared<T> {}

/// One thread's run over a part of the domain.
pub(super) struct Worker<'a> {
    fused: &'a Fused,
    memory: Memory<'a>,
    bases: &'a mut [*mut u8],
    registers: *mut u8,
}

impl Worker<'_> {
    fn register(&self, offset: u32) -> *mut u8 {
        self.registers.wrapping_add(offset as usize)
    }

    /// # Safety
    /// The slot is one of this instruction.
    unsafe fn pointer(&self, slot: Slot) -> *mut u8 {
        // SAFETY: the caller's promise; there is a base for each operand and store.
        unsafe { self.bases.get_unchecked(slot.base as usize).wrapping_add(slot.offset as usize) }
    }

    unsafe fn fill_uniforms(&mut self) {
        let elements = whole_chunks(self.fused.tile.min(self.fused.length));
        for uniform in &self.fused.uniforms {
            let to = self.register(uniform.register);
            // SAFETY: the element is within its buffer, the register holds a tile.
            unsafe {
                let from = self.memory.pointer(uniform.buffer).add(uniform.offset * uniform.element_bytes);
                match uniform.element_bytes {
                    1 => fill::<u8>(from, to, elements),
                    4 => fill::<u32>(from, to, elements),
                    _ => fill::<u64>(from, to, elements),
                }
            }
        }
    }

    /// All steps on the tile of `length` elements from `start`.
    unsafe fn tile(&mut self, start: usize, length: usize) {
        let (fused, chunks) = (self.fused, chunk_count(length));
        let whole = whole_chunks(length);
        // SAFETY: accesses stay within their buffers for every index of the domain; a direct operand is read in place only where
        // whole chunks are the tile itself or within its padding.
        unsafe {
            for (place, direct) in fused.directs.iter().enumerate() {
                let first = direct.offset + start;
                let from = self.memory.pointer(direct.buffer).add(first * direct.element_bytes);
                self.bases[Slot::FIRST_DIRECT as usize + place] = if length == whole || first + whole <= direct.readable
                {
                    from
                } else {
                    let stand_in = self.register(direct.stand_in);
                    std::ptr::copy_nonoverlapping(from, stand_in, length * direct.element_bytes);
                    stand_in
                };
            }
            for strided in &fused.strideds {
                let (from, to) = (self.memory.pointer(strided.buffer), self.register(strided.register));
                match strided.element_bytes {
                    1 => copy_strided::<u8>(from, to, &strided.access, start, length),
                    4 => copy_strided::<u32>(from, to, &strided.access, start, length),
                    _ => copy_strided::<u64>(from, to, &strided.access, start, length),
                }
            }
            let first_store = Slot::FIRST_DIRECT as usize + fused.directs.len();
            for (place, store) in fused.stores.iter().enumerate() {
                self.bases[first_store + place] = if length == whole && !store.is_deferred {
                    self.memory.pointer(store.buffer).add(start * store.element_bytes)
                } else {
                    self.register(store.stand_in)
                };
            }
            for step in &fused.steps {
                let [x, y, z] = step.operands;
                (step.kernel)(self.pointer(step.result), self.pointer(x), self.pointer(y), self.pointer(z), chunks);
            }
        }
    }

    /// Puts what stood in for stores where it belongs: after the steps and the reductions, which may read what lies there.
    unsafe fn put_away(&mut self, start: usize, length: usize) {
        let first_store = Slot::FIRST_DIRECT as usize + self.fused.directs.len();
        for (place, store) in self.fused.stores.iter().enumerate() {
            if length != whole_chunks(length) || store.is_deferred {
                // SAFETY: a store's buffer holds the whole domain.
                unsafe {
                    let to = self.memory.pointer(store.buffer).add(start * store.element_bytes);
                    std::ptr::copy_nonoverlapping(self.bases[first_store + place], to, length * store.element_bytes);
                }
            }
        }
    }

    /// The elements of a block of a matrix with so many columns, whose rows and columns count from `first`.
    ///
    /// # Safety
    /// The matrix is the domain.
    pub(super) unsafe fn block(
        &mut self,
        all_columns: usize,
        first: (usize, usize),
        rows: Range<usize>,
        columns: Range<usize>,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            if columns.len() == all_columns {
                self.tiles((first.0 + rows.start) * all_columns, (first.0 + rows.end) * all_columns);
                return;
            }
            for row in rows {
                let start = (first.0 + row) * all_columns + first.1;
                self.tiles(start + columns.start, start + columns.end);
            }
        }
    }

    unsafe fn tiles(&mut self, first: usize, last: usize) {
        let mut start = first;
        while start < last {
            let length = self.fused.tile.min(last - start);
            // SAFETY: the caller's promise.
            unsafe {
                self.tile(start, length);
                self.put_away(start, length);
            }
            start += length;
        }
    }

    /// Rows from `first` to `last`, each reduced to one element.
    unsafe fn rows(&mut self, extents: Extents, first: usize, last: usize) {
        let (fused, length) = (self.fused, extents.reduced);
        // SAFETY: the caller's promise; a fold's result has an element for each row.
        unsafe {
            if length > fused.tile {
                for row in first..last {
                    self.begin();
                    self.extend(row * length, (row + 1) * length);
                    self.finish(row);
                }
                return;
            }
            let mut row = first;
            while row < last {
                let count = (fused.tile / length).min(last - row);
                self.tile(row * length, count * length);
                for fold in &fused.folds {
                    let result = self.memory.pointer(fold.buffer).add(row * fold.kernels.element_bytes);
                    (fold.kernels.rows)(self.pointer(fold.value), length, count, result);
                }
                self.put_away(row * length, count * length);
                row += count;
            }
        }
    }

    unsafe fn begin(&mut self) {
        for fold in &self.fused.folds {
            // SAFETY: the state is a register of its own.
            unsafe { (fold.kernels.begin)(self.register(fold.state)) }
        }
    }

    unsafe fn extend(&mut self, first: usize, last: usize) {
        let mut start = first;
        while start < last {
            let length = self.fused.tile.min(last - start);
            // SAFETY: the caller's promise.
            unsafe {
                self.tile(start, length);
                for fold in &self.fused.folds {
                    (fold.kernels.extend)(self.register(fold.state), self.pointer(fold.value), length);
                }
                self.put_away(start, length);
            }
            start += length;
        }
    }

    unsafe fn finish(&mut self, row: usize) {
        for fold in &self.fused.folds {
            // SAFETY: the caller's promise.
            unsafe {
                let result = self.memory.pointer(fold.buffer).add(row * fold.kernels.element_bytes);
                (fold.kernels.finish)(self.register(fold.state), result);
            }
        }
    }

    /// A part of one long row; `each` is given the number of each fold and a way to write its result.
    unsafe fn long_row(&mut self, first: usize, last: usize, each: impl Fn(usize, &dyn Fn(*mut u8))) {
        // SAFETY: the caller's promise.
        unsafe {
            self.begin();
            self.extend(first, last);
            for (place, fold) in self.fused.folds.iter().enumerate() {
                each(place, &|result| (fold.kernels.finish)(self.register(fold.state), result));
            }
        }
    }

    /// Columns from `first` to `last`, each reduced to one element.
    unsafe fn columns(&mut self, extents: Extents, first: usize, last: usize) {
        let (fused, kept, all) = (self.fused, extents.kept, extents.reduced);
        let mut start = first;
        while start < last {
            let width = fused.tile.min(last - start);
            // Narrow matrices: whole rows, several to a tile.
            let rows_per_tile = if kept <= fused.tile { (fused.tile / kept).max(1) } else { 1 };
            let mut row = 0;
            while row < all {
                let rows = rows_per_tile.min(all - row);
                // SAFETY: the caller's promise; where there are several rows they lie side by side.
                unsafe {
                    self.tile(row * kept + start, rows * width);
                    for fold in &fused.folds {
                        (fold.kernels.columns)(
                            self.register(fold.state),
                            self.pointer(fold.value),
                            row,
                            rows,
                            all,
                            width,
                        );
                    }
                    self.put_away(row * kept + start, rows * width);
                }
                row += rows;
            }
            for fold in &fused.folds {
                // SAFETY: as above.
                unsafe {
                    let result = self.memory.pointer(fold.buffer).add(start * fold.kernels.element_bytes);
                    (fold.kernels.finish_columns)(self.register(fold.state), all, width, result);
                }
            }
            start += width;
        }
    }
}
