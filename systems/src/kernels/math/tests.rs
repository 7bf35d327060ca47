//! Tests of the elementary functions: accuracy over the whole range, special values, agreement of the levels.

use core::f32::consts::{FRAC_1_SQRT_2, FRAC_PI_4, LN_2, SQRT_2};

use super::{double, single};
use crate::kernels::lanes::{Avx2, Avx512, Chunk, LANES, Portable};

type Single = fn(Chunk<f32>) -> Chunk<f32>;
type Double = fn(Chunk<f64>) -> Chunk<f64>;

/// How far `y` is from `exact`, in units in the last place of an `f32`.
fn ulps_single(y: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if y.to_bits() == nearest.to_bits() || y.is_nan() && nearest.is_nan() {
        return 0.0;
    }
    if !y.is_finite() || !nearest.is_finite() || exact == 0.0 {
        return f64::INFINITY;
    }
    let exponent = ((exact.to_bits() >> 52) & 0x7ff).max(1023 - 126);
    (f64::from(y) - exact).abs() / f64::from_bits((exponent - 23) << 52)
}

/// Checks the levels against `f64` for every 4099th bit pattern and around the special points.
fn sweep(name: &str, levels: [Single; 3], exact: fn(f64) -> f64, bound: f64) {
    const STEP: usize = 4099;
    let mut points: Vec<u32> = (0..=u32::MAX).step_by(STEP).collect();
    let special = [0.0, f32::MIN_POSITIVE, 0.55, 0.625, FRAC_1_SQRT_2, 1.0, SQRT_2, 9.0, 9.5, 88.722_84, 89.0]
        .into_iter()
        .chain([87.336_55, 103.278_93, 103.972_08, 105.0, 6_400.0, 100_000.0, f32::MAX, f32::INFINITY])
        .chain((1..40).map(|n| n as f32 * FRAC_PI_4))
        .chain((1..40).map(|n| (n as f32 - 0.5) * LN_2));
    for bits in special.map(f32::to_bits) {
        for near in bits.saturating_sub(40)..=bits + 40 {
            points.extend([near, near | 1 << 31]);
        }
    }
    for bits in points.chunks(LANES) {
        let mut x = [1.0; LANES];
        for (x, bits) in x.iter_mut().zip(bits) {
            *x = f32::from_bits(*bits);
        }
        let y = levels.map(|f| f(x));
        for j in 0..LANES {
            let exact = exact(f64::from(x[j]));
            assert_eq!(y[0][j].to_bits(), y[1][j].to_bits(), "both levels with fma give the same {name}({})", x[j]);
            for y in [y[0][j], y[2][j]] {
                let error = ulps_single(y, exact);
                assert!(error <= bound, "{name}({:e}) = {y:e}, {error} ulp from {exact:e}", x[j]);
            }
        }
    }
}

macro_rules! levels {
    ($module:ident, $function:ident) => {
        [$module::$function::<Avx512>, $module::$function::<Avx2>, $module::$function::<Portable>]
    };
}

#[test]
fn single_exp_is_accurate() {
    sweep("exp", levels!(single, exp), f64::exp, 1.1);
}

#[test]
fn single_log_is_accurate() {
    sweep("log", levels!(single, log), f64::ln, 1.0);
}

#[test]
fn single_sin_is_accurate() {
    sweep("sin", levels!(single, sin), f64::sin, 1.5);
}

#[test]
fn single_cos_is_accurate() {
    sweep("cos", levels!(single, cos), f64::cos, 1.5);
}

#[test]
fn single_tanh_is_accurate() {
    sweep("tanh", levels!(single, tanh), f64::tanh, 1.2);
}

/// An unevaluated sum of two `f64`, for references of about 100 bits.
#[derive(Clone, Copy)]
struct Pair(f64, f64);

impl Pair {
    fn sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let from_b = high - a;
        Self(high, (a - (high - from_b)) + (b - from_b))
    }

    fn product(a: f64, b: f64) -> Self {
        Self(a * b, a.mul_add(b, -(a * b)))
    }

    fn add(self, other: Self) -> Self {
        let high = Self::sum(self.0, other.0);
        let low = Self::sum(self.1, other.1);
        let first = Self::sum(high.0, high.1 + low.0);
        Self::sum(first.0, first.1 + low.1)
    }

    fn mul(self, other: Self) -> Self {
        let high = Self::product(self.0, other.0);
        Self::sum(high.0, high.1 + (self.0 * other.1 + self.1 * other.0))
    }

    fn div(self, other: Self) -> Self {
        let first = self.0 / other.0;
        let rest = self.add(other.mul(Self(-first, 0.0)));
        let second = rest.0 / other.0;
        let rest = rest.add(other.mul(Self(-second, 0.0)));
        Self::sum(first, second).add(Self(rest.0 / other.0, 0.0))
    }
}

const ONE: Pair = Pair(1.0, 0.0);

/// `x * 2^n` by powers that are normal, exact unless it overflows or is subnormal.
fn scaled(x: f64, n: i32) -> f64 {
    x * 2f64.powi(n / 2) * 2f64.powi(n - n / 2)
}

/// `e^x` as `m * 2^n`.
fn exp_reference(x: f64) -> (Pair, i32) {
    let n = (x * core::f64::consts::LOG2_E).round();
    let ln_2 = Pair(core::f64::consts::LN_2, 2.319_046_813_846_3e-17);
    let r = Pair(x, 0.0).add(ln_2.mul(Pair(-n, 0.0)));
    let m = (1..30).rev().fold(ONE, |sum, k| ONE.add(sum.mul(r).div(Pair(f64::from(k), 0.0))));
    (m, n as i32)
}

fn log_reference(x: f64) -> (Pair, i32) {
    // One step of Newton's method, which squares the error.
    let guess = x.ln();
    let (m, n) = exp_reference(-guess);
    let ratio = m.mul(Pair(scaled(x, n), 0.0));
    (Pair(guess, 0.0).add(ratio.add(Pair(-1.0, 0.0))), 0)
}

/// The series of sine and cosine for `sign = -1`, of their hyperbolic twins for `sign = 1`.
fn series(r: Pair, sign: f64) -> (Pair, Pair) {
    let z = r.mul(r).mul(Pair(sign, 0.0));
    let sum = |first: i32| {
        (0..15)
            .rev()
            .map(|k| f64::from(2 * k + first))
            .fold(ONE, |sum, k| ONE.add(sum.mul(z).div(Pair(k * (k + 1.0), 0.0))))
    };
    (r.mul(sum(2)), sum(1))
}

fn trig_reference(x: f64, quarter: i64) -> (Pair, i32) {
    let parts = [core::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_183_3e-33];
    let n = (x * core::f64::consts::FRAC_2_PI).round();
    let r = parts.into_iter().fold(Pair(x, 0.0), |r, part| r.add(Pair::product(-n, part)));
    let (sine, cosine) = series(r, -1.0);
    let quadrant = n as i64 + quarter;
    let y = if quadrant & 1 == 0 { sine } else { cosine };
    (y.mul(Pair(if quadrant & 2 == 0 { 1.0 } else { -1.0 }, 0.0)), 0)
}

fn tanh_reference(x: f64) -> (Pair, i32) {
    if x.abs() < 1.0 {
        let (sine, cosine) = series(Pair(x, 0.0), 1.0);
        return (sine.div(cosine), 0);
    }
    let (m, n) = exp_reference(2.0 * x);
    let e = Pair(scaled(m.0, n), scaled(m.1, n));
    (e.add(Pair(-1.0, 0.0)).div(e.add(ONE)), 0)
}

/// How far `y` is from `exact * 2^n`, in units in the last place of an `f64`.
fn ulps_double(y: f64, exact: Pair, n: i32) -> f64 {
    let exponent = ((exact.0.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let ulp = scaled(1.0, (exponent - 52).max(-1074 - n));
    ((scaled(y, -n) - exact.0 - exact.1) / ulp).abs()
}

/// Checks the levels at 1500 numbers spread evenly between the ends of each range.
fn scatter(name: &str, levels: [Double; 3], exact: fn(f64) -> (Pair, i32), ranges: &[(f64, f64)], bound: f64) {
    let mut seed = 1u64;
    for &(from, to) in ranges {
        for _ in 0..1500 / LANES {
            let x: Chunk<f64> = core::array::from_fn(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                from + (to - from) * ((seed >> 11) as f64 / (1u64 << 53) as f64)
            });
            let y = levels.map(|f| f(x));
            for j in 0..LANES {
                let (m, n) = exact(x[j]);
                assert_eq!(y[0][j].to_bits(), y[1][j].to_bits(), "both levels with fma give the same {name}({})", x[j]);
                for y in [y[0][j], y[2][j]] {
                    let error = ulps_double(y, m, n);
                    assert!(error <= bound, "{name}({:e}) = {y:e}, {error} ulp off", x[j]);
                }
            }
        }
    }
}

#[test]
fn double_exp_is_accurate() {
    let ranges = [(-1.0, 1.0), (-708.0, 709.7), (-745.1, -708.0), (-1e-9, 1e-9)];
    scatter("exp", levels!(double, exp), exp_reference, &ranges, 1.2);
}

#[test]
fn double_log_is_accurate() {
    let ranges = [(0.5, 2.0), (0.999, 1.001), (0.0, 1e3), (0.0, f64::MAX), (0.0, f64::MIN_POSITIVE)];
    scatter("log", levels!(double, log), log_reference, &ranges, 1.0);
}

#[test]
fn double_sin_and_cos_are_accurate() {
    let ranges = [(-1.0, 1.0), (-8.0, 8.0), (-1e3, 1e3), (-1.6e6, 1.6e6), (1.6e6, 1e8), (-1e-200, 1e-200)];
    scatter("sin", levels!(double, sin), |x| trig_reference(x, 0), &ranges, 1.7);
    scatter("cos", levels!(double, cos), |x| trig_reference(x, 1), &ranges, 1.9);
}

#[test]
fn double_sin_and_cos_are_accurate_near_their_zeros() {
    // The first three are the numbers below 1.6e6 that come closest to a multiple of pi / 2, relative to their size.
    let hard = [45.553_093_477_052, 91.106_186_954_104, 182.212_373_908_208];
    let near = (1..3000).map(|n| f64::from(n * 331) * core::f64::consts::FRAC_PI_2);
    for x in hard.into_iter().chain(near) {
        for f in levels!(double, sin) {
            let (m, n) = trig_reference(x, 0);
            assert!(ulps_double(f([x; LANES])[0], m, n) <= 1.7, "sin({x:e})");
        }
        for f in levels!(double, cos) {
            let (m, n) = trig_reference(-x, 1);
            assert!(ulps_double(f([-x; LANES])[LANES - 1], m, n) <= 1.9, "cos({:e})", -x);
        }
    }
}

#[test]
fn double_tanh_is_accurate() {
    let ranges = [(-1.0, 1.0), (0.5, 0.6), (-22.0, 22.0), (18.0, 20.0), (-1e-6, 1e-6), (-1e-300, 1e-300)];
    scatter("tanh", levels!(double, tanh), tanh_reference, &ranges, 1.5);
}

/// Tests of special values that are the same for both types.
macro_rules! special {
    ($name:ident, $t:ty, $module:ident, $exp:expr, $saturated:literal) => {
        #[test]
        fn $name() {
            const INFINITY: $t = <$t>::INFINITY;
            const NAN: $t = <$t>::NAN;
            let check = |function: &str, levels: [fn(Chunk<$t>) -> Chunk<$t>; 3], values: &[($t, $t)]| {
                for (level, f) in levels.into_iter().enumerate() {
                    for &(x, y) in values {
                        // The other lanes must not matter.
                        for others in [0.5, NAN, INFINITY, -1e30] {
                            let mut chunk = [others; LANES];
                            chunk[5] = x;
                            let got = f(chunk)[5];
                            let same = got.to_bits() == y.to_bits() || got.is_nan() && y.is_nan();
                            assert!(same, "{function}({x:e}) is {got:e} and not {y:e} at level {level}");
                        }
                    }
                }
            };
            let tiny = <$t>::from_bits(1);
            // The largest argument with a finite result, the smallest with one that isn't zero, and what comes next.
            let [over, under]: [[$t; 2]; 2] = $exp;
            let exp = [(0.0, 1.0), (-0.0, 1.0), (INFINITY, INFINITY), (-INFINITY, 0.0), (NAN, NAN), (tiny, 1.0)];
            check("exp", levels!($module, exp), &exp);
            check("exp", levels!($module, exp), &[(over[1], INFINITY), (<$t>::MAX, INFINITY)]);
            check("exp", levels!($module, exp), &[(under[0], tiny), (under[1], 0.0), (-<$t>::MAX, 0.0)]);
            for f in levels!($module, exp) {
                assert!(f([over[0]; LANES])[0] < INFINITY);
            }
            let log = [(1.0, 0.0), (0.0, -INFINITY), (-0.0, -INFINITY), (INFINITY, INFINITY), (NAN, NAN)];
            check("log", levels!($module, log), &log);
            check("log", levels!($module, log), &[(-1.0, NAN), (-tiny, NAN), (-INFINITY, NAN), (-NAN, NAN)]);
            let sin = [(0.0, 0.0), (-0.0, -0.0), (tiny, tiny), (-tiny, -tiny)];
            check("sin", levels!($module, sin), &sin);
            check("cos", levels!($module, cos), &[(0.0, 1.0), (-0.0, 1.0), (tiny, 1.0)]);
            for f in [levels!($module, sin), levels!($module, cos)] {
                check("sin or cos", f, &[(INFINITY, NAN), (-INFINITY, NAN), (NAN, NAN)]);
            }
            check("sin", levels!($module, sin), &[(1e30, (1e30 as $t).sin())]);
            check("cos", levels!($module, cos), &[(-1e30, (1e30 as $t).cos())]);
            check("tanh", levels!($module, tanh), &sin);
            let tanh = [(INFINITY, 1.0), (-INFINITY, -1.0), (NAN, NAN), ($saturated, 1.0), (-<$t>::MAX, -1.0)];
            check("tanh", levels!($module, tanh), &tanh);
        }
    };
}

special!(single_special_values, f32, single, [[88.722_83, 88.722_84], [-103.972_08, -103.972_084]], 9.010_914);
special!(
    double_special_values,
    f64,
    double,
    [[709.782_712_893_384, 709.782_712_893_384_1], [-745.133_219_101_941_1, -745.133_219_101_941_3]],
    19.061_547_465_398_5
);

#[test]
fn tanh_is_monotone_near_saturation() {
    for f in levels!(single, tanh) {
        let mut last = 0.0;
        for bits in (8.0f32.to_bits()..9.6f32.to_bits()).step_by(LANES) {
            for y in f(core::array::from_fn(|j| f32::from_bits(bits + j as u32))) {
                assert!(last <= y && y <= 1.0);
                last = y;
            }
        }
    }
    for f in levels!(double, tanh) {
        let mut last = 0.0;
        for step in 0..5_000 {
            for y in f(core::array::from_fn(|j| 18.0 + f64::from(step * LANES as u32 + j as u32) * 4e-5)) {
                assert!(last <= y && y <= 1.0);
                last = y;
            }
        }
    }
}
