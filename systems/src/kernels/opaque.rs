//! Kernels of single ops: what a row gives that is no elementwise op, reduction or product.
//!
//! `unsafe` is allowed here: operands become slices of buffers.
#![allow(unsafe_code)]

use entigrad_components::{Attributes, DType, Element, Tensor, TensorError};
use smallvec::SmallVec;

use super::memory::Memory;
use super::program::Opaque;
use crate::error::RunError;

/// Computes one op: reads operands, fills `result`, which has the result's dtype and shape and holds anything.
pub type Kernel = fn(&KernelCall<'_>, &mut ResultView<'_>) -> Result<(), RunError>;

/// What a kernel is given. Dims in attributes are settled by then: the shape of the result says them.
pub struct KernelCall<'a> {
    /// The operands.
    pub operands: &'a [OperandView<'a>],
    /// The op's attributes.
    pub attributes: &'a Attributes,
}

/// An operand of a kernel: dense and row-major.
#[derive(Clone, Copy, Debug)]
pub struct OperandView<'a> {
    dtype: DType,
    shape: &'a [usize],
    bytes: &'a [u8],
}

impl<'a> OperandView<'a> {
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &'a [usize] {
        self.shape
    }

    /// The elements in row-major order (`u8` for `bool`).
    pub fn elements<T: Element>(&self) -> Result<&'a [T::Repr], TensorError> {
        check(self.dtype, T::DTYPE)?;
        Ok(bytemuck::cast_slice(self.bytes))
    }

    /// A copy.
    pub fn to_tensor(&self) -> Result<Tensor, TensorError> {
        let mut tensor = Tensor::zeros(self.dtype, self.shape)?;
        tensor.bytes_mut().copy_from_slice(self.bytes);
        Ok(tensor)
    }
}

/// The result of a kernel: dense and row-major.
#[derive(Debug)]
pub struct ResultView<'a> {
    dtype: DType,
    shape: &'a [usize],
    bytes: &'a mut [u8],
}

impl ResultView<'_> {
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.shape
    }

    /// The elements to write, in row-major order (`u8` for `bool`).
    pub fn elements_mut<T: Element>(&mut self) -> Result<&mut [T::Repr], TensorError> {
        check(self.dtype, T::DTYPE)?;
        Ok(bytemuck::cast_slice_mut(self.bytes))
    }

    /// Fills the result with a tensor of its spec.
    pub fn copy_from(&mut self, tensor: &Tensor) -> Result<(), TensorError> {
        check(self.dtype, tensor.dtype())?;
        if tensor.shape() != self.shape {
            let wanted = self.shape.iter().product();
            return Err(TensorError::WrongCount { given: tensor.len(), shape: self.shape.to_vec(), wanted });
        }
        self.bytes.copy_from_slice(tensor.bytes());
        Ok(())
    }
}

fn check(held: DType, asked: DType) -> Result<(), TensorError> {
    if held == asked { Ok(()) } else { Err(TensorError::WrongDType { held, asked }) }
}

impl Opaque {
    /// # Safety
    /// `memory` is that of the program that this instruction belongs to, and the result is none of the operands.
    pub(super) unsafe fn run(&self, memory: Memory<'_>) -> Result<(), RunError> {
        let bytes = |dtype: DType, shape: &[usize]| shape.iter().product::<usize>() * dtype.size_bytes();
        let view = |(buffer, dtype, shape): &(_, DType, super::program::Shape)| {
            // SAFETY: the buffer holds so many elements, which nothing writes while this runs.
            let bytes =
                unsafe { std::slice::from_raw_parts(memory.pointer(*buffer).cast_const(), bytes(*dtype, shape)) };
            (*dtype, bytes)
        };
        let operands: SmallVec<[OperandView<'_>; 4]> = self
            .operands
            .iter()
            .map(|operand| {
                let (dtype, bytes) = view(operand);
                OperandView { dtype, shape: &operand.2, bytes }
            })
            .collect();
        let (buffer, dtype, shape) = &self.result;
        // SAFETY: as above, and the result is no operand.
        let bytes = unsafe { std::slice::from_raw_parts_mut(memory.pointer(*buffer), bytes(*dtype, shape)) };
        let mut result = ResultView { dtype: *dtype, shape, bytes };
        (self.kernel)(&KernelCall { operands: &operands, attributes: &self.attributes }, &mut result)
    }
}

/// What a kernel without operands gives.
pub fn evaluate_constant(
    kernel: Kernel,
    attributes: &Attributes,
    dtype: DType,
    shape: &[usize],
) -> Result<Tensor, RunError> {
    let mut tensor = Tensor::zeros(dtype, shape)?;
    let mut result = ResultView { dtype, shape, bytes: tensor.bytes_mut() };
    kernel(&KernelCall { operands: &[], attributes }, &mut result)?;
    Ok(tensor)
}
