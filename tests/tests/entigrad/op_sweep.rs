//! Every row of the op table is right at its samples, and a wrong row is found out.

use entigrad::systems::ops::{self, Derivative, Lowering, OpRow, OpTable, Weight};
use entigrad_components::OpId;
use entigrad_tests::sweep::{sweep, sweep_row};
use std::collections::HashSet;

#[test]
fn every_row_is_right_at_its_samples() {
    let (findings, without_kernel) = sweep(&OpTable::default());
    assert!(findings.is_empty(), "{findings:#?}");
    // What has no kernel is tested by what it does, in the modules on graph functions and on effects.
    let sources = ["input", "capture", "number", "length", "read", "assign", "call", "result"];
    assert_eq!(without_kernel, sources);
}

#[test]
fn names_are_unique_and_every_row_is_documented() {
    let table = OpTable::default();
    let names: HashSet<&str> = table.rows().map(|(_, row)| row.name).collect();
    assert_eq!(names.len(), table.rows().count());
    for (id, row) in table.rows() {
        assert!(!row.doc.is_empty(), "`{}` has no doc", row.name);
        assert_eq!(table.find(row.name), Some(id));
        let Derivative::Rule(rules) = row.derivative else { continue };
        assert_eq!(Some(rules.len()), row.arity, "`{}` has a rule for each operand", row.name);
    }
}

/// A table with one row made wrong.
fn planted(id: OpId, change: impl Fn(OpRow) -> OpRow) -> OpTable {
    let table = OpTable::default();
    let row = table.row(id).expect("a built-in row").clone();
    table.with_replaced(id, change(row))
}

#[track_caller]
fn assert_found_out(id: OpId, change: impl Fn(OpRow) -> OpRow) {
    let findings = sweep_row(&planted(id, change), id);
    assert!(!findings.is_empty(), "the sweep let a wrong row pass");
}

#[test]
fn a_rule_that_drops_a_term_is_found_out() {
    let rules = Derivative::Rule(&[Some(|r| r.cotangent * r.x(1)), None]);
    assert_found_out(ops::MUL, |row| OpRow { derivative: rules, ..row });
}

#[test]
fn a_rule_with_swapped_operands_is_found_out() {
    let rules = Derivative::Rule(&[Some(|r| -r.cotangent), Some(|r| r.cotangent)]);
    assert_found_out(ops::SUB, |row| OpRow { derivative: rules, ..row });
}

#[test]
fn a_rule_that_is_off_by_a_thousandth_is_found_out() {
    let rules = Derivative::Rule(&[Some(|r| r.chain(r.output * 1.001))]);
    assert_found_out(ops::EXP, |row| OpRow { derivative: rules, ..row });
}

#[test]
fn a_rule_that_multiplies_by_a_masked_product_again_is_found_out() {
    // Right at first order, wrong at second: the rule's own derivative is cut.
    let rules = Derivative::Rule(&[Some(|r| r.chain(r.x(0).cos().stop_gradient()))]);
    assert_found_out(ops::SIN, |row| OpRow { derivative: rules, ..row });
}

#[test]
fn a_rule_that_overlooks_ties_is_found_out() {
    let rules = Derivative::Rule(&[
        Some(|r| r.x(0).less(r.x(1)).select(r.x(0).zeros_like(), r.cotangent)),
        Some(|r| r.x(1).less(r.x(0)).select(r.x(0).zeros_like(), r.cotangent)),
    ]);
    assert_found_out(ops::MAXIMUM, |row| OpRow { derivative: rules, ..row });
}

#[test]
fn a_rule_that_is_not_linear_in_the_cotangent_is_found_out() {
    let rules = Derivative::Rule(&[Some(|r| -(r.cotangent * r.cotangent))]);
    assert_found_out(ops::NEG, |row| OpRow { derivative: rules, ..row });
}

#[test]
fn a_kernel_of_another_function_is_found_out() {
    let kernel = Lowering::Elementwise(entigrad::systems::kernels::elementwise::sin, Weight::SIMPLE);
    assert_found_out(ops::COS, |row| OpRow { lowering: kernel, ..row });
}

#[test]
fn a_shape_rule_that_forgets_an_axis_is_found_out() {
    assert_found_out(ops::TRANSPOSE, |row| OpRow { infer: |infer| Ok(infer.operands[0].clone()), ..row });
}

#[test]
fn a_row_without_samples_is_found_out() {
    assert_found_out(ops::TANH, |row| OpRow { samples: Vec::new, ..row });
}

#[test]
fn a_row_that_denies_its_derivative_is_found_out() {
    assert_found_out(ops::EXP, |row| OpRow { derivative: Derivative::Zero, ..row });
    assert_found_out(ops::MATMUL, |row| OpRow { derivative: Derivative::Stop, ..row });
}

#[test]
fn a_tie_that_one_operand_takes_whole_is_found_out() {
    let rules = Derivative::Rule(&[
        Some(|r| r.x(0).less(r.x(1)).select(r.x(0).zeros_like(), r.cotangent)),
        Some(|r| r.x(0).less(r.x(1)).select(r.cotangent, r.x(0).zeros_like())),
    ]);
    assert_found_out(ops::MAXIMUM, |row| OpRow { derivative: rules, ..row });
}
