//! The tester of rows: every row of an op table, at its own samples, through the whole engine.
//!
//! Each check is a property that any right row has, so a new row is tested without an edit here. The tester is tested
//! itself: it must reject rows that are wrong.

mod case;
mod checks;

use entigrad::prelude::*;
use entigrad::systems::ops::{Lowering, OpTable};
use entigrad_components::OpId;

pub use case::Case;

/// What is wrong with a row at one of its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The row.
    pub row: &'static str,
    /// Which of its samples.
    pub sample: usize,
    /// The property that does not hold, and how.
    pub what: String,
}

/// Everything that is wrong with the rows of `table`. Rows without a kernel (sources, effects, calls) have no samples: they
/// are named back, to be tested by what they do.
pub fn sweep(table: &OpTable) -> (Vec<Finding>, Vec<&'static str>) {
    let mut findings = Vec::new();
    let mut without_kernel = Vec::new();
    for (id, row) in table.rows() {
        if matches!(row.lowering, Lowering::Source | Lowering::Assign | Lowering::Inlined) {
            without_kernel.push(row.name);
            continue;
        }
        findings.extend(sweep_row(table, id));
    }
    (findings, without_kernel)
}

/// Everything that is wrong with one row.
pub fn sweep_row(table: &OpTable, id: OpId) -> Vec<Finding> {
    let Some(row) = table.row(id) else { return Vec::new() };
    let samples = (row.samples)();
    let finding = |sample, what| Finding { row: row.name, sample, what };
    if samples.is_empty() {
        return vec![finding(0, "has a kernel and no sample".to_owned())];
    }
    let mut findings = Vec::new();
    for (place, sample) in samples.iter().enumerate() {
        let case = Case::new(table, id, sample, place as u64);
        for (name, check) in checks::ALL {
            match check(&case) {
                Ok(()) => {}
                Err(what) => findings.push(finding(place, format!("{name}: {what}"))),
            }
        }
    }
    findings
}

/// The engine with another op table.
pub fn engine_with(table: &OpTable) -> Engine {
    let mut engine = Engine::new();
    engine.world_mut().insert_resource(table.clone());
    engine
}
