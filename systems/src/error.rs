//! What a user can get wrong, nested by level: function -> op -> shape.
//!
//! Every message says what is, what was wanted, and where (the user's file and line).

use entigrad_components::{DType, Dim, Dims, Kind, Origin, TensorError, TensorSpec};
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
    /// A model or variable cannot be made as asked.
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

/// A reference to what is gone: promise 1 of the design, in words.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "function `{function}` cannot run: {} the {} `{path}`, which was despawned{}{}. {}",
    .reads.as_ref().map_or_else(|| "it reads".to_owned(), |inner| format!("`{inner}`, which it calls, reads")),
    kind_name(*.kind),
    .model.as_ref().map_or_else(String::new, |model| format!(" with its model `{model}`")),
    .origin.map_or_else(String::new, |origin| format!(" (captured at {origin})")),
    cure(*.kind)
)]
pub struct Stale {
    /// The function that was called.
    pub function: Arc<str>,
    /// The function whose body reads it, where that is another one.
    pub reads: Option<Arc<str>>,
    /// What died.
    pub kind: Kind,
    /// Its path.
    pub path: Arc<str>,
    /// The model that it went with.
    pub model: Option<Arc<str>>,
    /// Where it was captured.
    pub origin: Option<Origin>,
}

fn cure(kind: Kind) -> &'static str {
    match kind {
        Kind::Variable | Kind::Model => {
            "A graph function keeps no variable alive: keep the model for as long as the function is called, or write a \
             method, which takes its model as an argument"
        }
        Kind::Function | Kind::Concrete | Kind::Trainer => "Keep the function for as long as others call it",
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
    /// A called function could not be traced.
    #[error(transparent)]
    Inner(Box<Error>),
}

/// Why an op does not take its operands.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OpError {
    /// Operands of different dtypes.
    #[error("the dtypes {left} and {right} differ; cast one of them, for example with `.cast(DType::{})`", cast_name(*.left))]
    DTypes {
        /// One.
        left: DType,
        /// The other.
        right: DType,
    },
    /// A dtype that the op does not take.
    #[error("it takes {wanted}, not {given}")]
    DType {
        /// What was given.
        given: DType,
        /// What it takes, in words.
        wanted: &'static str,
    },
    /// Shapes that do not broadcast: only a literal 1 does.
    #[error("the shapes {left} and {right} do not broadcast (equal lengths, or a literal 1)")]
    Broadcast {
        /// One.
        left: Dims,
        /// The other.
        right: Dims,
    },
    /// Shapes that must be equal.
    #[error("the shapes {left} and {right} differ")]
    Shapes {
        /// One.
        left: Dims,
        /// The other.
        right: Dims,
    },
    /// Two lengths that must be equal.
    #[error("the {what} {left} and {right} differ")]
    Lengths {
        /// Which ones.
        what: &'static str,
        /// One.
        left: Dim,
        /// The other.
        right: Dim,
    },
    /// A rank that the op does not take.
    #[error("it takes rank {wanted}, not {given}")]
    Rank {
        /// What was given.
        given: usize,
        /// What it takes, in words.
        wanted: &'static str,
    },
    /// An axis that is not there.
    #[error("there is no axis {axis} in rank {rank}")]
    Axis {
        /// The axis.
        axis: usize,
        /// The rank.
        rank: usize,
    },
    /// An axis named twice, or a permutation that is none.
    #[error("{axes:?} does not name each axis once")]
    Permutation {
        /// What was given.
        axes: Vec<u8>,
    },
    /// Another number of elements.
    #[error("{from} elements do not fill {into}")]
    Reshape {
        /// How many there are.
        from: Dim,
        /// What they should fill.
        into: Dims,
    },
    /// An axis without elements has no greatest one.
    #[error("there is no element to take the maximum of")]
    Empty,
    /// Another number of operands, or attributes of another form: a fault in a row or a rule.
    #[error("the op was emitted wrongly: {0}")]
    Malformed(&'static str),
}

fn cast_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "F32",
        DType::F64 => "F64",
        DType::I32 => "I32",
        DType::Bool => "Bool",
    }
}

/// Why an op failed while it ran.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// An index beyond its axis.
    #[error("index {index} at position {position} is out of range for axis {axis} of length {length}")]
    IndexOutOfRange {
        /// The index.
        index: i64,
        /// Which one it is, in row-major order.
        position: usize,
        /// The axis it indexes.
        axis: usize,
        /// That axis's length.
        length: usize,
    },
    /// An integer divided by zero.
    #[error("integer division by zero at position {position}")]
    IntegerDivision {
        /// Which element, in row-major order.
        position: usize,
    },
    /// An axis without elements has no greatest one.
    #[error("there is no element to take the maximum of")]
    EmptyMaximum,
    /// A kernel was given what its row should have refused.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

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
    /// A rule whose ops were refused.
    #[error(transparent)]
    Rule(Box<TraceError>),
}

/// Prints the first of some errors, and how many more there are.
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

/// Names in backticks, or that there are none.
pub fn name_list(names: &[Arc<str>]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
