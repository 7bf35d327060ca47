//! Elementary functions of `f64`, lane by lane without branches.
//!
//! The methods are those of the `f32` functions, but for the logarithm, which divides to get by with a shorter
//! polynomial. The coefficients come from the same Remez exchange (weighted for relative error, in 60 digits). The
//! errors given are the largest found, in units in the last place, with fma and without, among some 30000 points for
//! each function whose exact values mpmath computed: random ones, edges of the reductions, subnormals, and for the sine
//! and the cosine the numbers closest to multiples of pi / 2.

use core::f64::consts::{FRAC_2_PI, FRAC_PI_2, LOG2_E};

use super::{each, mend};
use crate::kernels::lanes::{Chunk, Level};

/// `1.5 * 2^52`: adding it to a small number rounds that to an integer, which the low bits of the sum then hold.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// The upper 33 bits of ln 2 (from fdlibm), whose product with an exponent is exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
/// What `LN2_HIGH` leaves of ln 2.
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// `a * b + c`, in one rounding where the machine has an instruction for that (libm's function would be slow).
#[inline(always)]
fn fma<L: Level>(a: f64, b: f64, c: f64) -> f64 {
    if L::FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Removes the multiple `n` of ln 2 from `x`.
#[inline(always)]
fn without_ln2<L: Level>(x: f64, n: f64) -> f64 {
    fma::<L>(n, -LN2_LOW, fma::<L>(n, -LN2_HIGH, x))
}

/// The polynomial of degree 3 with coefficients `c`, where `x2` is the square of `x`.
#[inline(always)]
fn cubic<L: Level>(x: f64, x2: f64, c: [f64; 4]) -> f64 {
    fma::<L>(x2, fma::<L>(x, c[3], c[2]), fma::<L>(x, c[1], c[0]))
}

/// `e^r - 1` for `|r| <= ln 2 / 2`: `r + r^2 q(r)`, with an approximation error of 3.8e-18 relative to `e^r`.
#[inline(always)]
fn exp_minus_one<L: Level>(r: f64) -> f64 {
    let r2 = r * r;
    let r4 = r2 * r2;
    let low = [0.500_000_000_000_001_1, 0.166_666_666_666_664_38, 0.041_666_666_666_525_805, 0.008_333_333_333_473_77];
    let middle = [
        0.001_388_888_894_485_157_2,
        0.000_198_412_695_601_924_34,
        2.480_149_176_902_461_6e-5,
        2.755_753_109_237_383e-6,
    ];
    let high = fma::<L>(r, 2.501_972_817_914_899_8e-8, 2.763_074_036_609_763_6e-7);
    let q = fma::<L>(r4, fma::<L>(r4, high, cubic::<L>(r, r2, middle)), cubic::<L>(r, r2, low));
    fma::<L>(r2, q, r)
}

/// The exponential; off by at most 0.97 ulp (0.93 without fma). The method is that of [`super::single::exp`].
#[inline(always)]
pub fn exp<L: Level>(x: Chunk<f64>) -> Chunk<f64> {
    each(x, exp_lane::<L>)
}

#[inline(always)]
fn exp_lane<L: Level>(x: f64) -> f64 {
    // The low bits of a number shifted by this hold the exponent plus 2046, that is two exponent biases.
    const SHIFT: f64 = MAGIC + 2046.0;
    // A comparison with NaN is false, so that NaN stays.
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let shifted = fma::<L>(x, LOG2_E, SHIFT);
    let u = exp_minus_one::<L>(without_ln2::<L>(x, shifted - SHIFT));
    // The power of two is a product of two, neither of which overflows or is subnormal: the only rounding of a
    // subnormal result is that of the last product.
    let bits = shifted.to_bits();
    let first = (bits << 51) & 0x7ff0_0000_0000_0000;
    let second = (bits << 52).wrapping_sub(first);
    let scale = f64::from_bits(first);
    fma::<L>(u, scale, scale) * f64::from_bits(second)
}

/// The hyperbolic tangent; off by at most 1.30 ulp at every level.
///
/// The method is that of [`super::single::tanh`], with the polynomial below 0.55.
#[inline(always)]
pub fn tanh<L: Level>(x: Chunk<f64>) -> Chunk<f64> {
    each(x, tanh_lane::<L>)
}

#[inline(always)]
fn tanh_lane<L: Level>(x: f64) -> f64 {
    const SHIFT: f64 = MAGIC + 1023.0;
    let a = x.abs();
    let small = tanh_near_zero::<L>(a);
    // From here on tanh is 1.
    let b = if a > 20.0 { 20.0 } else { a };
    let shifted = fma::<L>(b, 2.0 * LOG2_E, SHIFT);
    let u = exp_minus_one::<L>(without_ln2::<L>(b + b, shifted - SHIFT));
    let scale = f64::from_bits(shifted.to_bits() << 52);
    let large = 1.0 - 2.0 / fma::<L>(u, scale, scale + 1.0);
    let y = if a < 0.55 { small } else { large };
    y.copysign(x)
}

/// tanh for `0 <= a < 0.55`: `a + a^3 p(a^2)`, with an approximation error of 5.9e-19.
#[inline(always)]
fn tanh_near_zero<L: Level>(a: f64) -> f64 {
    let z = a * a;
    let z2 = z * z;
    let z4 = z2 * z2;
    let low = [-0.333_333_333_333_333, 0.133_333_333_333_265_8, -0.053_968_253_963_736_61, 0.021_869_488_385_153_83];
    let middle = [
        -0.008_863_232_589_666_75,
        0.003_592_091_908_604_554,
        -0.001_455_542_042_080_000_5,
        0.000_588_441_099_333_573_1,
    ];
    let high = fma::<L>(z, 8.330_350_298_308_059e-5, -0.000_233_372_741_367_807_83);
    let high = fma::<L>(z2, -1.948_651_273_023_197e-5, high);
    let p = fma::<L>(z4, fma::<L>(z4, high, cubic::<L>(z, z2, middle)), cubic::<L>(z, z2, low));
    fma::<L>(a * z, p, a)
}

/// The natural logarithm; off by at most 0.78 ulp at every level.
///
/// The method of fdlibm: `x = 2^e (1 + f)`, and `ln(1 + f) = 2 atanh(s)` with `s = f / (2 + f)` by an odd polynomial
/// (approximation error 1.3e-18). What isn't normal and positive goes through std.
#[inline(always)]
pub fn log<L: Level>(x: Chunk<f64>) -> Chunk<f64> {
    mend(x, each(x, log_lane::<L>), is_not_normal, log_rare)
}

/// Whether `x` isn't a normal positive number: a comparison of the bits.
#[inline(always)]
fn is_not_normal(x: f64) -> bool {
    const SMALLEST: u64 = f64::MIN_POSITIVE.to_bits();
    x.to_bits().wrapping_sub(SMALLEST) >= f64::INFINITY.to_bits() - SMALLEST
}

#[cold]
#[inline(never)]
fn log_rare(x: &Chunk<f64>) -> Chunk<f64> {
    each(*x, f64::ln)
}

#[inline(always)]
fn log_lane<L: Level>(x: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    const MANTISSA: u64 = 0x000f_ffff_ffff_ffff;
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    // The exponent becomes a float by its bits, since only AVX-512 can convert integers of 64 bits.
    let above = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let e = f64::from_bits((above >> 52) | TWO_52.to_bits()) - (TWO_52 + 1023.0);
    let f = f64::from_bits((above & MANTISSA) + SQRT_HALF) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let z2 = z * z;
    let low = [0.666_666_666_666_673_4, 0.399_999_999_994_170_5, 0.285_714_287_418_905_7, 0.222_221_986_218_936_85];
    let high = fma::<L>(z, 0.153_141_108_502_503_95, 0.181_835_618_896_428);
    let high = fma::<L>(z2, 0.147_953_640_452_085_67, high);
    let p = z * fma::<L>(z2 * z2, high, cubic::<L>(z, z2, low));
    // 2 s is f - s f, and s f is half - s half with half = f^2 / 2: what is added to f is small and so is its rounding.
    let half = 0.5 * f * f;
    let rest = fma::<L>(s, half + p, e * LN2_LOW) - half;
    fma::<L>(e, LN2_HIGH, f + rest)
}

/// The sine; off by at most 1.08 ulp (1.48 without fma).
///
/// The method is that of [`super::single::sin`]; the approximation errors are 3.8e-18 and 5.7e-20.
#[inline(always)]
pub fn sin<L: Level>(x: Chunk<f64>) -> Chunk<f64> {
    mend(x, each(x, trig_lane::<L, 0>), is_huge, sin_huge)
}

/// The cosine; off by at most 1.07 ulp (1.63 without fma). The method is that of the sine.
#[inline(always)]
pub fn cos<L: Level>(x: Chunk<f64>) -> Chunk<f64> {
    mend(x, each(x, trig_lane::<L, 1>), is_huge, cos_huge)
}

/// Whether `x` is beyond what `without_quarters` can reduce. NaN isn't, it passes through the polynomials.
#[inline(always)]
fn is_huge(x: f64) -> bool {
    x.abs() > 1.6e6
}

#[cold]
#[inline(never)]
fn sin_huge(x: &Chunk<f64>) -> Chunk<f64> {
    each(*x, f64::sin)
}

#[cold]
#[inline(never)]
fn cos_huge(x: &Chunk<f64>) -> Chunk<f64> {
    each(*x, f64::cos)
}

/// `x - n * pi / 2` as `r - low`, where `low` is at most the rounding error of `r` or so.
///
/// The parts of pi / 2 are all cut off and not rounded up: as their products with `n = 0` are then subtracted, a zero
/// keeps its sign.
#[inline(always)]
fn without_quarters<L: Level>(x: f64, n: f64) -> (f64, f64) {
    if L::FMA {
        // Three times 53 bits, of which the first leave an exact difference.
        let exact = fma::<L>(n, -FRAC_PI_2, x);
        let r = exact - n * 6.123_233_995_736_765e-17;
        (r, fma::<L>(n, 1.082_856_673_921_913_9e-32, fma::<L>(n, 6.123_233_995_736_765e-17, r - exact)))
    } else {
        // Three times 33 bits (as in fdlibm), whose products with an `n` of 20 bits are exact, and then 53. Of the two
        // rounding errors only one can matter: where the second step cancels, the first one was exact.
        let exact = x - n * 1.570_796_326_734_125_6;
        let step = n * 6.077_100_506_303_966e-11;
        let first = exact - step;
        let low = (first - exact) + step;
        let step = n * 2.022_266_248_711_166_5e-21;
        let r = first - step;
        (r, (r - first) + step + low + n * 8.478_427_660_368_9e-32)
    }
}

/// The sine of `x` plus `QUARTER` right angles.
#[inline(always)]
fn trig_lane<L: Level, const QUARTER: u64>(x: f64) -> f64 {
    let shifted = fma::<L>(x, FRAC_2_PI, MAGIC);
    let (r, low) = without_quarters::<L>(x, shifted - MAGIC);
    let z = r * r;
    let z2 = z * z;
    let z4 = z2 * z2;
    // The sine is r - (low - r^3 s): a difference, since the sum of r = -0 and 0 would be 0.
    let sine_low =
        [0.166_666_666_666_666_3, -0.008_333_333_333_321_84, 0.000_198_412_698_293_585_28, -2.755_731_353_851_419e-6];
    let high = fma::<L>(z, -1.589_543_328_576_307_8e-10, 2.505_073_438_923_116_2e-8);
    let s = fma::<L>(z4, high, cubic::<L>(z, z2, sine_low));
    let sine = r - fma::<L>(r * z, s, low);
    let cosine_low = [
        0.041_666_666_666_666_595,
        -0.001_388_888_888_887_333_8,
        2.480_158_728_899_747_8e-5,
        -2.755_731_421_529_681_6e-7,
    ];
    let high = fma::<L>(z, -1.135_873_273_991_072e-11, 2.087_570_511_448_795_7e-9);
    let c = fma::<L>(z4, high, cubic::<L>(z, z2, cosine_low));
    let cosine = fma::<L>(z, fma::<L>(z, c, -0.5), 1.0);
    let quadrant = shifted.to_bits().wrapping_add(QUARTER);
    let y = if quadrant & 1 == 0 { sine } else { cosine };
    f64::from_bits(y.to_bits() ^ ((quadrant & 2) << 62))
}
