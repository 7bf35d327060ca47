//! Elementwise functions of one floating point operand.

use entigrad_components::TensorSpec;

use super::row::{Derivative, Infer, Lowering, OpRow, ROW, Weight};
use super::sample::{floats, sample};
use crate::error::OpError;
use crate::kernels::elementwise;

/// One floating point operand to a result of its spec.
const UNARY: OpRow = OpRow { arity: Some(1), infer: one_float, samples: around_zero, ..ROW };

fn one_float(infer: &mut Infer<'_>) -> Result<TensorSpec, OpError> {
    infer.float(0)?;
    Ok(infer.operands[0].clone())
}

fn around_zero() -> Vec<super::Sample> {
    vec![
        sample(&[floats(&[2, 3], -2.0, 2.0)]),
        sample(&[floats(&[], -2.0, 2.0)]),
        sample(&[floats(&[3, 0], -2.0, 2.0)]),
    ]
}

/// eˣ.
pub const EXP: OpRow = OpRow {
    name: "exp",
    doc: "eˣ.",
    derivative: Derivative::Rule(&[Some(|r| r.chain(r.output))]),
    lowering: Lowering::Elementwise(elementwise::exp, Weight::TRANSCENDENTAL),
    ..UNARY
};

/// ln x.
pub const LOG: OpRow = OpRow {
    name: "log",
    doc: "The natural logarithm; -inf at 0, NaN below.",
    // Below 0 the value is NaN, and so must every derivative be: 1/x alone would make a number of it, so there it is y/x.
    derivative: Derivative::Rule(&[Some(|r| {
        let x = r.x(0);
        let reciprocal = x.literal(1.0) / x;
        r.chain(x.less(x.zeros_like()).select(r.output / x, reciprocal))
    })]),
    lowering: Lowering::Elementwise(elementwise::log, Weight::TRANSCENDENTAL),
    samples: || vec![sample(&[floats(&[2, 3], 0.5, 3.0)])],
    ..UNARY
};

/// sin x.
pub const SIN: OpRow = OpRow {
    name: "sin",
    doc: "sin x, x in radians.",
    derivative: Derivative::Rule(&[Some(|r| r.chain(r.x(0).cos()))]),
    lowering: Lowering::Elementwise(elementwise::sin, Weight::TRANSCENDENTAL),
    ..UNARY
};

/// cos x.
pub const COS: OpRow = OpRow {
    name: "cos",
    doc: "cos x, x in radians.",
    derivative: Derivative::Rule(&[Some(|r| r.chain(-r.x(0).sin()))]),
    lowering: Lowering::Elementwise(elementwise::cos, Weight::TRANSCENDENTAL),
    ..UNARY
};

/// tanh x.
pub const TANH: OpRow = OpRow {
    name: "tanh",
    doc: "The hyperbolic tangent.",
    derivative: Derivative::Rule(&[Some(|r| r.chain(r.output.literal(1.0) - r.output * r.output))]),
    lowering: Lowering::Elementwise(elementwise::tanh, Weight::TRANSCENDENTAL),
    ..UNARY
};

/// √x.
pub const SQRT: OpRow = OpRow {
    name: "sqrt",
    doc: "The square root; NaN below 0. Its gradient at 0 is +inf, the one-sided truth.",
    derivative: Derivative::Rule(&[Some(|r| r.chain(r.output.literal(0.5) / r.output))]),
    lowering: Lowering::Elementwise(elementwise::sqrt, Weight::DIVISION),
    samples: || vec![sample(&[floats(&[2, 3], 0.5, 3.0)])],
    ..UNARY
};
