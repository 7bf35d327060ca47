//! A traced value: what bodies compute with.

use entigrad_components::{Attributes, Axes, DType, Dims, OpId, Scalar, TensorSpec};
use std::fmt;

use super::Trace;
use crate::error::{OpError, TraceCause};
use crate::graph::NodeId;
use crate::ops::{self, broadcast_dims};

/// A value inside a trace. It borrows its trace, so it cannot outlive it.
#[derive(Clone, Copy)]
pub struct Value<'t> {
    pub(super) trace: Trace<'t>,
    pub(super) id: NodeId,
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}: {}", self.id.0, self.spec())
    }
}

impl<'t> Value<'t> {
    /// The trace that this value belongs to.
    pub fn trace(self) -> Trace<'t> {
        self.trace
    }

    /// Its place in the graph.
    pub(crate) fn id(self) -> NodeId {
        self.id
    }

    /// The value of a node.
    pub(crate) fn of(trace: Trace<'t>, id: NodeId) -> Self {
        Self { trace, id }
    }

    /// Dtype and dims.
    pub fn spec(self) -> TensorSpec {
        self.trace.0.graph.borrow().node(self.id).spec.clone()
    }

    /// The dims, outermost first.
    pub fn shape(self) -> Dims {
        self.spec().dims
    }

    /// The element type.
    pub fn dtype(self) -> DType {
        self.trace.0.graph.borrow().node(self.id).spec.dtype
    }

    /// How many axes.
    pub fn rank(self) -> usize {
        self.trace.0.graph.borrow().node(self.id).spec.rank()
    }

    /// Whether this is a number that the host wrote, broadcast or not.
    pub(crate) fn is_number(self) -> bool {
        let graph = self.trace.0.graph.borrow();
        let node = graph.node(self.id);
        let source = if node.op == ops::BROADCAST { graph.node(node.operands[0]) } else { node };
        source.op == ops::NUMBER
    }

    /// A host number of this value's dtype, as a scalar that broadcasts.
    #[track_caller]
    pub(crate) fn scalar_like(self, number: f64) -> Self {
        let dtype = self.dtype();
        let held = Scalar::from_f64(number, dtype).to_f64();
        // Rounding is what floats do; another integer, or infinity for a finite number, is not what was written.
        let is_kept = if dtype.is_float() { held.is_finite() || !number.is_finite() } else { held == number };
        if !is_kept {
            let cause = OpError::HostNumber { number: format!("{number:?}"), dtype };
            return self.trace.refuse(TraceCause::Op { op: "number", operands: vec![self.spec()], cause }, &[self]);
        }
        self.trace.number(number, dtype)
    }

    /// A host number of this value's dtype and shape.
    #[track_caller]
    pub fn literal(self, number: f64) -> Self {
        self.scalar_like(number).broadcast(self.shape())
    }

    /// Zeros of this value's dtype and shape.
    #[track_caller]
    pub fn zeros_like(self) -> Self {
        self.literal(0.0)
    }

    /// An op on this value alone.
    #[track_caller]
    fn unary(self, op: OpId) -> Self {
        self.trace.emit(op, &[self], Attributes::None)
    }

    /// An op on this value and another, broadcast to one shape.
    #[track_caller]
    pub(super) fn binary(self, op: OpId, other: Self) -> Self {
        let (left, right) = (self.shape(), other.shape());
        if left == right || !std::ptr::eq(self.trace.0, other.trace.0) || self.dtype() != other.dtype() {
            return self.trace.emit(op, &[self, other], Attributes::None);
        }
        match broadcast_dims(&left, &right) {
            Ok(dims) => self.trace.emit(op, &[self.broadcast(dims.clone()), other.broadcast(dims)], Attributes::None),
            Err(cause) => {
                let (name, operands) = (self.trace.0.table.name(op), vec![self.spec(), other.spec()]);
                self.trace.refuse(TraceCause::Op { op: name, operands, cause }, &[self, other])
            }
        }
    }

    /// `self · derivative`, exactly 0 where `self` is 0: the multiplication of gradient rules.
    #[track_caller]
    pub fn cotangent_mul(self, derivative: Self) -> Self {
        self.binary(ops::COTANGENT_MUL, derivative)
    }

    /// eˣ.
    #[track_caller]
    pub fn exp(self) -> Self {
        self.unary(ops::EXP)
    }

    /// The natural logarithm.
    #[track_caller]
    pub fn log(self) -> Self {
        self.unary(ops::LOG)
    }

    /// The sine, of radians.
    #[track_caller]
    pub fn sin(self) -> Self {
        self.unary(ops::SIN)
    }

    /// The cosine, of radians.
    #[track_caller]
    pub fn cos(self) -> Self {
        self.unary(ops::COS)
    }

    /// The hyperbolic tangent.
    #[track_caller]
    pub fn tanh(self) -> Self {
        self.unary(ops::TANH)
    }

    /// The square root.
    #[track_caller]
    pub fn sqrt(self) -> Self {
        self.unary(ops::SQRT)
    }

    /// The same value, with nothing behind it differentiated.
    #[track_caller]
    pub fn stop_gradient(self) -> Self {
        self.unary(ops::STOP_GRADIENT)
    }

    /// The same elements as another dtype.
    #[track_caller]
    pub fn cast(self, dtype: DType) -> Self {
        if dtype == self.dtype() { self } else { self.trace.emit(ops::CAST, &[self], Attributes::DType(dtype)) }
    }

    /// x where this condition holds, else y; shapes broadcast.
    #[track_caller]
    pub fn select(self, x: Self, y: impl super::Operand<'t>) -> Self {
        let y = y.operand(x);
        let all = broadcast_dims(&x.shape(), &y.shape()).and_then(|dims| broadcast_dims(&self.shape(), &dims));
        match all {
            Ok(dims) => {
                let operands = [self, x, y].map(|value| value.broadcast(dims.clone()));
                self.trace.emit(ops::SELECT, &operands, Attributes::None)
            }
            Err(cause) => {
                let operands = vec![self.spec(), x.spec(), y.spec()];
                self.trace.refuse(TraceCause::Op { op: "select", operands, cause }, &[x, y, self])
            }
        }
    }

    /// The sum over some axes, which are dropped.
    #[track_caller]
    pub fn sum_over(self, axes: &[usize]) -> Self {
        self.reduction(ops::SUM, axes)
    }

    /// The sum of all elements.
    #[track_caller]
    pub fn sum(self) -> Self {
        self.sum_over(&self.all_axes())
    }

    /// The greatest element over some axes, which are dropped.
    #[track_caller]
    pub fn max_over(self, axes: &[usize]) -> Self {
        self.reduction(ops::MAX, axes)
    }

    /// The greatest element of all.
    #[track_caller]
    pub fn max(self) -> Self {
        self.max_over(&self.all_axes())
    }

    pub(super) fn all_axes(self) -> Vec<usize> {
        (0..self.rank()).collect()
    }

    #[track_caller]
    fn reduction(self, op: OpId, axes: &[usize]) -> Self {
        if axes.is_empty() {
            return self;
        }
        self.trace.emit(op, &[self], Attributes::Axes(axes_of(axes)))
    }

    /// The same elements under other dims.
    #[track_caller]
    pub fn reshape(self, dims: impl Into<Dims>) -> Self {
        let dims = dims.into();
        if dims == self.shape() { self } else { self.trace.emit(ops::RESHAPE, &[self], Attributes::Dims(dims)) }
    }

    /// The axes in another order: axis k of the result is axis `permutation[k]`.
    #[track_caller]
    pub fn transpose(self, permutation: &[usize]) -> Self {
        self.trace.emit(ops::TRANSPOSE, &[self], Attributes::Axes(axes_of(permutation)))
    }

    /// The same elements repeated to larger dims: axes of the literal length 1 and missing leading axes.
    #[track_caller]
    pub fn broadcast(self, dims: impl Into<Dims>) -> Self {
        let dims = dims.into();
        if dims == self.shape() { self } else { self.trace.emit(ops::BROADCAST, &[self], Attributes::Dims(dims)) }
    }

    /// `out[…, i, …] = self[…, indices[…, i, …], …]` along an axis.
    #[track_caller]
    pub fn gather(self, indices: Self, axis: usize) -> Self {
        self.trace.emit(ops::GATHER, &[self, indices], axis_attribute(axis))
    }

    /// This with `updates[…, i, …]` added at `[…, indices[…, i, …], …]` along an axis.
    #[track_caller]
    pub fn scatter_add(self, indices: Self, updates: Self, axis: usize) -> Self {
        self.trace.emit(ops::SCATTER_ADD, &[self, indices, updates], axis_attribute(axis))
    }

    /// How many elements lie along these axes, as a scalar of this value's dtype.
    #[track_caller]
    pub(super) fn count_over(self, axes: &[usize]) -> Self {
        let (dims, dtype) = (self.shape(), self.dtype());
        let lengths = axes.iter().filter_map(|axis| dims.get(*axis).cloned());
        self.trace.length(&lengths.collect::<Dims>().count(), dtype)
    }
}

/// Axes as attributes hold them; beyond 255, which no shape has, as one that is refused.
fn axes_of(axes: &[usize]) -> Axes {
    axes.iter().map(|axis| u8::try_from(*axis).unwrap_or(u8::MAX)).collect()
}

fn axis_attribute(axis: usize) -> Attributes {
    Attributes::Axis(u8::try_from(axis).unwrap_or(u8::MAX))
}
