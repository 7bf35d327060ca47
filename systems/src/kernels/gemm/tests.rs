//! Products against plain loops, at every level, for many extents and strides.

use super::{
    Product,
    drive::{self, Blocks},
    level::Scalar,
    small,
};
use std::ops::Range;

/// A small generator, so that the tests need no crate.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }
}

trait Real: Scalar + PartialEq + std::fmt::Debug {
    const EPSILON: f64;
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
    fn bits(self) -> u64;
}
impl Real for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
    fn of(value: f64) -> Self {
        value as f32
    }
    fn wide(self) -> f64 {
        self as f64
    }
    fn bits(self) -> u64 {
        self.to_bits() as u64
    }
}
impl Real for f64 {
    const EPSILON: f64 = f64::EPSILON;
    fn of(value: f64) -> Self {
        value
    }
    fn wide(self) -> f64 {
        self
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// Strides of `rows` by `columns` numbers in one of several layouts, with the count of numbers they reach.
fn layout(random: &mut Random, rows: usize, columns: usize) -> ([isize; 2], usize) {
    let pad = [0, 0, 1, 5][random.below(4)];
    let (rows, columns) = (rows.max(1), columns.max(1));
    match random.below(5) {
        0 | 1 => ([(columns + pad) as isize, 1], rows * (columns + pad)),
        2 | 3 => ([1, (rows + pad) as isize], columns * (rows + pad)),
        _ => ([(3 * columns + pad) as isize, 3], rows * (3 * columns + pad)),
    }
}

fn numbers<T: Real>(random: &mut Random, count: usize) -> Vec<T> {
    (0..count).map(|_| T::of(random.unit())).collect()
}

fn naive<T: Real>(p: &Product, a: &[T], b: &[T], i: usize, j: usize) -> (f64, f64) {
    let (mut sum, mut size) = (0.0, 0.0);
    for l in 0..p.k {
        let x = a[(i as isize * p.a[0] + l as isize * p.a[1]) as usize].wide();
        let y = b[(l as isize * p.b[0] + j as isize * p.b[1]) as usize].wide();
        sum += x * y;
        size += (x * y).abs();
    }
    (sum, size)
}

/// Runs a product at one level with one choice of blocks, and checks values, padding and the epilogue's blocks.
fn check<T: Real>(level: usize, blocks: Option<&Blocks>, p: &Product, a: &[T], b: &[T]) -> Vec<T> {
    let kernels = T::levels()[level];
    let mut c = vec![T::of(7.5); p.m * p.c_row + 3];
    let mut seen = vec![0u8; p.m * p.n];
    let mut done = |rows: Range<usize>, columns: Range<usize>| {
        for i in rows {
            for j in columns.clone() {
                seen[i * p.n + j] += 1;
            }
        }
    };
    unsafe {
        match blocks {
            Some(blocks) => drive::run(kernels, blocks, p, a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), Some(&mut done)),
            None => small::run(kernels, p, a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), Some(&mut done)),
        }
    }
    assert!(seen.iter().all(|&count| count == 1), "{} {p:?} {blocks:?}", kernels.name);
    for i in 0..p.m {
        for j in 0..p.n {
            let (sum, size) = naive(p, a, b, i, j);
            let error = (c[i * p.c_row + j].wide() - sum).abs();
            assert!(error <= T::EPSILON * size * 2.0 * (1.0 + p.k as f64).sqrt(), "{} {p:?} {blocks:?}", kernels.name);
        }
        assert!(c[i * p.c_row + p.n..(i + 1) * p.c_row].iter().all(|&x| x == T::of(7.5)), "padding of {p:?}");
    }
    c
}

fn products<T: Real>(random: &mut Random, extents: [usize; 3]) {
    let [m, k, n] = extents;
    let (a_strides, a_count) = layout(random, m, k);
    let (b_strides, b_count) = layout(random, k, n);
    let (a, b) = (numbers::<T>(random, a_count), numbers::<T>(random, b_count));
    let p = Product { m, k, n, a: a_strides, b: b_strides, c_row: n + [0, 0, 3][random.below(3)] };
    let mut first: Vec<Option<Vec<u64>>> = vec![None; 2];
    for (level, kernels) in T::levels().iter().enumerate() {
        let usual = Blocks::of(kernels, &p);
        let small = Blocks { rows: 13, depth: 11, registers: 4, pack_a: true, pack_b: true };
        let in_place = p.a[0] == 1 || p.a[1] == 1;
        for blocks in [
            None,
            Some(usual),
            Some(small),
            Some(Blocks { pack_a: false, ..small }),
            Some(Blocks { pack_b: false, ..small }),
            Some(Blocks { pack_a: true, pack_b: true, ..usual }),
            Some(Blocks { pack_a: false, pack_b: false, ..usual }),
        ] {
            if blocks.is_none() && !in_place {
                continue;
            }
            let bits: Vec<u64> = check(level, blocks.as_ref(), &p, &a, &b).iter().map(|x| x.bits()).collect();
            // All paths of all levels with fused multiply-add give the same bits.
            let same = &mut first[usize::from(kernels.name == "plain")];
            assert!(same.get_or_insert_with(|| bits.clone()) == &bits, "bits of {} {p:?} {blocks:?}", kernels.name);
        }
    }
}

#[test]
fn values_and_bits() {
    let mut random = Random(0x9E3779B97F4A7C15);
    let extents = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 15, 16, 17, 23, 31, 32, 33, 47, 48, 49, 64, 65, 97];
    for _ in 0..1500 {
        let shape = [0; 3].map(|_| extents[random.below(extents.len())]);
        products::<f32>(&mut random, shape);
        products::<f64>(&mut random, shape);
    }
    for shape in [[131, 401, 389], [1, 900, 70], [1031, 13, 5], [70, 803, 100], [50, 30, 1201], [9, 1601, 17]] {
        products::<f32>(&mut random, shape);
        products::<f64>(&mut random, shape);
    }
}

/// Cutting C by rows or columns changes no bit.
#[test]
fn parts_have_the_bits_of_the_whole() {
    let mut random = Random(77);
    for [m, k, n] in [[8, 4, 16], [64, 64, 128], [100, 300, 200], [256, 784, 512], [33, 500, 1], [1, 70, 90]] {
        for form in 0..4 {
            let a_strides = if form & 1 == 0 { [k as isize, 1] } else { [1, m as isize] };
            let b_strides = if form & 2 == 0 { [n as isize, 1] } else { [1, k as isize] };
            let (a, b) = (numbers::<f32>(&mut random, m * k), numbers::<f32>(&mut random, k * n));
            let p = Product { m, k, n, a: a_strides, b: b_strides, c_row: n };
            let mut whole = vec![0.0; m * n];
            unsafe { super::multiply_f32(&p, a.as_ptr(), b.as_ptr(), whole.as_mut_ptr(), None) };
            for (rows, columns) in [(1, 2), (2, 1), (2, 3), (m, 1), (1, n)] {
                let mut cut = vec![0.0; m * n];
                for r in 0..rows {
                    for s in 0..columns {
                        let (i, j) = (r * m / rows, s * n / columns);
                        let (i_end, j_end) = ((r + 1) * m / rows, (s + 1) * n / columns);
                        let part = Product { m: i_end - i, n: j_end - j, ..p };
                        let a = a.as_ptr().wrapping_offset(i as isize * p.a[0]);
                        let b = b.as_ptr().wrapping_offset(j as isize * p.b[1]);
                        unsafe { super::multiply_f32(&part, a, b, cut.as_mut_ptr().add(i * n + j), None) };
                    }
                }
                assert!(whole.iter().zip(&cut).all(|(x, y)| x.to_bits() == y.to_bits()), "{p:?} {rows} {columns}");
            }
        }
    }
}
