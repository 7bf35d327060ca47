//! Rows, optimisers and data sources of a user's own: they work like any other, and their faults are told as theirs.

use entigrad::prelude::*;

fn vector() -> Tensor {
    Tensor::from([1.0_f32, 2.0, 3.0])
}

#[test]
fn a_row_of_a_users_own_works_like_any_other() {
    use entigrad::systems::ops::{Derivative, Lowering, OpRow, OpTable, ROW, sample};
    use entigrad_components::Attributes;
    // x³ with a kernel of its own.
    let cube = OpRow {
        name: "cube",
        doc: "x³.",
        arity: Some(1),
        infer: |infer| {
            infer.float(0)?;
            Ok(infer.operands[0].clone())
        },
        derivative: Derivative::Rule(&[Some(|r| r.chain(r.x(0) * r.x(0) * 3.0))]),
        lowering: Lowering::Kernel(|call, out| {
            let x = call.operands[0].to_tensor()?.cast(DType::F64);
            let cubes: Vec<f64> = x.elements::<f64>()?.iter().map(|x| x * x * x).collect();
            let cubes = Tensor::new(out.shape(), &cubes)?.cast(out.dtype());
            Ok(out.copy_from(&cubes)?)
        }),
        samples: || vec![sample::sample(&[sample::floats(&[2, 3], -1.0, 1.0)])],
        ..ROW
    };
    let mut table = OpTable::default();
    let id = table.add(cube.clone()).unwrap();
    assert_eq!(entigrad_tests::sweep::sweep_row(&table, id), []);
    let mut refused = |row| table.add(row).unwrap_err().to_string();
    assert_eq!(refused(cube.clone()), "the row `cube` cannot be added: the table has a row of this name");
    let without_kernel = OpRow { name: "other", lowering: ROW.lowering, ..cube.clone() };
    assert_eq!(refused(without_kernel), "the row `other` cannot be added: it has no kernel");
    let without_rules = OpRow { name: "other", derivative: Derivative::Rule(&[]), ..cube };
    let wanted = "the row `other` cannot be added: its gradient has another number of rules than it has operands";
    assert_eq!(refused(without_rules), wanted);
    let mut engine = entigrad_tests::sweep::engine_with(&table);
    let f = engine.function::<Tensor, Tensor>("f", move |t, x| t.emit(id, &[x], Attributes::None));
    assert_eq!(engine.call(f, Tensor::from(2.0_f64)).unwrap(), Tensor::from(8.0_f64));
}

#[test]
fn a_rule_or_an_optimizer_that_panics_is_an_error() {
    use entigrad::systems::ops::{self, Derivative, OpRow, OpTable};
    let table = OpTable::default();
    let row = table.row(ops::EXP).unwrap().clone();
    let derivative = Derivative::Rule(&[Some(|r| r.x(7))]);
    let mut engine = entigrad_tests::sweep::engine_with(&table.with_replaced(ops::EXP, OpRow { derivative, ..row }));
    let f = engine.function::<Tensor, Tensor>("f", |_, x| x.exp());
    let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
    let error = engine.call(gradient, Tensor::from(1.0_f32)).unwrap_err().to_string();
    assert!(error.starts_with("function `f` has no gradient: a rule panicked: index out of bounds"), "{error}");

    struct Broken;
    impl Optimizer for Broken {
        fn name(&self) -> &'static str {
            "broken"
        }
        fn settings(&self) -> Vec<f64> {
            Vec::new()
        }
        fn check(&self) -> Result<(), Error> {
            Ok(())
        }
        fn states(&self) -> Vec<StateSpec> {
            Vec::new()
        }
        fn update<'t>(&self, update: Update<'_, 't>) -> Updated<'t> {
            Updated { value: update.states[0], states: Vec::new() }
        }
    }
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let v = engine.variable(model, "v", 1.0_f32).unwrap();
    let loss = engine.function::<(), Tensor>("loss", move |t, ()| t.read(v).square());
    let trainer = engine.train(loss, ()).with(Broken).spawn().unwrap();
    let error = engine.run(trainer, 1).unwrap_err().to_string();
    let start = "function `loss` cannot be trained: the optimizer `broken` panicked: index out of bounds";
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn an_optimizer_that_gives_what_does_not_fit_is_named() {
    /// Keeps one state, and gives as many states, and a value as large, as it is told to.
    struct Unfit(usize, bool);
    impl Optimizer for Unfit {
        fn name(&self) -> &'static str {
            "unfit"
        }
        fn settings(&self) -> Vec<f64> {
            vec![self.0 as f64]
        }
        fn check(&self) -> Result<(), Error> {
            Ok(())
        }
        fn states(&self) -> Vec<StateSpec> {
            vec![StateSpec { name: "memory", initial: 0.0, extent: StateExtent::Variable }]
        }
        fn update<'t>(&self, update: Update<'_, 't>) -> Updated<'t> {
            let value = if self.1 { update.value.sum() } else { update.value };
            Updated { value, states: vec![update.value; self.0] }
        }
    }
    let error_of = |optimizer| {
        let mut engine = Engine::new();
        let model = engine.spawn_model("model");
        let v = engine.variable(model, "v", [1.0_f32, 2.0]).unwrap();
        let loss = engine.function::<(), Tensor>("loss", move |t, ()| t.read(v).square().sum());
        let trainer = engine.train(loss, ()).with(optimizer).spawn().unwrap();
        engine.run(trainer, 1).unwrap_err().to_string()
    };
    let start = "function `loss` cannot be trained: the optimizer `unfit` ";
    assert_eq!(error_of(Unfit(0, false)), format!("{start}keeps 1 states and gave 0"));
    let wanted = format!("{start}gave what does not fit: `model/v` is f32[2] and cannot be assigned f32[]");
    assert_eq!(error_of(Unfit(1, true)), wanted);
}

#[test]
fn a_data_source_that_panics_fails_its_trainer_and_no_other() {
    struct Broken;
    impl DataSource for Broken {
        fn leaves(&mut self, step: u64) -> Result<Vec<Tensor>, Error> {
            assert!(step < 1, "the source is dry");
            Ok(vec![vector()])
        }
    }
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let v = engine.variable(model, "v", 1.0_f32).unwrap();
    let loss = engine.function::<Tensor, Tensor>("loss", move |t, x| (x * t.read(v)).square().sum());
    let broken = engine.train(loss, vector()).source(Broken).with(Sgd::new(0.001)).spawn().unwrap();
    engine.train(loss, vector()).with(Sgd::new(0.001)).spawn().unwrap();
    assert_eq!(engine.update(), UpdateReport { running: 2, failed: 0 });
    for _ in 0..2 {
        assert_eq!(engine.update(), UpdateReport { running: 1, failed: 1 });
    }
    let failures = engine.failures();
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].0, broken);
    assert_eq!(failures[0].1.to_string(), "the data source panicked at step 1: the source is dry");
}

#[test]
fn a_row_without_a_rule_says_so_and_a_rule_of_another_shape_is_found_out() {
    use entigrad::systems::ops::{self, Derivative, OpRow, OpTable};
    let error_of = |derivative| {
        let table = OpTable::default();
        let row = table.row(ops::EXP).unwrap().clone();
        let mut engine =
            entigrad_tests::sweep::engine_with(&table.with_replaced(ops::EXP, OpRow { derivative, ..row }));
        let f = engine.function::<Tensor, Tensor>("f", |_, x| x.exp().sum());
        let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
        engine.call(gradient, vector()).unwrap_err().to_string()
    };
    let wanted = "function `f` has no gradient: the gradient of `exp` is not worked out yet (";
    assert!(error_of(Derivative::NotYet).starts_with(wanted));
    let wanted = "function `f` has no gradient: the rule of `exp` gave a cotangent f32[] for an operand f32[3] (";
    assert!(error_of(Derivative::Rule(&[Some(|r| r.cotangent.sum())])).starts_with(wanted));
}

#[test]
fn a_row_of_many_operands_works_and_one_that_misuses_a_kernel_is_an_error() {
    use entigrad::systems::kernels::integer;
    use entigrad::systems::ops::{Lowering, OpRow, OpTable, ROW};
    use entigrad_components::Attributes;
    let total = OpRow {
        name: "total",
        doc: "The sum of all operands.",
        arity: None,
        infer: |infer| Ok(infer.operands[0].clone()),
        lowering: Lowering::Kernel(|call, out| {
            let mut sum = 0.0;
            for operand in call.operands {
                sum += operand.elements::<f32>()?[0];
            }
            Ok(out.copy_from(&Tensor::from(sum))?)
        }),
        ..ROW
    };
    let product = OpRow {
        name: "product",
        doc: "A product whose shape rule is wrong.",
        arity: Some(2),
        infer: |infer| Ok(infer.operands[0].clone()),
        lowering: Lowering::Kernel(integer::matmul),
        ..ROW
    };
    let mut table = OpTable::default();
    let (total, product) = (table.add(total).unwrap(), table.add(product).unwrap());
    let mut engine = entigrad_tests::sweep::engine_with(&table);
    let f = engine.function::<Tensor, Tensor>("f", move |t, x| {
        let terms: Vec<Value<'_>> = (0..20).map(|number| x + number).collect();
        t.emit(total, &terms, Attributes::None) + terms[12]
    });
    assert_eq!(engine.call(f, Tensor::from(1.0_f32)).unwrap(), Tensor::from(223.0_f32));
    let g =
        engine.function::<Tensor, Tensor>("g", move |t, x| t.emit(product, &[x, x], Attributes::Flags(false, false)));
    let error = engine.call(g, Tensor::from([[1_i32, 2, 3]])).unwrap_err().to_string();
    assert!(error.contains("the matrices of a product do not fit: its row is wrong"), "{error}");
    let error = engine.call(g, Tensor::from([1_i32, 2, 3])).unwrap_err().to_string();
    assert!(error.contains("a matrix product takes matrices: its row is wrong"), "{error}");
}

#[test]
fn a_value_of_another_trace_is_refused() {
    use entigrad::components::CacheKey;
    use entigrad::systems::graph::Graph;
    use entigrad::systems::ops::OpTable;
    use entigrad::systems::trace::TraceState;
    let table = OpTable::default();
    let state = |name: &str| TraceState::resume(&table, Graph::new(name.into(), CacheKey([].into())));
    let (ours, theirs) = (state("ours"), state("theirs"));
    let sum = ours.trace().number(1.0, DType::F32) + theirs.trace().number(2.0, DType::F32);
    assert_eq!(sum.shape().to_string(), "[]");
    let (_, errors) = ours.finish();
    let wanted = "a value traced in `theirs` was used while tracing `ours`: values end with their trace (";
    assert!(errors[0].to_string().starts_with(wanted), "{}", errors[0]);
}

#[test]
fn two_optimizers_of_one_name_and_equal_settings_stay_apart() {
    struct Ascent;
    impl Optimizer for Ascent {
        fn name(&self) -> &'static str {
            "sgd"
        }
        fn settings(&self) -> Vec<f64> {
            Sgd::new(0.1).settings()
        }
        fn check(&self) -> Result<(), Error> {
            Ok(())
        }
        fn states(&self) -> Vec<StateSpec> {
            Vec::new()
        }
        fn update<'t>(&self, update: Update<'_, 't>) -> Updated<'t> {
            Updated { value: update.value + update.gradient * 0.1, states: Vec::new() }
        }
    }
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let v = engine.variable(model, "v", 1.0_f64).unwrap();
    let loss = engine.function::<(), Tensor>("loss", move |t, ()| t.read(v).square());
    let down = engine.train(loss, ()).with(Sgd::new(0.1)).spawn().unwrap();
    engine.run(down, 1).unwrap();
    assert_eq!(engine.value(v).unwrap(), Tensor::from(0.8_f64));
    let up = engine.train(loss, ()).with(Ascent).spawn().unwrap();
    engine.run(up, 1).unwrap();
    assert_eq!(engine.value(v).unwrap(), Tensor::from(0.8_f64 + 1.6 * 0.1));
}

#[test]
fn an_optimizer_may_count_its_steps_in_state_that_all_variables_share() {
    /// value - gradient / n at step n.
    struct Decay;
    impl Optimizer for Decay {
        fn name(&self) -> &'static str {
            "decay"
        }
        fn settings(&self) -> Vec<f64> {
            Vec::new()
        }
        fn check(&self) -> Result<(), Error> {
            Ok(())
        }
        fn states(&self) -> Vec<StateSpec> {
            vec![StateSpec { name: "steps", initial: 0.0, extent: StateExtent::Shared }]
        }
        fn update<'t>(&self, update: Update<'_, 't>) -> Updated<'t> {
            let step = update.states[0] + 1.0;
            let rate = step.cast(update.value.dtype());
            Updated { value: update.value - update.gradient / rate, states: vec![step] }
        }
    }
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let w = engine.variable(model, "w", [0.0_f64; 3]).unwrap();
    engine.variable(model, "s", 0.5_f64).unwrap();
    let loss = engine.method::<Tensor, Tensor>("loss", |_, model, x| {
        (model.read("w") * x).sum() + ((x * model.read("s")).tanh().sum() * x).sin().sum()
    });
    let trainer = engine.train(loss, (model, Tensor::from([1.0_f64; 3]))).with(Decay).spawn().unwrap();
    engine.run(trainer, 4).unwrap();
    // 1 + 1/2 + 1/3 + 1/4
    let value = engine.value(w).unwrap().to_vec::<f64>().unwrap();
    assert!(value.iter().all(|value| (value + 25.0 / 12.0).abs() < 1e-15), "{value:?}");
}
