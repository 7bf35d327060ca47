//! What happens in an Entigrad world.
//!
//! *Includes* the op table ([`ops`]), tracing closures into graphs ([`trace`]), and one folder a pass, in the order in
//! which they run: [`trace`], [`gradient`], [`simplify`], [`plan`], [`execute`], [`optimize`], [`sweep`]. Each pass is a plain
//! function whose steps are *collect* (read the world in a fixed order), *compute* (rayon, over read-only or taken-out
//! data), *commit* (write back in that order); the systems in [`schedule`] are thin wrappers.
//! *Leaves out* files, RON and the terminal, which only `entigrad` knows.
//! *Invariants*: nothing depends on query or hash order; recursion is bounded by how deep functions call each other, never
//! by how deep a graph is.

pub mod call;
pub mod error;
pub mod execute;
pub mod function;
pub mod gradient;
pub mod graph;
pub mod kernels;
pub mod names;
pub mod ops;
pub mod optimize;
pub mod parallel;
pub mod plan;
pub mod query;
pub mod schedule;
pub mod simplify;
pub mod structure;
pub mod sweep;
pub mod trace;
pub mod training;

pub use error::{Error, GradientError, OpError, RunError, Stale, TraceCause, TraceError};
pub use gradient::Gradients;
pub use ops::{OpRow, OpTable};
pub use optimize::{Adam, Optimizer, Sgd};
pub use structure::Structure;
pub use trace::{Trace, TracedModel, Value};
