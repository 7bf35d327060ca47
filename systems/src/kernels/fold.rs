//! Reductions as trees whose form depends on the number of reduced elements alone: not on how they lie, not on tiles, not on
//! threads.
//!
//! Elements are taken in blocks of 256. In a block, element i goes to lane i mod 16; a lane joins its elements in order; then
//! lanes are joined by halves: i with i + 8, with i + 4, with i + 2, with i + 1. Blocks are joined like the digits of a binary
//! counter: two of equal weight at once. Rows of a matrix are reduced chunk by chunk, columns many at a time; both
//! give these bits.
//!
//! `unsafe` is allowed here: tiles and partial results are raw memory whose size the program that runs them vouches for.
#![allow(unsafe_code)]

use bytemuck::Pod;
use entigrad_components::DType;
use std::marker::PhantomData;

use super::elementwise::Number;
use super::lanes::{Chunk, LANES, MachineLevel, chunk_by_chunk, machine_level, whole_chunks};

/// Elements of a block.
pub const BLOCK: usize = 256;
/// Blocks of a segment: what parallel work on one long row is cut into.
pub const SEGMENT_BLOCKS: usize = 256;
/// Blocks of any number that fits in memory wait on a stack of this depth.
const STACK_DEPTH: usize = 48;

/// What joins two elements.
pub trait Join {
    /// The elements.
    type T: Pod;
    /// What changes nothing.
    const IDENTITY: Self::T;
    /// What no elements give.
    const EMPTY: Self::T;
    /// Joins two.
    fn join(x: Self::T, y: Self::T) -> Self::T;
}

struct Sum<T>(PhantomData<T>);
struct Max<T>(PhantomData<T>);

/// Implements sum and maximum for a type.
macro_rules! joins {
    ($type:ty, $zero:expr, $nothing:expr, $least:expr) => {
        impl Join for Sum<$type> {
            type T = $type;
            const IDENTITY: $type = $nothing;
            const EMPTY: $type = $zero;
            #[inline(always)]
            fn join(x: $type, y: $type) -> $type {
                Number::add(x, y)
            }
        }
        impl Join for Max<$type> {
            type T = $type;
            const IDENTITY: $type = $least;
            const EMPTY: $type = $least;
            #[inline(always)]
            fn join(x: $type, y: $type) -> $type {
                Number::maximum(x, y)
            }
        }
    };
}
// -0 + x is x, also where x is -0.
joins!(f32, 0.0, -0.0, f32::NEG_INFINITY);
joins!(f64, 0.0, -0.0, f64::NEG_INFINITY);
joins!(i32, 0, 0, i32::MIN);

/// The partial result of one row: the lanes of the block that is not full, and the blocks that wait.
#[derive(Clone, Copy)]
#[repr(C)]
struct State<T> {
    lanes: Chunk<T>,
    stack: [T; STACK_DEPTH],
    depth: usize,
    /// Elements so far.
    count: usize,
}

/// The kernels of one reduction. All are unsafe: pointers reach as far as the counts say.
#[derive(Clone, Copy, Debug)]
pub struct FoldKernels {
    /// Reduces each of so many rows of a tile: values, row length, rows, result.
    pub rows: unsafe fn(*const u8, usize, usize, *mut u8),
    /// Begins a long row: state.
    pub begin: unsafe fn(*mut u8),
    /// Goes on with a long row: state, values, how many; all but the last a whole number of chunks.
    pub extend: unsafe fn(*mut u8, *const u8, usize),
    /// Takes a whole segment, reduced by `finish`, into the state of a long row that is a whole number of segments so far.
    pub take_segment: unsafe fn(*mut u8, *const u8),
    /// Ends a long row: state, result.
    pub finish: unsafe fn(*mut u8, *mut u8),
    /// Goes on with columns: state, values, the number of the first row, rows, rows of all tiles, width.
    pub columns: unsafe fn(*mut u8, *const u8, usize, usize, usize, usize),
    /// Ends columns: state, rows of all tiles, width, result.
    pub finish_columns: unsafe fn(*mut u8, usize, usize, *mut u8),
    /// Fills so many results with what no elements give.
    pub fill: unsafe fn(*mut u8, usize),
    /// The size of an element.
    pub element_bytes: usize,
}

/// Which kernels a reduction has for an element type; `None` where it has none.
pub type SelectFold = fn(DType) -> Option<FoldKernels>;

/// The sum.
pub fn sum(dtype: DType) -> Option<FoldKernels> {
    match dtype {
        DType::F32 => Some(kernels::<Sum<f32>>()),
        DType::F64 => Some(kernels::<Sum<f64>>()),
        DType::I32 => Some(kernels::<Sum<i32>>()),
        DType::Bool => None,
    }
}

/// The greatest element.
pub fn max(dtype: DType) -> Option<FoldKernels> {
    match dtype {
        DType::F32 => Some(kernels::<Max<f32>>()),
        DType::F64 => Some(kernels::<Max<f64>>()),
        DType::I32 => Some(kernels::<Max<i32>>()),
        DType::Bool => None,
    }
}

/// The size of the state of a long row.
pub fn row_state_bytes(element_bytes: usize) -> usize {
    (LANES + STACK_DEPTH) * element_bytes + 2 * size_of::<usize>()
}

/// The size of the state of columns.
pub fn column_state_bytes(element_bytes: usize, reduced: usize, width: usize) -> usize {
    let blocks = reduced.div_ceil(BLOCK).max(1);
    (LANES.min(reduced) + blocks.ilog2() as usize + 1) * whole_chunks(width) * element_bytes
}

/// Compiles a function for each level, and chooses that of this machine.
macro_rules! leveled {
    ($body:ident::<$join:ident>($($argument:ident: $type:ty),*)) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        unsafe fn avx512<$join: Join>($($argument: $type),*) { unsafe { $body::<$join>($($argument),*) } }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2<$join: Join>($($argument: $type),*) { unsafe { $body::<$join>($($argument),*) } }
        match machine_level() {
            #[cfg(target_arch = "x86_64")]
            MachineLevel::Avx512 => avx512::<$join> as unsafe fn($($type),*),
            #[cfg(target_arch = "x86_64")]
            MachineLevel::Avx2 => avx2::<$join>,
            _ => $body::<$join>,
        }
    }};
}

fn kernels<J: Join>() -> FoldKernels {
    FoldKernels {
        rows: leveled!(rows::<J>(values: *const u8, length: usize, count: usize, result: *mut u8)),
        begin: begin::<J>,
        extend: leveled!(extend::<J>(state: *mut u8, values: *const u8, count: usize)),
        take_segment: take_segment::<J>,
        finish: finish::<J>,
        columns: leveled!(columns::<J>(
            state: *mut u8, values: *const u8, first: usize, rows: usize, all: usize, width: usize
        )),
        finish_columns: leveled!(finish_columns::<J>(state: *mut u8, all: usize, width: usize, result: *mut u8)),
        fill: fill::<J>,
        element_bytes: size_of::<J::T>(),
    }
}

/// Joins lanes by halves.
#[inline(always)]
fn halves<J: Join>(mut lanes: Chunk<J::T>) -> J::T {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = J::join(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// Joins up to a block's values into lanes.
///
/// # Safety
/// `values` points to `count` values.
#[inline(always)]
unsafe fn lanes_of<J: Join>(mut lanes: Chunk<J::T>, values: *const J::T, count: usize) -> Chunk<J::T> {
    let whole = count / LANES;
    for place in 0..whole {
        chunk_by_chunk();
        // SAFETY: within the values.
        let chunk: Chunk<J::T> = unsafe { values.cast::<Chunk<J::T>>().add(place).read_unaligned() };
        for lane in 0..LANES {
            lanes[lane] = J::join(lanes[lane], chunk[lane]);
        }
    }
    for (lane, joined) in lanes.iter_mut().enumerate().take(count % LANES) {
        // SAFETY: as above.
        *joined = J::join(*joined, unsafe { values.add(whole * LANES + lane).read_unaligned() });
    }
    lanes
}

#[inline(always)]
unsafe fn rows<J: Join>(values: *const u8, length: usize, count: usize, result: *mut u8) {
    let (values, result) = (values.cast::<J::T>(), result.cast::<J::T>());
    for row in 0..count {
        // SAFETY: there are `count` rows of `length` values, and as many results.
        unsafe {
            let values = values.add(row * length);
            let joined = if length <= BLOCK {
                halves::<J>(lanes_of::<J>([J::IDENTITY; LANES], values, length))
            } else {
                let mut state = new_state::<J>();
                go_on::<J>(&mut state, values, length);
                ended::<J>(&mut state)
            };
            result.add(row).write_unaligned(joined);
        }
    }
}

fn new_state<J: Join>() -> State<J::T> {
    State { lanes: [J::IDENTITY; LANES], stack: [J::IDENTITY; STACK_DEPTH], depth: 0, count: 0 }
}

/// Joins a finished block, or a segment's worth of them, with those of equal weight.
#[inline(always)]
fn push<J: Join>(state: &mut State<J::T>, value: J::T, equal_weights: u32) {
    let mut value = value;
    for _ in 0..equal_weights {
        state.depth -= 1;
        value = J::join(state.stack[state.depth], value);
    }
    state.stack[state.depth] = value;
    state.depth += 1;
}

/// # Safety
/// `values` points to `count` values.
#[inline(always)]
unsafe fn go_on<J: Join>(state: &mut State<J::T>, values: *const J::T, count: usize) {
    let mut done = 0;
    while done < count {
        let taken = (BLOCK - state.count % BLOCK).min(count - done);
        // SAFETY: within the values.
        state.lanes = unsafe { lanes_of::<J>(state.lanes, values.add(done), taken) };
        done += taken;
        state.count += taken;
        if state.count % BLOCK == 0 {
            let block = halves::<J>(state.lanes);
            push::<J>(state, block, (state.count / BLOCK).trailing_zeros());
            state.lanes = [J::IDENTITY; LANES];
        }
    }
}

#[inline(always)]
fn ended<J: Join>(state: &mut State<J::T>) -> J::T {
    if state.count == 0 {
        return J::EMPTY;
    }
    if state.count % BLOCK != 0 {
        let block = halves::<J>(state.lanes);
        push::<J>(state, block, (state.count / BLOCK + 1).trailing_zeros());
    }
    let mut joined = state.stack[state.depth - 1];
    for waiting in state.stack[..state.depth - 1].iter().rev() {
        joined = J::join(*waiting, joined);
    }
    joined
}

unsafe fn begin<J: Join>(state: *mut u8) {
    // SAFETY: the state is as large as `row_state_bytes` says, and aligned as registers are.
    unsafe { state.cast::<State<J::T>>().write_unaligned(new_state::<J>()) }
}

#[inline(always)]
unsafe fn extend<J: Join>(state: *mut u8, values: *const u8, count: usize) {
    // SAFETY: `begin` made the state, in a register, which is aligned to a cache line.
    unsafe { go_on::<J>(&mut *state.cast::<State<J::T>>(), values.cast(), count) }
}

unsafe fn take_segment<J: Join>(state: *mut u8, value: *const u8) {
    // SAFETY: as above; the value is one element.
    unsafe {
        let state = &mut *state.cast::<State<J::T>>();
        state.count += SEGMENT_BLOCKS * BLOCK;
        push::<J>(
            state,
            value.cast::<J::T>().read_unaligned(),
            (state.count / (SEGMENT_BLOCKS * BLOCK)).trailing_zeros(),
        );
    }
}

unsafe fn finish<J: Join>(state: *mut u8, result: *mut u8) {
    // SAFETY: as above; the result is one element.
    unsafe { result.cast::<J::T>().write_unaligned(ended::<J>(&mut *state.cast::<State<J::T>>())) }
}

unsafe fn fill<J: Join>(result: *mut u8, count: usize) {
    for place in 0..count {
        // SAFETY: there are so many results.
        unsafe { result.cast::<J::T>().add(place).write_unaligned(J::EMPTY) }
    }
}

/// into[i] = join(x[i], y[i]).
///
/// # Safety
/// All point to `width` elements; `into` may be one of the others.
#[inline(always)]
unsafe fn join_rows<J: Join>(into: *mut J::T, x: *const J::T, y: *const J::T, width: usize) {
    let whole = width / LANES;
    for place in 0..whole {
        chunk_by_chunk();
        // SAFETY: within the rows.
        unsafe {
            let x: Chunk<J::T> = x.cast::<Chunk<J::T>>().add(place).read_unaligned();
            let y: Chunk<J::T> = y.cast::<Chunk<J::T>>().add(place).read_unaligned();
            let joined: Chunk<J::T> = std::array::from_fn(|lane| J::join(x[lane], y[lane]));
            into.cast::<Chunk<J::T>>().add(place).write_unaligned(joined);
        }
    }
    for place in whole * LANES..width {
        // SAFETY: as above.
        unsafe {
            into.add(place).write_unaligned(J::join(x.add(place).read_unaligned(), y.add(place).read_unaligned()))
        }
    }
}

#[inline(always)]
unsafe fn columns<J: Join>(state: *mut u8, values: *const u8, first: usize, rows: usize, all: usize, width: usize) {
    let (state, values, apart) = (state.cast::<J::T>(), values.cast::<J::T>(), whole_chunks(width));
    for row in first..first + rows {
        // SAFETY: the state holds LANES.min(all) rows of lanes, `apart` elements each, then the stack; the tile holds `rows`
        // rows of `width` values.
        unsafe {
            let values = values.add((row - first) * width);
            let lane = state.add(row % LANES * apart);
            if row % BLOCK < LANES {
                std::ptr::copy_nonoverlapping(values, lane, width);
            } else {
                join_rows::<J>(lane, lane, values, width);
            }
            if row % BLOCK == BLOCK - 1 || row == all - 1 {
                end_block::<J>(state, row, all, width);
            }
        }
    }
}

/// Joins the lanes of a block that ends with `row`, and puts it on the stack.
///
/// # Safety
/// As [`columns`].
#[inline(always)]
unsafe fn end_block<J: Join>(state: *mut J::T, row: usize, all: usize, width: usize) {
    let apart = whole_chunks(width);
    let mut present = LANES.min(row % BLOCK + 1);
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half.min(present.saturating_sub(half)) {
            // SAFETY: lanes below `present` are there.
            unsafe {
                join_rows::<J>(
                    state.add(lane * apart),
                    state.add(lane * apart),
                    state.add((lane + half) * apart),
                    width,
                )
            }
        }
        present = present.min(half);
        half /= 2;
    }
    let number = row / BLOCK + 1;
    let mut depth = (number - 1).count_ones() as usize;
    // SAFETY: the stack has a place for each digit of the number of blocks.
    unsafe {
        let stack = state.add(LANES.min(all) * apart);
        for _ in 0..number.trailing_zeros() {
            depth -= 1;
            join_rows::<J>(state, stack.add(depth * apart), state, width);
        }
        std::ptr::copy_nonoverlapping(state, stack.add(depth * apart), width);
    }
}

#[inline(always)]
unsafe fn finish_columns<J: Join>(state: *mut u8, all: usize, width: usize, result: *mut u8) {
    let (state, result, apart) = (state.cast::<J::T>(), result.cast::<J::T>(), whole_chunks(width));
    let depth = all.div_ceil(BLOCK).count_ones() as usize;
    // SAFETY: as above; there are `width` results.
    unsafe {
        let stack = state.add(LANES.min(all) * apart);
        std::ptr::copy_nonoverlapping(stack.add((depth - 1) * apart), result, width);
        for waiting in (0..depth - 1).rev() {
            join_rows::<J>(result, stack.add(waiting * apart), result, width);
        }
    }
}
