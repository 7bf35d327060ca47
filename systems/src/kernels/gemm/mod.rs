//! Matrix products: C = A·B for single and double precision, with any strides of A and B.
//!
//! Every element of C is one chain of multiply-adds from zero in the order of the inner index, whatever the path, the
//! blocks and the part of C asked for, so cutting C in any way changes no bit.
//!
//! `unsafe` is allowed here: matrices are raw pointers with strides.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod buffer;
mod drive;
mod lanes;
mod level;
mod pack;
mod small;
#[cfg(test)]
mod tests;
mod tile;

use drive::Blocks;
pub use drive::Done;
use level::Scalar;

/// Extents and strides (in elements) of C = A·B: A is m×k, B is k×n with any strides, C has rows of contiguous elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of A and rows of B.
    pub k: usize,
    /// Columns of B and C.
    pub n: usize,
    /// From one row of A to the next, and from one column to the next.
    pub a: [isize; 2],
    /// From one row of B to the next, and from one column to the next.
    pub b: [isize; 2],
    /// From one row of C to the next, at least `n`.
    pub c_row: usize,
}

#[inline]
unsafe fn multiply<T: Scalar>(product: &Product, a: *const T, b: *const T, c: *mut T, done: Option<Done>) {
    let kernels = T::kernels();
    // SAFETY: the caller vouches for the operands, and the level is one that the machine has.
    unsafe {
        if small::suits::<T>(product) {
            small::run(kernels, product, a, b, c, done)
        } else {
            drive::run(kernels, &Blocks::of(kernels, product), product, a, b, c, done)
        }
    }
}

/// C = A·B in single precision; C is overwritten, and with `k` zero it becomes zeros. `done(rows, columns)` is called as each block
/// of C gets its final values, while it is in cache.
///
/// # Safety
/// The pointers must be valid for every element that the extents and strides reach, and C must overlap neither A nor B.
pub unsafe fn multiply_f32(product: &Product, a: *const f32, b: *const f32, c: *mut f32, done: Option<Done>) {
    // SAFETY: as the caller vouches.
    unsafe { multiply(product, a, b, c, done) }
}

/// The same in double precision.
///
/// # Safety
/// As for [`multiply_f32`].
pub unsafe fn multiply_f64(product: &Product, a: *const f64, b: *const f64, c: *mut f64, done: Option<Done>) {
    // SAFETY: as the caller vouches.
    unsafe { multiply(product, a, b, c, done) }
}

/// How many rows and columns of pieces to cut C into for parallel work, at most `most` pieces of some fifty microseconds or more
/// each; `(1, 1)` is not to cut. No cut changes a bit. Cuts are best at multiples of 16 rows and 48 columns.
pub fn pieces_at_most(m: usize, k: usize, n: usize, most: usize) -> (usize, usize) {
    /// The fewest multiply-adds worth a piece.
    const WORK: usize = 1 << 22;
    let most = (m.saturating_mul(k).saturating_mul(n) / WORK).min(most);
    let (mut rows, mut columns) = (1, 1);
    while rows * columns * 2 <= most {
        // Each piece packs its rows of A and its columns of B, so that square pieces pack least.
        if n / columns >= m / rows && n / columns >= 96 {
            columns *= 2;
        } else if m / rows >= 96 {
            rows *= 2;
        } else {
            break;
        }
    }
    (rows, columns)
}
