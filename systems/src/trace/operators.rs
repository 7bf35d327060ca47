//! Operators: values with values, and values with host numbers, which adapt to the tensor's dtype.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Value;
use crate::ops;

/// What can stand beside a value in an op: a value, or a host number.
pub trait Operand<'t> {
    /// As a value; a number takes the dtype of `like`.
    #[track_caller]
    fn operand(self, like: Value<'t>) -> Value<'t>;
}

impl<'t> Operand<'t> for Value<'t> {
    fn operand(self, _: Value<'t>) -> Value<'t> {
        self
    }
}

/// Lets a host number stand on the right of a value.
macro_rules! on_the_right {
    ($($type:ty),*) => {$(
        impl<'t> Operand<'t> for $type {
            #[track_caller]
            fn operand(self, like: Value<'t>) -> Value<'t> {
                like.scalar_like(f64::from(self))
            }
        }
    )*};
}
on_the_right!(f32, f64, i32);

/// Lets a host number stand on the left of an operator. One floating point type only: with two, `1.0 - x` would not infer.
macro_rules! on_the_left {
    ($type:ty: $($trait:ident $method:ident $op:ident),*) => {$(
        impl<'t> $trait<Value<'t>> for $type {
            type Output = Value<'t>;
            #[track_caller]
            fn $method(self, value: Value<'t>) -> Value<'t> {
                self.operand(value).binary(ops::$op, value)
            }
        }
    )*};
}
on_the_left!(f64: Add add ADD, Sub sub SUB, Mul mul MUL, Div div DIV);
on_the_left!(i32: Add add ADD, Sub sub SUB, Mul mul MUL, Div div DIV);

/// Implements an operator of a value with anything that can stand beside it.
macro_rules! operator {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl<'t, O: Operand<'t>> $trait<O> for Value<'t> {
            type Output = Value<'t>;
            #[track_caller]
            fn $method(self, other: O) -> Value<'t> {
                self.binary(ops::$op, other.operand(self))
            }
        }
    )*};
}
operator!(Add add ADD, Sub sub SUB, Mul mul MUL, Div div DIV);

impl<'t> Neg for Value<'t> {
    type Output = Value<'t>;
    #[track_caller]
    fn neg(self) -> Value<'t> {
        self.trace().emit(ops::NEG, &[self], entigrad_components::Attributes::None)
    }
}

/// Implements a method of a value with anything that can stand beside it.
macro_rules! method {
    ($($(#[$doc:meta])* $method:ident $op:ident),*) => {
        impl<'t> Value<'t> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self, other: impl Operand<'t>) -> Value<'t> {
                self.binary(ops::$op, other.operand(self))
            }
        )*}
    };
}
method! {
    /// The greater of two, NaN where either is. At a tie two values share the gradient; against a number the value gets 0.
    maximum MAXIMUM,
    /// Whether the two are equal.
    equal EQUAL,
    /// Whether this is less.
    less LESS,
    /// Whether this is less or equal.
    less_equal LESS_EQUAL
}

impl<'t> Value<'t> {
    /// Whether this is greater.
    #[track_caller]
    pub fn greater(self, other: impl Operand<'t>) -> Value<'t> {
        other.operand(self).binary(ops::LESS, self)
    }

    /// Whether this is greater or equal.
    #[track_caller]
    pub fn greater_equal(self, other: impl Operand<'t>) -> Value<'t> {
        other.operand(self).binary(ops::LESS_EQUAL, self)
    }
}
