//! Texts that people write, and how what is wrong with them is shown.

mod diagnostic;
mod names;
mod outline;
mod tokens;

pub use diagnostic::Diagnostic;

pub(crate) use names::suggestion;
pub(crate) use outline::{Node, Outline};
