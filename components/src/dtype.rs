//! Element types: the tag a tensor carries, the trait that ties it to a Rust type, and a single number of any of them.

use std::fmt;

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// 32-bit IEEE 754 floating point.
    F32,
    /// 64-bit IEEE 754 floating point.
    F64,
    /// 32-bit signed integer.
    I32,
    /// Truth value, stored as one byte that is 0 or 1.
    Bool,
}

impl DType {
    /// Bytes of one element.
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F64 => 8,
            Self::Bool => 1,
        }
    }

    /// Whether values of this type can carry a gradient.
    pub const fn is_float(self) -> bool {
        match self {
            Self::F32 | Self::F64 => true,
            Self::I32 | Self::Bool => false,
        }
    }

    /// The name used in messages and printed graphs: `f32`, `f64`, `i32`, `bool`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I32 => "i32",
            Self::Bool => "bool",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    /// Keeps [`super::Element`] to the types that have kernels.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for i32 {}
    impl Sealed for bool {}
}

/// A Rust type that can be an element of a tensor.
pub trait Element: sealed::Sealed + Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The tag of this type.
    const DTYPE: DType;
    /// How one element lies in memory (`u8` for `bool`, the type itself otherwise).
    type Repr: bytemuck::Pod + PartialEq;
    /// To memory.
    fn to_repr(self) -> Self::Repr;
    /// From memory.
    fn from_repr(repr: Self::Repr) -> Self;
    /// This number as a [`Scalar`].
    fn to_scalar(self) -> Scalar;
}

/// Implements [`Element`] for a type that is its own representation.
macro_rules! plain_element {
    ($type:ty, $tag:ident) => {
        impl Element for $type {
            const DTYPE: DType = DType::$tag;
            type Repr = $type;
            fn to_repr(self) -> $type {
                self
            }
            fn from_repr(repr: $type) -> $type {
                repr
            }
            fn to_scalar(self) -> Scalar {
                Scalar::$tag(self)
            }
        }
    };
}
plain_element!(f32, F32);
plain_element!(f64, F64);
plain_element!(i32, I32);

impl Element for bool {
    const DTYPE: DType = DType::Bool;
    type Repr = u8;
    fn to_repr(self) -> u8 {
        u8::from(self)
    }
    fn from_repr(repr: u8) -> bool {
        repr != 0
    }
    fn to_scalar(self) -> Scalar {
        Scalar::Bool(self)
    }
}

/// One number of any element type. Equality and hash are by bits, so that NaN equals itself and `0.0` differs from
/// `-0.0`: a key must tell apart whatever a program could tell apart.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// An `f32`.
    F32(f32),
    /// An `f64`.
    F64(f64),
    /// An `i32`.
    I32(i32),
    /// A `bool`.
    Bool(bool),
}

impl Scalar {
    /// The type of this number.
    pub const fn dtype(self) -> DType {
        match self {
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::I32(_) => DType::I32,
            Self::Bool(_) => DType::Bool,
        }
    }

    /// This number as `f64` (exact for every type here).
    pub fn to_f64(self) -> f64 {
        match self {
            Self::F32(value) => f64::from(value),
            Self::F64(value) => value,
            Self::I32(value) => f64::from(value),
            Self::Bool(value) => f64::from(u8::from(value)),
        }
    }

    /// `value` as a number of type `dtype`: rounded to nearest for `f32`, saturating for `i32`, "not zero" for `bool`.
    pub fn from_f64(value: f64, dtype: DType) -> Self {
        match dtype {
            DType::F32 => Self::F32(value as f32),
            DType::F64 => Self::F64(value),
            DType::I32 => Self::I32(value as i32),
            DType::Bool => Self::Bool(value != 0.0),
        }
    }

    fn bits(self) -> (DType, u64) {
        let bits = match self {
            Self::F32(value) => u64::from(value.to_bits()),
            Self::F64(value) => value.to_bits(),
            Self::I32(value) => u64::from(value as u32),
            Self::Bool(value) => u64::from(value),
        };
        (self.dtype(), bits)
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}
impl Eq for Scalar {}
impl std::hash::Hash for Scalar {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32(value) => write!(f, "{value}"),
            Self::F64(value) => write!(f, "{value}"),
            Self::I32(value) => write!(f, "{value}"),
            Self::Bool(value) => write!(f, "{value}"),
        }
    }
}
