//! Chains of elementwise ops: a short one on many numbers, a long one on few. Value and gradient.

use crate::session::{Measured, Result, Session};
use entigrad::prelude::*;

const ELEMENT_COUNT: usize = 10_000_000;
const OP_COUNT: usize = 1000;

/// Σ tanh(x) · exp(-x²) + sin(x) / 2 over ten million numbers.
pub fn elementwise_chain(session: &mut Session) -> Result<()> {
    let x = session.arrays.floats("x", &[ELEMENT_COUNT], |_, z| z)?;
    value_and_gradient(session, "us/eval", &x, |engine| {
        engine.function::<Tensor, Tensor>("elementwise_chain", |_, x| {
            let terms = x.tanh() * (-(x * x)).exp() + x.sin() * 0.5;
            terms.sum()
        })
    })
}

/// A thousand ops on sixteen numbers, by turns a product with a constant, a sum with one, and a sine; its first call is what
/// the case is about.
pub fn trace_cost(session: &mut Session) -> Result<()> {
    // Small enough for the gradient, a product of a thousand factors, to be a number.
    let constant = |place, z| if place % 3 == 0 { 1.0 + 0.05 * z } else { 0.01 * z };
    let constants = session.arrays.floats("c", &[OP_COUNT], constant)?.to_vec::<f32>()?;
    let x = session.arrays.floats("x", &[16], |_, z| z)?;
    value_and_gradient(session, "us/call", &x, |engine| {
        engine.function::<Tensor, Tensor>("trace_cost", move |_, x| {
            let next = |x, (place, constant): (usize, &f32)| match place % 3 {
                0 => x * *constant,
                1 => x + *constant,
                _ => Value::sin(x),
            };
            constants.iter().enumerate().fold(x, next).sum()
        })
    })
}

/// Times the value and the gradient of the function that `define` makes, at `x`.
fn value_and_gradient(
    session: &Session,
    unit: &'static str,
    x: &Tensor,
    define: impl FnOnce(&mut Engine) -> Function<Tensor, Tensor>,
) -> Result<()> {
    let mut engine = Engine::new();
    let (first_call_ms, (function, (value, gradient))) = session.clock.first_call(|| {
        let function = define(&mut engine);
        let function = engine.value_and_gradient_of_arguments(function)?;
        Ok((function, engine.call(function, x.clone())?))
    })?;
    let check = Some(f64::from(value.item::<f32>()?));
    let squares = gradient.elements::<f32>()?.iter().map(|element| f64::from(*element).powi(2));
    let gradnorm = Some(squares.sum::<f64>().sqrt());
    drop(gradient);
    let median_us = session.clock.median_microseconds(|count| {
        for _ in 0..count {
            engine.call(function, x.clone())?;
        }
        Ok(())
    })?;
    session.report(&Measured { variant: "value_and_grad", unit, first_call_ms, median_us, check, gradnorm });
    let mut result = engine.call(function, x.clone())?;
    let median_us = session.clock.median_microseconds(|count| {
        for _ in 0..count {
            engine.call_into(function, x.clone(), &mut result)?;
        }
        Ok(())
    })?;
    session.report(&Measured { variant: "call_into", unit, first_call_ms, median_us, check, gradnorm });
    Ok(())
}
