//! Kernels: what computes, and what runs a program of them.
//!
//! *Invariants*: a kernel knows nothing of graphs or worlds; its result depends on dtypes, shapes and values alone, never on
//! threads or tiles; sums are trees over the reduced extent alone; nothing here allocates once warm.

pub mod access;
pub mod counts;
pub mod elementwise;
pub mod fold;
mod fused;
pub mod gemm;
pub mod index;
pub mod integer;
pub mod lanes;
pub mod math;
pub mod memory;
pub mod opaque;
mod product;
pub mod program;
mod run;
mod strided;
pub mod tile;
pub mod view;

pub use memory::Span;
pub use opaque::{Kernel, KernelCall, OperandView, ResultView};
pub use run::{RunFailure, Workspace};

use entigrad_components::{DType, TensorError};

use crate::error::RunError;

/// The error of a kernel that was given a dtype which its row refuses.
fn wrong_dtype(held: DType, asked: DType) -> RunError {
    RunError::Tensor(TensorError::WrongDType { held, asked })
}
