//! The innermost loops: one tile of C held in registers over a whole stretch of the inner extent.

use super::{
    lanes::Lanes,
    pack::{Sliver, Strip, pack, pack_columns, pack_wide},
};

/// One tile's work: `C (+)= A·B` for up to [`Kernels::rows`] rows and [`WIDE`] registers of columns.
#[derive(Clone, Copy)]
pub struct Tile<T> {
    /// How many products each element sums.
    pub depth: usize,
    /// The first number of A's rows.
    pub a: *const T,
    /// From one row of A to the next, in elements.
    pub a_row: isize,
    /// From one column of A to the next, in elements.
    pub a_column: isize,
    /// The first number of B's columns, which are contiguous.
    pub b: *const T,
    /// From one row of B to the next, in elements.
    pub b_row: isize,
    /// The tile of C.
    pub c: *mut T,
    /// From one row of C to the next, in elements.
    pub c_row: usize,
    /// How many lanes of the last register are columns of C.
    pub last: usize,
    /// Whether the sums go on from what C holds rather than from zero.
    pub onto: bool,
    /// Where the next tile of C is, to have it in cache by then.
    pub next: *const T,
    /// What is read of packed A soon, a cache line for every few steps.
    pub ahead: *const T,
}

/// The most registers of columns that a tile has.
pub const WIDE: usize = 3;
/// How many rows of packed B are asked for ahead of their use, since they stream from the second-level cache.
const AHEAD: usize = 8;
/// How many steps of packed operands go together.
pub const STEPS: usize = 4;
/// The most rows that a tile has at any level.
pub const TALL: usize = 8;

impl<T> Kernels<T> {
    /// How many registers hold `columns` numbers.
    #[inline]
    pub fn registers(&self, columns: usize) -> usize {
        (columns + self.lanes - 1) >> self.shift
    }
}

type TileOf<T> = unsafe fn(&Tile<T>);
type Form<T> = [[TileOf<T>; WIDE]; TALL];

/// Both operands are packed.
pub const PACKED: usize = 0;
/// B is in place or packed, and A has rows of contiguous numbers.
pub const BY_ROWS: usize = 1;
/// B is in place or packed, and A has columns of contiguous numbers or is packed.
pub const BY_COLUMNS: usize = 2;

/// What one level of instructions offers for one type of number.
pub struct Kernels<T: 'static> {
    /// The level's name, for tests.
    #[cfg_attr(not(test), allow(dead_code))]
    pub name: &'static str,
    /// The most rows that a tile has.
    pub rows: usize,
    /// How many numbers a register holds.
    pub lanes: usize,
    /// The binary logarithm of `lanes`, since a division would take longer than a small product.
    pub shift: u32,
    /// Tiles by form, rows less one and registers less one; any number of lanes of the last register are columns.
    pub tiles: [Form<T>; 3],
    /// Packs a sliver of B.
    pub pack: unsafe fn(&Sliver<T>),
    /// Packs slivers of B, as many as `registers` says.
    pub pack_wide: unsafe fn(&Sliver<T>),
    /// Packs a strip of A column after column.
    pub pack_columns: unsafe fn(&Strip<T>),
}

/// The sums of one tile: each element is one chain of multiply-adds in the order of the inner index, whatever the tile.
#[inline(always)]
unsafe fn tile<V: Lanes, const M: usize, const N: usize, const FORM: usize>(t: &Tile<V::Item>) {
    // SAFETY: the caller vouches for all that the tile's extents and strides reach.
    unsafe {
        let mut sums = [[V::zero(); N]; M];
        if t.onto {
            for (i, row) in sums.iter_mut().enumerate() {
                for (j, sum) in row.iter_mut().enumerate() {
                    let at = t.c.add(i * t.c_row + j * V::COUNT);
                    *sum = if j + 1 < N { V::load(at) } else { V::load_first(at, t.last) };
                }
            }
        }
        match FORM {
            PACKED => sum_packed::<V, M, N>(t, &mut sums),
            BY_ROWS => sum_by_rows::<V, M, N>(t, &mut sums),
            _ => sum_by_columns::<V, M, N>(t, &mut sums),
        }
        for (i, row) in sums.iter().enumerate() {
            for (j, sum) in row.iter().enumerate() {
                let at = t.c.add(i * t.c_row + j * V::COUNT);
                if j + 1 < N { sum.store(at) } else { sum.store_first(at, t.last) }
            }
        }
    }
}

/// One step of the sums where both operands are packed.
#[inline(always)]
unsafe fn step<V: Lanes, const M: usize, const N: usize>(a: *const V::Item, b: *const V::Item, sums: &mut [[V; N]; M]) {
    // SAFETY: as for `tile`; a packed row of B is whole registers.
    unsafe {
        let mut row = [V::zero(); N];
        for (j, lanes) in row.iter_mut().enumerate() {
            *lanes = V::load(b.add(j * V::COUNT));
            V::prefetch(b.wrapping_add((AHEAD * N + j) * V::COUNT));
        }
        for (i, sums) in sums.iter_mut().enumerate() {
            let factor = V::splat(a.add(i));
            for (sum, lanes) in sums.iter_mut().zip(&row) {
                *sum = factor.times_plus(*lanes, *sum);
            }
        }
    }
}

/// The sums where both operands are packed: every stride is a constant, and what comes next is asked for meanwhile.
#[inline(always)]
unsafe fn sum_packed<V: Lanes, const M: usize, const N: usize>(t: &Tile<V::Item>, sums: &mut [[V; N]; M]) {
    let (mut a, mut b) = (t.a, t.b);
    let (mut next, mut ahead) = (t.next, t.ahead);
    let rounds = t.depth / STEPS;
    // SAFETY: as for `step`, whose steps together read `depth` rows of both.
    unsafe {
        for round in 0..rounds {
            V::prefetch(ahead);
            ahead = ahead.wrapping_add(64 / size_of::<V::Item>());
            if round < M {
                for j in 0..N {
                    V::prefetch(next.wrapping_add(j * V::COUNT));
                }
                next = next.wrapping_add(t.c_row);
            }
            for _ in 0..STEPS {
                step::<V, M, N>(a, b, sums);
                a = a.add(M);
                b = b.add(N * V::COUNT);
            }
        }
        for _ in 0..t.depth % STEPS {
            step::<V, M, N>(a, b, sums);
            a = a.add(M);
            b = b.add(N * V::COUNT);
        }
    }
}

/// The sums where B is in place and A has rows of contiguous numbers.
#[inline(always)]
unsafe fn sum_by_rows<V: Lanes, const M: usize, const N: usize>(t: &Tile<V::Item>, sums: &mut [[V; N]; M]) {
    let mut rows = [t.a; M];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = t.a.wrapping_offset(i as isize * t.a_row);
    }
    let mut b = t.b;
    let mut p = 0;
    // SAFETY: as for `tile`.
    unsafe {
        while p + STEPS <= t.depth {
            for s in 0..STEPS {
                let lanes = load_row::<V, N>(b, t.last);
                for (row, sums) in rows.iter().zip(sums.iter_mut()) {
                    add::<V, N>(row.add(p + s), &lanes, sums);
                }
                b = b.wrapping_offset(t.b_row);
            }
            p += STEPS;
        }
        while p < t.depth {
            let lanes = load_row::<V, N>(b, t.last);
            for (row, sums) in rows.iter().zip(sums.iter_mut()) {
                add::<V, N>(row.add(p), &lanes, sums);
            }
            b = b.wrapping_offset(t.b_row);
            p += 1;
        }
    }
}

/// The sums where B is in place and A has columns of contiguous numbers.
#[inline(always)]
unsafe fn sum_by_columns<V: Lanes, const M: usize, const N: usize>(t: &Tile<V::Item>, sums: &mut [[V; N]; M]) {
    let (mut a, mut b) = (t.a, t.b);
    for _ in 0..t.depth {
        // SAFETY: as for `tile`.
        unsafe {
            let lanes = load_row::<V, N>(b, t.last);
            for (i, sums) in sums.iter_mut().enumerate() {
                add::<V, N>(a.add(i), &lanes, sums);
            }
        }
        a = a.wrapping_offset(t.a_column);
        b = b.wrapping_offset(t.b_row);
    }
}

/// `N` registers from `b`, of which the last holds `last` numbers.
#[inline(always)]
pub unsafe fn load_row<V: Lanes, const N: usize>(b: *const V::Item, last: usize) -> [V; N] {
    // SAFETY: as for `tile`.
    unsafe {
        let mut row = [V::zero(); N];
        for (j, lanes) in row.iter_mut().enumerate() {
            let at = b.add(j * V::COUNT);
            *lanes = if j + 1 < N { V::load(at) } else { V::load_first(at, last) };
        }
        row
    }
}

/// Adds the number at `a` times a row of B to the sums of one row.
#[inline(always)]
unsafe fn add<V: Lanes, const N: usize>(a: *const V::Item, row: &[V; N], sums: &mut [V; N]) {
    // SAFETY: as for `tile`.
    unsafe {
        let factor = V::splat(a);
        for (sum, lanes) in sums.iter_mut().zip(row) {
            *sum = factor.times_plus(*lanes, *sum);
        }
    }
}

macro_rules! kernels {
    ($module:ident, $rows:literal, [$($m:literal),*], $(#[$features:meta])?) => {
        /// The functions of one level.
        pub mod $module {
            use super::*;
            $(#[$features])?
            unsafe fn tile_at<V: Lanes, const M: usize, const N: usize, const FORM: usize>(t: &Tile<V::Item>) {
                // SAFETY: as the caller vouches.
                unsafe { tile::<V, M, N, FORM>(t) }
            }
            $(#[$features])?
            unsafe fn pack_at<V: Lanes>(s: &Sliver<V::Item>) {
                // SAFETY: as the caller vouches.
                unsafe { pack::<V>(s) }
            }
            $(#[$features])?
            unsafe fn pack_wide_at<V: Lanes>(s: &Sliver<V::Item>) {
                // SAFETY: as the caller vouches.
                unsafe { pack_wide::<V>(s) }
            }
            $(#[$features])?
            unsafe fn pack_columns_at<V: Lanes>(s: &Strip<V::Item>) {
                // SAFETY: as the caller vouches.
                unsafe { pack_columns::<V, $rows>(s) }
            }
            const fn form<V: Lanes, const FORM: usize>() -> Form<V::Item> {
                [$([tile_at::<V, $m, 1, FORM>, tile_at::<V, $m, 2, FORM>, tile_at::<V, $m, 3, FORM>]),*]
            }
            /// The table for one kind of register, and one of as many lanes as a tile has rows to pack A with.
            pub const fn of<V: Lanes, W: Lanes<Item = V::Item>>(name: &'static str) -> Kernels<V::Item> {
                Kernels {
                    name,
                    rows: $rows,
                    lanes: V::COUNT,
                    shift: V::COUNT.trailing_zeros(),
                    tiles: [form::<V, PACKED>(), form::<V, BY_ROWS>(), form::<V, BY_COLUMNS>()],
                    pack: pack_at::<V>,
                    pack_wide: pack_wide_at::<V>,
                    pack_columns: pack_columns_at::<W>,
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
kernels!(avx512, 8, [1, 2, 3, 4, 5, 6, 7, 8], #[target_feature(enable = "avx512f")]);
// Twelve sums, three registers of B and one of A are all the sixteen registers there are.
#[cfg(target_arch = "x86_64")]
kernels!(avx2, 4, [1, 2, 3, 4, 4, 4, 4, 4], #[target_feature(enable = "avx2,fma")]);
kernels!(plain, 4, [1, 2, 3, 4, 4, 4, 4, 4],);
