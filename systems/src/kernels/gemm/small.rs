//! Products whose operands fit in the caches as they are: little is decided and nothing is packed but a transposed B.

use super::{
    Product,
    buffer::with_buffer,
    drive::{Done, pack_b, part},
    level::Scalar,
    tile::{BY_COLUMNS, BY_ROWS, Kernels, Tile, WIDE},
};

/// Whether C = A·B is best computed here.
#[inline]
pub fn suits<T: Scalar>(product: &Product) -> bool {
    let &Product { m, k, n, a: [a_row, a_column], .. } = product;
    let most = 96 * 1024 / size_of::<T>();
    // A few rows read B once, from wherever it is, and then whole rows of it are best read first.
    let fits = k * n <= most || m < 48 && m > 4;
    (a_row == 1 || a_column == 1 || k <= 1) && fits && (n > 1 || k * m <= most)
}

/// C = A·B where [`suits`] says so.
///
/// # Safety
/// As for [`super::drive::run`].
#[inline]
pub unsafe fn run<T: Scalar>(
    kernels: &Kernels<T>,
    product: &Product,
    a: *const T,
    b: *const T,
    c: *mut T,
    done: Option<Done>,
) {
    if turns(kernels, product) {
        // SAFETY: as the caller vouches.
        return unsafe { turned(kernels, product, a, b, c, done) };
    }
    if product.n == 1 && product.c_row == 1 && (product.m >= 16 || product.a[0] == 1 && product.m > 1) {
        let &Product { m, k, a: [a_row, a_column], b: [b_row, _], .. } = product;
        // A column of C is a row as well, and as such its elements share registers.
        let turned = Product { m: 1, k, n: m, a: [1, b_row], b: [a_column, a_row], c_row: m };
        // SAFETY: the same elements are read and written; with one row of A, its row stride does not matter.
        unsafe { any(kernels, &turned, b, a, c, None) };
        if let Some(done) = done {
            done(0..m, 0..1);
        }
    } else {
        // SAFETY: as the caller vouches.
        unsafe { any(kernels, product, a, b, c, done) }
    }
}

/// Whether many lanes would idle over few columns, while A's columns would fill them.
#[inline]
fn turns<T: Scalar>(kernels: &Kernels<T>, product: &Product) -> bool {
    let &Product { m, k, n, a: [a_row, _], b: [b_row, b_column], c_row } = product;
    let readable = a_row == 1 && (n == 1 || b_row == 1 || b_column == 1 || k <= 1);
    let idle = 2 * (kernels.registers(n) << kernels.shift) >= 3 * n;
    readable && idle && m >= 2 * kernels.lanes && k * m <= 1024 * 1024 / size_of::<T>() && (n > 1 || c_row > 1)
}

/// The transpose of C first, whose rows are long, and C from it.
unsafe fn turned<T: Scalar>(
    kernels: &Kernels<T>,
    product: &Product,
    a: *const T,
    b: *const T,
    c: *mut T,
    done: Option<Done>,
) {
    let &Product { m, k, n, a: [_, a_column], b: [b_row, b_column], c_row } = product;
    // With a single row of A, its row stride does not matter.
    let b_column = if n == 1 { 1 } else { b_column };
    let turned = Product { m: n, k, n: m, a: [b_column, b_row], b: [a_column, 1], c_row: m };
    with_buffer(m * n, |buffer: *mut T| {
        // SAFETY: the same elements are read, and the buffer holds as many as C.
        unsafe {
            strips(kernels, &turned, b, a, buffer, None, false);
            for i in 0..m {
                for j in 0..n {
                    *c.add(i * c_row + j) = *buffer.add(j * m + i);
                }
            }
        }
    });
    if let Some(done) = done {
        done(0..m, 0..n);
    }
}

#[inline]
unsafe fn any<T: Scalar>(
    kernels: &Kernels<T>,
    product: &Product,
    a: *const T,
    b: *const T,
    c: *mut T,
    done: Option<Done>,
) {
    let &Product { k, n, b: strides, .. } = product;
    // SAFETY: as the caller vouches; the buffer holds whole registers of all columns.
    unsafe {
        if strides[1] == 1 || n == 1 {
            return strips(kernels, product, a, b, c, done, false);
        }
        with_buffer((kernels.registers(n) << kernels.shift) * k, |buffer| {
            pack_b(kernels, b, strides, k, n, buffer);
            strips(kernels, product, a, buffer, c, done, true);
        });
    }
}

/// Tile by tile, with B in place or packed as a whole: down C first, since B's few columns then stay in the first cache.
#[inline]
unsafe fn strips<T: Scalar>(
    kernels: &Kernels<T>,
    product: &Product,
    a: *const T,
    b: *const T,
    c: *mut T,
    mut done: Option<Done>,
    packed: bool,
) {
    let &Product { m, k, n, a: [a_row, a_column], b: [b_row, _], c_row } = product;
    let tiles = &kernels.tiles[if a_row == 1 { BY_COLUMNS } else { BY_ROWS }];
    let mut tile = Tile { depth: k, a, a_row, a_column, b, b_row, c, c_row, last: 0, onto: false, next: c, ahead: a };
    let mut j = 0;
    while j < n {
        let registers = part(kernels.registers(n - j), WIDE);
        let lanes = registers << kernels.shift;
        let width = (n - j).min(lanes);
        tile.last = width + kernels.lanes - lanes;
        if packed {
            tile.b_row = lanes as isize;
        }
        tile.a = a;
        tile.c = c.wrapping_add(j);
        let mut i = 0;
        while i < m {
            let rows = part(m - i, kernels.rows);
            // SAFETY: the tile is a part of the product.
            unsafe { tiles[rows - 1][registers - 1](&tile) };
            tile.a = tile.a.wrapping_offset(rows as isize * a_row);
            tile.c = tile.c.wrapping_add(rows * c_row);
            i += rows;
        }
        if let (true, Some(done)) = (m > 0, &mut done) {
            done(0..m, j..j + width);
        }
        tile.b = tile.b.wrapping_add(if packed { width * k } else { width });
        j += width;
    }
}
