//! Networks of dense layers, as models with the variables `w0 b0 w1 b1 …`.

use entigrad::prelude::*;
use std::f64::consts::FRAC_2_PI;

/// What follows every layer but the last.
#[derive(Clone, Copy)]
pub enum Activation {
    /// tanh x.
    Tanh,
    /// max(x, 0).
    Relu,
    /// x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))) (Hendrycks and Gimpel 2016, its tanh form).
    Gelu,
}

impl Activation {
    fn apply(self, x: Value<'_>) -> Value<'_> {
        match self {
            Self::Tanh => x.tanh(),
            Self::Relu => x.relu(),
            Self::Gelu => x * 0.5 * (((x + x * x * x * 0.044715) * FRAC_2_PI.sqrt()).tanh() + 1.0),
        }
    }
}

/// A model with these layers.
pub fn spawn(engine: &mut Engine, name: &str, layers: &[(Tensor, Tensor)]) -> Result<ModelId, Error> {
    let model = engine.spawn_model(name);
    for (layer, (weights, biases)) in layers.iter().enumerate() {
        engine.variable(model, &format!("w{layer}"), weights.clone())?;
        engine.variable(model, &format!("b{layer}"), biases.clone())?;
    }
    Ok(model)
}

/// What a model of `layers` layers makes of the rows of `x`.
pub fn apply<'t>(model: TracedModel<'t>, layers: usize, activation: Activation, x: Value<'t>) -> Value<'t> {
    (0..layers).fold(x, |x, layer| {
        let y = x.matmul(model.read(&format!("w{layer}"))) + model.read(&format!("b{layer}"));
        if layer + 1 < layers { activation.apply(y) } else { y }
    })
}
