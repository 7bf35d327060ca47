//! Reductions over axes, which they drop. Attributes: the axes, each named once.

use entigrad_components::{Attributes, Axes, DType, Dim, Dims, TensorSpec};

use super::row::{Derivative, Infer, Lowering, OpRow, ROW, Vjp};
use super::sample::{Sample, SampleOperand, floats, sample_with};
use crate::error::OpError;
use crate::kernels::fold;
use crate::trace::Value;

const REDUCTION: OpRow = OpRow { arity: Some(1), infer: without_axes, samples: over_axes, ..ROW };

/// The operand's spec without the reduced axes.
fn without_axes(infer: &mut Infer<'_>) -> Result<TensorSpec, OpError> {
    infer.number(0)?;
    let (operand, axes) = (infer.operands[0], axes(infer.attributes)?);
    let rank = operand.rank();
    for (position, axis) in axes.iter().enumerate() {
        if usize::from(*axis) >= rank {
            return Err(OpError::Axis { axis: usize::from(*axis), rank });
        }
        if axes[..position].contains(axis) {
            return Err(OpError::Permutation { axes: axes.to_vec() });
        }
    }
    let kept = operand.dims.iter().enumerate().filter(|(axis, _)| !axes.contains(&(*axis as u8)));
    Ok(TensorSpec { dtype: operand.dtype, dims: kept.map(|(_, dim)| dim.clone()).collect() })
}

fn axes(attributes: &Attributes) -> Result<&Axes, OpError> {
    if let Attributes::Axes(axes) = attributes { Ok(axes) } else { Err(OpError::Malformed("a reduction needs axes")) }
}

fn over_axes() -> Vec<Sample> {
    let over = |axes: &[u8]| Attributes::Axes(axes.into());
    vec![
        sample_with(&[floats(&[2, 3, 4], -2.0, 2.0)], over(&[1])),
        sample_with(&[floats(&[2, 3, 4], -2.0, 2.0)], over(&[2, 0])),
        sample_with(&[floats(&[5], -2.0, 2.0)], over(&[0])),
        sample_with(&[floats(&[], -2.0, 2.0)], over(&[])),
        sample_with(&[floats(&[1000], -2.0, 2.0)], over(&[0])),
    ]
}

/// `reduced`, of the op's result, spread over the operand's shape again.
fn spread<'t>(r: &Vjp<'_, 't>, reduced: Value<'t>) -> Value<'t> {
    let operand = r.x(0).spec();
    let kept: Dims = match r.attributes {
        Attributes::Axes(axes) => {
            let lengths = operand.dims.iter().enumerate();
            lengths.map(|(axis, dim)| if axes.contains(&(axis as u8)) { Dim::Known(1) } else { dim.clone() }).collect()
        }
        _ => Dims::SCALAR,
    };
    reduced.reshape(kept).broadcast(operand.dims)
}

/// Σ x.
pub const SUM: OpRow = OpRow {
    name: "sum",
    doc: "The sum over axes; 0 over none. Summed as a tree that depends on the reduced extent alone; integers wrap.",
    derivative: Derivative::Rule(&[Some(|r| spread(r, r.cotangent))]),
    lowering: Lowering::Fold(fold::sum),
    ..REDUCTION
};

/// max x.
pub const MAX: OpRow = OpRow {
    name: "max",
    doc: "The greatest element over axes; NaN where one is, an error over none. Ties share the gradient evenly, and their count is \
          kept in integers.",
    infer: |infer| {
        let spec = without_axes(infer)?;
        let (operand, axes) = (infer.operands[0], axes(infer.attributes)?);
        if axes.iter().any(|axis| operand.dims[usize::from(*axis)] == Dim::Known(0)) {
            return Err(OpError::Empty);
        }
        Ok(spec)
    },
    derivative: Derivative::Rule(&[Some(|r| {
        let x = r.x(0);
        let is_greatest = x.equal(spread(r, r.output));
        let axes: Vec<usize> = match r.attributes {
            Attributes::Axes(axes) => axes.iter().map(|axis| usize::from(*axis)).collect(),
            _ => Vec::new(),
        };
        let count = is_greatest.cast(DType::I32).sum_over(&axes).cast(x.dtype());
        // Without any greatest element (NaN) the count is 0, and 0/0 carries the NaN on.
        spread(r, r.cotangent).cotangent_mul(is_greatest.cast(x.dtype()) / spread(r, count))
    })]),
    lowering: Lowering::Fold(fold::max),
    samples: || {
        let mut samples = over_axes();
        let tied = SampleOperand::Tied { shape: &[2, 3], values: &[2.0, 2.0, 1.0, -1.0, -1.0, -1.0] };
        samples.push(sample_with(&[tied], Attributes::Axes([1].as_slice().into())));
        samples
    },
    ..REDUCTION
};
