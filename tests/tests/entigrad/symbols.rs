//! Dims that are known only at a call.

use entigrad::prelude::*;

fn rows(count: usize) -> Tensor {
    let numbers: Vec<f64> = (0..count * 3).map(|number| number as f64).collect();
    Tensor::new(&[count, 3], &numbers).unwrap()
}

fn n_by_3() -> TensorSpec {
    TensorSpec::new(DType::F64, [Dim::from("N"), 3.into()])
}

#[test]
fn one_trace_serves_any_number_of_rows_with_an_instance_for_each() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, (Tensor, Tensor)>("f", |_, x| {
        assert_eq!(x.shape().to_string(), "[N, 3]");
        (x.mean(), (x - x.mean_over(&[0])).square().sum_over(&[0]))
    });
    engine.set_signature(f, [n_by_3()]).unwrap();
    for count in [1, 2, 5, 2] {
        let x = rows(count);
        let mean = x.to_vec::<f64>().unwrap().iter().sum::<f64>() / (3 * count) as f64;
        let (got, spread) = engine.call(f, x).unwrap();
        assert_eq!(got.item::<f64>().unwrap(), mean);
        assert_eq!(spread.shape(), [3]);
    }
    assert_eq!(engine.trace_count(f), 1);
    let concrete = engine.concrete(f, rows(1)).unwrap();
    let plans = engine.world().get::<entigrad::systems::plan::Plans>(concrete.entity).unwrap();
    assert_eq!(plans.instances.len(), 3);
}

#[test]
fn gradients_and_steps_have_symbolic_dims_too() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let w = engine.variable(model, "w", Tensor::full(&[3, 1], Scalar::F64(0.5)).unwrap()).unwrap();
    let loss = engine.function::<Tensor, Tensor>("loss", move |t, x| x.matmul(t.read(w)).square().mean());
    engine.set_signature(loss, [n_by_3()]).unwrap();
    let gradient = engine.value_and_gradient(loss).unwrap();
    let mut one_shape = Engine::new();
    for count in [2, 7] {
        let (value, gradients) = engine.call(gradient, rows(count)).unwrap();
        // The same without a signature.
        let model = one_shape.spawn_model("model");
        let w_known = one_shape.variable(model, "w", Tensor::full(&[3, 1], Scalar::F64(0.5)).unwrap()).unwrap();
        let known = one_shape.function::<Tensor, Tensor>("loss", move |t, x| x.matmul(t.read(w_known)).square().mean());
        let known = one_shape.value_and_gradient(known).unwrap();
        let (wanted, wanted_gradients) = one_shape.call(known, rows(count)).unwrap();
        assert_eq!(value, wanted);
        assert_eq!(gradients.get(w).unwrap(), wanted_gradients.get(w_known).unwrap());
    }
    assert_eq!(engine.trace_count(gradient), 1);
}

#[test]
fn dims_of_one_name_must_agree_and_the_error_names_it_and_both_values() {
    let mut engine = Engine::new();
    let f = engine.function::<(Tensor, Tensor), Tensor>("f", |_, (x, y)| x.sum_over(&[1]) + y);
    engine.set_signature(f, [n_by_3(), TensorSpec::new(DType::F64, [Dim::from("N")])]).unwrap();
    assert_eq!(engine.call(f, (rows(2), Tensor::from([1.0_f64, 2.0]))).unwrap(), Tensor::from([4.0_f64, 14.0]));
    let error = engine.call(f, (rows(2), Tensor::from([1.0_f64]))).unwrap_err().to_string();
    assert_eq!(error, "function `f` was given 2 and 1 for the dim `N`, which stands for one length");
}

#[test]
fn two_symbols_that_an_op_needs_to_agree_are_checked_at_the_call() {
    let mut engine = Engine::new();
    let f = engine.function::<(Tensor, Tensor), Tensor>("f", |_, (x, y)| (x + y).sum());
    engine.set_signature(f, ["N", "M"].map(|name| TensorSpec::new(DType::F64, [Dim::from(name)]))).unwrap();
    assert_eq!(
        engine.call(f, (Tensor::from([1.0_f64, 2.0]), Tensor::from([3.0_f64, 4.0]))).unwrap(),
        Tensor::from(10.0_f64)
    );
    let error = engine.call(f, (Tensor::from([1.0_f64, 2.0]), Tensor::from([3.0_f64]))).unwrap_err().to_string();
    assert!(error.starts_with("function `f` cannot run `broadcast` (tests/tests/entigrad/symbols.rs:"), "{error}");
    assert!(error.ends_with("M = 1 and N = 2 must agree") || error.ends_with("N = 2 and M = 1 must agree"), "{error}");
}

#[test]
fn expressions_of_symbols_are_compared_before_any_size_is_known() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("f", |_, x| {
        let (n, three) = (x.shape()[0].clone(), Dim::from(3));
        let flat = x.reshape([&n * &three]);
        assert_eq!(flat.shape().to_string(), "[3·N]");
        flat.reshape([three, n]).sum_over(&[1])
    });
    engine.set_signature(f, [n_by_3()]).unwrap();
    assert_eq!(engine.call(f, rows(2)).unwrap(), Tensor::from([1.0_f64, 5.0, 9.0]));
    let wrong = engine.function::<Tensor, Tensor>("wrong", |_, x| x.reshape([Dim::from("N"), 4.into()]));
    engine.set_signature(wrong, [n_by_3()]).unwrap();
    let error = engine.call(wrong, rows(2)).unwrap_err().to_string();
    assert!(error.contains("3·N = 6 and 4·N = 8 must agree"), "{error}");
}

#[test]
fn a_call_that_does_not_fit_prints_the_signature_and_what_was_given() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("f", |_, x| x.sum());
    engine.set_signature(f, [n_by_3()]).unwrap();
    let refused = |engine: &mut Engine, x: Tensor| engine.call(f, x).unwrap_err().to_string();
    let start = "function `f` takes (f64[N, 3]), but was given ";
    assert_eq!(refused(&mut engine, Tensor::from([1.0_f64])), format!("{start}(f64[1])"));
    assert_eq!(refused(&mut engine, Tensor::from([[1.0_f32, 2.0, 3.0]])), format!("{start}(f32[1, 3])"));
    assert_eq!(refused(&mut engine, Tensor::from([[1.0_f64, 2.0]])), format!("{start}(f64[1, 2])"));
}

#[test]
fn instances_of_a_plan_are_bounded() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("f", |_, x| x.sum());
    engine.set_signature(f, [n_by_3()]).unwrap();
    for count in 1..200 {
        engine.call(f, rows(count)).unwrap();
    }
    let concrete = engine.concrete(f, rows(1)).unwrap();
    let plans = engine.world().get::<entigrad::systems::plan::Plans>(concrete.entity).unwrap();
    assert_eq!(plans.instances.len(), entigrad::systems::plan::INSTANCE_COUNT_MAX);
}

#[test]
fn a_gradient_flows_where_a_symbol_meets_a_known_length() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let w = engine.variable(model, "w", [[1.0_f64], [2.0], [3.0]]).unwrap();
    let loss = engine.function::<Tensor, Tensor>("loss", move |t, x| x.matmul(t.read(w)).sum());
    engine.set_signature(loss, [TensorSpec::new(DType::F64, ["N", "K"].map(Dim::from))]).unwrap();
    let by_variables = engine.value_and_gradient(loss).unwrap();
    let (_, gradients) = engine.call(by_variables, rows(2)).unwrap();
    assert_eq!(gradients.get(w).unwrap(), &Tensor::from([[3.0_f64], [5.0], [7.0]]));
    let by_arguments = engine.value_and_gradient_of_arguments(loss).unwrap();
    let (_, slopes) = engine.call(by_arguments, rows(2)).unwrap();
    assert_eq!(slopes, Tensor::from([[1.0_f64, 2.0, 3.0], [1.0, 2.0, 3.0]]));
    let error = engine.call(by_arguments, Tensor::from([[1.0_f64]])).unwrap_err().to_string();
    assert!(error.contains("must agree"), "{error}");
}

#[test]
fn lengths_beyond_all_measure_are_errors() {
    let mut engine = Engine::new();
    let wide = engine.function::<Tensor, Tensor>("wide", |_, x| x.broadcast([usize::MAX, 2]));
    let long = engine.function::<Tensor, Tensor>("long", |t, _| t.iota([usize::MAX]));
    for f in [wide, long] {
        let error = engine.call(f, Tensor::from(1.0_f32)).unwrap_err().to_string();
        assert!(error.contains("has more elements than can be addressed"), "{error}");
    }
    assert_eq!(Tensor::zeros(DType::F32, &[usize::MAX, 2, 0]).unwrap().len(), 0);
}
