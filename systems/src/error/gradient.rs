//! Why something has no gradient.

use entigrad_components::{Origin, TensorSpec};

use std::sync::Arc;

use super::TraceError;

/// Why something has no gradient.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GradientError {
    /// No result.
    #[error("it returns no tensor")]
    NoOutput,
    /// Not one number.
    #[error(
        "its result is {spec}, and only a scalar has a gradient; reduce it, for example with `.sum()` or `.mean()`"
    )]
    NotScalar {
        /// The result's spec.
        spec: TensorSpec,
    },
    /// An integer or bool.
    #[error("its result is {spec}, and only floating point has a gradient")]
    NotFloat {
        /// The result's spec.
        spec: TensorSpec,
    },
    /// A row whose rule is not worked out.
    #[error("the gradient of `{op}` is not worked out yet ({origin})")]
    NotYet {
        /// The op.
        op: &'static str,
        /// Where it was written.
        origin: Origin,
    },
    /// A rule that gave a cotangent of another spec.
    #[error("the rule of `{op}` gave a cotangent {given} for an operand {wanted} ({origin})")]
    WrongCotangent {
        /// The op.
        op: &'static str,
        /// Where it was written.
        origin: Origin,
        /// What it gave.
        given: TensorSpec,
        /// The operand.
        wanted: TensorSpec,
    },
    /// A step that would change nothing.
    #[error("there is nothing to train: its result depends on no trainable variable that it reads")]
    NothingToTrain,
    /// A rule that panicked.
    #[error("a rule panicked: {message}")]
    RulePanicked {
        /// What the panic said.
        message: Arc<str>,
    },
    /// A rule whose ops were refused.
    #[error(transparent)]
    Rule(Box<TraceError>),
}
