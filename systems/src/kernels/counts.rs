//! What a program takes, counted exactly: by its lengths alone, the same on every machine.

use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::fmt;

use super::access::Digit;
use super::program::{Buffer, BufferId, Factor, Fused, Program, Strided, Work};

/// What one run of a program takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many instructions.
    pub instructions: usize,
    /// How many buffers they read or write.
    pub buffers: usize,
    /// The size of the arena.
    pub arena_bytes: usize,
    /// What instructions read from buffers. Each operand of an instruction counts the elements that it shows, each element once
    /// however often it shows it. Registers and numbers within a fused instruction count nothing.
    pub bytes_read: usize,
    /// What they write to buffers: each result counts its elements.
    pub bytes_written: usize,
    /// An elementwise op counts 1 for each element that it is computed for, whatever the op; a reduction 1 for each element that
    /// it takes; an m × k by k × n product 2mkn; an op with a kernel of its own 1 for each element of its result; copies nothing.
    pub flops: usize,
}

impl Counts {
    /// What instructions read and write.
    pub fn bytes_moved(&self) -> usize {
        self.bytes_read + self.bytes_written
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instructions, buffers, arena_bytes, bytes_read, bytes_written, flops } = self;
        write!(f, "instructions {instructions}, buffers {buffers}, arena {arena_bytes} bytes, ")?;
        write!(f, "read {bytes_read} bytes, written {bytes_written} bytes, flops {flops}")
    }
}

impl Program {
    /// What a run takes.
    pub fn counts(&self) -> Counts {
        let mut used: BTreeSet<BufferId> = BTreeSet::new();
        let mut counts =
            Counts { instructions: self.instructions.len(), arena_bytes: self.arena_bytes, ..Counts::default() };
        for instruction in &self.instructions {
            let Traffic { reads, writes } = instruction.work.traffic(&self.buffers);
            used.extend(reads.iter().chain(&writes).map(|(buffer, _)| *buffer));
            counts.bytes_read += self.bytes(&reads);
            counts.bytes_written += self.bytes(&writes);
            counts.flops += instruction.work.flops();
        }
        counts.buffers = used.len();
        counts
    }

    fn bytes(&self, elements: &[(BufferId, usize)]) -> usize {
        elements.iter().map(|(buffer, count)| count * self.buffers[buffer.index()].dtype.size_bytes()).sum()
    }
}

/// The operands and the results of an instruction, each with how many elements it shows.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// What it reads.
    pub reads: SmallVec<[(BufferId, usize); 8]>,
    /// What it writes.
    pub writes: SmallVec<[(BufferId, usize); 8]>,
}

impl Work {
    /// What it reads and writes, as a part of a program with these buffers.
    pub fn traffic(&self, buffers: &[Buffer]) -> Traffic {
        match self {
            Self::Fused(fused) => fused.traffic(),
            Self::Product(product) => {
                let read = |factor: &Factor, rows: usize, columns: usize| {
                    let extents = [(product.batch, factor.batch_stride), (rows, factor.strides[0].unsigned_abs())];
                    let extents = extents.into_iter().chain([(columns, factor.strides[1].unsigned_abs())]);
                    (factor.buffer, shown(extents.map(|(extent, stride)| Digit { extent, stride })))
                };
                let left = read(&product.left, product.rows, product.inner);
                let right = read(&product.right, product.inner, product.columns);
                let result = (product.result, product.batch * product.rows * product.columns);
                Traffic { reads: [left, right].into_iter().collect(), writes: [result].into_iter().collect() }
            }
            Self::Opaque(opaque) => {
                let whole =
                    |(buffer, _, shape): &(BufferId, _, super::program::Shape)| (*buffer, shape.iter().product());
                let reads = opaque.operands.iter().map(whole).collect();
                Traffic { reads, writes: [whole(&opaque.result)].into_iter().collect() }
            }
            Self::Copy { from, to } => {
                let length = buffers[to.index()].length;
                Traffic {
                    reads: [(*from, length)].into_iter().collect(),
                    writes: [(*to, length)].into_iter().collect(),
                }
            }
        }
    }

    fn flops(&self) -> usize {
        match self {
            Self::Fused(fused) => {
                let ops: usize = fused.steps.iter().map(|step| step.op_count()).sum();
                fused.length * (ops + fused.folds.len())
            }
            Self::Product(product) => 2 * product.batch * product.rows * product.inner * product.columns,
            Self::Opaque(opaque) => opaque.result.2.iter().product(),
            Self::Copy { .. } => 0,
        }
    }
}

impl Fused {
    fn traffic(&self) -> Traffic {
        let strided = |strided: &Strided| (strided.buffer, shown(strided.access.digits().iter().copied()));
        let reads = self.directs.iter().map(|direct| (direct.buffer, self.length));
        let reads = reads.chain(self.uniforms.iter().map(|uniform| (uniform.buffer, self.length.min(1))));
        let reads = reads.chain(self.strideds.iter().map(strided)).collect();
        let kept = self.extents.map_or(0, |extents| extents.kept);
        let writes = self.stores.iter().map(|store| (store.buffer, self.length));
        Traffic { reads, writes: writes.chain(self.folds.iter().map(|fold| (fold.buffer, kept))).collect() }
    }
}

/// How many elements digits reach: what does not move shows the same ones again.
fn shown(digits: impl Iterator<Item = Digit>) -> usize {
    digits.map(|digit| if digit.stride == 0 { digit.extent.min(1) } else { digit.extent }).product()
}
