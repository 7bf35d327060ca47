//! Which instructions the machine has, asked once.

use super::{
    lanes::{Number, Plain},
    tile::{self, Kernels},
};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__m256, __m256d, __m512, __m512d};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A type of number that there are kernels for.
pub trait Scalar: Number {
    /// The kernels of every level that this machine can run, best first.
    fn levels() -> &'static [&'static Kernels<Self>];
    /// The best kernels that this machine can run.
    fn kernels() -> &'static Kernels<Self>;
}

#[cfg(target_arch = "x86_64")]
macro_rules! scalar {
    ($type:ty, $wide:ty, $wide_rows:ty, $half:ty, $half_rows:ty, $plain:literal) => {
        impl Scalar for $type {
            #[inline]
            fn levels() -> &'static [&'static Kernels<Self>] {
                static WIDE: Kernels<$type> = tile::avx512::of::<$wide, $wide_rows>("avx512");
                static HALF: Kernels<$type> = tile::avx2::of::<$half, $half_rows>("avx2");
                static PLAIN: Kernels<$type> = tile::plain::of::<Plain<$type, $plain>, Plain<$type, 4>>("plain");
                static ALL: [&Kernels<$type>; 3] = [&WIDE, &HALF, &PLAIN];
                &ALL[first_level()..]
            }
            #[inline]
            fn kernels() -> &'static Kernels<Self> {
                static BEST: AtomicPtr<Kernels<$type>> = AtomicPtr::new(std::ptr::null_mut());
                // SAFETY: only addresses of statics are ever stored.
                match unsafe { BEST.load(Ordering::Relaxed).as_ref() } {
                    Some(best) => best,
                    None => {
                        let best = Self::levels()[0];
                        BEST.store(std::ptr::from_ref(best).cast_mut(), Ordering::Relaxed);
                        best
                    }
                }
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
scalar!(f32, __m512, __m256, __m256, Plain<f32, 4>, 4);
#[cfg(target_arch = "x86_64")]
scalar!(f64, __m512d, __m512d, __m256d, __m256d, 2);

#[cfg(not(target_arch = "x86_64"))]
macro_rules! scalar {
    ($type:ty, $plain:literal) => {
        impl Scalar for $type {
            #[inline]
            fn levels() -> &'static [&'static Kernels<Self>] {
                static PLAIN: Kernels<$type> = tile::plain::of::<Plain<$type, $plain>, Plain<$type, 4>>("plain");
                static ALL: [&Kernels<$type>; 1] = [&PLAIN];
                &ALL
            }
            #[inline]
            fn kernels() -> &'static Kernels<Self> {
                Self::levels()[0]
            }
        }
    };
}
#[cfg(not(target_arch = "x86_64"))]
scalar!(f32, 4);
#[cfg(not(target_arch = "x86_64"))]
scalar!(f64, 2);

/// How many of the levels this machine lacks.
#[cfg(target_arch = "x86_64")]
fn first_level() -> usize {
    if is_x86_feature_detected!("avx512f") {
        0
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        1
    } else {
        2
    }
}
