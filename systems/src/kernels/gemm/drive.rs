//! The loops around the tiles: which operands are packed, and in which blocks.

use super::{
    Product,
    buffer::with_buffer,
    level::Scalar,
    pack::{Sliver, Strip},
    tile::{BY_COLUMNS, BY_ROWS, Kernels, PACKED, STEPS, Tile, WIDE},
};
use std::ops::Range;

/// What is called as blocks of C get their final values.
pub type Done<'a> = &'a mut dyn FnMut(Range<usize>, Range<usize>);

/// How large blocks are. No choice here changes a bit of the result, since all sums go in the order of the inner index.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// Most rows of A packed at once.
    pub rows: usize,
    /// Most of the inner extent at once.
    pub depth: usize,
    /// Most registers of columns of B packed at once.
    pub registers: usize,
    /// Whether A is packed.
    pub pack_a: bool,
    /// Whether B is packed even if its columns are contiguous.
    pub pack_b: bool,
}

impl Blocks {
    /// The blocks for a product.
    pub fn of<T: Scalar>(kernels: &Kernels<T>, product: &Product) -> Self {
        let size = size_of::<T>();
        let few = product.m <= 4 && product.b[1] == 1;
        let large = product.m >= 48 && product.k * product.n * size > 96 * 1024;
        Self {
            rows: 1024,
            depth: if few {
                32
            } else if size == 4 {
                400
            } else {
                256
            },
            registers: if few { kernels.registers(product.n) } else { (1536 / size) >> kernels.shift },
            // Rows of A are well read in place unless they are read often; columns that far apart hardly ever are.
            pack_a: large && product.n * size > if product.a[1] == 1 { 1024 } else { 128 },
            pack_b: large,
        }
    }
}

/// How much of what `remains` comes next: `most`, but two even parts rather than a whole one and less than that.
#[inline]
pub fn part(remains: usize, most: usize) -> usize {
    if remains <= most {
        remains
    } else if remains < 2 * most {
        remains.div_ceil(2)
    } else {
        most
    }
}

/// Where an operand's numbers are found for a tile: in place or packed.
#[derive(Clone, Copy)]
struct Place<T> {
    start: *const T,
    /// From one row of C (for A) or column of C (for B) to the next.
    step: isize,
    /// From one inner index to the next; for packed operands, per row or column of the tile if `scaled`.
    inner: isize,
    scaled: bool,
}

/// A block of C and its inputs.
struct Block<T> {
    rows: Range<usize>,
    columns: Range<usize>,
    depth: usize,
    a: Place<T>,
    /// From one row of A to the next within a tile.
    a_row: isize,
    b: Place<T>,
    onto: bool,
    end: bool,
}

/// C = A·B with the given kernels and blocks.
///
/// # Safety
/// The operands must be valid for all that the product's extents and strides reach, and C must not overlap the others.
pub unsafe fn run<T: Scalar>(
    kernels: &Kernels<T>,
    blocks: &Blocks,
    product: &Product,
    a: *const T,
    b: *const T,
    c: *mut T,
    done: Option<Done>,
) {
    let &Product { m, k, n, a: [a_row, a_column], b: [b_row, b_column], c_row } = product;
    if m == 0 || n == 0 {
        return;
    }
    if n == 1 && c_row == 1 && m > 1 {
        // A column of C is a row as well, and as such its elements share registers and read A once.
        let turned = Product { m: 1, k, n: m, a: [1, b_row], b: [a_column, a_row], c_row: m };
        // SAFETY: the same elements are read and written.
        unsafe { run(kernels, &Blocks::of(kernels, &turned), &turned, b, a, c, None) };
        if let Some(done) = done {
            done(0..m, 0..1);
        }
        return;
    }
    let in_place = b_column == 1 || n == 1;
    // Tiles read A in place only if one of its strides is one, or of no account.
    let blocks = &Blocks { pack_a: blocks.pack_a || !(a_row == 1 || a_column == 1 || k <= 1), ..*blocks };
    if in_place && !blocks.pack_a && !blocks.pack_b && k <= blocks.depth {
        let block = Block {
            rows: 0..m,
            columns: 0..n,
            depth: k,
            a: Place { start: a, step: a_row, inner: a_column, scaled: false },
            a_row,
            b: Place { start: b, step: 1, inner: b_row, scaled: false },
            onto: false,
            end: true,
        };
        // SAFETY: as the caller vouches.
        return unsafe { tiles(kernels, &block, c, c_row, done) };
    }
    let depth = blocks.depth.min(k);
    let a_size = if blocks.pack_a { (blocks.rows.min(m) * depth).next_multiple_of(16) } else { 0 };
    let b_size = if in_place && !blocks.pack_b {
        0
    } else {
        blocks.registers.min(kernels.registers(n)).next_multiple_of(WIDE) * kernels.lanes * depth
    };
    with_buffer(a_size + b_size, |buffer: *mut T| {
        // SAFETY: as the caller vouches; both parts of the buffer are as large as the packed blocks get.
        unsafe { packed(kernels, blocks, product, a, b, c, [buffer, buffer.add(a_size)], done) }
    })
}

/// The product block by block, with one or both operands packed into the buffers.
#[allow(clippy::too_many_arguments)]
unsafe fn packed<T: Scalar>(
    kernels: &Kernels<T>,
    blocks: &Blocks,
    product: &Product,
    a: *const T,
    b: *const T,
    c: *mut T,
    [a_buffer, b_buffer]: [*mut T; 2],
    mut done: Option<Done>,
) {
    let &Product { m, k, n, a: [a_row, a_column], b: [b_row, b_column], c_row } = product;
    let in_place = !blocks.pack_b && (b_column == 1 || n == 1);
    let mut row = 0;
    while row < m {
        let rows = row..row + part(m - row, blocks.rows);
        let mut inner = 0;
        loop {
            let depth = part(k - inner, blocks.depth);
            let a_from = a.wrapping_offset(row as isize * a_row + inner as isize * a_column);
            let mut a_place = Place { start: a_from, step: a_row, inner: a_column, scaled: false };
            let mut tile_row = a_row;
            if blocks.pack_a {
                // SAFETY: the strips are parts of A.
                unsafe { pack_a(kernels, a_from, [a_row, a_column], rows.len(), depth, a_buffer) };
                a_place = Place { start: a_buffer, step: depth as isize, inner: 1, scaled: true };
                tile_row = 1;
            }
            let mut column = 0;
            while column < n {
                let registers = part(kernels.registers(n - column), blocks.registers).next_multiple_of(WIDE);
                let columns = column..n.min(column + registers * kernels.lanes);
                let b_from = b.wrapping_offset(inner as isize * b_row + column as isize * b_column);
                let mut b_place = Place { start: b_from, step: 1, inner: b_row, scaled: false };
                if !in_place {
                    // SAFETY: the slivers are parts of B.
                    unsafe { pack_b(kernels, b_from, [b_row, b_column], depth, columns.len(), b_buffer) };
                    b_place = Place { start: b_buffer, step: depth as isize, inner: 1, scaled: true };
                }
                let (onto, end) = (inner > 0, inner + depth == k);
                let next = columns.end;
                let block =
                    Block { rows: rows.clone(), columns, depth, a: a_place, a_row: tile_row, b: b_place, onto, end };
                // SAFETY: the block is a part of the product.
                unsafe { tiles(kernels, &block, c, c_row, done.as_mut().map(|done| &mut **done as Done)) };
                column = next;
            }
            inner += depth;
            if inner >= k {
                break;
            }
        }
        row = rows.end;
    }
}

/// Packs `rows` rows of `depth` columns of A, strip after strip.
unsafe fn pack_a<T: Scalar>(
    kernels: &Kernels<T>,
    from: *const T,
    [row, column]: [isize; 2],
    rows: usize,
    depth: usize,
    to: *mut T,
) {
    // SAFETY: as the caller vouches for `rows` by `depth` numbers at both ends.
    unsafe {
        let mut i = 0;
        while i < rows {
            let count = part(rows - i, kernels.rows);
            let from = from.offset(i as isize * row);
            (kernels.pack_columns)(&Strip { from, row, column, rows: count, depth, to: to.add(i * depth) });
            i += count;
        }
    }
}

/// Packs `depth` rows of `columns` columns of B, sliver after sliver.
///
/// # Safety
/// B must be valid for as much, and `to` for as much in whole registers.
pub unsafe fn pack_b<T: Scalar>(
    kernels: &Kernels<T>,
    from: *const T,
    [row, column]: [isize; 2],
    depth: usize,
    columns: usize,
    to: *mut T,
) {
    let mut j = 0;
    if column == 1 {
        // Whole rows are read at once, since a row's slivers alone would be short reads from many pages.
        // Where one register would be left, it shares with the last sliver, as `part` has it.
        let (slivers, left) = (columns / (WIDE * kernels.lanes), columns % (WIDE * kernels.lanes));
        let whole = if (1..=kernels.lanes).contains(&left) { slivers.saturating_sub(1) } else { slivers };
        // SAFETY: as the caller vouches.
        unsafe { (kernels.pack_wide)(&Sliver { from, row, column, depth, width: 0, registers: whole, to }) };
        j = whole * WIDE * kernels.lanes;
    }
    while j < columns {
        let registers = part(kernels.registers(columns - j), WIDE);
        let width = (columns - j).min(registers * kernels.lanes);
        // SAFETY: as the caller vouches for `depth` by `columns` numbers, in whole registers at `to`.
        unsafe {
            let from = from.offset(j as isize * column);
            (kernels.pack)(&Sliver { from, row, column, depth, width, registers, to: to.add(j * depth) });
        }
        j += width;
    }
}

/// One block of C, tile by tile, a strip of rows after the other.
unsafe fn tiles<T: Scalar>(kernels: &Kernels<T>, block: &Block<T>, c: *mut T, c_row: usize, mut done: Option<Done>) {
    let lanes = kernels.lanes;
    let tiles = match (block.a.scaled, block.b.scaled) {
        (true, true) => &kernels.tiles[PACKED],
        (true, false) => &kernels.tiles[BY_COLUMNS],
        (false, _) if block.a_row == 1 => &kernels.tiles[BY_COLUMNS],
        (false, _) => &kernels.tiles[BY_ROWS],
    };
    // A tile asks for a line of the next strip at each of its rounds, until the whole strip is asked for.
    let line = block.depth / STEPS * (64 / size_of::<T>());
    let mut i = block.rows.start;
    while i < block.rows.end {
        let rows = part(block.rows.end - i, kernels.rows);
        let a = block.a.start.wrapping_offset((i - block.rows.start) as isize * block.a.step);
        let a_column = if block.a.scaled { rows as isize } else { block.a.inner };
        let mut j = block.columns.start;
        let mut asked = 0;
        let mut ahead = if block.a.scaled { a.wrapping_add(rows * block.depth) } else { a };
        while j < block.columns.end {
            let left = block.columns.end - j;
            let registers = part(kernels.registers(left), WIDE);
            let width = left.min(registers * lanes);
            let b = block.b.start.wrapping_offset((j - block.columns.start) as isize * block.b.step);
            let b_row = if block.b.scaled { (registers * lanes) as isize } else { block.b.inner };
            // SAFETY: the tile is a part of the block.
            unsafe {
                let c = c.add(i * c_row + j);
                let next = if width < left {
                    c.wrapping_add(width)
                } else {
                    c.wrapping_add(rows * c_row).wrapping_sub(j - block.columns.start)
                };
                tiles[rows - 1][registers - 1](&Tile {
                    depth: block.depth,
                    a,
                    a_row: block.a_row,
                    a_column,
                    b,
                    b_row,
                    c,
                    c_row,
                    last: width - (registers - 1) * lanes,
                    onto: block.onto,
                    next,
                    ahead,
                });
            }
            j += width;
            asked += line;
            ahead = if asked < rows * block.depth { ahead.wrapping_add(line) } else { a };
        }
        if let (true, Some(done)) = (block.end, &mut done) {
            done(i..i + rows, block.columns.clone());
        }
        i += rows;
    }
}
