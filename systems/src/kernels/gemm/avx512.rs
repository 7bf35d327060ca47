//! Registers of 512 bits.

use super::lanes::Lanes;
use core::arch::x86_64::*;

// SAFETY: the methods use AVX-512F alone, and masked loads and stores touch no lane outside their mask.
unsafe impl Lanes for __m512 {
    type Item = f32;
    const COUNT: usize = 16;
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm512_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn splat(from: *const f32) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm512_set1_ps(*from) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm512_maskz_loadu_ps(((1u32 << count) - 1) as u16, from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as the trait asks.
        unsafe { _mm512_storeu_ps(to, self) }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        // SAFETY: as the trait asks.
        unsafe { _mm512_mask_storeu_ps(to, ((1u32 << count) - 1) as u16, self) }
    }
    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, term: Self) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm512_fmadd_ps(self, factor, term) }
    }
    #[inline(always)]
    unsafe fn prefetch(at: *const f32) {
        // SAFETY: as the trait asks.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, line: isize, width: usize, depth: usize, to: *mut f32, row: usize) {
        // SAFETY: as the trait asks.
        unsafe {
            for p in (0..depth).step_by(16) {
                let (from, to, depth) = (from.add(p), to.add(p * row), (depth - p).min(16));
                if width <= 4 {
                    few_f32(from, line, width, depth, to, row);
                } else if depth <= 4 {
                    narrow_f32(from, line, width, depth, to, row);
                } else {
                    square_f32(from, line, width, depth, to, row);
                }
            }
        }
    }
}

/// Turns up to 16 lines of up to 16 numbers: each cache line is read once, so lines that fall in one set do not matter.
#[inline(always)]
unsafe fn square_f32(from: *const f32, line: isize, width: usize, depth: usize, to: *mut f32, row: usize) {
    // SAFETY: as the trait asks.
    unsafe {
        let mut lines = [_mm512_setzero_ps(); 16];
        if width == 16 && depth == 16 {
            for (index, value) in lines.iter_mut().enumerate() {
                *value = _mm512_loadu_ps(from.offset(index as isize * line));
            }
        } else {
            for (index, value) in lines.iter_mut().enumerate() {
                // A line past the last is not read, as its mask is empty.
                let mask = if index < width { ((1u32 << depth) - 1) as u16 } else { 0 };
                *value = _mm512_maskz_loadu_ps(mask, from.wrapping_offset(index as isize * line));
            }
        }
        // Quarters of four numbers are turned first: `turned[4 * g + q]` holds, in quarter `s`, number `4 * s + q` of
        // lines `4 * g..4 * g + 4`.
        let mut turned = lines;
        for group in 0..4 {
            let quad = [lines[4 * group], lines[4 * group + 1], lines[4 * group + 2], lines[4 * group + 3]];
            turned[4 * group..4 * group + 4].copy_from_slice(&turn_quarters(quad));
        }
        let mut rows = [_mm512_setzero_ps(); 16];
        for q in 0..4 {
            let low01 = _mm512_shuffle_f32x4::<0x44>(turned[q], turned[4 + q]);
            let high01 = _mm512_shuffle_f32x4::<0xEE>(turned[q], turned[4 + q]);
            let low23 = _mm512_shuffle_f32x4::<0x44>(turned[8 + q], turned[12 + q]);
            let high23 = _mm512_shuffle_f32x4::<0xEE>(turned[8 + q], turned[12 + q]);
            rows[q] = _mm512_shuffle_f32x4::<0x88>(low01, low23);
            rows[4 + q] = _mm512_shuffle_f32x4::<0xDD>(low01, low23);
            rows[8 + q] = _mm512_shuffle_f32x4::<0x88>(high01, high23);
            rows[12 + q] = _mm512_shuffle_f32x4::<0xDD>(high01, high23);
        }
        for (p, value) in rows.iter().enumerate() {
            if p < depth {
                _mm512_storeu_ps(to.add(p * row), *value);
            }
        }
    }
}

/// Turns up to 4 lines of up to 16 numbers.
#[inline(always)]
unsafe fn few_f32(from: *const f32, line: isize, width: usize, depth: usize, to: *mut f32, row: usize) {
    // SAFETY: as the trait asks.
    unsafe {
        let mut v = [_mm512_setzero_ps(); 4];
        for (index, value) in v.iter_mut().enumerate() {
            let mask = if index < width { ((1u32 << depth) - 1) as u16 } else { 0 };
            *value = _mm512_maskz_loadu_ps(mask, from.wrapping_offset(index as isize * line));
        }
        for (q, value) in turn_quarters(v).into_iter().enumerate() {
            let quarters = [
                _mm512_castps512_ps128(value),
                _mm512_extractf32x4_ps::<1>(value),
                _mm512_extractf32x4_ps::<2>(value),
                _mm512_extractf32x4_ps::<3>(value),
            ];
            for (s, quarter) in quarters.into_iter().enumerate() {
                if 4 * s + q < depth {
                    _mm512_storeu_ps(to.add((4 * s + q) * row), _mm512_zextps128_ps512(quarter));
                }
            }
        }
    }
}

/// Turns the four by four numbers in each quarter of four registers.
#[inline(always)]
unsafe fn turn_quarters(v: [__m512; 4]) -> [__m512; 4] {
    // SAFETY: as the trait asks.
    unsafe {
        let low01 = _mm512_castps_pd(_mm512_unpacklo_ps(v[0], v[1]));
        let high01 = _mm512_castps_pd(_mm512_unpackhi_ps(v[0], v[1]));
        let low23 = _mm512_castps_pd(_mm512_unpacklo_ps(v[2], v[3]));
        let high23 = _mm512_castps_pd(_mm512_unpackhi_ps(v[2], v[3]));
        [
            _mm512_castpd_ps(_mm512_unpacklo_pd(low01, low23)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(low01, low23)),
            _mm512_castpd_ps(_mm512_unpacklo_pd(high01, high23)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(high01, high23)),
        ]
    }
}

/// Turns up to 16 lines of up to 4 numbers.
#[inline(always)]
unsafe fn narrow_f32(from: *const f32, line: isize, width: usize, depth: usize, to: *mut f32, row: usize) {
    // SAFETY: as the trait asks.
    unsafe {
        let mask = ((1u32 << depth) - 1) as u16;
        let quarter = |index: usize| {
            if index < width {
                _mm512_castps512_ps128(_mm512_maskz_loadu_ps(mask, from.offset(index as isize * line)))
            } else {
                _mm_setzero_ps()
            }
        };
        let mut v = [_mm512_setzero_ps(); 4];
        for (index, value) in v.iter_mut().enumerate() {
            let first = _mm512_castps128_ps512(quarter(index));
            let second = _mm512_insertf32x4::<1>(first, quarter(4 + index));
            let third = _mm512_insertf32x4::<2>(second, quarter(8 + index));
            *value = _mm512_insertf32x4::<3>(third, quarter(12 + index));
        }
        for (p, value) in turn_quarters(v).iter().enumerate().take(depth) {
            _mm512_storeu_ps(to.add(p * row), *value);
        }
    }
}

// SAFETY: the methods use AVX-512F alone, and masked loads and stores touch no lane outside their mask.
unsafe impl Lanes for __m512d {
    type Item = f64;
    const COUNT: usize = 8;
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm512_setzero_pd() }
    }
    #[inline(always)]
    unsafe fn splat(from: *const f64) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm512_set1_pd(*from) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm512_loadu_pd(from) }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f64, count: usize) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm512_maskz_loadu_pd(((1u32 << count) - 1) as u8, from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: as the trait asks.
        unsafe { _mm512_storeu_pd(to, self) }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f64, count: usize) {
        // SAFETY: as the trait asks.
        unsafe { _mm512_mask_storeu_pd(to, ((1u32 << count) - 1) as u8, self) }
    }
    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, term: Self) -> Self {
        // SAFETY: as the trait asks.
        unsafe { _mm512_fmadd_pd(self, factor, term) }
    }
    #[inline(always)]
    unsafe fn prefetch(at: *const f64) {
        // SAFETY: as the trait asks.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f64, line: isize, width: usize, depth: usize, to: *mut f64, row: usize) {
        // SAFETY: as the trait asks.
        unsafe {
            let mut p = 0;
            while p < depth {
                narrow_f64(from.add(p), line, width, (depth - p).min(2), to.add(p * row), row);
                p += 2;
            }
        }
    }
}

/// Turns up to 8 lines of up to 2 numbers.
#[inline(always)]
unsafe fn narrow_f64(from: *const f64, line: isize, width: usize, depth: usize, to: *mut f64, row: usize) {
    // SAFETY: as the trait asks.
    unsafe {
        let mask = ((1u32 << depth) - 1) as u8;
        let quarter = |index: usize| {
            if index < width {
                _mm512_castpd512_pd128(_mm512_maskz_loadu_pd(mask, from.offset(index as isize * line)))
            } else {
                _mm_setzero_pd()
            }
        };
        let mut v = [_mm512_setzero_pd(); 2];
        for (index, value) in v.iter_mut().enumerate() {
            let low = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(quarter(index)), quarter(2 + index));
            let high = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(quarter(4 + index)), quarter(6 + index));
            *value = _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(low), high);
        }
        _mm512_storeu_pd(to, _mm512_unpacklo_pd(v[0], v[1]));
        if depth > 1 {
            _mm512_storeu_pd(to.add(row), _mm512_unpackhi_pd(v[0], v[1]));
        }
    }
}
