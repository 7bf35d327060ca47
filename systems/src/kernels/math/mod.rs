//! Elementary functions over chunks, written so that LLVM turns each of them into vector instructions.

use crate::kernels::lanes::{Chunk, LANES};

pub mod double;
pub mod single;
#[cfg(test)]
mod tests;

/// Applies a function without branches to each lane.
///
/// One counted loop around the whole function, and not a loop for each operation, is what LLVM's loop vectoriser turns
/// into straight code over full registers.
#[inline(always)]
fn each<T: Copy + Default>(x: Chunk<T>, f: impl Fn(T) -> T) -> Chunk<T> {
    let mut out = [T::default(); LANES];
    for (y, x) in out.iter_mut().zip(x) {
        *y = f(x);
    }
    out
}

/// Puts `rare(x)` in the lanes where `is_rare(x)` holds; `rare` runs only for a chunk that has such a lane.
///
/// The value of a lane never depends on its neighbours. `rare` sees zeros instead of the common lanes, which makes its
/// argument another array than `x`: if it took the address of `x` or `y`, both would live on the stack in the common
/// case too.
#[inline(always)]
fn mend<T: Copy + Default>(
    x: Chunk<T>,
    y: Chunk<T>,
    is_rare: impl Fn(T) -> bool,
    rare: impl Fn(&Chunk<T>) -> Chunk<T>,
) -> Chunk<T> {
    let any = x.iter().fold(false, |any, &x| any | is_rare(x));
    if !any {
        return y;
    }
    let mended = rare(&each(x, |x| if is_rare(x) { x } else { T::default() }));
    let mut out = [T::default(); LANES];
    for (j, out) in out.iter_mut().enumerate() {
        *out = if is_rare(x[j]) { mended[j] } else { y[j] };
    }
    out
}
