//! Adam.

use super::{Optimizer, StateSpec, Update, Updated, check_setting};
use crate::error::Error;

/// Adam (Kingma and Ba 2015, algorithm 1): m ← β₁m + (1-β₁)g, v ← β₂v + (1-β₂)g²,
/// x ← x - η · m/(1-β₁ᵗ) / (√(v/(1-β₂ᵗ)) + ε).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// η.
    pub learning_rate: f64,
    /// β₁, the decay of the mean.
    pub beta1: f64,
    /// β₂, the decay of the mean of squares.
    pub beta2: f64,
    /// ε, added to the root.
    pub epsilon: f64,
}

impl Adam {
    /// The usual settings: β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸.
    pub const fn new(learning_rate: f64) -> Self {
        Self { learning_rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

impl Optimizer for Adam {
    fn name(&self) -> &'static str {
        "adam"
    }

    fn settings(&self) -> Vec<f64> {
        vec![self.learning_rate, self.beta1, self.beta2, self.epsilon]
    }

    fn check(&self) -> Result<(), Error> {
        check_setting("adam", "learning rate", self.learning_rate, 0.0, f64::INFINITY)?;
        check_setting("adam", "beta1", self.beta1, 0.0, 1.0)?;
        check_setting("adam", "beta2", self.beta2, 0.0, 1.0)?;
        check_setting("adam", "epsilon", self.epsilon, 0.0, f64::INFINITY)
    }

    fn states(&self) -> Vec<StateSpec> {
        // The powers of β are kept as running products in f64, which no variable's own precision blurs.
        let like_variable = |name| StateSpec { name, initial: 0.0, is_scalar: false };
        let power = |name| StateSpec { name, initial: 1.0, is_scalar: true };
        vec![like_variable("mean"), like_variable("mean_square"), power("beta1_power"), power("beta2_power")]
    }

    fn update<'t>(&self, update: Update<'_, 't>) -> Updated<'t> {
        let Update { value, gradient, states } = update;
        let (beta1_power, beta2_power) = (states[2] * self.beta1, states[3] * self.beta2);
        let mean = states[0] * self.beta1 + gradient * (1.0 - self.beta1);
        let mean_square = states[1] * self.beta2 + gradient.square() * (1.0 - self.beta2);
        let unbiased_mean = mean / (1.0 - beta1_power).cast(value.dtype());
        let unbiased_square = mean_square / (1.0 - beta2_power).cast(value.dtype());
        let step = unbiased_mean / (unbiased_square.sqrt() + self.epsilon);
        Updated { value: value - step * self.learning_rate, states: vec![mean, mean_square, beta1_power, beta2_power] }
    }
}
