//! Reading and adding at places that are data. An index out of range is an error when it runs.

use entigrad_components::{Attributes, DType, TensorSpec};

use super::row::{Derivative, Infer, Lowering, OpRow, ROW, Vjp};
use super::sample::{SampleOperand, floats, sample_with};
use crate::error::OpError;
use crate::kernels::index;

fn axis(attributes: &Attributes) -> Result<usize, OpError> {
    match attributes {
        Attributes::Axis(axis) => Ok(usize::from(*axis)),
        _ => Err(OpError::Malformed("this op needs an axis")),
    }
}

fn rule_axis(r: &Vjp<'_, '_>) -> usize {
    axis(r.attributes).unwrap_or_default()
}

/// Checks that `indices` are i32 of the rank of `x`, and agree with it on every axis but the indexed one.
fn check_indices(infer: &mut Infer<'_>, x: usize, indices: usize) -> Result<(), OpError> {
    let axis = axis(infer.attributes)?;
    infer.dtype_where(indices, "i32 indices", |dtype| dtype == DType::I32)?;
    let (x_dims, index_dims) = (infer.operands[x].dims.clone(), infer.operands[indices].dims.clone());
    if axis >= x_dims.len() {
        return Err(OpError::Axis { axis, rank: x_dims.len() });
    }
    if x_dims.len() != index_dims.len() {
        return Err(OpError::Shapes { left: x_dims, right: index_dims });
    }
    for (place, (left, right)) in x_dims.iter().zip(index_dims.iter()).enumerate() {
        if place != axis {
            infer.agree("lengths beside the indexed axis", left, right)?;
        }
    }
    Ok(())
}

/// Elements at given places along an axis.
pub const GATHER: OpRow = OpRow {
    name: "gather",
    doc: "out[…, i, …] = x[…, indices[…, i, …], …] along one axis: gather(x, indices). The shapes agree elsewhere, and the result \
          has that of the indices.",
    arity: Some(2),
    infer: |infer| {
        check_indices(infer, 0, 1)?;
        Ok(infer.operands[1].with_dtype(infer.operands[0].dtype))
    },
    derivative: Derivative::Rule(&[Some(|r| r.x(0).zeros_like().scatter_add(r.x(1), r.cotangent, rule_axis(r))), None]),
    lowering: Lowering::Kernel(index::gather),
    samples: || {
        let indices = SampleOperand::Indices { shape: &[2, 5], bound: 3 };
        let rows = SampleOperand::Indices { shape: &[4, 3], bound: 2 };
        vec![
            sample_with(&[floats(&[2, 3], -1.0, 1.0), indices], Attributes::Axis(1)),
            sample_with(&[floats(&[2, 3], -1.0, 1.0), rows], Attributes::Axis(0)),
        ]
    },
    ..ROW
};

/// Adds at given places along an axis.
pub const SCATTER_ADD: OpRow = OpRow {
    name: "scatter_add",
    doc: "x with updates[…, i, …] added at x[…, indices[…, i, …], …]: scatter_add(x, indices, updates). Repeated places add up, in \
          row-major order of the updates.",
    arity: Some(3),
    infer: |infer| {
        check_indices(infer, 0, 1)?;
        infer.number(0)?;
        let (left, right) = (infer.operands[0].dtype, infer.operands[2].dtype);
        if left != right {
            return Err(OpError::DTypes { left, right });
        }
        infer.same_dims(1, 2)?;
        Ok(TensorSpec::clone(infer.operands[0]))
    },
    derivative: Derivative::Rule(&[Some(|r| r.cotangent), None, Some(|r| r.cotangent.gather(r.x(1), rule_axis(r)))]),
    lowering: Lowering::Kernel(index::scatter_add),
    samples: || {
        let indices = SampleOperand::Indices { shape: &[2, 5], bound: 3 };
        vec![sample_with(&[floats(&[2, 3], -1.0, 1.0), indices, floats(&[2, 5], -1.0, 1.0)], Attributes::Axis(1))]
    },
    ..ROW
};
