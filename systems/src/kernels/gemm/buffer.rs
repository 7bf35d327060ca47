//! Each thread's memory for packed operands, which grows and stays.

use std::cell::Cell;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code)] [u8; 64]);

thread_local! {
    static LINES: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Calls `with` on `count` numbers of the thread's memory, of any value, at the start of a cache line.
pub fn with_buffer<T: Copy, R>(count: usize, with: impl FnOnce(*mut T) -> R) -> R {
    // The memory is taken out meanwhile, so that a product within an epilogue finds none and makes its own.
    let mut lines = LINES.take();
    let wanted = (count * size_of::<T>()).div_ceil(size_of::<Line>());
    if lines.len() < wanted {
        lines.resize(wanted, Line([0; 64]));
    }
    let result = with(lines.as_mut_ptr().cast());
    LINES.set(lines);
    result
}
