//! Places in the arena: two buffers share one where they are never in use at the same time.

use smallvec::SmallVec;

use crate::kernels::counts::Traffic;
use crate::kernels::program::{Buffer, BufferId, Fused, Instruction, Place, Work};
use entigrad_components::tensor::PADDING_BYTES;

/// Gives every buffer in the arena its place, and tells instructions what they may read and overwrite; the arena's size.
pub(super) fn layout(buffers: &mut [Buffer], instructions: &mut [Instruction]) -> usize {
    let lives = lives(buffers, instructions);
    let mut free = FreeList::default();
    let mut factors: SmallVec<[BufferId; 2]> = SmallVec::new();
    for (number, instruction) in instructions.iter().enumerate() {
        let (reads, writes) = touched(&instruction.work, buffers);
        let dies = |buffer: &BufferId, buffers: &[Buffer]| {
            let is_arena = matches!(buffers[buffer.index()].place, Place::Arena(_));
            is_arena && lives[buffer.index()] == Some(number)
        };
        let ended = reads.iter().chain(&factors).copied();
        let mut dying: SmallVec<[BufferId; 8]> = ended.filter(|read| dies(read, buffers)).collect();
        dying.sort();
        dying.dedup();
        for write in &writes {
            if !matches!(buffers[write.index()].place, Place::Arena(_)) {
                continue;
            }
            let bytes = buffers[write.index()].bytes().next_multiple_of(PADDING_BYTES);
            let heir = dying.iter().position(|old| {
                buffers[old.index()].bytes().next_multiple_of(PADDING_BYTES) == bytes
                    && !factors.contains(old)
                    && matches!(&instruction.work, Work::Fused(fused) if can_inherit(fused, *old, *write))
            });
            buffers[write.index()].place = match heir {
                Some(place) => buffers[dying.remove(place).index()].place,
                None => Place::Arena(free.take(bytes)),
            };
        }
        // A value that nobody reads (a second use was folded away) is free again at once.
        let unread = writes.iter().filter(|write| lives[write.index()] == Some(number));
        for dead in dying.iter().chain(unread) {
            if let Buffer { place: Place::Arena(offset), .. } = buffers[dead.index()] {
                free.give(offset, buffers[dead.index()].bytes().next_multiple_of(PADDING_BYTES));
            }
        }
        // What follows a product runs while its factors are still read.
        factors.clear();
        factors.extend(followed_factors(&instruction.work).into_iter().flatten());
    }
    for instruction in instructions.iter_mut() {
        if let Work::Fused(fused) = &mut instruction.work {
            settle(fused, buffers);
        }
    }
    debug_assert!(is_sound(buffers, instructions), "what an instruction reads is what was written for it");
    free.end
}

/// Whether every buffer in the arena still holds what was written there when it is read.
fn is_sound(buffers: &[Buffer], instructions: &[Instruction]) -> bool {
    let mut held: Vec<BufferId> = Vec::new();
    // What is empty holds nothing that could be lost.
    let stretch = |buffer: BufferId| match (buffers[buffer.index()].place, buffers[buffer.index()].bytes()) {
        (Place::Arena(offset), bytes @ 1..) => Some((offset, offset + bytes)),
        _ => None,
    };
    let mut factors: Option<[BufferId; 2]> = None;
    instructions.iter().all(|instruction| {
        let (reads, writes) = touched(&instruction.work, buffers);
        // The factors of a product that this one follows are read while it writes.
        let still_read = factors.take();
        factors = followed_factors(&instruction.work);
        let is_held = reads.iter().all(|read| stretch(*read).is_none() || held.contains(read));
        for write in writes {
            let Some((first, end)) = stretch(write) else { continue };
            held.retain(|other| stretch(*other).is_none_or(|(start, stop)| stop <= first || end <= start));
            held.push(write);
        }
        is_held && still_read.into_iter().flatten().all(|factor| stretch(factor).is_none() || held.contains(&factor))
    })
}

/// Whether `new`, which a fused instruction stores, may lie where `old`, which it reads for the last time, lies.
fn can_inherit(fused: &Fused, old: BufferId, new: BufferId) -> bool {
    let is_store = fused.stores.iter().any(|store| store.buffer == new);
    let is_direct = fused.directs.iter().filter(|direct| direct.buffer == old).all(|direct| direct.offset == 0);
    let is_elsewhere = fused.uniforms.iter().any(|uniform| uniform.buffer == old)
        || fused.strideds.iter().any(|strided| strided.buffer == old);
    let old_bytes = fused.directs.iter().find(|direct| direct.buffer == old).map(|direct| direct.element_bytes);
    let new_bytes = fused.stores.iter().find(|store| store.buffer == new).map(|store| store.element_bytes);
    is_store && is_direct && !is_elsewhere && old_bytes == new_bytes
}

/// The last instruction that touches each buffer.
fn lives(buffers: &[Buffer], instructions: &[Instruction]) -> Vec<Option<usize>> {
    let mut lives: Vec<Option<usize>> = vec![None; buffers.len()];
    for (number, instruction) in instructions.iter().enumerate() {
        let (reads, writes) = touched(&instruction.work, buffers);
        for buffer in reads.iter().chain(&writes) {
            lives[buffer.index()] = lives[buffer.index()].max(Some(number));
        }
        for factor in followed_factors(&instruction.work).into_iter().flatten() {
            lives[factor.index()] = Some(number + 1);
        }
    }
    lives
}

/// The factors of a product that is followed by the next instruction.
fn followed_factors(work: &Work) -> Option<[BufferId; 2]> {
    match work {
        Work::Product(product) if product.is_followed => Some([product.left.buffer, product.right.buffer]),
        _ => None,
    }
}

/// What an instruction reads and writes.
pub(super) fn touched(work: &Work, buffers: &[Buffer]) -> (SmallVec<[BufferId; 8]>, SmallVec<[BufferId; 8]>) {
    let Traffic { reads, writes } = work.traffic(buffers);
    (reads.into_iter().map(|(buffer, _)| buffer).collect(), writes.into_iter().map(|(buffer, _)| buffer).collect())
}

/// Tells a fused instruction how far its operands may be read, and which stores have to wait for readers of what they
/// overwrite.
fn settle(fused: &mut Fused, buffers: &[Buffer]) {
    use crate::kernels::program::Slot;
    for direct in &mut fused.directs {
        let buffer = &buffers[direct.buffer.index()];
        let is_overwritten = fused.stores.iter().any(|store| buffers[store.buffer.index()].place == buffer.place);
        let bytes = match buffer.place {
            // What lies behind a part of what is overwritten, another piece may be writing.
            _ if is_overwritten => 0,
            // Arguments and results may be rows of larger tensors: what lies behind them is not theirs.
            Place::Input(_) | Place::Output(_) => buffer.bytes(),
            Place::Variable(_) | Place::Constant(_) | Place::Arena(_) => buffer.bytes().next_multiple_of(PADDING_BYTES),
        };
        direct.readable = bytes / direct.element_bytes;
    }
    let first_store = Slot::FIRST_DIRECT + fused.directs.len() as u32;
    for number in 0..fused.stores.len() {
        let place = buffers[fused.stores[number].buffer.index()].place;
        let aliases = |direct: &usize| buffers[fused.directs[*direct].buffer.index()].place == place;
        let aliased: SmallVec<[u32; 2]> =
            (0..fused.directs.len()).filter(aliases).map(|direct| Slot::FIRST_DIRECT + direct as u32).collect();
        let written = fused.steps.iter().position(|step| step.result.base == first_store + number as u32);
        let after = written.map_or(0, |written| written + 1);
        let is_read =
            fused.steps[after..].iter().any(|step| step.operands.iter().any(|slot| aliased.contains(&slot.base)));
        let is_folded = fused.folds.iter().any(|fold| aliased.contains(&fold.value.base));
        fused.stores[number].is_deferred = !aliased.is_empty() && (is_read || is_folded);
    }
}

/// Free stretches of the arena, by place.
#[derive(Debug, Default)]
struct FreeList {
    stretches: Vec<(usize, usize)>,
    end: usize,
}

impl FreeList {
    /// The smallest stretch that is large enough, or new room at the end.
    fn take(&mut self, bytes: usize) -> usize {
        let fits = self.stretches.iter().enumerate().filter(|(_, (_, length))| *length >= bytes);
        match fits.min_by_key(|(_, (_, length))| *length).map(|(place, _)| place) {
            Some(place) => {
                let (offset, length) = self.stretches[place];
                if length == bytes {
                    self.stretches.remove(place);
                } else {
                    self.stretches[place] = (offset + bytes, length - bytes);
                }
                offset
            }
            None => {
                // A free stretch at the very end grows.
                let offset = match self.stretches.last().copied() {
                    Some((offset, length)) if offset + length == self.end => {
                        self.stretches.pop();
                        offset
                    }
                    _ => self.end,
                };
                self.end = offset + bytes;
                offset
            }
        }
    }

    fn give(&mut self, offset: usize, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let place = self.stretches.partition_point(|(other, _)| *other < offset);
        self.stretches.insert(place, (offset, bytes));
        let joins = |left: (usize, usize), right: (usize, usize)| left.0 + left.1 == right.0;
        if place + 1 < self.stretches.len() && joins(self.stretches[place], self.stretches[place + 1]) {
            self.stretches[place].1 += self.stretches.remove(place + 1).1;
        }
        if place > 0 && joins(self.stretches[place - 1], self.stretches[place]) {
            self.stretches[place - 1].1 += self.stretches.remove(place).1;
        }
    }
}
