//! Kernels that move elements: strided reads into a row-major buffer.

use entigrad_components::{Attributes, DType, Element, Tensor, TensorError};

use crate::error::RunError;
use crate::ops::KernelCall;

type Outcome = Result<(), RunError>;

/// Row-major strides of a shape, in elements.
pub fn row_major_strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// Calls `visit` with the source offset of each row (a run along the last axis) of `shape`, in row-major order.
pub fn for_each_row(shape: &[usize], strides: &[usize], mut visit: impl FnMut(usize)) {
    let outer = shape.len().saturating_sub(1);
    if shape.contains(&0) {
        return;
    }
    let mut index = vec![0_usize; outer];
    let mut offset = 0_usize;
    loop {
        visit(offset);
        let mut axis = outer;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            offset += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            offset -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
}

fn copy_strided<T: Element>(x: &Tensor, out: &mut Tensor, strides: &[usize]) -> Outcome {
    let shape = out.shape().to_vec();
    let (length, stride) = (shape.last().copied().unwrap_or(1), strides.last().copied().unwrap_or(0));
    let x = x.elements::<T>()?;
    let out = out.elements_mut::<T>()?;
    let mut rows = out.chunks_exact_mut(length.max(1));
    for_each_row(&shape, strides, |offset| {
        let Some(row) = rows.next() else { return };
        match stride {
            0 => row.fill(x[offset]),
            1 => row.copy_from_slice(&x[offset..offset + length]),
            _ => row.iter_mut().enumerate().for_each(|(place, out)| *out = x[offset + place * stride]),
        }
    });
    Ok(())
}

fn copy_with_strides(x: &Tensor, out: &mut Tensor, strides: &[usize]) -> Outcome {
    match out.dtype() {
        DType::F32 => copy_strided::<f32>(x, out, strides),
        DType::F64 => copy_strided::<f64>(x, out, strides),
        DType::I32 => copy_strided::<i32>(x, out, strides),
        DType::Bool => copy_strided::<bool>(x, out, strides),
    }
}

/// x repeated to the shape of the result.
pub fn broadcast(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    let x = call.operands[0];
    let extra = out.shape().len() - x.shape().len();
    let mut strides = vec![0; extra];
    for (length, stride) in x.shape().iter().zip(row_major_strides(x.shape())) {
        strides.push(if *length == 1 { 0 } else { stride });
    }
    copy_with_strides(x, out, &strides)
}

/// The axes of x in the order that the attributes say.
pub fn transpose(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    let x = call.operands[0];
    let source = row_major_strides(x.shape());
    let Attributes::Axes(axes) = call.attributes else {
        return Err(TensorError::NoAxis { axis: 0, shape: x.shape().to_vec() }.into());
    };
    let strides: Vec<usize> = axes.iter().map(|axis| source[usize::from(*axis)]).collect();
    copy_with_strides(x, out, &strides)
}

/// 0, 1, 2, …
pub fn iota(_: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    for (place, out) in out.elements_mut::<i32>()?.iter_mut().enumerate() {
        *out = place as i32;
    }
    Ok(())
}
