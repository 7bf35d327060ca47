//! What a user can get wrong, nested by level: function -> op -> shape.
//!
//! Every message says what is, what was wanted, and where (the user's file and line).

mod gradient;
mod op;
mod run;
mod stale;
mod trace;

pub use gradient::GradientError;
pub use op::OpError;
pub use run::RunError;
pub use stale::Stale;
pub use trace::{TraceCause, TraceError};

use entigrad_components::{Dim, Kind, Origin, TensorError};
use std::fmt;
use std::sync::Arc;

/// Anything that a call, a trace or a training can fail with. Its `Debug` form is its message, so that a `main` that returns
/// it prints what a person can read.
#[derive(Clone, thiserror::Error)]
pub enum Error {
    /// A tensor was made or read wrongly.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A function reads something that is gone.
    #[error(transparent)]
    Stale(#[from] Arc<Stale>),
    /// Tracing recorded errors; the first cause comes first.
    #[error("function `{function}` cannot be traced: {}", TraceErrorList(.errors))]
    Trace {
        /// The function.
        function: Arc<str>,
        /// What was recorded, in order.
        errors: Arc<[TraceError]>,
    },
    /// The body of a function panicked while it was traced.
    #[error("the body of function `{function}` panicked while it was traced: {message}")]
    BodyPanicked {
        /// The function.
        function: Arc<str>,
        /// What the panic said.
        message: Arc<str>,
    },
    /// An op failed while it ran.
    #[error("function `{function}` failed in `{op}` ({origin}): {cause}")]
    Run {
        /// The function.
        function: Arc<str>,
        /// The op.
        op: &'static str,
        /// Where it was written.
        origin: Origin,
        /// What is wrong.
        cause: RunError,
    },
    /// Arguments do not fit the input signature.
    #[error("function `{function}` takes {wanted}, but was given {given}")]
    Arguments {
        /// The function.
        function: Arc<str>,
        /// Its signature.
        wanted: String,
        /// What was given.
        given: String,
    },
    /// Two dims of one name differ.
    #[error("function `{function}` was given {first} and {second} for the dim `{symbol}`, which stands for one length")]
    SymbolConflict {
        /// The function.
        function: Arc<str>,
        /// The symbol.
        symbol: Arc<str>,
        /// Its first value.
        first: usize,
        /// Its other value.
        second: usize,
    },
    /// Lengths that an op needs to agree do not.
    #[error(
        "function `{function}` cannot run `{op}` ({origin}): {left} = {left_length} and {right} = {right_length} must agree"
    )]
    Constraint {
        /// The function.
        function: Arc<str>,
        /// The op.
        op: &'static str,
        /// Where it was written.
        origin: Origin,
        /// One length, as traced.
        left: Dim,
        /// Its value.
        left_length: Length,
        /// The other, as traced.
        right: Dim,
        /// Its value.
        right_length: Length,
    },
    /// An id of something that was despawned.
    #[error("{}", gone(*.kind, .name.as_deref()))]
    Gone {
        /// What it was.
        kind: Kind,
        /// Its name, where it is remembered.
        name: Option<Arc<str>>,
    },
    /// An id of another world.
    #[error("this {} belongs to another world: ids are only good in the world that made them", kind_name(*.kind))]
    OtherWorld {
        /// What it names.
        kind: Kind,
    },
    /// Functions call each other in a circle.
    #[error("functions call each other without end: {}", .chain.join(" -> "))]
    Cycle {
        /// Their names, outermost first.
        chain: Vec<Arc<str>>,
    },
    /// A gradient was asked of something that has none.
    #[error("function `{function}` has no gradient: {cause}")]
    Gradient {
        /// The function.
        function: Arc<str>,
        /// Why.
        cause: GradientError,
    },
    /// An optimiser's update is no update.
    #[error("function `{function}` cannot be trained: the optimizer `{optimizer}` {cause}")]
    Optimizer {
        /// The loss.
        function: Arc<str>,
        /// The optimiser.
        optimizer: &'static str,
        /// What its update did.
        cause: String,
    },
    /// Anything else that cannot be done as asked, in words.
    #[error("{0}")]
    Invalid(Arc<str>),
    /// The pass found something that our own code should have made impossible, or a kernel panicked.
    #[error("function `{function}` broke while it ran: {message} (this is a fault of the engine or of a custom op)")]
    Panicked {
        /// The function.
        function: Arc<str>,
        /// What the panic said.
        message: Arc<str>,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// A wrong request, in words.
    pub fn invalid(message: impl Into<Arc<str>>) -> Self {
        Self::Invalid(message.into())
    }

    /// An id whose entity is gone.
    pub fn gone(kind: Kind, name: Option<Arc<str>>) -> Self {
        Self::Gone { kind, name }
    }
}

/// A length at a call, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(pub Option<usize>);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(length) => write!(f, "{length}"),
            None => f.write_str("no length"),
        }
    }
}

/// How messages call a kind of entity.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Model => "model",
        Kind::Variable => "variable",
        Kind::Function => "function",
        Kind::Concrete => "concrete function",
        Kind::Trainer => "trainer",
    }
}

fn gone(kind: Kind, name: Option<&str>) -> String {
    let what = kind_name(kind);
    match (kind, name) {
        (Kind::Concrete, Some(name)) => {
            format!("this concrete of function `{name}` is gone: it was despawned with its function, or evicted")
        }
        (_, Some(name)) => format!("the {what} `{name}` was despawned"),
        (_, None) => format!("this {what} was despawned"),
    }
}

/// Prints some errors, the first cause first.
struct TraceErrorList<'a>(&'a Arc<[TraceError]>);

impl fmt::Display for TraceErrorList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.0.split_first() else { return f.write_str("no cause was recorded") };
        write!(f, "{first}")?;
        for error in rest {
            write!(f, "\n  and then: {error}")?;
        }
        Ok(())
    }
}

/// Names in backticks, or that there are none.
pub fn name_list(names: &[Arc<str>]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Specs in brackets, with commas: what a function takes or was given.
pub fn spec_list<S: fmt::Display>(specs: impl IntoIterator<Item = S>) -> String {
    let specs: Vec<String> = specs.into_iter().map(|spec| spec.to_string()).collect();
    format!("({})", specs.join(", "))
}
