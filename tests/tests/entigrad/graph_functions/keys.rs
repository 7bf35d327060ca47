//! Tracing and keys: what is traced again, and what is not.

use entigrad::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// S1
#[test]
fn a_side_effect_of_the_body_happens_once_for_a_key() {
    let mut engine = Engine::new();
    let log: Arc<Mutex<Vec<&str>>> = Arc::default();
    let in_body = log.clone();
    let f = engine.function::<Tensor, Tensor>("f", move |_, x| {
        in_body.lock().unwrap().push("traced");
        x * 2.0
    });
    assert_eq!(engine.call(f, Tensor::from([1.0_f32, 2.0])).unwrap(), Tensor::from([2.0_f32, 4.0]));
    assert_eq!(engine.call(f, Tensor::from([1.0_f32, 2.0])).unwrap(), Tensor::from([2.0_f32, 4.0]));
    assert_eq!(*log.lock().unwrap(), ["traced"]);
    assert_eq!(engine.trace_count(f), 1);
}

/// S2
#[test]
fn other_values_of_one_dtype_and_shape_trace_nothing() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("f", |_, x| x.exp());
    for value in [0.0_f64, 1.0, -3.0] {
        let result = engine.call(f, Tensor::from(value)).unwrap().item::<f64>().unwrap();
        assert!((result / value.exp() - 1.0).abs() < 1e-15);
    }
    assert_eq!(engine.trace_count(f), 1);
}

/// S3
#[test]
fn another_dtype_rank_or_shape_is_a_trace_each() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("f", |_, x| x + x);
    engine.call(f, Tensor::from([1.0_f32, 2.0])).unwrap();
    engine.call(f, Tensor::from([1.0_f64, 2.0])).unwrap();
    engine.call(f, Tensor::from([[1.0_f32, 2.0]])).unwrap();
    engine.call(f, Tensor::from([1.0_f32, 2.0, 3.0])).unwrap();
    engine.call(f, Tensor::from([1_i32, 2])).unwrap();
    assert_eq!(engine.trace_count(f), 5);
    assert_eq!(engine.concrete_count(f), 5);
}

/// S4
#[test]
fn shapes_that_a_joined_string_would_confuse_are_two_traces_also_through_a_nested_function() {
    let mut engine = Engine::new();
    let inner = engine.function::<Tensor, Tensor>("inner", |_, x| x.sum());
    let outer = engine.function::<Tensor, Tensor>("outer", move |t, x| t.call(inner, x));
    let (tall, wide) = (vec![vec![1.0_f32; 1]; 12], vec![vec![1.0_f32; 21]; 1]);
    assert_eq!(engine.call(outer, Tensor::try_from(tall).unwrap()).unwrap(), Tensor::from(12.0_f32));
    assert_eq!(engine.call(outer, Tensor::try_from(wide).unwrap()).unwrap(), Tensor::from(21.0_f32));
    assert_eq!((engine.trace_count(outer), engine.trace_count(inner)), (2, 2));
}

/// S5
#[test]
fn the_same_leaves_in_another_structure_are_another_trace() {
    let mut engine = Engine::new();
    type Nested = Vec<Vec<Tensor>>;
    let f = engine.function::<Nested, Tensor>("f", |t, x| {
        x.into_iter().flatten().fold(t.number(0.0, DType::F64), |sum, x| sum + x)
    });
    let [a, b, c] = [1.0_f64, 2.0, 3.0].map(Tensor::from);
    let left = vec![vec![a.clone()], vec![b.clone(), c.clone()]];
    let right = vec![vec![a, b], vec![c]];
    assert_eq!(engine.call(f, left).unwrap(), engine.call(f, right).unwrap());
    assert_eq!(engine.trace_count(f), 2);
    let with_option = engine.function::<(Option<Tensor>, Tensor), Tensor>("g", |_, (bias, x)| match bias {
        Some(bias) => x + bias,
        None => x,
    });
    let one = Tensor::from(1.0_f64);
    assert_eq!(engine.call(with_option, (None, one.clone())).unwrap(), one);
    assert_eq!(engine.call(with_option, (Some(one.clone()), one)).unwrap(), Tensor::from(2.0_f64));
    assert_eq!(engine.trace_count(with_option), 2);
}

/// S6
#[test]
fn a_spec_and_a_tensor_of_it_give_the_very_same_concrete() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("f", |_, x| x * 3.0);
    let by_tensor = engine.concrete(f, Tensor::from([1.0_f32, 2.0])).unwrap();
    let by_spec = engine.concrete_for_specs(f, [TensorSpec::new(DType::F32, [2.into()])]).unwrap();
    assert_eq!(by_tensor, by_spec);
    assert_eq!(engine.concrete(f, Tensor::from([5.0_f32, 5.0])).unwrap(), by_tensor);
    assert_eq!(
        engine.call_concrete::<Tensor, Tensor>(by_spec, Tensor::from([1.0_f32, 2.0])).unwrap(),
        Tensor::from([3.0_f32, 6.0])
    );
    assert_eq!(engine.trace_count(f), 1);
}

/// S10
#[test]
fn a_plain_entity_is_keyed_by_identity_generation_included() {
    let mut engine = Engine::new();
    let traced: Arc<Mutex<Vec<Entity>>> = Arc::default();
    let in_body = traced.clone();
    let f = engine.function::<(Entity, Tensor), Tensor>("f", move |_, (entity, x)| {
        in_body.lock().unwrap().push(entity);
        x + 1.0
    });
    let x = Tensor::from(1.0_f32);
    let (first, second) = (engine.world_mut().spawn_empty().id(), engine.world_mut().spawn_empty().id());
    for entity in [first, second, first] {
        engine.call(f, (entity, x.clone())).unwrap();
    }
    assert_eq!(*traced.lock().unwrap(), [first, second]);
    assert_eq!(engine.concrete_count(f), 2);

    // The slot of a despawned entity comes back with another generation: a key of the old one never matches.
    engine.world_mut().despawn(first);
    assert!(engine.call(f, (first, x.clone())).unwrap_err().to_string().contains("was despawned"));
    let mut reused = engine.world_mut().spawn_empty().id();
    while reused.index() != first.index() {
        engine.world_mut().despawn(reused);
        reused = engine.world_mut().spawn_empty().id();
    }
    assert_ne!(reused, first);
    engine.call(f, (reused, x)).unwrap();
    assert_eq!(*traced.lock().unwrap(), [first, second, reused]);
    assert_eq!(engine.concrete_count(f), 2, "the dead entity's entry was evicted");
}

/// S15
#[test]
fn a_trace_that_fails_leaves_nothing_behind_and_is_tried_again() {
    let mut engine = Engine::new();
    let is_broken = Arc::new(AtomicU32::new(1));
    let (in_inner, in_outer) = (is_broken.clone(), is_broken.clone());
    let inner = engine.function::<Tensor, Tensor>("inner", move |_, x| x.square());
    let outer = engine.function::<Tensor, Tensor>("outer", move |t, x| {
        let squared = t.call(inner, x);
        match in_outer.load(Ordering::Relaxed) {
            1 => squared + x.reshape([7]),
            2 => panic!("the body gives up"),
            _ => squared,
        }
    });
    let before = super::entity_count(&engine);
    let x = Tensor::from([1.0_f32, 2.0]);
    for attempt in [1, 2, 1] {
        in_inner.store(attempt, Ordering::Relaxed);
        engine.call(outer, x.clone()).unwrap_err();
        assert_eq!(super::entity_count(&engine), before);
        assert_eq!((engine.concrete_count(outer), engine.concrete_count(inner)), (0, 0));
    }
    is_broken.store(0, Ordering::Relaxed);
    assert_eq!(engine.call(outer, x).unwrap(), Tensor::from([1.0_f32, 4.0]));
}

#[test]
fn thousands_of_requests_in_one_update_for_one_key_are_one_trace() {
    let mut engine = Engine::new();
    let count = Arc::new(AtomicU32::new(0));
    let (in_inner, inner_count) = (count.clone(), Arc::new(AtomicU32::new(0)));
    let in_body = inner_count.clone();
    let inner = engine.function::<Tensor, Tensor>("inner", move |_, x| {
        in_inner.fetch_add(1, Ordering::Relaxed);
        x.square()
    });
    let loss = engine.method::<Tensor, Tensor>("loss", move |t, model, x| {
        in_body.fetch_add(1, Ordering::Relaxed);
        t.call(inner, x * model.read("w")).sum()
    });
    for _ in 0..2000 {
        let model = engine.spawn_model("agent");
        engine.variable(model, "w", 1.0_f32).unwrap();
        engine.train(loss, (model, Tensor::from([1.0_f32, 2.0]))).with(Sgd::new(0.01)).spawn().unwrap();
    }
    assert_eq!(engine.update(), UpdateReport { running: 2000, failed: 0 });
    assert_eq!((count.load(Ordering::Relaxed), inner_count.load(Ordering::Relaxed)), (1, 1));
}

#[test]
fn functions_that_call_each_other_in_a_circle_are_an_error_that_names_them() {
    let mut engine = Engine::new();
    let second: Arc<Mutex<Option<Function<Tensor, Tensor>>>> = Arc::default();
    let in_first = second.clone();
    let first = engine.function::<Tensor, Tensor>("first", move |t, x| {
        let second = in_first.lock().unwrap().unwrap();
        t.call(second, x)
    });
    *second.lock().unwrap() = Some(engine.function("second", move |t, x| t.call(first, x)));
    let error = engine.call(first, Tensor::from(1.0_f32)).unwrap_err().to_string();
    assert!(error.contains("functions call each other without end: first -> second -> first"), "{error}");
}

#[test]
fn functions_that_call_each_other_with_ever_new_keys_are_an_error_and_no_stack_overflow() {
    let mut engine = Engine::new();
    type Counted = Function<(usize, Tensor), Tensor>;
    let itself: Arc<Mutex<Option<Counted>>> = Arc::default();
    let in_body = itself.clone();
    let f = engine.function::<(usize, Tensor), Tensor>("f", move |t, (counter, x)| {
        let itself = in_body.lock().unwrap().unwrap();
        if counter == 0 { x } else { t.call(itself, (counter - 1, x * 2.0)) }
    });
    *itself.lock().unwrap() = Some(f);
    assert_eq!(engine.call(f, (10, Tensor::from(1.0_f32))).unwrap(), Tensor::from(1024.0_f32));
    assert_eq!(engine.trace_count(f), 11);
    let error = engine.call(f, (1_000_000, Tensor::from(1.0_f32))).unwrap_err().to_string();
    assert!(error.contains("f -> f -> f -> f -> … (121 more) -> f"), "{error}");
}

#[test]
fn functions_that_call_each_other_too_deep_are_an_error_also_when_traced_from_the_innermost() {
    let mut engine = Engine::new();
    let mut f = engine.function::<Tensor, Tensor>("innermost", |_, x| x + 1.0);
    let x = Tensor::from(0.0_f32);
    for depth in 1..=200 {
        let inner = f;
        f = engine.function::<Tensor, Tensor>("outer", move |t, x| t.call(inner, x) + 1.0);
        match engine.call(f, x.clone()) {
            Ok(value) => assert_eq!(value, Tensor::from(depth as f32 + 1.0)),
            Err(error) => {
                assert!(error.to_string().contains("functions call each other more than 128 deep"), "{error}");
                assert_eq!(depth, 129);
                return;
            }
        }
    }
    panic!("two hundred functions deep, and no error");
}

#[test]
fn a_derivation_that_fails_leaves_its_source_whole() {
    let super::Line { mut engine, loss, w, b, .. } = super::line();
    let vector = engine.function::<(Tensor, Tensor), Tensor>("vector", move |t, (x, y)| t.call(loss, (x, y)) + x);
    let gradient = engine.value_and_gradient(vector).unwrap();
    engine.call(gradient, super::data()).unwrap_err();
    assert_eq!((engine.concrete_count(vector), engine.concrete_count(gradient)), (1, 0));
    let concrete = engine.concrete(vector, super::data()).unwrap();
    let listed: Vec<VariableId> =
        engine.captured_variables(concrete).unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(listed, [w, b]);
    assert!(engine.call_concrete::<(Tensor, Tensor), Tensor>(concrete, super::data()).is_ok());
}
