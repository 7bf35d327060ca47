//! Why an op fails while it runs.

use entigrad_components::TensorError;

/// Why an op failed while it ran.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// An index beyond its axis.
    #[error("index {index} at position {position} is out of range for axis {axis} of length {length}")]
    IndexOutOfRange {
        /// The index.
        index: i64,
        /// Which one it is, in row-major order.
        position: usize,
        /// The axis it indexes.
        axis: usize,
        /// That axis's length.
        length: usize,
    },
    /// An integer divided by zero.
    #[error("integer division by zero at position {position}")]
    IntegerDivision {
        /// Which element, in row-major order.
        position: usize,
    },
    /// An axis without elements has no greatest one.
    #[error("there is no element to take the maximum of")]
    EmptyMaximum,
    /// A kernel was given shapes that its row should have refused.
    #[error("{0}: its row is wrong")]
    Misused(&'static str),
    /// A kernel was given what its row should have refused.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}
