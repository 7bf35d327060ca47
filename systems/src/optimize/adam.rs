//! Adam.

use super::{Optimizer, StateExtent, StateSpec, Update, Updated, check_setting};
use crate::error::Error;

/// Adam (Kingma and Ba 2015, algorithm 1): m ← β₁m + (1-β₁)g, v ← β₂v + (1-β₂)g²,
/// x ← x - η · m/(1-β₁ᵗ) / (√(v/(1-β₂ᵗ)) + ε). t counts the steps of the trainer: a variable that joins later begins with
/// its powers, as in Optax, so its first steps are smaller than at the start.
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
        let like_variable = |name| StateSpec { name, initial: 0.0, extent: StateExtent::Variable };
        // The powers of β are kept as running products in f64, which no variable's own precision blurs.
        let power = |name| StateSpec { name, initial: 1.0, extent: StateExtent::Shared };
        vec![like_variable("mean"), like_variable("mean_square"), power("beta1_power"), power("beta2_power")]
    }

    /// With both corrections of bias taken out of the loop over elements, as the paper's section 2 says:
    /// x ← x - ηₜ · m/(√v · cₜ + ε), ηₜ = η/(1-β₁ᵗ), cₜ = 1/√(1-β₂ᵗ).
    fn update<'t>(&self, update: Update<'_, 't>) -> Updated<'t> {
        let Update { value, gradient, states } = update;
        let (beta1_power, beta2_power) = (states[2] * self.beta1, states[3] * self.beta2);
        let mean = states[0] * self.beta1 + gradient * (1.0 - self.beta1);
        let mean_square = states[1] * self.beta2 + gradient.square() * (1.0 - self.beta2);
        let rate = (self.learning_rate / (1.0 - beta1_power)).cast(value.dtype());
        let root_scale = (1.0 / (1.0 - beta2_power).sqrt()).cast(value.dtype());
        let step = mean / (mean_square.sqrt() * root_scale + self.epsilon);
        Updated { value: value - step * rate, states: vec![mean, mean_square, beta1_power, beta2_power] }
    }
}
