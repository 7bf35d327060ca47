//! Dims: how long an axis is, known or as an expression of symbols.
//!
//! A dim that is not known is a polynomial with integer coefficients over named symbols, kept in one normal form, so that
//! `N + N` and `2·N` are equal and reshapes can be checked before any size is known. One symbol is the simplest polynomial.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Add, Mul, Sub};
use std::sync::Arc;

/// The length of one axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// Known when traced.
    Known(usize),
    /// Known when called: never a constant (a constant polynomial is [`Dim::Known`]).
    Symbolic(Arc<Polynomial>),
}

/// A product of symbols, in order of name; empty for the constant term.
type Monomial = Vec<Arc<str>>;

/// A polynomial over named symbols, without zero terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Polynomial {
    terms: BTreeMap<Monomial, i64>,
}

impl Dim {
    /// A symbol: an axis whose length is known at the call. Equal names in one signature must agree there.
    pub fn symbol(name: &str) -> Self {
        let terms = BTreeMap::from([(vec![Arc::from(name)], 1)]);
        Self::Symbolic(Arc::new(Polynomial { terms }))
    }

    /// The length, where it is known.
    pub fn known(&self) -> Option<usize> {
        match self {
            Self::Known(length) => Some(*length),
            Self::Symbolic(_) => None,
        }
    }

    /// The name, where this dim is exactly one symbol.
    pub fn as_symbol(&self) -> Option<&Arc<str>> {
        let Self::Symbolic(polynomial) = self else { return None };
        let mut terms = polynomial.terms.iter();
        match (terms.next(), terms.next()) {
            (Some((symbols, 1)), None) if symbols.len() == 1 => symbols.first(),
            _ => None,
        }
    }

    /// Whether this is the literal 1, the only length that broadcasts.
    pub fn is_one(&self) -> bool {
        *self == Self::Known(1)
    }

    /// The length under the given values; `None` where a symbol has no value or the result is no length.
    pub fn evaluate(&self, values: &SymbolValues) -> Option<usize> {
        match self {
            Self::Known(length) => Some(*length),
            Self::Symbolic(polynomial) => {
                let mut sum = 0_i64;
                for (symbols, coefficient) in &polynomial.terms {
                    let mut term = *coefficient;
                    for symbol in symbols {
                        let value = i64::try_from(values.get(symbol)?).ok()?;
                        term = term.checked_mul(value)?;
                    }
                    sum = sum.checked_add(term)?;
                }
                usize::try_from(sum).ok()
            }
        }
    }

    fn polynomial(&self) -> Polynomial {
        match self {
            Self::Known(0) => Polynomial::default(),
            Self::Known(length) => Polynomial { terms: BTreeMap::from([(Vec::new(), *length as i64)]) },
            Self::Symbolic(polynomial) => (**polynomial).clone(),
        }
    }

    fn from_polynomial(polynomial: Polynomial) -> Self {
        match (polynomial.terms.len(), polynomial.terms.get(&Vec::new())) {
            (0, _) => Self::Known(0),
            // A negative constant is no length; it stays symbolic and fails when evaluated, with its place.
            (1, Some(constant)) if *constant >= 0 => Self::Known(*constant as usize),
            _ => Self::Symbolic(Arc::new(polynomial)),
        }
    }

    fn combine(&self, other: &Self, sign: i64) -> Self {
        let mut sum = self.polynomial();
        for (symbols, coefficient) in other.polynomial().terms {
            let entry = sum.terms.entry(symbols).or_default();
            *entry = entry.saturating_add(sign * coefficient);
        }
        sum.terms.retain(|_, coefficient| *coefficient != 0);
        Self::from_polynomial(sum)
    }
}

impl Add for &Dim {
    type Output = Dim;
    fn add(self, other: Self) -> Dim {
        self.combine(other, 1)
    }
}

impl Sub for &Dim {
    type Output = Dim;
    fn sub(self, other: Self) -> Dim {
        self.combine(other, -1)
    }
}

impl Mul for &Dim {
    type Output = Dim;
    fn mul(self, other: Self) -> Dim {
        if let (Dim::Known(left), Dim::Known(right)) = (self, other) {
            return Dim::Known(left.saturating_mul(*right));
        }
        let (left, right) = (self.polynomial(), other.polynomial());
        let mut product = Polynomial::default();
        for (left_symbols, left_coefficient) in &left.terms {
            for (right_symbols, right_coefficient) in &right.terms {
                let mut symbols: Monomial = left_symbols.iter().chain(right_symbols).cloned().collect();
                symbols.sort();
                let entry = product.terms.entry(symbols).or_default();
                *entry = entry.saturating_add(left_coefficient.saturating_mul(*right_coefficient));
            }
        }
        product.terms.retain(|_, coefficient| *coefficient != 0);
        Dim::from_polynomial(product)
    }
}

impl From<usize> for Dim {
    fn from(length: usize) -> Self {
        Self::Known(length)
    }
}

impl From<&str> for Dim {
    fn from(name: &str) -> Self {
        Self::symbol(name)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(length) => write!(f, "{length}"),
            Self::Symbolic(polynomial) => polynomial.fmt(f),
        }
    }
}

impl fmt::Display for Polynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Highest terms first, as people write them.
        let mut terms: Vec<_> = self.terms.iter().collect();
        terms.sort_by_key(|(symbols, _)| std::cmp::Reverse(symbols.len()));
        for (position, (symbols, coefficient)) in terms.into_iter().enumerate() {
            let sign = if *coefficient < 0 {
                "-"
            } else if position > 0 {
                "+"
            } else {
                ""
            };
            f.write_str(sign)?;
            let magnitude = coefficient.unsigned_abs();
            if magnitude != 1 || symbols.is_empty() {
                write!(f, "{magnitude}")?;
            }
            for (index, symbol) in symbols.iter().enumerate() {
                f.write_str(if index > 0 || magnitude != 1 { "·" } else { "" })?;
                f.write_str(symbol)?;
            }
        }
        Ok(())
    }
}

/// What the symbols of a signature stand for in one call, in order of first appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SymbolValues(Vec<(Arc<str>, usize)>);

impl SymbolValues {
    /// The value of a symbol.
    pub fn get(&self, symbol: &str) -> Option<usize> {
        self.0.iter().find(|(name, _)| **name == *symbol).map(|(_, value)| *value)
    }

    /// Gives `symbol` a value; the value it had already where that is another one.
    pub fn bind(&mut self, symbol: &Arc<str>, value: usize) -> Result<(), usize> {
        match self.get(symbol) {
            Some(bound) if bound != value => Err(bound),
            Some(_) => Ok(()),
            None => {
                self.0.push((symbol.clone(), value));
                Ok(())
            }
        }
    }

    /// Just the values, in order: what selects an instance of a plan.
    pub fn values(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|(_, value)| *value)
    }
}

/// The dims of a tensor, outermost first. Cheap to clone: a scalar holds nothing, other ranks share one allocation.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Dims(Option<Arc<[Dim]>>);

impl Dims {
    /// No axes.
    pub const SCALAR: Self = Self(None);

    /// Whether both are the very same allocation (then they are equal without a look at the dims).
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(left), Some(right)) => Arc::ptr_eq(left, right),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    /// How many elements, as a dim.
    pub fn count(&self) -> Dim {
        self.iter().fold(Dim::Known(1), |product, dim| &product * dim)
    }

    /// All lengths under the given values; `None` where one has none.
    pub fn evaluate(&self, values: &SymbolValues) -> Option<Vec<usize>> {
        self.iter().map(|dim| dim.evaluate(values)).collect()
    }
}

impl std::ops::Deref for Dims {
    type Target = [Dim];
    fn deref(&self) -> &[Dim] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl FromIterator<Dim> for Dims {
    fn from_iter<I: IntoIterator<Item = Dim>>(dims: I) -> Self {
        Self::from(dims.into_iter().collect::<Vec<_>>())
    }
}

impl From<Vec<Dim>> for Dims {
    fn from(dims: Vec<Dim>) -> Self {
        if dims.is_empty() { Self::SCALAR } else { Self(Some(dims.into())) }
    }
}

impl From<&[usize]> for Dims {
    fn from(shape: &[usize]) -> Self {
        shape.iter().map(|length| Dim::Known(*length)).collect()
    }
}

impl<const N: usize> From<[usize; N]> for Dims {
    fn from(shape: [usize; N]) -> Self {
        Self::from(&shape[..])
    }
}

impl<const N: usize> From<[Dim; N]> for Dims {
    fn from(dims: [Dim; N]) -> Self {
        dims.into_iter().collect()
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (axis, dim) in self.iter().enumerate() {
            write!(f, "{}{dim}", if axis > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
