//! Matrix products.
//!
//! `unsafe` is allowed here: the products of `matrixmultiply` take raw pointers and strides.
#![allow(unsafe_code)]

use entigrad_components::{Attributes, DType, Tensor};

use super::wrong_dtype;
use crate::error::RunError;
use crate::ops::KernelCall;

type Outcome = Result<(), RunError>;

/// Extents and strides of a product.
struct Product {
    rows: usize,
    inner: usize,
    columns: usize,
    /// Row and column stride of the left operand.
    left: (isize, isize),
    /// Row and column stride of the right operand.
    right: (isize, isize),
}

impl Product {
    fn new(call: &KernelCall<'_>, out: &Tensor) -> Result<Self, RunError> {
        let (left, right) = match call.attributes {
            Attributes::Flags(left, right) => (*left, *right),
            _ => (false, false),
        };
        let strides = |operand: &Tensor, is_transposed: bool| {
            let row = operand.shape()[1] as isize;
            if is_transposed { (1, row) } else { (row, 1) }
        };
        let (&[_, _], &[_, _], &[rows, columns]) = (call.operands[0].shape(), call.operands[1].shape(), out.shape())
        else {
            return Err(RunError::Misused("a matrix product takes matrices"));
        };
        let inner = call.operands[0].shape()[usize::from(!left)];
        // The products below read and write within these extents.
        let wanted = |is_transposed, shape: [usize; 2]| if is_transposed { [shape[1], shape[0]] } else { shape };
        let fits = call.operands[0].shape() == wanted(left, [rows, inner])
            && call.operands[1].shape() == wanted(right, [inner, columns]);
        if !fits {
            return Err(RunError::Misused("the matrices of a product do not fit"));
        }
        Ok(Self {
            rows,
            inner,
            columns,
            left: strides(call.operands[0], left),
            right: strides(call.operands[1], right),
        })
    }
}

/// The product of two matrices, either of which may lie transposed.
pub fn matmul(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    let product = Product::new(call, out)?;
    let (m, k, n) = (product.rows, product.inner, product.columns);
    let ((left_row, left_column), (right_row, right_column)) = (product.left, product.right);
    match out.dtype() {
        DType::F32 => {
            let (left, right) = (call.operands[0].elements::<f32>()?, call.operands[1].elements::<f32>()?);
            let out = out.elements_mut::<f32>()?;
            // SAFETY: `Product::new` checked that both operands have just the shapes that the extents and strides reach, and
            // `out` is a row-major [m, n] that nothing else refers to.
            unsafe {
                matrixmultiply::sgemm(
                    m,
                    k,
                    n,
                    1.0,
                    left.as_ptr(),
                    left_row,
                    left_column,
                    right.as_ptr(),
                    right_row,
                    right_column,
                    0.0,
                    out.as_mut_ptr(),
                    n as isize,
                    1,
                );
            }
        }
        DType::F64 => {
            let (left, right) = (call.operands[0].elements::<f64>()?, call.operands[1].elements::<f64>()?);
            let out = out.elements_mut::<f64>()?;
            // SAFETY: as above.
            unsafe {
                matrixmultiply::dgemm(
                    m,
                    k,
                    n,
                    1.0,
                    left.as_ptr(),
                    left_row,
                    left_column,
                    right.as_ptr(),
                    right_row,
                    right_column,
                    0.0,
                    out.as_mut_ptr(),
                    n as isize,
                    1,
                );
            }
        }
        DType::I32 => {
            let (left, right) = (call.operands[0].elements::<i32>()?, call.operands[1].elements::<i32>()?);
            for (place, out) in out.elements_mut::<i32>()?.iter_mut().enumerate() {
                let (row, column) = ((place / n) as isize, (place % n) as isize);
                let terms = (0..k as isize).map(|inner| {
                    let left = left[(row * left_row + inner * left_column) as usize];
                    left.wrapping_mul(right[(inner * right_row + column * right_column) as usize])
                });
                *out = terms.fold(0, i32::wrapping_add);
            }
        }
        held @ DType::Bool => return Err(wrong_dtype(held, DType::F64)),
    }
    Ok(())
}
