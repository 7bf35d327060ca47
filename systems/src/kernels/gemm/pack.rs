//! Packing: operands rearranged such that tiles read them from first to last.

use super::{
    lanes::{Lanes, Number},
    tile::{WIDE, load_row},
};

/// How many rows ahead packing asks for B.
const AHEAD_ROWS: isize = 3;

/// A stretch of B's columns to pack: rows of `registers` registers, one after the other.
#[derive(Clone, Copy)]
pub struct Sliver<T> {
    /// The first number.
    pub from: *const T,
    /// From one row to the next, in elements.
    pub row: isize,
    /// From one column to the next, in elements.
    pub column: isize,
    /// How many rows.
    pub depth: usize,
    /// How many columns; the rest of the last register becomes zeros.
    pub width: usize,
    /// How many registers a row takes.
    pub registers: usize,
    /// Where the packed rows go.
    pub to: *mut T,
}

/// A strip of A's rows to pack.
#[derive(Clone, Copy)]
pub struct Strip<T> {
    /// The first number.
    pub from: *const T,
    /// From one row to the next, in elements.
    pub row: isize,
    /// From one column to the next, in elements.
    pub column: isize,
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub depth: usize,
    /// Where the packed numbers go.
    pub to: *mut T,
}

/// Packs one sliver of B, transposing it where its columns are contiguous rather than its rows.
#[inline(always)]
pub unsafe fn pack<V: Lanes>(s: &Sliver<V::Item>) {
    let row = s.registers * V::COUNT;
    // SAFETY: the caller vouches for what the sliver reads and for `depth` rows at `to`.
    unsafe {
        for register in 0..s.registers {
            let width = (s.width - register * V::COUNT).min(V::COUNT);
            let from = s.from.offset((register * V::COUNT) as isize * s.column);
            let to = s.to.add(register * V::COUNT);
            if s.column != 1 && s.row == 1 {
                V::transpose(from, s.column, width, s.depth, to, row);
            } else if s.column == 1 {
                for p in 0..s.depth {
                    V::load_first(from.offset(p as isize * s.row), width).store(to.add(p * row));
                }
            } else {
                for p in 0..s.depth {
                    for lane in 0..V::COUNT {
                        let at = from.wrapping_offset(lane as isize * s.column + p as isize * s.row);
                        *to.add(p * row + lane) = if lane < width { *at } else { V::Item::ZERO };
                    }
                }
            }
        }
    }
}

/// Packs as many slivers of [`WIDE`] registers as `registers` says, row after row.
#[inline(always)]
pub unsafe fn pack_wide<V: Lanes>(s: &Sliver<V::Item>) {
    let mut row = s.from;
    let mut to = s.to;
    let sliver = WIDE * V::COUNT;
    for _ in 0..s.depth {
        // SAFETY: as for `pack`.
        unsafe {
            let (mut from, mut sliver_to) = (row, to);
            let mut ahead = row.wrapping_offset(AHEAD_ROWS * s.row);
            for _ in 0..s.registers {
                let lanes = load_row::<V, WIDE>(from, V::COUNT);
                for (j, lanes) in lanes.iter().enumerate() {
                    V::prefetch(ahead.wrapping_add(j * V::COUNT));
                    lanes.store(sliver_to.add(j * V::COUNT));
                }
                ahead = ahead.wrapping_add(sliver);
                from = from.wrapping_add(sliver);
                sliver_to = sliver_to.wrapping_add(s.depth * sliver);
            }
        }
        row = row.wrapping_offset(s.row);
        to = to.wrapping_add(sliver);
    }
}

/// Packs rows of A such that each column's numbers follow each other.
#[inline(always)]
pub unsafe fn pack_columns<V: Lanes, const M: usize>(s: &Strip<V::Item>) {
    // SAFETY: the caller vouches for what the strip reads and for as many numbers at `to`.
    unsafe {
        let mut from = s.from;
        let mut to = s.to;
        if s.rows == M && s.row == 1 {
            for _ in 0..s.depth {
                to.cast::<[V::Item; M]>().write_unaligned(from.cast::<[V::Item; M]>().read_unaligned());
                from = from.wrapping_offset(s.column);
                to = to.add(M);
            }
            return;
        }
        if s.rows == M && V::COUNT == M && s.column == 1 {
            return V::transpose(from, s.row, M, s.depth, to, M);
        }
        for _ in 0..s.depth {
            for i in 0..s.rows {
                *to.add(i) = *from.wrapping_offset(i as isize * s.row);
            }
            from = from.wrapping_offset(s.column);
            to = to.add(s.rows);
        }
    }
}
