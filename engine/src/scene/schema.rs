//! What a scene file may say. Every field is documented with its unit and its default; a field without one must be given.
//!
//! *Invariants*: plain structs and externally tagged enums; unknown names are refused everywhere; no `Option`, so that any RON
//! reader reads a scene. What serde cannot check, `check` does.

use serde::Deserialize;

/// A whole scene: supervised learning of one model on one data set.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename = "Scene")]
pub struct Settings {
    /// What every random choice depends on: the weights at the beginning and the order of the rows. Default 0.
    #[serde(default)]
    pub seed: u64,
    /// What is learnt from.
    pub data: Data,
    /// What learns.
    pub model: Model,
    /// What is made small.
    pub loss: Loss,
    /// How.
    pub train: Train,
}

/// A table of numbers and how it is used.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// A CSV file with a line of column names, as a path from the scene file.
    pub file: String,
    /// The columns that the model is given. Default: all but the target.
    #[serde(default)]
    pub inputs: Inputs,
    /// The column that the model is to predict: with `CrossEntropy` a class, a whole number from 0; with `Mse` a number.
    pub target: String,
    /// What is done with the numbers of the inputs; the target is taken as it stands. Default: nothing.
    #[serde(default)]
    pub scaling: Scaling,
    /// How many rows, the last ones, are never trained on and measure what was learnt. Default 0: no test.
    #[serde(default)]
    pub test_rows: usize,
}

/// Which columns the model is given.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Inputs {
    /// All columns but the target, in the order of the file.
    #[default]
    AllOthers,
    /// These, in this order.
    Columns(Vec<String>),
}

/// What is done with the numbers of the inputs before the model sees them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Scaling {
    /// Nothing.
    #[default]
    Unscaled,
    /// Each number is divided by this one.
    Divide(f64),
    /// Each column has the mean of its training rows taken away, and is divided by their standard deviation (the root of the
    /// mean squared difference); one that is constant there has only the mean taken away.
    Standardise,
}

/// What learns.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Model {
    /// A multilayer perceptron: x ← activation(x · w + b), layer by layer, the last one without activation. Its variables
    /// are `layers/0/w`, `layers/0/b`, `layers/1/w` and so on, f32. Weights begin uniform between ±√(6 / inputs) before a
    /// `Relu` (He et al. 2015), else between ±√(6 / (inputs + outputs)) (Glorot and Bengio 2010); biases begin at 0.
    Mlp {
        /// The width of each layer, the last one being the output: with `CrossEntropy` the number of classes, with `Mse` 1.
        layers: Vec<usize>,
        /// Between layers. Default `Relu`.
        #[serde(default)]
        activation: Activation,
    },
}

/// What stands between two layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Activation {
    /// max(x, 0).
    #[default]
    Relu,
    /// The hyperbolic tangent.
    Tanh,
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
}

/// What is made small: a mean over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Loss {
    /// -log of the probability, in nats, that the softmax of the output gives to the class.
    CrossEntropy,
    /// The squared difference of output and target, in the target's unit squared.
    Mse,
}

/// How a model is trained.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Train {
    /// What turns a gradient into a step.
    pub optimizer: Optimizer,
    /// Rows in a step; the last step of an epoch may have fewer.
    pub batch_rows: usize,
    /// How often every training row is seen, each time in another order.
    pub epochs: u32,
}

/// What turns a gradient into a step.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Optimizer {
    /// Gradient descent, with momentum.
    Sgd {
        /// The length of a step for each unit of gradient.
        learning_rate: f64,
        /// Which part of the last step is taken again, from 0 up to, not including, 1. Default 0.
        #[serde(default)]
        momentum: f64,
    },
    /// Adam (Kingma and Ba 2015).
    Adam {
        /// About how far a number moves in a step.
        learning_rate: f64,
        /// The decay of the mean of gradients, from 0 up to, not including, 1. Default 0.9.
        #[serde(default = "default_beta1")]
        beta1: f64,
        /// The decay of the mean of squared gradients, from 0 up to, not including, 1. Default 0.999.
        #[serde(default = "default_beta2")]
        beta2: f64,
        /// What is added to the root of the mean square. Default 1e-8.
        #[serde(default = "default_epsilon")]
        epsilon: f64,
    },
}

fn default_beta1() -> f64 {
    0.9
}

fn default_beta2() -> f64 {
    0.999
}

fn default_epsilon() -> f64 {
    1e-8
}
