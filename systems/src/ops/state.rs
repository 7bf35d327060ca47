//! Where values come from and where they go: inputs, captures, numbers, variables, calls.

use entigrad_components::{Attributes, DType, Dim, TensorSpec};

use super::row::{Derivative, Infer, Lowering, OpRow, ROW};
use super::sample::{floats, sample, sample_with};
use crate::error::OpError;
use crate::kernels::{integer, view};

/// The spec of a source, an assign or a call is known where the trace puts it in, so no rule infers it, and nobody can emit
/// one otherwise.
const SOURCE: OpRow = OpRow { derivative: Derivative::Zero, lowering: Lowering::Source, ..ROW };

/// A leaf of the arguments.
pub const INPUT: OpRow = OpRow { name: "input", doc: "The leaf of the arguments at index k.", ..SOURCE };

/// A tensor from outside.
pub const CAPTURE: OpRow = OpRow { name: "capture", doc: "A tensor from outside the body, held strongly.", ..SOURCE };

/// A variable's value.
pub const READ: OpRow = OpRow { name: "read", doc: "The value of a variable at this point of the program.", ..SOURCE };

/// A scalar.
pub const NUMBER: OpRow = OpRow {
    name: "number",
    doc: "A scalar constant, written into the graph.",
    infer: |infer| match infer.attributes {
        Attributes::Number(number) => Ok(TensorSpec::scalar(number.dtype())),
        _ => Err(OpError::Malformed("a number needs a number")),
    },
    ..SOURCE
};

/// A length as a scalar.
pub const LENGTH: OpRow = OpRow {
    name: "length",
    doc: "A dim, or an expression of dims, as a scalar of a given dtype: the divisor of a mean. Known at the call.",
    infer: |infer| match infer.attributes {
        Attributes::Length(_, dtype) => Ok(TensorSpec::scalar(*dtype)),
        _ => Err(OpError::Malformed("a length needs a dim")),
    },
    ..SOURCE
};

/// Places along an axis.
pub const IOTA: OpRow = OpRow {
    name: "iota",
    doc: "0, 1, 2, … along the one axis of the result, as i32.",
    infer: |infer| match infer.attributes {
        Attributes::Dims(dims) if dims.len() == 1 => Ok(TensorSpec { dtype: DType::I32, dims: dims.clone() }),
        _ => Err(OpError::Malformed("iota needs the dims of one axis")),
    },
    derivative: Derivative::Zero,
    lowering: Lowering::Kernel(integer::iota),
    samples: || vec![sample_with(&[], Attributes::Dims([Dim::Known(4)].into_iter().collect()))],
    ..ROW
};

/// Writes a variable.
pub const ASSIGN: OpRow = OpRow {
    name: "assign",
    doc: "Gives a variable a new value of its spec. An effect: it happens whenever the function runs, in program order.",
    arity: Some(1),
    derivative: Derivative::Stop,
    lowering: Lowering::Assign,
    ..ROW
};

/// Calls a function.
pub const CALL: OpRow = OpRow {
    name: "call",
    doc: "Runs a concrete function on the operands; its results follow as `result` ops. Inlined before gradients and plans.",
    arity: None,
    derivative: Derivative::Inlined,
    lowering: Lowering::Inlined,
    ..ROW
};

/// One result of a call.
pub const RESULT: OpRow = OpRow {
    name: "result",
    doc: "The result of a call at index k.",
    arity: Some(1),
    derivative: Derivative::Inlined,
    lowering: Lowering::Inlined,
    ..ROW
};

/// Cuts gradients.
pub const STOP_GRADIENT: OpRow = OpRow {
    name: "stop_gradient",
    doc: "x, with nothing behind it differentiated.",
    arity: Some(1),
    infer: same_as_operand,
    derivative: Derivative::Stop,
    lowering: Lowering::View(view::reshape),
    samples: || vec![sample(&[floats(&[2, 3], -1.0, 1.0)])],
    ..ROW
};

fn same_as_operand(infer: &mut Infer<'_>) -> Result<TensorSpec, OpError> {
    Ok(infer.operands[0].clone())
}
