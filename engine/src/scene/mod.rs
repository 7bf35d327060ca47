//! Scenes: RON files that describe a training and need no Rust.
//!
//! *Includes* what a scene may say ([`schema`]), reading one ([`load()`]), its data, building what it describes in an engine,
//! training it ([`train()`]), showing its graphs and plans ([`inspect()`]), and the files that a training leaves.
//! *Leaves out* the command line, which only parses arguments and chooses exit codes.
//! *Invariants*: a scene that is wrong writes nothing; what a training computes depends on the scene, its data and the seed
//! alone, never on threads.

pub mod schema;

mod build;
mod check;
mod data;
mod error;
mod initial;
mod inspect;
mod load;
mod metrics;
mod parse;
mod text;
mod train;
mod write;

pub use error::SceneError;
pub use inspect::{Inspected, inspect};
pub use load::{Scene, load};
pub use metrics::{EpochMetrics, TestMetrics};
pub use text::Diagnostic;
pub use train::{Options, Trained, train};
