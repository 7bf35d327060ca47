//! Accesses: how a buffer lies under a linear index.
//!
//! An access maps 0, 1, 2, … to elements of a buffer: the index is taken apart into digits, the last one running fastest,
//! and each digit moves by its stride. Views (broadcasts, transposes, reshapes) are accesses, and an access through a view is an
//! access again.

use smallvec::SmallVec;

/// One digit of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digit {
    /// How many values it takes.
    pub extent: usize,
    /// Elements from one to the next.
    pub stride: usize,
}

/// What a view shows of its operand: the axes of the view, outermost first, each with its stride in the operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The axes, indexed row-major.
    pub axes: SmallVec<[Digit; 4]>,
    /// The element of the operand that index 0 is.
    pub offset: usize,
}

/// A map from a linear index to elements of a buffer. *Invariant*: canonical, so that equal maps are equal values: no digit of
/// extent 1, and no two neighbours that are one digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    digits: SmallVec<[Digit; 4]>,
    offset: usize,
}

impl Access {
    /// The identity on so many elements.
    pub fn identity(length: usize) -> Self {
        Self::new([Digit { extent: length, stride: 1 }], 0)
    }

    /// From digits, slowest first.
    pub fn new(digits: impl IntoIterator<Item = Digit>, offset: usize) -> Self {
        let mut canonical: SmallVec<[Digit; 4]> = SmallVec::new();
        for digit in digits {
            if digit.extent == 1 {
                continue;
            }
            match canonical.last_mut() {
                Some(last) if last.stride == digit.stride * digit.extent => {
                    *last = Digit { extent: last.extent * digit.extent, stride: digit.stride };
                }
                _ => canonical.push(digit),
            }
        }
        Self { digits: canonical, offset }
    }

    /// The digits, slowest first.
    pub fn digits(&self) -> &[Digit] {
        &self.digits
    }

    /// The element of index 0.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Whether index i is element i + offset.
    pub fn is_direct(&self) -> bool {
        matches!(self.digits[..], [] | [Digit { stride: 1, .. }])
    }

    /// Whether index i is element i.
    pub fn is_identity(&self) -> bool {
        self.offset == 0 && self.is_direct()
    }

    /// Whether every index is the same element.
    pub fn is_uniform(&self) -> bool {
        self.digits.iter().all(|digit| digit.stride == 0)
    }

    /// Whether some element is met more than once.
    pub fn repeats(&self) -> bool {
        self.digits.iter().any(|digit| digit.stride == 0)
    }

    /// This access through a view. `None` where the result is no access.
    pub fn through(&self, view: &View) -> Option<Self> {
        let axes = &view.axes[..];
        if self.digits.iter().chain(axes).any(|digit| digit.extent == 0) {
            return Some(Self::identity(0));
        }
        let mut row_major: SmallVec<[usize; 4]> = axes.iter().map(|_| 1).collect();
        for axis in (1..axes.len()).rev() {
            row_major[axis - 1] = row_major[axis] * axes[axis].extent;
        }
        // Where the access begins, axis by axis; then how far each digit can go on its axis.
        let mut position: SmallVec<[usize; 4]> = SmallVec::new();
        let mut rest = self.offset;
        for stride in &row_major {
            position.push(rest.checked_div(*stride)?);
            rest = rest.checked_rem(*stride)?;
        }
        let offset: usize = position.iter().zip(axes).map(|(place, axis)| place * axis.stride).sum();
        let mut digits: SmallVec<[Digit; 8]> = SmallVec::new();
        for digit in &self.digits {
            push_through(*digit, axes, &row_major, &mut position, &mut digits)?;
        }
        let is_within = position.iter().zip(axes).all(|(last, axis)| *last < axis.extent);
        is_within.then(|| Self::new(digits, view.offset + offset))
    }
}

/// Adds what one digit becomes behind a view; several digits where it runs over more than one axis.
fn push_through(
    digit: Digit,
    axes: &[Digit],
    row_major: &[usize],
    last: &mut [usize],
    digits: &mut SmallVec<[Digit; 8]>,
) -> Option<()> {
    if digit.stride == 0 {
        digits.push(digit);
        return Some(());
    }
    // The slowest axis whose stride divides the digit's.
    let axis = (0..axes.len()).find(|axis| axes[*axis].extent > 1 && digit.stride.is_multiple_of(row_major[*axis]))?;
    let factor = digit.stride / row_major[axis];
    if factor * (digit.extent - 1) < axes[axis].extent {
        last[axis] += factor * (digit.extent - 1);
        digits.push(Digit { extent: digit.extent, stride: factor * axes[axis].stride });
        return Some(());
    }
    // It leaves the axis: what fits is one digit, the rest belongs to slower axes.
    let fits = axes[axis].extent / factor;
    if fits < 2 || !axes[axis].extent.is_multiple_of(factor) || !digit.extent.is_multiple_of(fits) {
        return None;
    }
    let slower = Digit { extent: digit.extent / fits, stride: digit.stride * fits };
    push_through(slower, axes, row_major, last, digits)?;
    push_through(Digit { extent: fits, stride: digit.stride }, axes, row_major, last, digits)
}

/// The digits of a dense row-major value of this shape.
pub fn row_major(shape: &[usize]) -> SmallVec<[Digit; 4]> {
    let mut digits: SmallVec<[Digit; 4]> = shape.iter().map(|extent| Digit { extent: *extent, stride: 1 }).collect();
    for axis in (1..shape.len()).rev() {
        digits[axis - 1].stride = digits[axis].stride * shape[axis];
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::{Access, Digit, View, row_major};

    fn element(access: &Access, index: usize) -> usize {
        let mut rest = index;
        let mut element = access.offset();
        for digit in access.digits().iter().rev() {
            element += rest % digit.extent * digit.stride;
            rest /= digit.extent;
        }
        element
    }

    fn view(axes: &[Digit]) -> View {
        View { axes: axes.into(), offset: 0 }
    }

    fn transposed() -> [Digit; 3] {
        // [2, 3, 4] seen as [4, 2, 3].
        let [a, b, c] = [0, 1, 2].map(|axis| row_major(&[2, 3, 4])[axis]);
        [c, a, b]
    }

    #[test]
    fn an_access_through_a_view_finds_what_the_view_shows() {
        let axes = transposed();
        let seen = Access::new(axes, 0);
        let through = Access::identity(24).through(&view(&axes)).unwrap();
        assert_eq!(through, seen);
        // The same under a broadcast of each element to three.
        let repeated = Access::new([Digit { extent: 24, stride: 1 }, Digit { extent: 3, stride: 0 }], 0);
        let through = repeated.through(&view(&axes)).unwrap();
        for index in 0..72 {
            assert_eq!(element(&through, index), element(&seen, index / 3));
        }
        // Two transposes that undo each other are none.
        let back = row_major(&[4, 2, 3]);
        let undone = seen.through(&view(&[back[1], back[2], back[0]])).unwrap();
        assert!(undone.is_identity());
    }

    #[test]
    fn what_no_strides_can_say_is_refused() {
        // Runs of 5 in a transposed 4 × 6 begin in the middle of a column.
        let axes = [Digit { extent: 6, stride: 1 }, Digit { extent: 4, stride: 6 }];
        let fives = Access::new([Digit { extent: 4, stride: 5 }, Digit { extent: 2, stride: 2 }], 0);
        assert_eq!(fives.through(&view(&axes)), None);
    }
}
