//! What it costs to ask ten thousand agents what they do.

use crate::network::{self, Activation};
use crate::session::{Measured, Result, Session};
use entigrad::prelude::*;
use entigrad::systems::execute::{Job, execute_repeatedly, find_roles};
use entigrad::systems::plan::instance_for;

const AGENT_COUNT: usize = 10_000;
const SIZES: [usize; 3] = [8, 32, 4];

/// 10,000 agents with a network 8-32-4 tanh each, one row each: all of them in one call, and for comparison the arithmetic alone,
/// the plan of one agent run again and again. Microseconds an agent.
pub fn crowd(session: &mut Session) -> Result<()> {
    let x = session.arrays.floats("x", &[AGENT_COUNT, 1, SIZES[0]], |_, z| z)?;
    let layers = session.arrays.layers(&[], &SIZES)?;
    let mut engine = Engine::new();
    let spawn = |_| network::spawn(&mut engine, "agent", &layers);
    let agents = (0..AGENT_COUNT).map(spawn).collect::<std::result::Result<Vec<_>, _>>()?;
    let act = engine
        .method::<Tensor, Tensor>("act", |_, agent, x| network::apply(agent, SIZES.len() - 1, Activation::Tanh, x));
    let (first_call_ms, done) = session.clock.first_call(|| Ok(engine.call_many(act, &agents, x.clone())?))?;
    let check = Some(done.to_vec::<f32>()?.into_iter().map(f64::from).sum());
    let per_agent = |microseconds: f64| microseconds / AGENT_COUNT as f64;
    let median_us = per_agent(session.clock.median_microseconds(|count| {
        for _ in 0..count {
            engine.call_many(act, &agents, x.clone())?;
        }
        Ok(())
    })?);
    let unit = "us/agent";
    session.report(&Measured { variant: "call_many", unit, first_call_ms, median_us, check, gradnorm: None });

    let row = x.rows(&[0])?.reshaped(&[1, SIZES[0]])?;
    let concrete = engine.concrete(act, (agents[0], row.clone()))?;
    let world = engine.world_mut();
    let instance = instance_for(world, concrete.entity, std::slice::from_ref(&row))?;
    let variables = find_roles(world, &instance.skeleton, &[agents[0].entity])?;
    let mut job = Job::new(instance, vec![row], variables.into());
    let median_us = session.clock.median_microseconds(|count| {
        let mut left = count;
        execute_repeatedly(engine.world_mut(), &mut job, |_, _| {
            left -= 1;
            Ok(left > 0)
        })?;
        Ok(())
    })?;
    session.report(&Measured { variant: "arithmetic", unit, first_call_ms, median_us, check: None, gradnorm: None });
    Ok(())
}
