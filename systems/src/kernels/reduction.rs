//! Reductions over axes.

use entigrad_components::{Attributes, DType, Element, Tensor};

use super::movement::row_major_strides;
use super::wrong_dtype;
use crate::error::RunError;
use crate::ops::KernelCall;

type Outcome = Result<(), RunError>;

/// Elements that are added in sequence before the tree begins.
const LEAF_ELEMENTS: usize = 8;

/// The sum of `count` elements as a binary tree over runs of eight, whose form depends on `count` alone.
///
/// Partial sums wait on a stack like the digits of a binary counter: two of equal weight are added at once.
fn tree_sum<T: Copy>(count: usize, zero: T, get: impl Fn(usize) -> T, add: impl Fn(T, T) -> T) -> T {
    let mut stack = [zero; usize::BITS as usize];
    let mut depth = 0;
    for (run, start) in (0..count).step_by(LEAF_ELEMENTS).enumerate() {
        let mut sum = get(start);
        for place in start + 1..count.min(start + LEAF_ELEMENTS) {
            sum = add(sum, get(place));
        }
        for _ in 0..(run + 1).trailing_zeros() {
            depth -= 1;
            sum = add(stack[depth], sum);
        }
        stack[depth] = sum;
        depth += 1;
    }
    if depth == 0 {
        return zero;
    }
    let mut sum = stack[depth - 1];
    for waiting in stack[..depth - 1].iter().rev() {
        sum = add(*waiting, sum);
    }
    sum
}

/// Source offsets of every index over some axes, in row-major order.
fn offsets(shape: &[usize], strides: &[usize], axes: &[usize]) -> Vec<usize> {
    let mut offsets = vec![0_usize];
    for axis in axes {
        let steps = (0..shape[*axis]).map(|place| place * strides[*axis]);
        let steps: Vec<usize> = steps.collect();
        offsets = offsets.iter().flat_map(|offset| steps.iter().map(move |step| offset + step)).collect();
    }
    offsets
}

/// Fills each element of the result by `reduce`, which is given how many elements there are and a way to get each.
fn reduce<T: Element>(
    call: &KernelCall<'_>,
    out: &mut Tensor,
    reduce: impl Fn(usize, &dyn Fn(usize) -> T::Repr) -> T::Repr,
) -> Outcome {
    let shape = call.operands[0].shape();
    let strides = row_major_strides(shape);
    let reduced: Vec<usize> = match call.attributes {
        Attributes::Axes(axes) => {
            let mut axes: Vec<usize> = axes.iter().map(|axis| usize::from(*axis)).collect();
            axes.sort_unstable();
            axes
        }
        _ => Vec::new(),
    };
    let kept: Vec<usize> = (0..shape.len()).filter(|axis| !reduced.contains(axis)).collect();
    let inner = offsets(shape, &strides, &reduced);
    let x = call.operands[0].elements::<T>()?;
    let out = out.elements_mut::<T>()?;
    if inner.is_empty() {
        out.fill(reduce(0, &|_| out_of_nothing()));
        return Ok(());
    }
    for (out, start) in out.iter_mut().zip(offsets(shape, &strides, &kept)) {
        *out = reduce(inner.len(), &|place| x[start + inner[place]]);
    }
    Ok(())
}

/// What a reduction over nothing never asks for.
fn out_of_nothing<R: bytemuck::Zeroable>() -> R {
    R::zeroed()
}

/// The sum over axes.
pub fn sum(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    match out.dtype() {
        DType::F32 => reduce::<f32>(call, out, |count, get| tree_sum(count, 0.0, get, |x, y| x + y)),
        DType::F64 => reduce::<f64>(call, out, |count, get| tree_sum(count, 0.0, get, |x, y| x + y)),
        DType::I32 => reduce::<i32>(call, out, |count, get| tree_sum(count, 0, get, i32::wrapping_add)),
        held @ DType::Bool => Err(wrong_dtype(held, DType::F64)),
    }
}

/// The greatest element over axes, NaN where one is.
pub fn max(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    let is_empty = call.operands[0].is_empty() && !out.is_empty();
    if is_empty {
        return Err(RunError::EmptyMaximum);
    }
    fn greatest<T: Copy>(count: usize, get: &dyn Fn(usize) -> T, or: impl Fn(T, T) -> T) -> T {
        (1..count).fold(get(0), |greatest, place| or(greatest, get(place)))
    }
    match out.dtype() {
        DType::F32 => {
            reduce::<f32>(call, out, |n, get| greatest(n, get, |x, y| if x > y || x.is_nan() { x } else { y }))
        }
        DType::F64 => {
            reduce::<f64>(call, out, |n, get| greatest(n, get, |x, y| if x > y || x.is_nan() { x } else { y }))
        }
        DType::I32 => reduce::<i32>(call, out, |n, get| greatest(n, get, i32::max)),
        held @ DType::Bool => Err(wrong_dtype(held, DType::F64)),
    }
}

#[cfg(test)]
mod tests {
    use super::tree_sum;

    #[test]
    fn a_tree_sum_adds_every_element_once() {
        for count in 0..100 {
            let sum = tree_sum(count, 0_u64, |place| 1_u64 << (place % 60), |x, y| x + y);
            assert_eq!(sum, (0..count).map(|place| 1_u64 << (place % 60)).sum());
        }
    }

    #[test]
    fn a_tree_sum_loses_less_than_a_running_sum() {
        let count = 1 << 20;
        let sum = tree_sum(count, 0.0_f32, |_| 0.1, |x, y| x + y);
        assert!((f64::from(sum) - 0.1 * count as f64).abs() / (0.1 * count as f64) < 1e-6);
    }
}
