//! The harness of Entigrad's tests: a tester for rows of the op table, a plain interpreter, a counting allocator, random numbers.
//!
//! The tests themselves are in `tests/tests/entigrad`, one binary, a module a promise.

pub mod allocation;
pub mod interpreter;
pub mod programs;
pub mod random;
pub mod sweep;
