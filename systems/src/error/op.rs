//! Why an op does not take its operands: shapes and dtypes.

use entigrad_components::{DType, Dim, Dims};

/// Why an op does not take its operands.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OpError {
    /// Operands of different dtypes.
    #[error("the dtypes {left} and {right} differ; cast one of them, for example with `.cast(DType::{})`", cast_name(*.left, *.right))]
    DTypes {
        /// One.
        left: DType,
        /// The other.
        right: DType,
    },
    /// A dtype that the op does not take.
    #[error("it takes {wanted}, not {given}")]
    DType {
        /// What was given.
        given: DType,
        /// What it takes, in words.
        wanted: &'static str,
    },
    /// Shapes that do not broadcast: only a literal 1 does.
    #[error("the shapes {left} and {right} do not broadcast (equal lengths, or a literal 1)")]
    Broadcast {
        /// One.
        left: Dims,
        /// The other.
        right: Dims,
    },
    /// Shapes that must be equal.
    #[error("the shapes {left} and {right} differ")]
    Shapes {
        /// One.
        left: Dims,
        /// The other.
        right: Dims,
    },
    /// Two lengths that must be equal.
    #[error("the {what} {left} and {right} differ")]
    Lengths {
        /// Which ones.
        what: &'static str,
        /// One.
        left: Dim,
        /// The other.
        right: Dim,
    },
    /// A rank that the op does not take.
    #[error("it takes rank {wanted}, not {given}")]
    Rank {
        /// What was given.
        given: usize,
        /// What it takes, in words.
        wanted: &'static str,
    },
    /// An axis that is not there.
    #[error("there is no axis {axis} in rank {rank}")]
    Axis {
        /// The axis.
        axis: usize,
        /// The rank.
        rank: usize,
    },
    /// An axis named twice, or a permutation that is none.
    #[error("{axes:?} does not name each axis once")]
    Permutation {
        /// What was given.
        axes: Vec<u8>,
    },
    /// Another number of elements.
    #[error("{from} elements do not fill {into}")]
    Reshape {
        /// How many there are.
        from: Dim,
        /// What they should fill.
        into: Dims,
    },
    /// A host number that the tensor's dtype cannot hold.
    #[error("the host number {number} is no {dtype}; cast the tensor first, for example with `.cast(DType::{})`", wider(*.dtype))]
    HostNumber {
        /// The number.
        number: String,
        /// The tensor's dtype.
        dtype: DType,
    },
    /// An axis without elements has no greatest one.
    #[error("there is no element to take the maximum of")]
    Empty,
    /// Another number of operands, or attributes of another form: a fault in a row or a rule.
    #[error("the op was emitted wrongly: {0}")]
    Malformed(&'static str),
}

/// A dtype that holds what this one does not.
fn wider(dtype: DType) -> &'static str {
    match dtype {
        DType::I32 | DType::Bool => "F32",
        DType::F32 | DType::F64 => "F64",
    }
}

/// The dtype of two that holds more.
fn cast_name(left: DType, right: DType) -> &'static str {
    let width = |dtype: DType| match dtype {
        DType::Bool => (0, "Bool"),
        DType::I32 => (1, "I32"),
        DType::F32 => (2, "F32"),
        DType::F64 => (3, "F64"),
    };
    width(left).max(width(right)).1
}
