//! Gather and scatter: places that are data.

use entigrad_components::{Attributes, DType, Element, TensorError};

use super::opaque::{KernelCall, OperandView, ResultView};
use super::wrong_dtype;
use crate::error::RunError;

type Outcome = Result<(), RunError>;

/// How `indices` of a shape find their places in a tensor of another: (outer, length, inner) extents around the axis.
struct Places<'a> {
    indices: &'a [i32],
    axis: usize,
    length: usize,
    index_length: usize,
    inner: usize,
}

impl<'a> Places<'a> {
    fn new(call: &KernelCall<'a>) -> Result<Self, RunError> {
        let (x, indices): (OperandView<'a>, OperandView<'a>) = (call.operands[0], call.operands[1]);
        let axis = match call.attributes {
            Attributes::Axis(axis) if usize::from(*axis) < x.shape().len() => usize::from(*axis),
            _ => return Err(TensorError::NoAxis { axis: 0, shape: x.shape().to_vec() }.into()),
        };
        Ok(Self {
            indices: indices.elements::<i32>()?,
            axis,
            length: x.shape()[axis],
            index_length: indices.shape()[axis],
            inner: indices.shape()[axis + 1..].iter().product(),
        })
    }

    /// Calls `visit` with the position among the indices and the place in the tensor, in row-major order of the indices.
    fn visit(&self, mut visit: impl FnMut(usize, usize)) -> Outcome {
        for (position, index) in self.indices.iter().enumerate() {
            let within = usize::try_from(*index).ok().filter(|index| *index < self.length);
            let Some(index_on_axis) = within else {
                let (index, axis, length) = (i64::from(*index), self.axis, self.length);
                return Err(RunError::IndexOutOfRange { index, position, axis, length });
            };
            let (outer, inner) = (position / (self.index_length * self.inner), position % self.inner);
            visit(position, (outer * self.length + index_on_axis) * self.inner + inner);
        }
        Ok(())
    }
}

/// Elements of x at the places of the indices.
pub fn gather(call: &KernelCall<'_>, out: &mut ResultView<'_>) -> Outcome {
    fn typed<T: Element>(call: &KernelCall<'_>, out: &mut ResultView<'_>) -> Outcome {
        let x = call.operands[0].elements::<T>()?;
        let out = out.elements_mut::<T>()?;
        Places::new(call)?.visit(|position, place| out[position] = x[place])
    }
    match out.dtype() {
        DType::F32 => typed::<f32>(call, out),
        DType::F64 => typed::<f64>(call, out),
        DType::I32 => typed::<i32>(call, out),
        DType::Bool => typed::<bool>(call, out),
    }
}

/// x with the updates added at the places of the indices.
pub fn scatter_add(call: &KernelCall<'_>, out: &mut ResultView<'_>) -> Outcome {
    fn typed<T: Element>(
        call: &KernelCall<'_>,
        out: &mut ResultView<'_>,
        add: impl Fn(T::Repr, T::Repr) -> T::Repr,
    ) -> Outcome {
        let updates = call.operands[2].elements::<T>()?;
        let out = out.elements_mut::<T>()?;
        out.copy_from_slice(call.operands[0].elements::<T>()?);
        Places::new(call)?.visit(|position, place| out[place] = add(out[place], updates[position]))
    }
    match out.dtype() {
        DType::F32 => typed::<f32>(call, out, |x, y| x + y),
        DType::F64 => typed::<f64>(call, out, |x, y| x + y),
        DType::I32 => typed::<i32>(call, out, i32::wrapping_add),
        held @ DType::Bool => Err(wrong_dtype(held, DType::F64)),
    }
}
