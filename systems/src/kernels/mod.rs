//! Kernels: what computes. A kernel reads tensors and fills a buffer of the result's shape.
//!
//! *Invariants*: a kernel knows nothing of graphs or worlds; its result depends on dtypes, shapes and values alone, never on
//! threads; sums are trees over the reduced extent alone.

mod contraction;
mod elementwise;
mod index;
mod movement;
mod reduction;

pub use contraction::matmul;
pub use elementwise::{
    add, cast, copy, cos, cotangent_mul, div, equal, exp, less, less_equal, log, maximum, mul, neg, select, sin, sqrt,
    sub, tanh,
};
pub use index::{gather, scatter_add};
pub use movement::{broadcast, iota, transpose};
pub use reduction::{max, sum};

use entigrad_components::{DType, TensorError};

use crate::error::RunError;

/// The error of a kernel that was given a dtype which its row refuses.
fn wrong_dtype(held: DType, asked: DType) -> RunError {
    RunError::Tensor(TensorError::WrongDType { held, asked })
}
