//! Elementary functions of `f32`, lane by lane without branches.
//!
//! The polynomials are in Estrin's form where that shortens the chain of dependent steps, since a small vector is a
//! single chunk and then latency is all there is. Their coefficients come from a Remez exchange (weighted for relative
//! error, in 60 digits), with the first ones rounded to `f32` before the others are fitted again. The errors given are
//! the largest over all bit patterns, in units in the last place and against `f64`, with fma and without. Of the sine
//! and the cosine beyond 1e5, where they are those of std, only every 61st was tried.

use core::f32::consts::{FRAC_2_PI, LOG2_E};

use super::{each, mend};
use crate::kernels::lanes::{Chunk, Level};

/// `1.5 * 2^23`: adding it to a small number rounds that to an integer, which the low bits of the sum then hold.
const MAGIC: f32 = 12_582_912.0;
/// The upper part of ln 2 (Cody and Waite, as in Cephes), of so few bits that its product with an exponent is exact.
const LN2_HIGH: f32 = 0.693_359_4;
/// What `LN2_HIGH` leaves of ln 2.
const LN2_LOW: f32 = -2.121_944_4e-4;

/// pi / 2 cut off to 24 bits; the constant of std is rounded up.
const FRAC_PI_2_DOWN: f32 = f32::from_bits(0x3fc9_0fda);

/// `a * b + c`, in one rounding where the machine has an instruction for that (libm's function would be slow).
#[inline(always)]
fn fma<L: Level>(a: f32, b: f32, c: f32) -> f32 {
    if L::FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Removes the multiple `n` of ln 2 from `x`.
#[inline(always)]
fn without_ln2<L: Level>(x: f32, n: f32) -> f32 {
    fma::<L>(n, -LN2_LOW, fma::<L>(n, -LN2_HIGH, x))
}

/// `e^r - 1` for `|r| <= ln 2 / 2`: `r + r^2 q(r)`, with an approximation error of 3.3e-9 relative to `e^r`.
#[inline(always)]
fn exp_minus_one<L: Level>(r: f32) -> f32 {
    let r2 = r * r;
    let q01 = fma::<L>(0.166_665_15, r, 0.499_999_94);
    let q23 = fma::<L>(0.008_369_349, r, 0.041_668_084);
    let q = fma::<L>(r2, fma::<L>(r2, 0.001_384_039_2, q23), q01);
    fma::<L>(r2, q, r)
}

/// The exponential; off by at most 1.04 ulp (1.00 without fma).
///
/// Cody and Waite's reduction to `|r| <= ln 2 / 2`, a polynomial, and the power of two in two factors. Subnormal
/// results are gradual, and the result overflows for the same arguments as the exact one.
#[inline(always)]
pub fn exp<L: Level>(x: Chunk<f32>) -> Chunk<f32> {
    each(x, exp_lane::<L>)
}

#[inline(always)]
fn exp_lane<L: Level>(x: f32) -> f32 {
    // The low bits of a number shifted by this hold the exponent plus 254, that is two exponent biases.
    const SHIFT: f32 = MAGIC + 254.0;
    // A comparison with NaN is false, so that NaN stays.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -105.0 { -105.0 } else { x };
    let shifted = fma::<L>(x, LOG2_E, SHIFT);
    let u = exp_minus_one::<L>(without_ln2::<L>(x, shifted - SHIFT));
    // The power of two is a product of two, neither of which overflows or is subnormal: the only rounding of a
    // subnormal result is that of the last product.
    let bits = shifted.to_bits();
    let first = (bits << 22) & 0x7f80_0000;
    let second = (bits << 23).wrapping_sub(first);
    let scale = f32::from_bits(first);
    fma::<L>(u, scale, scale) * f32::from_bits(second)
}

/// The hyperbolic tangent; off by at most 1.20 ulp at every level, and monotone.
///
/// An odd polynomial below 0.625 (approximation error 4.6e-9) and `1 - 2 / (e^2a + 1)` above, where the quotient is
/// small enough for its errors to matter little. Each lane computes both: a single quotient `(e^2a - 1) / (e^2a + 1)`
/// turned out no faster and twice as far off.
#[inline(always)]
pub fn tanh<L: Level>(x: Chunk<f32>) -> Chunk<f32> {
    each(x, tanh_lane::<L>)
}

#[inline(always)]
fn tanh_lane<L: Level>(x: f32) -> f32 {
    const SHIFT: f32 = MAGIC + 127.0;
    let a = x.abs();
    let z = a * a;
    let z2 = z * z;
    let p01 = fma::<L>(0.133_314_06, z, -0.333_332_8);
    let p23 = fma::<L>(0.020_628_167, z, -0.053_736_515);
    let p = fma::<L>(z2, fma::<L>(z2, -0.005_692_295_3, p23), p01);
    let small = fma::<L>(a * z, p, a);
    // From here on tanh is 1.
    let b = if a > 9.5 { 9.5 } else { a };
    let shifted = fma::<L>(b, 2.0 * LOG2_E, SHIFT);
    let u = exp_minus_one::<L>(without_ln2::<L>(b + b, shifted - SHIFT));
    let scale = f32::from_bits(shifted.to_bits() << 23);
    let large = 1.0 - 2.0 / fma::<L>(u, scale, scale + 1.0);
    let y = if a < 0.625 { small } else { large };
    y.copysign(x)
}

/// The natural logarithm; off by at most 0.93 ulp at every level.
///
/// With `x = 2^e (1 + f)` and `1 + f` between the roots of 1/2 and 2 it is `e ln 2 + f - f^2 / 2 + f^3 p(f)`, the form
/// of Cephes (approximation error 5.9e-9). What isn't normal and positive goes through std: to treat it in every chunk
/// would take a fifth more time.
#[inline(always)]
pub fn log<L: Level>(x: Chunk<f32>) -> Chunk<f32> {
    mend(x, each(x, log_lane::<L>), is_not_normal, log_rare)
}

/// Whether `x` isn't a normal positive number: a comparison of the bits.
#[inline(always)]
fn is_not_normal(x: f32) -> bool {
    const SMALLEST: u32 = f32::MIN_POSITIVE.to_bits();
    x.to_bits().wrapping_sub(SMALLEST) >= f32::INFINITY.to_bits() - SMALLEST
}

#[cold]
#[inline(never)]
fn log_rare(x: &Chunk<f32>) -> Chunk<f32> {
    each(*x, f32::ln)
}

#[inline(always)]
fn log_lane<L: Level>(x: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let bits = x.to_bits();
    let above = bits.wrapping_sub(SQRT_HALF);
    let e = (above.cast_signed() >> 23) as f32;
    let f = f32::from_bits(bits.wrapping_sub(above & 0xff80_0000)) - 1.0;
    let f2 = f * f;
    let f4 = f2 * f2;
    let p01 = fma::<L>(-0.250_008_23, f, 0.333_333_3);
    let p23 = fma::<L>(-0.166_233_35, f, 0.200_012_61);
    let p45 = fma::<L>(-0.131_595, f, 0.142_009_48);
    let p67 = fma::<L>(-0.076_431_72, f, 0.127_669_59);
    let p = fma::<L>(f4, fma::<L>(f2, p67, p45), fma::<L>(f2, p23, p01));
    let rest = fma::<L>(f * f2, p, fma::<L>(f2, -0.5, e * LN2_LOW));
    fma::<L>(e, LN2_HIGH, f + rest)
}

/// The sine; off by at most 1.16 ulp (1.39 without fma).
///
/// Cody and Waite's reduction to `|r| <= pi / 4`, with the rounding error of `r` kept, and polynomials for the sine
/// (approximation error 4.2e-9) and the cosine (1.3e-10), of which the quadrant takes one. Huge arguments go through
/// std.
#[inline(always)]
pub fn sin<L: Level>(x: Chunk<f32>) -> Chunk<f32> {
    mend(x, each(x, trig_lane::<L, 0>), is_huge::<L>, sin_huge)
}

/// The cosine; off by at most 1.15 ulp (1.38 without fma). The method is that of the sine.
#[inline(always)]
pub fn cos<L: Level>(x: Chunk<f32>) -> Chunk<f32> {
    mend(x, each(x, trig_lane::<L, 1>), is_huge::<L>, cos_huge)
}

/// Whether `x` is beyond what `without_quarters` can reduce. NaN isn't, it passes through the polynomials.
#[inline(always)]
fn is_huge<L: Level>(x: f32) -> bool {
    x.abs() > if L::FMA { 100_000.0 } else { 6_400.0 }
}

#[cold]
#[inline(never)]
fn sin_huge(x: &Chunk<f32>) -> Chunk<f32> {
    each(*x, f32::sin)
}

#[cold]
#[inline(never)]
fn cos_huge(x: &Chunk<f32>) -> Chunk<f32> {
    each(*x, f32::cos)
}

/// `x - n * pi / 2` as `r - low`, where `low` is at most the rounding error of `r` or so.
///
/// The parts of pi / 2 are all cut off and not rounded up: as their products with `n = 0` are then subtracted, a zero
/// keeps its sign.
#[inline(always)]
fn without_quarters<L: Level>(x: f32, n: f32) -> (f32, f32) {
    if L::FMA {
        // Three times 24 bits, of which the first leave an exact difference.
        let exact = fma::<L>(n, -FRAC_PI_2_DOWN, x);
        let r = exact - n * 7.549_789_4e-8;
        (r, fma::<L>(n, 5.390_302_5e-15, fma::<L>(n, 7.549_789_4e-8, r - exact)))
    } else {
        // Three times 12 bits, whose products with an `n` of 12 bits are exact, and then 24.
        let exact = x - n * 1.570_312_5 - n * 0.000_483_751_3;
        let step = n * 7.549_533_6e-8;
        let r = exact - step;
        (r, (r - exact) + step + n * 2.563_344e-12)
    }
}

/// The sine of `x` plus `QUARTER` right angles.
#[inline(always)]
fn trig_lane<L: Level, const QUARTER: u32>(x: f32) -> f32 {
    let shifted = fma::<L>(x, FRAC_2_PI, MAGIC);
    let (r, low) = without_quarters::<L>(x, shifted - MAGIC);
    let z = r * r;
    // The sine is r - (low - r^3 s): a difference, since the sum of r = -0 and 0 would be 0.
    let s = fma::<L>(z, fma::<L>(z, 0.000_195_078_83, -0.008_332_106), 0.166_666_54);
    let sine = r - fma::<L>(r * z, s, low);
    let c01 = fma::<L>(z, -0.001_388_730_4, 0.041_666_646);
    let c = fma::<L>(z * z, 2.443_120_1e-5, c01);
    let cosine = 1.0 + fma::<L>(z, fma::<L>(z, c, -0.5), r * low);
    let quadrant = shifted.to_bits().wrapping_add(QUARTER);
    let y = if quadrant & 1 == 0 { sine } else { cosine };
    f32::from_bits(y.to_bits() ^ ((quadrant & 2) << 30))
}
