//! Elementwise ops: what each does to one element, and which tile kernel that is for given element types.

use bytemuck::Pod;
use entigrad_components::DType;
use std::array::from_fn;
use std::marker::PhantomData;

use super::lanes::{Chunk, Level};
use super::math;
use super::tile::{Map1, Map2, Map3, TileKernel, tile1, tile2, tile3};

/// A number that arithmetic is done with; integers wrap.
pub trait Number: Pod + PartialOrd {
    /// x + y.
    fn add(self, other: Self) -> Self;
    /// x - y.
    fn sub(self, other: Self) -> Self;
    /// x · y.
    fn mul(self, other: Self) -> Self;
    /// -x.
    fn neg(self) -> Self;
    /// The greater of both, NaN where either is.
    fn maximum(self, other: Self) -> Self;
}

/// A floating point number.
pub trait Float: Number {
    /// 0.
    const ZERO: Self;
    /// x / y.
    fn div(self, other: Self) -> Self;
    /// √x.
    fn sqrt(self) -> Self;
}

/// Implements [`Number`] and [`Float`] for a floating point type.
macro_rules! float {
    ($type:ty) => {
        #[rustfmt::skip]
        impl Number for $type {
            #[inline(always)] fn add(self, other: Self) -> Self { self + other }
            #[inline(always)] fn sub(self, other: Self) -> Self { self - other }
            #[inline(always)] fn mul(self, other: Self) -> Self { self * other }
            #[inline(always)] fn neg(self) -> Self { -self }
            #[inline(always)] fn maximum(self, other: Self) -> Self { if self > other || self.is_nan() { self } else { other } }
        }
        #[rustfmt::skip]
        impl Float for $type {
            const ZERO: Self = 0.0;
            #[inline(always)] fn div(self, other: Self) -> Self { self / other }
            #[inline(always)] fn sqrt(self) -> Self { self.sqrt() }
        }
    };
}
float!(f32);
float!(f64);

#[rustfmt::skip]
impl Number for i32 {
    #[inline(always)] fn add(self, other: Self) -> Self { self.wrapping_add(other) }
    #[inline(always)] fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
    #[inline(always)] fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
    #[inline(always)] fn neg(self) -> Self { self.wrapping_neg() }
    #[inline(always)] fn maximum(self, other: Self) -> Self { self.max(other) }
}

/// Defines an op of one operand by what it does to an element.
macro_rules! lane1 {
    ($name:ident<$t:ident: $bound:ident> -> $result:ty, |$x:ident| $body:expr) => {
        pub(super) struct $name<$t>(PhantomData<$t>);
        impl<$t: $bound> Map1 for $name<$t> {
            type X = $t;
            type Result = $result;
            #[inline(always)]
            fn map<L: Level>(x: Chunk<$t>) -> Chunk<$result> {
                from_fn(|lane| {
                    let $x = x[lane];
                    $body
                })
            }
        }
    };
}

/// The same for two operands of one type.
macro_rules! lane2 {
    ($name:ident<$t:ident: $bound:ident> -> $result:ty, |$x:ident, $y:ident| $body:expr) => {
        pub(super) struct $name<$t>(PhantomData<$t>);
        impl<$t: $bound> Map2 for $name<$t> {
            type X = $t;
            type Y = $t;
            type Result = $result;
            #[inline(always)]
            fn map<L: Level>(x: Chunk<$t>, y: Chunk<$t>) -> Chunk<$result> {
                from_fn(|lane| {
                    let ($x, $y) = (x[lane], y[lane]);
                    $body
                })
            }
        }
    };
}

/// The same for three operands of one type.
macro_rules! lane3 {
    ($name:ident<$t:ident: $bound:ident> -> $result:ty, |$x:ident, $y:ident, $z:ident| $body:expr) => {
        struct $name<$t>(PhantomData<$t>);
        impl<$t: $bound> Map3 for $name<$t> {
            type X = $t;
            type Y = $t;
            type Z = $t;
            type Result = $result;
            #[inline(always)]
            fn map<L: Level>(x: Chunk<$t>, y: Chunk<$t>, z: Chunk<$t>) -> Chunk<$result> {
                from_fn(|lane| {
                    let ($x, $y, $z) = (x[lane], y[lane], z[lane]);
                    $body
                })
            }
        }
    };
}

/// Anything that can be compared.
pub trait Comparable: Pod + PartialOrd {}
impl<T: Pod + PartialOrd> Comparable for T {}

lane2!(Add<T: Number> -> T, |x, y| x.add(y));
lane2!(Sub<T: Number> -> T, |x, y| x.sub(y));
lane2!(Mul<T: Number> -> T, |x, y| x.mul(y));
lane2!(Maximum<T: Number> -> T, |x, y| x.maximum(y));
lane1!(Neg<T: Number> -> T, |x| x.neg());
lane2!(Div<T: Float> -> T, |x, y| x.div(y));
lane2!(CotangentMul<T: Float> -> T, |g, d| if g == T::ZERO { T::ZERO } else { g.mul(d) });
lane1!(Sqrt<T: Float> -> T, |x| x.sqrt());
lane2!(Equal<T: Comparable> -> u8, |x, y| u8::from(x == y));
lane2!(Less<T: Comparable> -> u8, |x, y| u8::from(x < y));
lane2!(LessEqual<T: Comparable> -> u8, |x, y| u8::from(x <= y));
lane1!(Copy<T: Pod> -> T, |x| x);

/// Two ops that one step does, each with its own rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// x · y + z.
    MulAdd,
    /// x · y - z.
    MulSub,
    /// z - x · y.
    SubMul,
}

impl Combination {
    /// What printed plans call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MulAdd => "mul_add",
            Self::MulSub => "mul_sub",
            Self::SubMul => "sub_mul",
        }
    }
}

lane3!(MulAdd<T: Float> -> T, |x, y, z| x.mul(y).add(z));
lane3!(MulSub<T: Float> -> T, |x, y, z| x.mul(y).sub(z));
lane3!(SubMul<T: Float> -> T, |x, y, z| z.sub(x.mul(y)));

/// The tile kernel of a combination, where these element types have one.
pub fn combined(combination: Combination, dtype: DType) -> Option<TileKernel> {
    fn of<T: Float>(combination: Combination) -> TileKernel {
        match combination {
            Combination::MulAdd => tile3::<MulAdd<T>>(),
            Combination::MulSub => tile3::<MulSub<T>>(),
            Combination::SubMul => tile3::<SubMul<T>>(),
        }
    }
    match dtype {
        DType::F32 => Some(of::<f32>(combination)),
        DType::F64 => Some(of::<f64>(combination)),
        DType::I32 | DType::Bool => None,
    }
}

/// A choice by a truth value.
struct Select<T>(PhantomData<T>);
impl<T: Pod> Map3 for Select<T> {
    type X = u8;
    type Y = T;
    type Z = T;
    type Result = T;
    #[inline(always)]
    fn map<L: Level>(condition: Chunk<u8>, x: Chunk<T>, y: Chunk<T>) -> Chunk<T> {
        from_fn(|lane| if condition[lane] != 0 { x[lane] } else { y[lane] })
    }
}

/// Defines a function of a whole chunk, in both precisions.
macro_rules! function {
    ($name:ident, $function:ident) => {
        struct $name<T>(PhantomData<T>);
        impl Map1 for $name<f32> {
            type X = f32;
            type Result = f32;
            #[inline(always)]
            fn map<L: Level>(x: Chunk<f32>) -> Chunk<f32> {
                math::single::$function::<L>(x)
            }
        }
        impl Map1 for $name<f64> {
            type X = f64;
            type Result = f64;
            #[inline(always)]
            fn map<L: Level>(x: Chunk<f64>) -> Chunk<f64> {
                math::double::$function::<L>(x)
            }
        }
    };
}
function!(Exp, exp);
function!(Log, log);
function!(Sin, sin);
function!(Cos, cos);
function!(Tanh, tanh);

/// Another element type: floats rounded, integers cut towards zero and saturating, truth values "not zero".
struct Cast<T, U>(PhantomData<(T, U)>);

/// Defines one cast by what it does to an element.
macro_rules! cast {
    ($($from:ty => $to:ty: |$x:ident| $body:expr;)*) => {$(
        impl Map1 for Cast<$from, $to> {
            type X = $from;
            type Result = $to;
            #[inline(always)]
            fn map<L: Level>(x: Chunk<$from>) -> Chunk<$to> {
                from_fn(|lane| { let $x = x[lane]; $body })
            }
        }
    )*};
}
cast! {
    f32 => f64: |x| f64::from(x);
    f64 => f32: |x| x as f32;
    f32 => i32: |x| x as i32;
    f64 => i32: |x| x as i32;
    i32 => f32: |x| x as f32;
    i32 => f64: |x| f64::from(x);
    f32 => u8: |x| u8::from(x != 0.0);
    f64 => u8: |x| u8::from(x != 0.0);
    i32 => u8: |x| u8::from(x != 0);
    u8 => f32: |x| f32::from(x);
    u8 => f64: |x| f64::from(x);
    u8 => i32: |x| i32::from(x);
}

/// Which tile kernel an op has for these operands and this result; `None` where it has none.
pub type SelectTile = fn(operands: &[DType], result: DType) -> Option<TileKernel>;

/// Defines the selection of a kernel by the type of the last operand.
macro_rules! select {
    ($($(#[$doc:meta])* $name:ident = $tile:ident::<$op:ident> for $($dtype:ident: $type:ty),*;)*) => {$(
        $(#[$doc])*
        pub fn $name(operands: &[DType], _: DType) -> Option<TileKernel> {
            match operands.last()? {
                $(DType::$dtype => Some($tile::<$op<$type>>()),)*
                #[allow(unreachable_patterns)]
                _ => None,
            }
        }
    )*};
}
select! {
    /// x + y.
    add = tile2::<Add> for F32: f32, F64: f64, I32: i32;
    /// x - y.
    sub = tile2::<Sub> for F32: f32, F64: f64, I32: i32;
    /// x · y.
    mul = tile2::<Mul> for F32: f32, F64: f64, I32: i32;
    /// x / y; integers have a kernel of their own, which may fail.
    div = tile2::<Div> for F32: f32, F64: f64;
    /// -x.
    neg = tile1::<Neg> for F32: f32, F64: f64, I32: i32;
    /// The greater of x and y, NaN where either is.
    maximum = tile2::<Maximum> for F32: f32, F64: f64, I32: i32;
    /// g · d, exactly 0 where g is 0.
    cotangent_mul = tile2::<CotangentMul> for F32: f32, F64: f64;
    /// Whether x = y.
    equal = tile2::<Equal> for F32: f32, F64: f64, I32: i32, Bool: u8;
    /// Whether x < y.
    less = tile2::<Less> for F32: f32, F64: f64, I32: i32;
    /// Whether x ≤ y.
    less_equal = tile2::<LessEqual> for F32: f32, F64: f64, I32: i32;
    /// x where the condition holds, else y.
    select = tile3::<Select> for F32: f32, F64: f64, I32: i32, Bool: u8;
    /// x itself.
    copy = tile1::<Copy> for F32: f32, F64: f64, I32: i32, Bool: u8;
    /// eˣ.
    exp = tile1::<Exp> for F32: f32, F64: f64;
    /// ln x.
    log = tile1::<Log> for F32: f32, F64: f64;
    /// sin x.
    sin = tile1::<Sin> for F32: f32, F64: f64;
    /// cos x.
    cos = tile1::<Cos> for F32: f32, F64: f64;
    /// tanh x.
    tanh = tile1::<Tanh> for F32: f32, F64: f64;
    /// √x.
    sqrt = tile1::<Sqrt> for F32: f32, F64: f64;
}

/// x as the type of the result.
pub fn cast(operands: &[DType], result: DType) -> Option<TileKernel> {
    use DType::{Bool, F32, F64, I32};
    Some(match (*operands.first()?, result) {
        (F32, F64) => tile1::<Cast<f32, f64>>(),
        (F64, F32) => tile1::<Cast<f64, f32>>(),
        (F32, I32) => tile1::<Cast<f32, i32>>(),
        (F64, I32) => tile1::<Cast<f64, i32>>(),
        (I32, F32) => tile1::<Cast<i32, f32>>(),
        (I32, F64) => tile1::<Cast<i32, f64>>(),
        (F32, Bool) => tile1::<Cast<f32, u8>>(),
        (F64, Bool) => tile1::<Cast<f64, u8>>(),
        (I32, Bool) => tile1::<Cast<i32, u8>>(),
        (Bool, F32) => tile1::<Cast<u8, f32>>(),
        (Bool, F64) => tile1::<Cast<u8, f64>>(),
        (Bool, I32) => tile1::<Cast<u8, i32>>(),
        (F32, F32) | (F64, F64) | (I32, I32) | (Bool, Bool) => return copy(operands, result),
    })
}
