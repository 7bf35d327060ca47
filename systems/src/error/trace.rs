//! What a trace records.

use entigrad_components::{Origin, TensorSpec};
use std::fmt;
use std::sync::Arc;

use super::{Error, OpError, name_list};

/// One error that a trace recorded.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{cause} ({origin})")]
pub struct TraceError {
    /// Where the user wrote it.
    pub origin: Origin,
    /// What is wrong.
    pub cause: TraceCause,
}

/// What a trace can record.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TraceCause {
    /// An op does not take these operands.
    #[error("`{op}` of {}: {cause}", SpecList(.operands))]
    Op {
        /// The op.
        op: &'static str,
        /// Its operands.
        operands: Vec<TensorSpec>,
        /// Why.
        cause: OpError,
    },
    /// A variable is gone already.
    #[error("the variable `{path}` was despawned{}", .model.as_ref().map_or_else(String::new, |model| format!(" with its model `{model}`")))]
    StaleVariable {
        /// Its path, where remembered.
        path: Arc<str>,
        /// The model that it went with.
        model: Option<Arc<str>>,
    },
    /// A model has no variable of this path.
    #[error("the model `{model}` has no variable `{path}`; it has {}", name_list(.known))]
    NoRole {
        /// The model.
        model: Arc<str>,
        /// The path asked for.
        path: Arc<str>,
        /// The paths that there are.
        known: Vec<Arc<str>>,
    },
    /// An assigned value is of another spec.
    #[error("`{path}` is {wanted} and cannot be assigned {given}")]
    Assign {
        /// The variable.
        path: Arc<str>,
        /// Its spec.
        wanted: TensorSpec,
        /// The value's.
        given: TensorSpec,
    },
    /// A value of one trace was used in another.
    #[error("a value traced in `{theirs}` was used while tracing `{ours}`: values end with their trace")]
    ForeignValue {
        /// Whose value it is.
        theirs: Arc<str>,
        /// Where it was used.
        ours: Arc<str>,
    },
    /// Something was asked of a stand-in; why it is one is recorded already.
    #[error("this stands in for the result of a call that could not be traced")]
    StandIn,
    /// A called function could not be traced.
    #[error(transparent)]
    Inner(Box<Error>),
}

/// Prints specs with commas.
struct SpecList<'a>(&'a [TensorSpec]);

impl fmt::Display for SpecList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, spec) in self.0.iter().enumerate() {
            let joint = if index == 0 {
                ""
            } else if index + 1 == self.0.len() {
                " and "
            } else {
                ", "
            };
            write!(f, "{joint}{spec}")?;
        }
        Ok(())
    }
}
