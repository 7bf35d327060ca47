//! Runs matrix products, in pieces of the result where that is worth it; the inner extent is never split.
//!
//! `unsafe` is allowed here: products take raw pointers and strides.
#![allow(unsafe_code)]

use entigrad_components::DType;

use std::ops::Range;

use super::fused::Worker;
use super::gemm;
use super::memory::Memory;
use super::program::{Fused, Product};
use crate::parallel;

/// Multiplications and additions of one core in a nanosecond, roughly.
const OPERATIONS_PER_NANOSECOND: usize = 100;

/// What a piece of parallel work takes at least.
const PIECE_NANOSECONDS: usize = 50_000;

impl Product {
    /// A rough guess of what it takes.
    pub fn work_nanoseconds(&self) -> usize {
        let operations = self.batch.saturating_mul(self.rows).saturating_mul(self.inner).saturating_mul(self.columns);
        operations.saturating_mul(2) / OPERATIONS_PER_NANOSECOND
    }

    /// Runs it, and `follower` on each block of the result while that is in the cache.
    ///
    /// # Safety
    /// `memory` is that of the program that this instruction belongs to, the result is none of the operands, and the follower is
    /// elementwise over the result and writes to none of the operands.
    pub(super) unsafe fn run(&self, memory: Memory<'_>, follower: Option<&Fused>) {
        if [self.batch, self.rows, self.columns].contains(&0) {
            return;
        }
        let piece = |matrix: usize, rows: Range<usize>, columns: Range<usize>| {
            // SAFETY: the caller's promise; pieces are different parts of the result.
            unsafe {
                match follower {
                    None => self.piece(memory, matrix, rows, columns, None),
                    Some(fused) => fused.with_worker(memory, |worker| {
                        self.piece(memory, matrix, rows, columns, Some(worker));
                    }),
                }
            }
        };
        let (work, threads) = (self.work_nanoseconds(), parallel::threads_for(self.work_nanoseconds()));
        if threads == 1 {
            (0..self.batch).for_each(|matrix| piece(matrix, 0..self.rows, 0..self.columns));
            return;
        }
        if self.batch >= threads {
            // Whole matrices, as many at a time as are worth a piece.
            let matrices = (PIECE_NANOSECONDS * self.batch / work.max(1)).clamp(1, self.batch.div_ceil(threads));
            parallel::each(self.batch.div_ceil(matrices), work, |run| {
                let matrices = run * matrices..((run + 1) * matrices).min(self.batch);
                matrices.for_each(|matrix| piece(matrix, 0..self.rows, 0..self.columns));
            });
            return;
        }
        // How a product is cut changes no bit, so this may look at the threads.
        let (row_pieces, column_pieces) = gemm::pieces_at_most(self.rows, self.inner, self.columns, threads);
        let pieces = row_pieces * column_pieces;
        parallel::each(self.batch * pieces, work, |place| {
            let (matrix, part_of) = (place / pieces, place % pieces);
            let rows = part(self.rows, row_pieces, part_of / column_pieces);
            let columns = part(self.columns, column_pieces, part_of % column_pieces);
            piece(matrix, rows, columns);
        });
    }

    /// The part of one matrix of the result within these rows and columns, and what follows on it.
    unsafe fn piece(
        &self,
        memory: Memory<'_>,
        matrix: usize,
        rows: Range<usize>,
        columns: Range<usize>,
        worker: Option<&mut Worker<'_>>,
    ) {
        let (left, right) = (&self.left, &self.right);
        let extents = gemm::Product {
            m: rows.len(),
            k: self.inner,
            n: columns.len(),
            a: left.strides,
            b: right.strides,
            c_row: self.columns,
        };
        let left_first = (left.offset + matrix * left.batch_stride) as isize + rows.start as isize * left.strides[0];
        let right_first =
            (right.offset + matrix * right.batch_stride) as isize + columns.start as isize * right.strides[1];
        let result_first = (matrix * self.rows + rows.start) * self.columns + columns.start;
        let (a, b) = (memory.pointer(left.buffer), memory.pointer(right.buffer));
        let c = memory.pointer(self.result);
        let first = (rows.start, columns.start);
        // SAFETY: a follower goes through elements that are final.
        let mut follow =
            worker.map(|worker| move |rows, columns| unsafe { worker.block(self.columns, first, rows, columns) });
        let done = follow.as_mut().map(|follow| follow as gemm::Done<'_>);
        // SAFETY: offsets, strides and extents stay within the buffers: the plan made them from the operands' shapes.
        unsafe {
            match self.dtype {
                DType::F64 => {
                    let (a, b) = (a.cast::<f64>().offset(left_first), b.cast::<f64>().offset(right_first));
                    gemm::multiply_f64(&extents, a, b, c.cast::<f64>().add(result_first), done);
                }
                _ => {
                    let (a, b) = (a.cast::<f32>().offset(left_first), b.cast::<f32>().offset(right_first));
                    gemm::multiply_f32(&extents, a, b, c.cast::<f32>().add(result_first), done);
                }
            }
        }
    }
}

/// The range of part `place` of `count`, cut at multiples of 16 where there are so many.
fn part(length: usize, count: usize, place: usize) -> Range<usize> {
    let unit = length.div_ceil(count).next_multiple_of(16);
    (place * unit).min(length)..((place + 1) * unit).min(length)
}
