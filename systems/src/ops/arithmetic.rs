//! Arithmetic on operands of one shape and dtype; broadcasting is an op of its own, put in by the trace.

use entigrad_components::{Attributes, DType, TensorSpec};

use super::row::{Derivative, Infer, Lowering, OpRow, ROW, Vjp, Weight};
use super::sample::{Sample, SampleOperand, floats, sample, sample_with};
use crate::error::OpError;
use crate::kernels::{elementwise, integer};
use crate::trace::Value;

/// Two numbers of one dtype and shape to one of the same.
const BINARY: OpRow = OpRow { arity: Some(2), infer: two_numbers, samples: two_floats, ..ROW };

fn two_numbers(infer: &mut Infer<'_>) -> Result<TensorSpec, OpError> {
    let dtype = infer.same_dtype()?;
    infer.number(0)?;
    Ok(TensorSpec { dtype, dims: infer.same_dims(0, 1)? })
}

fn two_floats() -> Vec<Sample> {
    vec![
        sample(&[floats(&[2, 3], -2.0, 2.0), floats(&[2, 3], 0.5, 2.0)]),
        sample(&[floats(&[], -2.0, 2.0), floats(&[], 0.5, 2.0)]),
        sample(&[floats(&[0, 3], -2.0, 2.0), floats(&[0, 3], 0.5, 2.0)]),
    ]
}

/// x + y.
pub const ADD: OpRow = OpRow {
    name: "add",
    doc: "x + y; integers wrap.",
    derivative: Derivative::Rule(&[Some(|r| r.cotangent), Some(|r| r.cotangent)]),
    lowering: Lowering::Elementwise(elementwise::add, Weight::SIMPLE),
    ..BINARY
};

/// x - y.
pub const SUB: OpRow = OpRow {
    name: "sub",
    doc: "x - y; integers wrap.",
    derivative: Derivative::Rule(&[Some(|r| r.cotangent), Some(|r| -r.cotangent)]),
    lowering: Lowering::Elementwise(elementwise::sub, Weight::SIMPLE),
    ..BINARY
};

/// x · y.
pub const MUL: OpRow = OpRow {
    name: "mul",
    doc: "x · y; integers wrap.",
    derivative: Derivative::Rule(&[Some(|r| r.chain(r.x(1))), Some(|r| r.chain(r.x(0)))]),
    lowering: Lowering::Elementwise(elementwise::mul, Weight::SIMPLE),
    ..BINARY
};

/// x / y.
pub const DIV: OpRow = OpRow {
    name: "div",
    doc: "x / y; an integer divided by zero is an error, and the quotient of integers is cut towards zero.",
    // d/dy = -x/y² is written through the output, so that it overflows no sooner than the quotient does.
    derivative: Derivative::Rule(&[
        Some(|r| r.chain(r.x(1).literal(1.0) / r.x(1))),
        Some(|r| r.chain(-r.output / r.x(1))),
    ]),
    lowering: Lowering::Elementwise(elementwise::div, Weight::DIVISION),
    fallback: Some(integer::div),
    ..BINARY
};

/// -x.
pub const NEG: OpRow = OpRow {
    name: "neg",
    doc: "-x; integers wrap.",
    arity: Some(1),
    infer: |infer| {
        infer.number(0)?;
        Ok(infer.operands[0].clone())
    },
    derivative: Derivative::Rule(&[Some(|r| -r.cotangent)]),
    lowering: Lowering::Elementwise(elementwise::neg, Weight::SIMPLE),
    samples: || vec![sample(&[floats(&[2, 3], -2.0, 2.0)])],
    ..ROW
};

/// The greater of x and y.
pub const MAXIMUM: OpRow = OpRow {
    name: "maximum",
    doc: "The greater of x and y; NaN where either is. At a tie two traced operands share the gradient evenly; against a \
          host number the tensor gets 0, the minimum-norm choice, so that relu'(0) = 0.",
    derivative: Derivative::Rule(&[Some(|r| maximum_rule(r, 0)), Some(|r| maximum_rule(r, 1))]),
    lowering: Lowering::Elementwise(elementwise::maximum, Weight::SIMPLE),
    samples: || {
        let tied = SampleOperand::Tied { shape: &[3], values: &[1.0, -2.0, 0.0] };
        vec![
            sample(&[floats(&[2, 3], 0.1, 1.0), floats(&[2, 3], 1.1, 2.0)]),
            sample(&[floats(&[4], 1.1, 2.0), floats(&[4], -1.0, 1.0)]),
            sample(&[tied.clone(), tied]),
        ]
    },
    ..BINARY
};

/// The cotangent of one operand of a maximum. A NaN operand compares with nothing, and its weight is NaN. Against a host number
/// the rule looks at the output alone, so that the operand need not be kept.
fn maximum_rule<'t>(r: &Vjp<'_, 't>, operand: usize) -> Value<'t> {
    let (mine, other) = (r.x(operand), r.x(1 - operand));
    let [one, zero, half, nan] = [1.0, 0.0, 0.5, f64::NAN].map(|number| mine.literal(number));
    if other.is_number() {
        let unless_greater = r.output.equal(other).select(zero, nan);
        return r.chain(other.less(r.output).select(one, unless_greater));
    }
    let unless_greater = mine.less(other).select(zero, mine.equal(other).select(half, nan));
    r.chain(other.less(mine).select(one, unless_greater))
}

/// The multiplication of gradient rules.
pub const COTANGENT_MUL: OpRow = OpRow {
    name: "cotangent_mul",
    doc: "g · d, and exactly 0 where g is 0, whatever d is (the strong zero). Bilinear: its own gradient ignores the mask, so \
          that higher orders do not vanish.",
    infer: |infer| {
        infer.float(0)?;
        two_numbers(infer)
    },
    // For d the cotangent is c·g, which is 0 where g is 0 whatever c is; for g it is c·d, where g's mask has no say.
    derivative: Derivative::Rule(&[Some(|r| r.chain(r.x(1))), Some(|r| r.x(0).cotangent_mul(r.cotangent))]),
    lowering: Lowering::Elementwise(elementwise::cotangent_mul, Weight::SIMPLE),
    ..BINARY
};

/// Another element type.
pub const CAST: OpRow = OpRow {
    name: "cast",
    doc: "x as another dtype: f32 rounded to nearest, i32 cut towards zero and saturating, bool \"not zero\". Between floating \
          point types the gradient is cast back; through others it is 0.",
    arity: Some(1),
    infer: |infer| match infer.attributes {
        Attributes::DType(dtype) => Ok(infer.operands[0].with_dtype(*dtype)),
        _ => Err(OpError::Malformed("a cast needs a dtype")),
    },
    derivative: Derivative::Rule(&[Some(|r| r.cotangent.cast(r.x(0).dtype()))]),
    lowering: Lowering::Elementwise(elementwise::cast, Weight::SIMPLE),
    samples: || vec![sample_with(&[floats(&[2, 3], -2.0, 2.0)], Attributes::DType(DType::F64))],
    ..ROW
};
