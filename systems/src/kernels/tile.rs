//! Tile kernels: one elementwise op over a tile, a few hundred elements that stay in the first-level cache.
//!
//! An op is a type that maps one chunk; from it a function is made for each level of instructions. *Invariant*: a tile kernel
//! reads and writes whole chunks, and what it writes into a lane depends on that lane alone.
//!
//! `unsafe` is allowed here: tiles are raw memory whose length the program that runs them vouches for.
#![allow(unsafe_code)]

use bytemuck::Pod;
use entigrad_components::{DType, Scalar};

use super::lanes::{Avx2, Avx512, Chunk, Level, MachineLevel, Portable, chunk_by_chunk, machine_level};
use super::memory::Line;

/// A tile kernel: writes `chunk_count` chunks of `result`, reads as many of each operand that its op has.
///
/// # Safety
/// `result` and the op's operands point to so many chunks of the op's element types; `result` is an operand itself or overlaps
/// none.
pub type TileKernel = unsafe fn(result: *mut u8, x: *const u8, y: *const u8, z: *const u8, chunk_count: usize);

/// An op of one operand.
pub trait Map1 {
    /// The operand's elements.
    type X: Pod;
    /// The result's elements.
    type Result: Pod;
    /// One chunk of the result.
    fn map<L: Level>(x: Chunk<Self::X>) -> Chunk<Self::Result>;
}

/// An op of two operands.
pub trait Map2 {
    /// The first operand's elements.
    type X: Pod;
    /// The second operand's elements.
    type Y: Pod;
    /// The result's elements.
    type Result: Pod;
    /// One chunk of the result.
    fn map<L: Level>(x: Chunk<Self::X>, y: Chunk<Self::Y>) -> Chunk<Self::Result>;
}

/// An op of three operands.
pub trait Map3 {
    /// The first operand's elements.
    type X: Pod;
    /// The second operand's elements.
    type Y: Pod;
    /// The third operand's elements.
    type Z: Pod;
    /// The result's elements.
    type Result: Pod;
    /// One chunk of the result.
    fn map<L: Level>(x: Chunk<Self::X>, y: Chunk<Self::Y>, z: Chunk<Self::Z>) -> Chunk<Self::Result>;
}

/// One op, whatever its arity, over a tile.
pub(super) trait Tile {
    /// # Safety
    /// As [`TileKernel`].
    unsafe fn run<L: Level>(result: *mut u8, x: *const u8, y: *const u8, z: *const u8, chunk_count: usize);
}

struct Of1<M>(M);
struct Of2<M>(M);
struct Of3<M>(M);

/// The chunk at `place` of a tile, whatever its alignment.
///
/// # Safety
/// The tile has such a chunk.
#[inline(always)]
unsafe fn load<T: Pod>(tile: *const u8, place: usize) -> Chunk<T> {
    // SAFETY: the caller's promise; any bits are a `Pod`.
    unsafe { tile.cast::<Chunk<T>>().add(place).read_unaligned() }
}

/// # Safety
/// The tile has such a chunk.
#[inline(always)]
unsafe fn store<T: Pod>(tile: *mut u8, place: usize, chunk: Chunk<T>) {
    // SAFETY: the caller's promise.
    unsafe { tile.cast::<Chunk<T>>().add(place).write_unaligned(chunk) }
}

impl<M: Map1> Tile for Of1<M> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, x: *const u8, _: *const u8, _: *const u8, chunk_count: usize) {
        for place in 0..chunk_count {
            chunk_by_chunk();
            // SAFETY: `place` is within the tiles.
            unsafe { store(result, place, M::map::<L>(load(x, place))) }
        }
    }
}

impl<M: Map2> Tile for Of2<M> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, x: *const u8, y: *const u8, _: *const u8, chunk_count: usize) {
        for place in 0..chunk_count {
            chunk_by_chunk();
            // SAFETY: `place` is within the tiles.
            unsafe { store(result, place, M::map::<L>(load(x, place), load(y, place))) }
        }
    }
}

impl<M: Map3> Tile for Of3<M> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, x: *const u8, y: *const u8, z: *const u8, chunk_count: usize) {
        for place in 0..chunk_count {
            chunk_by_chunk();
            // SAFETY: `place` is within the tiles.
            unsafe { store(result, place, M::map::<L>(load(x, place), load(y, place), load(z, place))) }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn avx512<T: Tile>(result: *mut u8, x: *const u8, y: *const u8, z: *const u8, chunk_count: usize) {
    // SAFETY: the caller's promise.
    unsafe { T::run::<Avx512>(result, x, y, z, chunk_count) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<T: Tile>(result: *mut u8, x: *const u8, y: *const u8, z: *const u8, chunk_count: usize) {
    // SAFETY: the caller's promise.
    unsafe { T::run::<Avx2>(result, x, y, z, chunk_count) }
}

unsafe fn portable<T: Tile>(result: *mut u8, x: *const u8, y: *const u8, z: *const u8, chunk_count: usize) {
    // SAFETY: the caller's promise.
    unsafe { T::run::<Portable>(result, x, y, z, chunk_count) }
}

/// The kernel of this machine's level. (A function that needs instructions coerces to a plain `unsafe fn` pointer; that the
/// machine has them is what `machine_level` found out.)
fn kernel<T: Tile>() -> TileKernel {
    match machine_level() {
        #[cfg(target_arch = "x86_64")]
        MachineLevel::Avx512 => avx512::<T>,
        #[cfg(target_arch = "x86_64")]
        MachineLevel::Avx2 => avx2::<T>,
        _ => portable::<T>,
    }
}

/// The tile kernel of an op of one operand.
pub fn tile1<M: Map1>() -> TileKernel {
    kernel::<Of1<M>>()
}

/// The tile kernel of an op of two operands.
pub fn tile2<M: Map2>() -> TileKernel {
    kernel::<Of2<M>>()
}

/// The tile kernel of an op of three operands.
pub fn tile3<M: Map3>() -> TileKernel {
    kernel::<Of3<M>>()
}

/// One element of an op whose operands are numbers: what planning folds, and what tests compare fused programs with.
pub fn evaluate(kernel: TileKernel, operands: &[Scalar], result: DType) -> Scalar {
    let chunk = |operand: Option<&Scalar>| {
        let mut line = Line::default();
        operand.into_iter().for_each(|number| line.fill(*number));
        line
    };
    let operands = [0, 1, 2].map(|place| chunk(operands.get(place)));
    let mut out = Line::default();
    // SAFETY: a line holds a chunk of the widest type.
    unsafe {
        let [x, y, z] = [0, 1, 2].map(|place| operands[place].0.as_ptr());
        kernel(out.0.as_mut_ptr(), x, y, z, 1);
    }
    match result {
        DType::F32 => Scalar::F32(bytemuck::cast_slice(&out.0)[0]),
        DType::F64 => Scalar::F64(bytemuck::cast_slice(&out.0)[0]),
        DType::I32 => Scalar::I32(bytemuck::cast_slice(&out.0)[0]),
        DType::Bool => Scalar::Bool(out.0[0] != 0),
    }
}
