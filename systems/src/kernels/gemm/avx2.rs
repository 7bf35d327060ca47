//! Registers of 256 bits, with fused multiply-add.

use super::lanes::{Lanes, transpose_plainly};
use core::arch::x86_64::*;

/// Eight ones, then eight zeros: a window of it is the mask of the first lanes.
static MASK_F32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
/// The same for four lanes.
static MASK_F64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

#[inline(always)]
unsafe fn mask_f32(count: usize) -> __m256i {
    // SAFETY: as the trait asks.
    unsafe { _mm256_loadu_si256(MASK_F32.as_ptr().add(8 - count).cast()) }
}

#[inline(always)]
unsafe fn mask_f64(count: usize) -> __m256i {
    // SAFETY: as the trait asks.
    unsafe { _mm256_loadu_si256(MASK_F64.as_ptr().add(4 - count).cast()) }
}

// SAFETY: the methods use AVX2 and FMA alone, and masked loads and stores touch no lane outside their mask.
unsafe impl Lanes for __m256 {
    type Item = f32;
    const COUNT: usize = 8;
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm256_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn splat(from: *const f32) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm256_set1_ps(*from) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm256_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm256_maskload_ps(from, mask_f32(count)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as the trait asks.
        unsafe { _mm256_storeu_ps(to, self) }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        // SAFETY: as the trait asks.
        unsafe { if count == 8 { self.store(to) } else { _mm256_maskstore_ps(to, mask_f32(count), self) } }
    }
    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, term: Self) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm256_fmadd_ps(self, factor, term) }
    }
    #[inline(always)]
    unsafe fn prefetch(at: *const f32) {
        // SAFETY: as the trait asks.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, line: isize, width: usize, depth: usize, to: *mut f32, row: usize) {
        let whole = if width == 8 { depth & !3 } else { 0 };
        // SAFETY: as the trait asks.
        unsafe {
            for p in (0..whole).step_by(4) {
                let half = |index: usize| _mm_loadu_ps(from.offset(index as isize * line).add(p));
                let mut v = [_mm256_setzero_ps(); 4];
                for (index, value) in v.iter_mut().enumerate() {
                    *value = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(half(index)), half(4 + index));
                }
                let low01 = _mm256_castps_pd(_mm256_unpacklo_ps(v[0], v[1]));
                let high01 = _mm256_castps_pd(_mm256_unpackhi_ps(v[0], v[1]));
                let low23 = _mm256_castps_pd(_mm256_unpacklo_ps(v[2], v[3]));
                let high23 = _mm256_castps_pd(_mm256_unpackhi_ps(v[2], v[3]));
                let to = to.add(p * row);
                _mm256_storeu_pd(to.cast(), _mm256_unpacklo_pd(low01, low23));
                _mm256_storeu_pd(to.add(row).cast(), _mm256_unpackhi_pd(low01, low23));
                _mm256_storeu_pd(to.add(2 * row).cast(), _mm256_unpacklo_pd(high01, high23));
                _mm256_storeu_pd(to.add(3 * row).cast(), _mm256_unpackhi_pd(high01, high23));
            }
            transpose_plainly::<Self>(from, line, width, whole..depth, to, row);
        }
    }
}

// SAFETY: the methods use AVX2 and FMA alone, and masked loads and stores touch no lane outside their mask.
unsafe impl Lanes for __m256d {
    type Item = f64;
    const COUNT: usize = 4;
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm256_setzero_pd() }
    }
    #[inline(always)]
    unsafe fn splat(from: *const f64) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm256_set1_pd(*from) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm256_loadu_pd(from) }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f64, count: usize) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm256_maskload_pd(from, mask_f64(count)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: as the trait asks.
        unsafe { _mm256_storeu_pd(to, self) }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f64, count: usize) {
        // SAFETY: as the trait asks.
        unsafe { if count == 4 { self.store(to) } else { _mm256_maskstore_pd(to, mask_f64(count), self) } }
    }
    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, term: Self) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm256_fmadd_pd(self, factor, term) }
    }
    #[inline(always)]
    unsafe fn prefetch(at: *const f64) {
        // SAFETY: as the trait asks.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f64, line: isize, width: usize, depth: usize, to: *mut f64, row: usize) {
        let whole = if width == 4 { depth & !1 } else { 0 };
        // SAFETY: as the trait asks.
        unsafe {
            for p in (0..whole).step_by(2) {
                let half = |index: usize| _mm_loadu_pd(from.offset(index as isize * line).add(p));
                let even = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(half(0)), half(2));
                let odd = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(half(1)), half(3));
                _mm256_storeu_pd(to.add(p * row), _mm256_unpacklo_pd(even, odd));
                _mm256_storeu_pd(to.add((p + 1) * row), _mm256_unpackhi_pd(even, odd));
            }
            transpose_plainly::<Self>(from, line, width, whole..depth, to, row);
        }
    }
}
