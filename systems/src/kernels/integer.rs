//! Kernels of integers, where they differ from what floats have.

use entigrad_components::Attributes;

use super::opaque::{KernelCall, ResultView};
use crate::error::RunError;

type Outcome = Result<(), RunError>;

/// x / y, cut towards zero; an error where a divisor is 0.
pub fn div(call: &KernelCall<'_>, out: &mut ResultView<'_>) -> Outcome {
    let (x, y) = (call.operands[0].elements::<i32>()?, call.operands[1].elements::<i32>()?);
    if let Some(position) = y.iter().position(|divisor| *divisor == 0) {
        return Err(RunError::IntegerDivision { position });
    }
    for (out, (x, y)) in out.elements_mut::<i32>()?.iter_mut().zip(x.iter().zip(y)) {
        *out = x.wrapping_div(*y);
    }
    Ok(())
}

/// The product of matrices of integers, which wraps; flags say which operand lies transposed. Leading axes are a batch.
pub fn matmul(call: &KernelCall<'_>, out: &mut ResultView<'_>) -> Outcome {
    let (left_transposed, right_transposed) = match call.attributes {
        Attributes::Flags(left, right) => (*left, *right),
        _ => (false, false),
    };
    let &[.., rows, columns] = out.shape() else { return Err(RunError::Misused("a matrix product takes matrices")) };
    let left_shape = call.operands[0].shape();
    let &[.., first, second] = left_shape else { return Err(RunError::Misused("a matrix product takes matrices")) };
    let inner = if left_transposed { first } else { second };
    let batch = out.shape()[..out.shape().len() - 2].iter().product::<usize>();
    let elements = |operand: usize| call.operands[operand].shape().iter().product::<usize>();
    if elements(0) != batch * rows * inner || elements(1) != batch * inner * columns {
        return Err(RunError::Misused("the matrices of a product do not fit"));
    }
    let (left, right) = (call.operands[0].elements::<i32>()?, call.operands[1].elements::<i32>()?);
    let at = |is_transposed: bool, row: usize, column: usize, [rows, columns]: [usize; 2]| {
        if is_transposed { column * rows + row } else { row * columns + column }
    };
    let matrix_elements = rows * columns;
    for (place, out) in out.elements_mut::<i32>()?.iter_mut().enumerate() {
        let (matrix, row, column) = (place / matrix_elements, place % matrix_elements / columns, place % columns);
        let (left, right) = (&left[matrix * rows * inner..], &right[matrix * inner * columns..]);
        let term = |k: usize| {
            let x = left[at(left_transposed, row, k, [rows, inner])];
            x.wrapping_mul(right[at(right_transposed, k, column, [inner, columns])])
        };
        *out = (0..inner).map(term).fold(0, i32::wrapping_add);
    }
    Ok(())
}

/// 0, 1, 2, …
pub fn iota(_: &KernelCall<'_>, out: &mut ResultView<'_>) -> Outcome {
    for (place, out) in out.elements_mut::<i32>()?.iter_mut().enumerate() {
        *out = place as i32;
    }
    Ok(())
}
