//! Captures, nesting, implicit gradients.

use entigrad::components::FuncGraph;
use entigrad::prelude::*;

/// C1
#[test]
fn an_outside_tensor_used_many_times_is_captured_once_in_order_of_first_use() {
    let mut engine = Engine::new();
    let (first, second) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([10.0_f32, 20.0]));
    let (a, b) = (first.clone(), second.clone());
    let f = engine.function::<Tensor, Tensor>("f", move |t, x| {
        let sum = x * t.constant(b.clone()) + t.constant(a.clone());
        sum * t.constant(b.clone()) + t.constant(a.clone())
    });
    let one = Tensor::from([1.0_f32, 1.0]);
    assert_eq!(engine.call(f, one.clone()).unwrap(), Tensor::from([111.0_f32, 442.0]));
    let concrete = engine.concrete(f, one).unwrap();
    let captures = &engine.world().get::<FuncGraph>(concrete.entity).unwrap().captures;
    assert_eq!(captures.len(), 2);
    assert!(captures[0].is_same(&second) && captures[1].is_same(&first));
}

/// C2
#[test]
fn an_outside_variable_is_read_as_it_is_now_without_a_new_trace() {
    let super::Line { mut engine, w, loss, .. } = super::line();
    assert_eq!(engine.call(loss, super::data()).unwrap(), Tensor::from(0.0_f32));
    engine.set_value(w, 3.0_f32).unwrap();
    assert_eq!(engine.call(loss, super::data()).unwrap(), Tensor::from(3.5_f32));
    assert_eq!(engine.trace_count(loss), 1);
}

/// C3
#[test]
fn the_outer_function_lists_what_the_inner_reads_also_when_that_was_traced_earlier() {
    for inner_first in [false, true] {
        let super::Line { mut engine, w, b, loss, .. } = super::line();
        let outer = engine.function::<(Tensor, Tensor), Tensor>("outer", move |t, data| t.call(loss, data) * 2.0);
        if inner_first {
            engine.call(loss, super::data()).unwrap();
        }
        engine.set_value(b, 2.0_f32).unwrap();
        assert_eq!(engine.call(outer, super::data()).unwrap(), Tensor::from(2.0_f32));
        let concrete = engine.concrete(outer, super::data()).unwrap();
        let variables: Vec<VariableId> =
            engine.captured_variables(concrete).unwrap().into_iter().map(Result::unwrap).collect();
        assert_eq!(variables, [w, b]);
        assert_eq!(engine.trace_count(loss), 1);
    }
}

/// G1
#[test]
fn the_implicit_gradient_of_a_square_is_twice_the_variable_and_the_same_again() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let v = engine.variable(model, "v", 3.0_f64).unwrap();
    let square = engine.function::<(), Tensor>("square", move |t, ()| t.read(v) * t.read(v));
    let gradient = engine.value_and_gradient(square).unwrap();
    for _ in 0..2 {
        let (value, gradients) = engine.call(gradient, ()).unwrap();
        assert_eq!(value, Tensor::from(9.0_f64));
        assert_eq!(gradients.get(v).unwrap(), &Tensor::from(6.0_f64));
    }
    assert_eq!(engine.value_and_gradient(square).unwrap(), gradient);
    assert_eq!(engine.trace_count(gradient), 1);
}

#[test]
fn an_inner_effect_keeps_its_place_between_outer_reads() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let v = engine.variable(model, "v", 1.0_f64).unwrap();
    let double = engine.function::<(), ()>("double", move |t, ()| t.assign(v, t.read(v) * 2.0));
    let outer = engine.function::<(), (Tensor, Tensor, Tensor)>("outer", move |t, ()| {
        let before = t.read(v);
        t.assign(v, before + 1.0);
        t.call(double, ());
        let between = t.read(v);
        t.call(double, ());
        (before, between, t.read(v))
    });
    let [one, four, eight] = [1.0_f64, 4.0, 8.0].map(Tensor::from);
    assert_eq!(engine.call(outer, ()).unwrap(), (one, four, eight.clone()));
    assert_eq!(engine.value(v).unwrap(), eight);
}

#[test]
fn a_gradient_flows_through_inner_functions_and_their_assigns() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let v = engine.variable(model, "v", 2.0_f64).unwrap();
    let square = engine.function::<(), ()>("square", move |t, ()| t.assign(v, t.read(v) * t.read(v)));
    let fourth = engine.function::<(), Tensor>("fourth", move |t, ()| {
        t.call(square, ());
        t.call(square, ());
        t.read(v)
    });
    let gradient = engine.value_and_gradient(fourth).unwrap();
    let (value, gradients) = engine.call(gradient, ()).unwrap();
    assert_eq!((value, gradients.get(v).unwrap()), (Tensor::from(16.0_f64), &Tensor::from(32.0_f64)));
    assert_eq!(engine.value(v).unwrap(), Tensor::from(16.0_f64));
}

#[test]
fn what_the_result_does_not_depend_on_has_zeros_and_is_listed() {
    let super::Line { mut engine, w, b, .. } = super::line();
    let f = engine.function::<(), (Tensor, Tensor)>("f", move |t, ()| {
        let connected = t.read(b) * t.read(w).stop_gradient();
        let flat = t.read(b).less(0.0).cast(DType::F32);
        (connected + flat, t.read(w))
    });
    let gradient = engine.value_and_gradient(f).unwrap();
    let ((value, passed_on), gradients) = engine.call(gradient, ()).unwrap();
    assert_eq!((value, passed_on), (Tensor::from(2.0_f32), Tensor::from(2.0_f32)));
    assert_eq!(gradients.get(w).unwrap(), &Tensor::from(0.0_f32));
    assert_eq!(gradients.get_connected(w), None);
    assert_eq!(gradients.unused().collect::<Vec<_>>(), [w]);
    assert_eq!(gradients.get_connected(b).unwrap(), &Tensor::from(2.0_f32));
    // An op whose derivative is zero connects.
    let step = engine.function::<(), Tensor>("step", move |t, ()| t.read(w).less(0.0).cast(DType::F32));
    let gradient = engine.value_and_gradient(step).unwrap();
    let (_, gradients) = engine.call(gradient, ()).unwrap();
    assert_eq!(gradients.get_connected(w).unwrap(), &Tensor::from(0.0_f32));
}
