//! The cases, a file a group.

mod chains;
mod crowd;
mod digits;
mod dispatch;
mod ensemble;
mod steps;

use crate::session::{Result, Session};

/// A case: prints a line for each of its variants.
pub type Case = fn(&mut Session) -> Result<()>;

/// All cases, by name.
pub const CASES: &[(&str, Case)] = &[
    ("dispatch", dispatch::dispatch),
    ("crowd", crowd::crowd),
    ("tiny_step", steps::tiny_step),
    ("small_step", steps::small_step),
    ("mid_step", steps::mid_step),
    ("big_gemm_step", steps::big_gemm_step),
    ("big_gemm_products", steps::big_gemm_products),
    ("ensemble_1000", ensemble::ensemble_1000),
    ("elementwise_chain", chains::elementwise_chain),
    ("trace_cost", chains::trace_cost),
    ("digits", digits::digits),
];
