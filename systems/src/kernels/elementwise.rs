//! One result an element, operands and result of one shape.

use entigrad_components::{DType, Element, Tensor};

use super::wrong_dtype;
use crate::error::RunError;
use crate::ops::KernelCall;

type Outcome = Result<(), RunError>;

fn map<T: Element, U: Element>(call: &KernelCall<'_>, out: &mut Tensor, f: impl Fn(T::Repr) -> U::Repr) -> Outcome {
    let x = call.operands[0].elements::<T>()?;
    for (out, x) in out.elements_mut::<U>()?.iter_mut().zip(x) {
        *out = f(*x);
    }
    Ok(())
}

fn zip<T: Element, U: Element>(
    call: &KernelCall<'_>,
    out: &mut Tensor,
    f: impl Fn(T::Repr, T::Repr) -> U::Repr,
) -> Outcome {
    let (x, y) = (call.operands[0].elements::<T>()?, call.operands[1].elements::<T>()?);
    for (out, (x, y)) in out.elements_mut::<U>()?.iter_mut().zip(x.iter().zip(y)) {
        *out = f(*x, *y);
    }
    Ok(())
}

/// Runs the kernel of the operands' floating point type.
fn float_map(call: &KernelCall<'_>, out: &mut Tensor, f: impl Fn(f32) -> f32, g: impl Fn(f64) -> f64) -> Outcome {
    match call.operands[0].dtype() {
        DType::F32 => map::<f32, f32>(call, out, f),
        DType::F64 => map::<f64, f64>(call, out, g),
        held @ (DType::I32 | DType::Bool) => Err(wrong_dtype(held, DType::F64)),
    }
}

/// Runs the kernel of the operands' number type.
fn number_zip(
    call: &KernelCall<'_>,
    out: &mut Tensor,
    f: impl Fn(f32, f32) -> f32,
    g: impl Fn(f64, f64) -> f64,
    h: impl Fn(i32, i32) -> i32,
) -> Outcome {
    match call.operands[0].dtype() {
        DType::F32 => zip::<f32, f32>(call, out, f),
        DType::F64 => zip::<f64, f64>(call, out, g),
        DType::I32 => zip::<i32, i32>(call, out, h),
        held @ DType::Bool => Err(wrong_dtype(held, DType::F64)),
    }
}

/// x + y.
pub fn add(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    number_zip(call, out, |x, y| x + y, |x, y| x + y, i32::wrapping_add)
}

/// x - y.
pub fn sub(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    number_zip(call, out, |x, y| x - y, |x, y| x - y, i32::wrapping_sub)
}

/// x · y.
pub fn mul(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    number_zip(call, out, |x, y| x * y, |x, y| x * y, i32::wrapping_mul)
}

/// x / y.
pub fn div(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    if call.operands[0].dtype() == DType::I32
        && let Some(position) = call.operands[1].elements::<i32>()?.iter().position(|divisor| *divisor == 0)
    {
        return Err(RunError::IntegerDivision { position });
    }
    number_zip(call, out, |x, y| x / y, |x, y| x / y, i32::wrapping_div)
}

/// -x.
pub fn neg(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    match call.operands[0].dtype() {
        DType::I32 => map::<i32, i32>(call, out, i32::wrapping_neg),
        DType::F32 | DType::F64 | DType::Bool => float_map(call, out, |x| -x, |x| -x),
    }
}

/// The greater of x and y, NaN where either is.
pub fn maximum(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    let f = |x: f32, y: f32| if x > y || x.is_nan() { x } else { y };
    let g = |x: f64, y: f64| if x > y || x.is_nan() { x } else { y };
    number_zip(call, out, f, g, i32::max)
}

/// g · d, exactly 0 where g is 0.
pub fn cotangent_mul(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    let f = |g: f32, d: f32| if g == 0.0 { 0.0 } else { g * d };
    let h = |g: f64, d: f64| if g == 0.0 { 0.0 } else { g * d };
    number_zip(call, out, f, h, i32::wrapping_mul)
}

fn compare(
    call: &KernelCall<'_>,
    out: &mut Tensor,
    f: impl Fn(f32, f32) -> bool,
    g: impl Fn(f64, f64) -> bool,
    h: impl Fn(i32, i32) -> bool,
) -> Outcome {
    match call.operands[0].dtype() {
        DType::F32 => zip::<f32, bool>(call, out, |x, y| u8::from(f(x, y))),
        DType::F64 => zip::<f64, bool>(call, out, |x, y| u8::from(g(x, y))),
        DType::I32 => zip::<i32, bool>(call, out, |x, y| u8::from(h(x, y))),
        DType::Bool => zip::<bool, bool>(call, out, |x, y| u8::from(h(i32::from(x), i32::from(y)))),
    }
}

/// Whether x = y.
pub fn equal(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    compare(call, out, |x, y| x == y, |x, y| x == y, |x, y| x == y)
}

/// Whether x < y.
pub fn less(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    compare(call, out, |x, y| x < y, |x, y| x < y, |x, y| x < y)
}

/// Whether x ≤ y.
pub fn less_equal(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    compare(call, out, |x, y| x <= y, |x, y| x <= y, |x, y| x <= y)
}

/// x where the condition holds, else y.
pub fn select(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    fn choose<T: Element>(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
        let condition = call.operands[0].elements::<bool>()?;
        let (x, y) = (call.operands[1].elements::<T>()?, call.operands[2].elements::<T>()?);
        for (out, (condition, (x, y))) in out.elements_mut::<T>()?.iter_mut().zip(condition.iter().zip(x.iter().zip(y)))
        {
            *out = if *condition != 0 { *x } else { *y };
        }
        Ok(())
    }
    match out.dtype() {
        DType::F32 => choose::<f32>(call, out),
        DType::F64 => choose::<f64>(call, out),
        DType::I32 => choose::<i32>(call, out),
        DType::Bool => choose::<bool>(call, out),
    }
}

/// x as the dtype of the result.
pub fn cast(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    let cast = call.operands[0].cast(out.dtype());
    *out = cast;
    Ok(())
}

/// x under the shape of the result.
pub fn copy(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    // Storage is shared until someone writes, so this copies nothing.
    *out = call.operands[0].reshaped(out.shape())?;
    Ok(())
}

/// eˣ.
pub fn exp(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    float_map(call, out, f32::exp, f64::exp)
}

/// ln x.
pub fn log(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    float_map(call, out, f32::ln, f64::ln)
}

/// sin x.
pub fn sin(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    float_map(call, out, f32::sin, f64::sin)
}

/// cos x.
pub fn cos(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    float_map(call, out, f32::cos, f64::cos)
}

/// tanh x.
pub fn tanh(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    float_map(call, out, f32::tanh, f64::tanh)
}

/// √x.
pub fn sqrt(call: &KernelCall<'_>, out: &mut Tensor) -> Outcome {
    float_map(call, out, f32::sqrt, f64::sqrt)
}
