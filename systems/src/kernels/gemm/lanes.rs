//! A vector register of numbers, as the tiles see it, and its portable form.

/// A number that matrices hold.
pub trait Number: Copy + 'static {
    /// Zero.
    const ZERO: Self;
    /// `self * factor + term`, rounded once where the target has an instruction for it.
    fn times_plus(self, factor: Self, term: Self) -> Self;
}

macro_rules! number {
    ($type:ty) => {
        impl Number for $type {
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn times_plus(self, factor: Self, term: Self) -> Self {
                // Without the instruction, `mul_add` is a slow library call that no loop vectorises.
                if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
                    self.mul_add(factor, term)
                } else {
                    self * factor + term
                }
            }
        }
    };
}
number!(f32);
number!(f64);

/// One register of [`Lanes::COUNT`] numbers.
///
/// # Safety
/// Every method may use the instructions of its level, so it must be inlined in a function that enables them, on a
/// machine that has them. Pointers must be valid for the numbers that the method names, at any alignment of a number.
pub unsafe trait Lanes: Copy {
    /// What a lane holds.
    type Item: Number;
    /// How many lanes there are.
    const COUNT: usize;
    /// All lanes zero.
    unsafe fn zero() -> Self;
    /// All lanes the number at `from`.
    unsafe fn splat(from: *const Self::Item) -> Self;
    /// `COUNT` numbers from `from`.
    unsafe fn load(from: *const Self::Item) -> Self;
    /// The first `count <= COUNT` numbers from `from`, then zeros.
    unsafe fn load_first(from: *const Self::Item, count: usize) -> Self;
    /// Writes `COUNT` numbers to `to`.
    unsafe fn store(self, to: *mut Self::Item);
    /// Writes the first `count <= COUNT` numbers to `to`.
    unsafe fn store_first(self, to: *mut Self::Item, count: usize);
    /// `self * factor + term` in each lane.
    unsafe fn times_plus(self, factor: Self, term: Self) -> Self;
    /// Asks for the cache line at `at`, which need not be valid.
    unsafe fn prefetch(at: *const Self::Item);
    /// Turns `width <= COUNT` lines of `depth` numbers, `line` apart at `from`, into `depth` rows of `COUNT` numbers
    /// (those past `width` zero), `row` apart at `to`.
    unsafe fn transpose(
        from: *const Self::Item,
        line: isize,
        width: usize,
        depth: usize,
        to: *mut Self::Item,
        row: usize,
    );
}

/// The transposition of [`Lanes::transpose`] number by number, from depth `start` on.
#[inline(always)]
pub unsafe fn transpose_plainly<V: Lanes>(
    from: *const V::Item,
    line: isize,
    width: usize,
    depth: std::ops::Range<usize>,
    to: *mut V::Item,
    row: usize,
) {
    for p in depth {
        for lane in 0..V::COUNT {
            // SAFETY: the caller vouches for `width` lines and for `COUNT` numbers in each row.
            unsafe {
                let value = if lane < width { *from.offset(lane as isize * line).add(p) } else { V::Item::ZERO };
                *to.add(p * row + lane) = value;
            }
        }
    }
}

/// Lanes without instructions of their own: plain loops that the compiler turns into what the target has.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Plain<T, const L: usize>([T; L]);

// SAFETY: nothing here needs more than the target's base instructions.
unsafe impl<T: Number, const L: usize> Lanes for Plain<T, L> {
    type Item = T;
    const COUNT: usize = L;
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self([T::ZERO; L])
    }
    #[inline(always)]
    unsafe fn splat(from: *const T) -> Self {
        // SAFETY: as the trait asks.
        Self([unsafe { *from }; L])
    }
    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: as the trait asks.
        Self(unsafe { from.cast::<[T; L]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn load_first(from: *const T, count: usize) -> Self {
        if count >= L {
            // SAFETY: as the trait asks.
            return unsafe { Self::load(from) };
        }
        let mut lanes = [T::ZERO; L];
        for (lane, value) in lanes.iter_mut().enumerate().take(count) {
            // SAFETY: as the trait asks.
            *value = unsafe { *from.add(lane) };
        }
        Self(lanes)
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: as the trait asks.
        unsafe { to.cast::<[T; L]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut T, count: usize) {
        if count >= L {
            // SAFETY: as the trait asks.
            return unsafe { self.store(to) };
        }
        for (lane, value) in self.0.iter().enumerate().take(count) {
            // SAFETY: as the trait asks.
            unsafe { *to.add(lane) = *value }
        }
    }
    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, term: Self) -> Self {
        let mut lanes = term.0;
        for (lane, value) in lanes.iter_mut().enumerate() {
            *value = self.0[lane].times_plus(factor.0[lane], *value);
        }
        Self(lanes)
    }
    #[inline(always)]
    unsafe fn prefetch(_at: *const T) {}
    #[inline(always)]
    unsafe fn transpose(from: *const T, line: isize, width: usize, depth: usize, to: *mut T, row: usize) {
        // SAFETY: as the trait asks.
        unsafe { transpose_plainly::<Self>(from, line, width, 0..depth, to, row) }
    }
}
