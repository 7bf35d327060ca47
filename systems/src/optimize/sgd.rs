//! Stochastic gradient descent, with momentum.

use super::{Optimizer, StateExtent, StateSpec, Update, Updated, check_setting};
use crate::error::Error;

/// Stochastic gradient descent: b ← μ·b + g, x ← x - η·b (Sutskever et al. 2013, in the form without dampening). Without
/// momentum it keeps no state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// η.
    pub learning_rate: f64,
    /// μ, at least 0; below 1 for the buffer to stay bounded.
    pub momentum: f64,
}

impl Sgd {
    /// Plain gradient descent.
    pub const fn new(learning_rate: f64) -> Self {
        Self { learning_rate, momentum: 0.0 }
    }

    /// The same with momentum.
    pub const fn momentum(self, momentum: f64) -> Self {
        Self { momentum, ..self }
    }
}

impl Optimizer for Sgd {
    fn name(&self) -> &'static str {
        "sgd"
    }

    fn settings(&self) -> Vec<f64> {
        vec![self.learning_rate, self.momentum]
    }

    fn check(&self) -> Result<(), Error> {
        check_setting("sgd", "learning rate", self.learning_rate, 0.0, f64::INFINITY)?;
        check_setting("sgd", "momentum", self.momentum, 0.0, f64::INFINITY)
    }

    fn states(&self) -> Vec<StateSpec> {
        let momentum = StateSpec { name: "momentum", initial: 0.0, extent: StateExtent::Variable };
        if self.momentum == 0.0 { Vec::new() } else { vec![momentum] }
    }

    fn update<'t>(&self, update: Update<'_, 't>) -> Updated<'t> {
        let Update { value, gradient, states } = update;
        let Some(buffer) = states.first() else {
            return Updated { value: value - gradient * self.learning_rate, states: Vec::new() };
        };
        let buffer = *buffer * self.momentum + gradient;
        Updated { value: value - buffer * self.learning_rate, states: vec![buffer] }
    }
}
