//! What a row of the op table is.
//!
//! A row is the whole of an op: its name, what it takes, the shape it gives, its gradient, its kernel, and where tests may
//! sample it. Adding an op is adding a row; the sweep then tests it without an edit. Fields that later passes need (a
//! batching rule) are added to [`OpRow`] with a default in [`ROW`], so that no row has to change.

use entigrad_components::{Attributes, DType, Dim, Dims, TensorSpec};

use super::sample::Sample;
use crate::error::OpError;
use crate::kernels::elementwise::SelectTile;
use crate::kernels::fold::SelectFold;
use crate::kernels::opaque::Kernel;
use crate::kernels::view::SelectView;
use crate::trace::Value;

/// One op.
#[derive(Clone)]
pub struct OpRow {
    /// The field's standard name, unique in the table.
    pub name: &'static str,
    /// Formula, shapes, domain, and the convention at kinks.
    pub doc: &'static str,
    /// How many operands it takes; `None` for any number.
    pub arity: Option<usize>,
    /// Dtype and dims of the result, or why the operands do not do.
    pub infer: fn(&mut Infer<'_>) -> Result<TensorSpec, OpError>,
    /// The gradient rule.
    pub derivative: Derivative,
    /// What the planner makes of it.
    pub lowering: Lowering,
    /// The op's own kernel for element types that the lowering has nothing for.
    pub fallback: Option<Kernel>,
    /// Points at which tests may sample it; a row with a kernel has some.
    pub samples: fn() -> Vec<Sample>,
}

/// A row to build others from: `OpRow { name: "exp", ..ROW }`.
pub const ROW: OpRow = OpRow {
    name: "",
    doc: "",
    arity: Some(0),
    infer: |_| Err(OpError::Malformed("this row has no shape rule")),
    derivative: Derivative::NotYet,
    lowering: Lowering::Source,
    fallback: None,
    samples: Vec::new,
};

/// The three honest states of a gradient.
#[derive(Clone, Copy)]
pub enum Derivative {
    /// A rule an operand; `None` where that operand has no derivative (an index, a condition).
    Rule(&'static [Option<OperandRule>]),
    /// The op has no derivative, and is right to have none: it counts as connected, with zeros.
    Zero,
    /// The op stops gradients: nothing behind it counts as connected.
    Stop,
    /// The op is gone before gradients are taken: calls are inlined.
    Inlined,
    /// Not worked out yet: asking for it is an error.
    NotYet,
}

/// The cotangent of one operand, given that of the output: emits ops, computes nothing.
pub type OperandRule = for<'a, 't> fn(&Vjp<'a, 't>) -> Value<'t>;

/// What a gradient rule may use.
pub struct Vjp<'a, 't> {
    /// The operands.
    pub operands: &'a [Value<'t>],
    /// The op's own value.
    pub output: Value<'t>,
    /// The cotangent of the output, of its spec.
    pub cotangent: Value<'t>,
    /// The op's attributes.
    pub attributes: &'a Attributes,
}

impl<'t> Vjp<'_, 't> {
    /// The operand at `index`.
    pub fn x(&self, index: usize) -> Value<'t> {
        self.operands[index]
    }

    /// `cotangent · derivative`, exactly 0 where the cotangent is 0 (the strong zero).
    pub fn chain(&self, derivative: Value<'t>) -> Value<'t> {
        self.cotangent.cotangent_mul(derivative)
    }
}

/// What the planner makes of an op.
#[derive(Clone, Copy)]
pub enum Lowering {
    /// The planner or the caller provides it: inputs, captures, numbers, reads.
    Source,
    /// One result an element, operands and result of one shape: fused with its neighbours. What an element takes, roughly.
    Elementwise(SelectTile, Weight),
    /// Elements of its operand in another order or number: nothing is moved.
    View(SelectView),
    /// A reduction over the axes that the attributes list, which ends what is fused.
    Fold(SelectFold),
    /// A matrix product, whose flags say which operand lies transposed.
    Product,
    /// A kernel of its own.
    Kernel(Kernel),
    /// Writes a variable.
    Assign,
    /// Gone before planning: calls are inlined.
    Inlined,
}

/// What an elementwise op takes for an `f32`, in picoseconds: what decides whether a value is stored or computed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight(pub u32);

impl Weight {
    /// An addition, a comparison, a choice.
    pub const SIMPLE: Self = Self(100);
    /// A division, a root.
    pub const DIVISION: Self = Self(300);
    /// A transcendental function.
    pub const TRANSCENDENTAL: Self = Self(500);
}

/// What a shape rule is given, and where it puts what must hold at the call.
pub struct Infer<'a> {
    /// Dtype and dims of the operands.
    pub operands: &'a [&'a TensorSpec],
    /// The op's attributes.
    pub attributes: &'a Attributes,
    /// Lengths that must agree at the call.
    pub agreements: &'a mut Vec<(Dim, Dim)>,
}

impl Infer<'_> {
    /// Checks that all operands have one dtype, and gives it.
    pub fn same_dtype(&self) -> Result<DType, OpError> {
        let first = self.operands[0].dtype;
        match self.operands.iter().find(|operand| operand.dtype != first) {
            Some(other) => Err(OpError::DTypes { left: first, right: other.dtype }),
            None => Ok(first),
        }
    }

    /// Checks that two operands have one shape, and gives it.
    pub fn same_dims(&mut self, left: usize, right: usize) -> Result<Dims, OpError> {
        let (left, right) = (&self.operands[left].dims, &self.operands[right].dims);
        if left.is_same(right) {
            return Ok(left.clone());
        }
        let differ = || OpError::Shapes { left: left.clone(), right: right.clone() };
        if left.len() != right.len() {
            return Err(differ());
        }
        for (left, right) in left.iter().zip(right.iter()) {
            if !agree(self.agreements, left, right) {
                return Err(differ());
            }
        }
        Ok(left.clone())
    }

    /// Checks that two lengths are equal, at the call where they are not known before.
    pub fn agree(&mut self, what: &'static str, left: &Dim, right: &Dim) -> Result<(), OpError> {
        if agree(self.agreements, left, right) {
            Ok(())
        } else {
            Err(OpError::Lengths { what, left: left.clone(), right: right.clone() })
        }
    }

    /// Checks that an operand is floating point.
    pub fn float(&self, operand: usize) -> Result<(), OpError> {
        self.dtype_where(operand, "f32 or f64", DType::is_float)
    }

    /// Checks that an operand is a number.
    pub fn number(&self, operand: usize) -> Result<(), OpError> {
        self.dtype_where(operand, "numbers", |dtype| dtype != DType::Bool)
    }

    /// Checks an operand's dtype.
    pub fn dtype_where(&self, operand: usize, wanted: &'static str, is: fn(DType) -> bool) -> Result<(), OpError> {
        let given = self.operands[operand].dtype;
        if is(given) { Ok(()) } else { Err(OpError::DType { given, wanted }) }
    }
}

/// Whether two lengths are equal or may be: what may be is noted.
fn agree(agreements: &mut Vec<(Dim, Dim)>, left: &Dim, right: &Dim) -> bool {
    if left == right {
        return true;
    }
    if left.known().is_some() && right.known().is_some() {
        return false;
    }
    agreements.push((left.clone(), right.clone()));
    true
}
