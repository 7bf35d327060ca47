//! Comparisons, which give truth values and have no gradient, and the choice between two values by one.

use entigrad_components::{DType, TensorSpec};

use super::row::{Derivative, Infer, Lowering, OpRow, ROW, Weight};
use super::sample::{SampleOperand, floats, sample};
use crate::error::OpError;
use crate::kernels::elementwise;

/// Two operands of one dtype and shape to truth values.
const COMPARISON: OpRow = OpRow {
    arity: Some(2),
    infer: truth_values,
    derivative: Derivative::Zero,
    samples: || vec![sample(&[floats(&[2, 3], -1.0, 1.0), floats(&[2, 3], -1.0, 1.0)])],
    ..ROW
};

fn truth_values(infer: &mut Infer<'_>) -> Result<TensorSpec, OpError> {
    infer.same_dtype()?;
    Ok(TensorSpec { dtype: DType::Bool, dims: infer.same_dims(0, 1)? })
}

fn truth_values_of_numbers(infer: &mut Infer<'_>) -> Result<TensorSpec, OpError> {
    infer.number(0)?;
    truth_values(infer)
}

/// x = y.
pub const EQUAL: OpRow = OpRow {
    name: "equal",
    doc: "Whether x = y; NaN equals nothing. Takes truth values too.",
    lowering: Lowering::Elementwise(elementwise::equal, Weight::SIMPLE),
    ..COMPARISON
};

/// x < y.
pub const LESS: OpRow = OpRow {
    name: "less",
    doc: "Whether x < y; false where either is NaN.",
    infer: truth_values_of_numbers,
    lowering: Lowering::Elementwise(elementwise::less, Weight::SIMPLE),
    ..COMPARISON
};

/// x ≤ y.
pub const LESS_EQUAL: OpRow = OpRow {
    name: "less_equal",
    doc: "Whether x ≤ y; false where either is NaN.",
    infer: truth_values_of_numbers,
    lowering: Lowering::Elementwise(elementwise::less_equal, Weight::SIMPLE),
    ..COMPARISON
};

/// A choice, element by element.
pub const SELECT: OpRow = OpRow {
    name: "select",
    doc: "x where the condition holds, else y: select(condition, x, y). Masks structurally: what is not chosen gets a cotangent of \
          exactly 0, whatever its value is.",
    arity: Some(3),
    infer: |infer| {
        infer.dtype_where(0, "a bool condition", |dtype| dtype == DType::Bool)?;
        let (left, right) = (infer.operands[1].dtype, infer.operands[2].dtype);
        if left != right {
            return Err(OpError::DTypes { left, right });
        }
        infer.same_dims(0, 1)?;
        Ok(TensorSpec { dtype: left, dims: infer.same_dims(1, 2)? })
    },
    derivative: Derivative::Rule(&[
        None,
        Some(|r| r.x(0).select(r.cotangent, r.cotangent.zeros_like())),
        Some(|r| r.x(0).select(r.cotangent.zeros_like(), r.cotangent)),
    ]),
    lowering: Lowering::Elementwise(elementwise::select, Weight::SIMPLE),
    samples: || {
        let condition = SampleOperand::Bools { shape: &[2, 3] };
        vec![sample(&[condition, floats(&[2, 3], -1.0, 1.0), floats(&[2, 3], -1.0, 1.0)])]
    },
    ..ROW
};
