//! Matrix products. Contractions are exempt from the strong zero: their gradients multiply plainly.

use entigrad_components::{Attributes, TensorSpec};

use super::row::{Derivative, Lowering, OpRow, ROW, Vjp};
use super::sample::{floats, sample_with};
use crate::error::OpError;
use crate::kernels::integer;

/// Products of matrices.
pub const MATMUL: OpRow = OpRow {
    name: "matmul",
    doc: "The products of matrices, […, m, k] · […, k, n] -> […, m, n] with equal leading axes; flags say which operands' last two \
          axes lie transposed ([…, k, m], […, n, k]).",
    arity: Some(2),
    infer: |infer| {
        let dtype = infer.same_dtype()?;
        infer.number(0)?;
        for operand in infer.operands {
            if operand.rank() < 2 {
                return Err(OpError::Rank { given: operand.rank(), wanted: "2 or more (matrices)" });
            }
        }
        let [left, right] = flags(infer.attributes)?.map(usize::from);
        let (left_dims, right_dims) = (&infer.operands[0].dims, &infer.operands[1].dims);
        let (left_batch, left_matrix) = left_dims.split_at(left_dims.len() - 2);
        let (right_batch, right_matrix) = right_dims.split_at(right_dims.len() - 2);
        if left_batch.len() != right_batch.len() {
            let [left, right] = [left_dims.clone(), right_dims.clone()];
            return Err(OpError::Broadcast { left, right });
        }
        for (left, right) in left_batch.iter().zip(right_batch) {
            infer.agree("leading lengths", left, right)?;
        }
        infer.agree("inner lengths", &left_matrix[1 - left], &right_matrix[right])?;
        let matrix = [left_matrix[left].clone(), right_matrix[1 - right].clone()];
        Ok(TensorSpec::new(dtype, left_batch.iter().cloned().chain(matrix)))
    },
    // With C = A·B: dA = dC·Bᵀ and dB = Aᵀ·dC; each is one product with flags, so nothing is transposed in memory.
    derivative: Derivative::Rule(&[
        Some(|r| {
            let [left, right] = rule_flags(r);
            if left {
                r.x(1).matmul_with(r.cotangent, right, true)
            } else {
                r.cotangent.matmul_with(r.x(1), false, !right)
            }
        }),
        Some(|r| {
            let [left, right] = rule_flags(r);
            if right {
                r.cotangent.matmul_with(r.x(0), true, left)
            } else {
                r.x(0).matmul_with(r.cotangent, !left, false)
            }
        }),
    ]),
    lowering: Lowering::Product,
    fallback: Some(integer::matmul),
    samples: || {
        let (a, a_transposed) = (floats(&[2, 3], -1.0, 1.0), floats(&[3, 2], -1.0, 1.0));
        let (b, b_transposed) = (floats(&[3, 4], -1.0, 1.0), floats(&[4, 3], -1.0, 1.0));
        vec![
            sample_with(&[a.clone(), b.clone()], Attributes::Flags(false, false)),
            sample_with(&[a_transposed.clone(), b], Attributes::Flags(true, false)),
            sample_with(&[a, b_transposed.clone()], Attributes::Flags(false, true)),
            sample_with(&[a_transposed, b_transposed], Attributes::Flags(true, true)),
            sample_with(&[floats(&[2, 0], -1.0, 1.0), floats(&[0, 3], -1.0, 1.0)], Attributes::Flags(false, false)),
            sample_with(
                &[floats(&[2, 2, 3], -1.0, 1.0), floats(&[2, 3, 4], -1.0, 1.0)],
                Attributes::Flags(false, false),
            ),
            sample_with(
                &[floats(&[2, 1, 3, 2], -1.0, 1.0), floats(&[2, 1, 4, 3], -1.0, 1.0)],
                Attributes::Flags(true, true),
            ),
            sample_with(
                &[floats(&[0, 2, 3], -1.0, 1.0), floats(&[0, 3, 4], -1.0, 1.0)],
                Attributes::Flags(false, false),
            ),
        ]
    },
    ..ROW
};

fn flags(attributes: &Attributes) -> Result<[bool; 2], OpError> {
    match attributes {
        Attributes::Flags(left, right) => Ok([*left, *right]),
        _ => Err(OpError::Malformed("a matmul needs flags")),
    }
}

fn rule_flags(r: &Vjp<'_, '_>) -> [bool; 2] {
    flags(r.attributes).unwrap_or_default()
}
