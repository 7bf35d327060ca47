//! Ops that move elements without changing them.

use entigrad_components::{Attributes, Axes, Dim, Dims, TensorSpec};

use super::row::{Derivative, Infer, Lowering, OpRow, ROW};
use super::sample::{floats, sample_with};
use crate::error::OpError;
use crate::kernels::view;

fn target(infer: &Infer<'_>) -> Result<Dims, OpError> {
    match infer.attributes {
        Attributes::Dims(dims) => Ok(dims.clone()),
        _ => Err(OpError::Malformed("this op needs the dims of its result")),
    }
}

fn dims(lengths: &[usize]) -> Attributes {
    Attributes::Dims(Dims::from(lengths))
}

/// The same elements under another shape.
pub const RESHAPE: OpRow = OpRow {
    name: "reshape",
    doc: "The same elements in row-major order under other dims of equal product.",
    arity: Some(1),
    infer: |infer| {
        let (from, into) = (infer.operands[0], target(infer)?);
        let (from_count, into_count) = (from.dims.count(), into.count());
        if infer.agree("numbers of elements", &from_count, &into_count).is_err() {
            return Err(OpError::Reshape { from: from_count, into });
        }
        Ok(TensorSpec { dtype: from.dtype, dims: into })
    },
    derivative: Derivative::Rule(&[Some(|r| r.cotangent.reshape(r.x(0).spec().dims))]),
    lowering: Lowering::View(view::reshape),
    samples: || {
        vec![
            sample_with(&[floats(&[2, 3], -1.0, 1.0)], dims(&[3, 2, 1])),
            sample_with(&[floats(&[1], -1.0, 1.0)], dims(&[])),
        ]
    },
    ..ROW
};

/// Axes in another order.
pub const TRANSPOSE: OpRow = OpRow {
    name: "transpose",
    doc: "The axes in another order: axis k of the result is axis permutation[k] of x.",
    arity: Some(1),
    infer: |infer| {
        let operand = infer.operands[0];
        let Attributes::Axes(axes) = infer.attributes else {
            return Err(OpError::Malformed("a transpose needs a permutation"));
        };
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        if sorted.iter().map(|axis| usize::from(*axis)).ne(0..operand.rank()) {
            return Err(OpError::Permutation { axes: axes.to_vec() });
        }
        let dims = axes.iter().map(|axis| operand.dims[usize::from(*axis)].clone());
        Ok(TensorSpec::new(operand.dtype, dims))
    },
    derivative: Derivative::Rule(&[Some(|r| {
        let inverse = match r.attributes {
            Attributes::Axes(axes) => inverse(axes),
            _ => Vec::new(),
        };
        r.cotangent.transpose(&inverse)
    })]),
    lowering: Lowering::View(view::transpose),
    samples: || {
        let permutation = |axes: &[u8]| Attributes::Axes(axes.into());
        vec![
            sample_with(&[floats(&[2, 3, 4], -1.0, 1.0)], permutation(&[2, 0, 1])),
            sample_with(&[floats(&[2, 3], -1.0, 1.0)], permutation(&[1, 0])),
        ]
    },
    ..ROW
};

fn inverse(permutation: &Axes) -> Vec<usize> {
    let mut inverse = vec![0; permutation.len()];
    for (place, axis) in permutation.iter().enumerate() {
        inverse[usize::from(*axis)] = place;
    }
    inverse
}

/// The same elements repeated along axes.
pub const BROADCAST: OpRow = OpRow {
    name: "broadcast",
    doc: "x repeated to larger dims: aligned at the last axis, axes of the literal length 1 and missing ones are repeated.",
    arity: Some(1),
    infer: |infer| {
        let (from, into) = (infer.operands[0], target(infer)?);
        let refused = || OpError::Broadcast { left: from.dims.clone(), right: into.clone() };
        let Some(extra) = into.len().checked_sub(from.rank()) else { return Err(refused()) };
        for (length, wanted) in from.dims.iter().zip(&into[extra..]) {
            if !length.is_one() && infer.agree("lengths", length, wanted).is_err() {
                return Err(refused());
            }
        }
        Ok(TensorSpec { dtype: from.dtype, dims: into })
    },
    derivative: Derivative::Rule(&[Some(|r| {
        let (from, into) = (r.x(0).spec().dims, r.output.spec().dims);
        let extra = into.len() - from.len();
        let is_repeated = |axis: usize| axis < extra || (from[axis - extra].is_one() && !into[axis].is_one());
        let axes: Vec<usize> = (0..into.len()).filter(|axis| is_repeated(*axis)).collect();
        r.cotangent.sum_over(&axes).reshape(from)
    })]),
    lowering: Lowering::View(view::broadcast),
    samples: || {
        vec![
            sample_with(&[floats(&[3, 1], -1.0, 1.0)], dims(&[2, 3, 4])),
            sample_with(&[floats(&[], -1.0, 1.0)], dims(&[2, 3])),
            sample_with(&[floats(&[1, 2], -1.0, 1.0)], dims(&[1, 2])),
            sample_with(&[floats(&[1, 2], -1.0, 1.0)], dims(&[0, 2])),
        ]
    },
    ..ROW
};

/// The dims that two shapes broadcast to, or that they do not. Two lengths that are not known are taken to agree, which the
/// op that needs it makes sure of.
pub fn broadcast_dims(left: &Dims, right: &Dims) -> Result<Dims, OpError> {
    if left == right {
        return Ok(left.clone());
    }
    let rank = left.len().max(right.len());
    let at = |dims: &Dims, axis: usize| (axis + dims.len()).checked_sub(rank).map(|axis| dims[axis].clone());
    let merged = (0..rank).map(|axis| match (at(left, axis), at(right, axis)) {
        (Some(left), Some(right)) if left.is_one() => Some(right),
        (Some(left), Some(right)) if right.is_one() || left == right => Some(left),
        // A known length tells more than a symbol; the broadcast of the other operand then notes that they agree.
        (Some(left), Some(right)) => match (left.known(), right.known()) {
            (Some(_), Some(_)) => None,
            (None, Some(_)) => Some(right),
            (Some(_), None) | (None, None) => Some(left),
        },
        (Some(dim), None) | (None, Some(dim)) => Some(dim),
        (None, None) => Some(Dim::Known(1)),
    });
    merged.collect::<Option<Dims>>().ok_or_else(|| OpError::Broadcast { left: left.clone(), right: right.clone() })
}
