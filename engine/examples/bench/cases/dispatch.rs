//! What it costs to call a function at all.

use crate::session::{Measured, Result, Session};
use entigrad::prelude::*;

/// Warm calls of a function that adds 1 to sixteen numbers, each on the result of the last. Variants are ways to call.
pub fn dispatch(session: &mut Session) -> Result<()> {
    call(session)?;
    call_into(session)
}

/// A tensor in, a tensor out.
fn call(session: &Session) -> Result<()> {
    let mut engine = Engine::new();
    let ones = || Tensor::from([1.0_f32; 16]);
    let (first_call_ms, add) = session.clock.first_call(|| {
        let add = engine.function::<Tensor, Tensor>("add", |_, x| x + 1.0);
        engine.call(add, ones())?;
        Ok(add)
    })?;
    let median_us = session.clock.median_microseconds(|count| {
        let mut x = ones();
        for _ in 0..count {
            x = engine.call(add, x)?;
        }
        Ok(())
    })?;
    report(session, "call", first_call_ms, median_us);
    Ok(())
}

/// A tensor in, and out into one that is there.
fn call_into(session: &Session) -> Result<()> {
    let mut engine = Engine::new();
    let (mut x, mut y) = (Tensor::from([1.0_f32; 16]), Tensor::default());
    let (first_call_ms, add) = session.clock.first_call(|| {
        let add = engine.function::<Tensor, Tensor>("add", |_, x| x + 1.0);
        engine.call_into(add, x.clone(), &mut y)?;
        Ok(add)
    })?;
    let median_us = session.clock.median_microseconds(|count| {
        for _ in 0..count {
            engine.call_into(add, x.clone(), &mut y)?;
            std::mem::swap(&mut x, &mut y);
        }
        Ok(())
    })?;
    report(session, "call_into", first_call_ms, median_us);
    Ok(())
}

fn report(session: &Session, variant: &'static str, first_call_ms: f64, median_us: f64) {
    let (unit, check, gradnorm) = ("us/call", None, None);
    session.report(&Measured { variant, unit, first_call_ms, median_us, check, gradnorm });
}
