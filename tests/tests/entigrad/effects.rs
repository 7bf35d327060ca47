//! Effects: assigns happen in program order, and what happened before a failure stays.

use entigrad::prelude::*;

fn counter() -> (Engine, VariableId) {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let v = engine.non_trainable_variable(model, "v", 1.0_f64).unwrap();
    (engine, v)
}

#[test]
fn assigns_and_reads_of_one_variable_keep_their_order() {
    let (mut engine, v) = counter();
    let f = engine.function::<(), Tensor>("f", move |t, ()| {
        t.assign(v, t.read(v) + 1.0);
        t.assign(v, t.read(v) * 2.0);
        t.read(v)
    });
    assert_eq!(engine.call(f, ()).unwrap(), Tensor::from(4.0_f64));
    assert_eq!(engine.call(f, ()).unwrap(), Tensor::from(10.0_f64));
    assert_eq!(engine.value(v).unwrap(), Tensor::from(10.0_f64));
}

#[test]
fn a_value_read_before_an_assign_keeps_what_it_read() {
    let (mut engine, v) = counter();
    let f = engine.function::<Tensor, Tensor>("f", move |t, x| {
        let before = t.read(v);
        t.assign(v, x);
        before
    });
    assert_eq!(engine.call(f, Tensor::from(7.0_f64)).unwrap(), Tensor::from(1.0_f64));
    assert_eq!(engine.call(f, Tensor::from(8.0_f64)).unwrap(), Tensor::from(7.0_f64));
}

#[test]
fn effects_before_a_failure_stay_and_none_after_it_happen() {
    let (mut engine, v) = counter();
    let f = engine.function::<(Tensor, Tensor), Tensor>("f", move |t, (x, places)| {
        t.assign(v, t.read(v) + 1.0);
        let picked = x.gather(places, 0).sum();
        t.assign(v, t.read(v) + picked);
        t.assign(v, t.read(v) + 100.0);
        t.read(v)
    });
    let x = Tensor::from([10.0_f64, 20.0]);
    let error = engine.call(f, (x.clone(), Tensor::from([2_i32]))).unwrap_err().to_string();
    assert!(error.contains("index 2 at position 0 is out of range for axis 0 of length 2"), "{error}");
    assert_eq!(engine.value(v).unwrap(), Tensor::from(2.0_f64));
    assert_eq!(engine.call(f, (x, Tensor::from([1_i32]))).unwrap(), Tensor::from(123.0_f64));
}

#[test]
fn of_two_assigns_the_last_counts_also_where_its_value_is_there_first() {
    let (mut engine, v) = counter();
    let f = engine.function::<Tensor, Tensor>("f", move |t, x| {
        let sum = (x.sum() * 2.0).reshape([1, 1]).matmul(x.reshape([3, 1]).sum_over(&[0]).reshape([1, 1]));
        t.assign(v, sum.reshape(Dims::SCALAR));
        t.assign(v, t.number(5.0, DType::F64));
        t.read(v) + sum.sum()
    });
    assert_eq!(engine.call(f, [1.0_f64, 2.0, 3.0].into()).unwrap(), Tensor::from(77.0_f64));
    assert_eq!(engine.value(v).unwrap(), Tensor::from(5.0_f64));
}

#[test]
fn an_assign_without_any_use_happens() {
    let (mut engine, v) = counter();
    let f = engine.function::<(), ()>("f", move |t, ()| t.assign(v, t.number(5.0, DType::F64)));
    engine.call(f, ()).unwrap();
    assert_eq!(engine.value(v).unwrap(), Tensor::from(5.0_f64));
}

#[test]
fn a_value_that_the_user_holds_is_not_changed_by_later_steps() {
    let (mut engine, v) = counter();
    let f = engine.function::<(), ()>("f", move |t, ()| t.assign(v, t.read(v) * 2.0));
    let held = engine.value(v).unwrap();
    engine.call(f, ()).unwrap();
    assert_eq!((held, engine.value(v).unwrap()), (Tensor::from(1.0_f64), Tensor::from(2.0_f64)));
}

#[test]
fn a_variable_that_reaches_a_writing_function_in_two_ways_is_an_error() {
    let (mut engine, v) = counter();
    let model = engine.spawn_model("other");
    engine.variable(model, "w", 1.0_f64).unwrap();
    let f = engine.method::<(), ()>("f", move |t, model, ()| model.assign("w", t.read(v)));
    engine.call(f, (model, ())).unwrap();
    let w = engine.find_variable(model, "w").unwrap();
    let g = engine.method::<(), ()>("g", move |t, model, ()| model.assign("w", t.read(w) + 1.0));
    let error = engine.call(g, (model, ())).unwrap_err().to_string();
    assert_eq!(error, "function `g` assigns `w`, which reaches it in two ways: captured and through a model");
}

#[test]
fn what_a_panic_leaves_is_what_was_assigned_before_it() {
    use entigrad::systems::ops::{Lowering, OpRow, OpTable, ROW};
    use entigrad_components::Attributes;
    let (mut engine, v) = counter();
    let panicking = OpRow {
        name: "panicking",
        doc: "Panics.",
        arity: Some(1),
        infer: |infer| Ok(infer.operands[0].clone()),
        lowering: Lowering::Kernel(|_, _| panic!("the kernel gives up")),
        ..ROW
    };
    let mut table = OpTable::default();
    let id = table.add(panicking).unwrap();
    engine.world_mut().insert_resource(table);
    let f = engine.function::<(), Tensor>("f", move |t, ()| {
        t.assign(v, t.read(v) + 1.0);
        t.emit(id, &[t.read(v)], Attributes::None)
    });
    let error = engine.call(f, ()).unwrap_err().to_string();
    assert!(error.contains("function `f` broke while it ran: the kernel gives up"), "{error}");
    assert_eq!(engine.value(v).unwrap(), Tensor::from(2.0_f64));
}

/// Variables of these values in a model of their own.
fn variables<const COUNT: usize>(engine: &mut Engine, values: [Tensor; COUNT]) -> [VariableId; COUNT] {
    let model = engine.spawn_model("model");
    let mut names = ["a", "b", "c", "d"].into_iter();
    values.map(|value| engine.variable(model, names.next().unwrap(), value).unwrap())
}

#[test]
fn new_values_that_read_each_other_see_what_was_computed() {
    let mut engine = Engine::new();
    // One reads the other transposed.
    let zeros = || Tensor::zeros(DType::F32, &[2, 2]).unwrap();
    let [p, q] = variables(&mut engine, [zeros(), zeros()]);
    let symmetric = engine.function::<Tensor, ()>("symmetric", move |t, x| {
        let doubled = x * 2.0;
        t.assign(p, doubled);
        t.assign(q, (doubled + doubled.transpose(&[1, 0])) * 0.5);
    });
    engine.call(symmetric, Tensor::from([[1.0_f32, 2.0], [4.0, 8.0]])).unwrap();
    assert_eq!(engine.value(p).unwrap(), Tensor::from([[2.0_f32, 4.0], [8.0, 16.0]]));
    assert_eq!(engine.value(q).unwrap(), Tensor::from([[2.0_f32, 6.0], [6.0, 16.0]]));
    // A number is spread over one of another length, and others of its length come later.
    let [c, v, s] = variables(&mut engine, [Tensor::from(0.0_f64), Tensor::from([0.0_f64; 2]), Tensor::from(0.0_f64)]);
    let spread = engine.function::<Tensor, ()>("spread", move |t, x| {
        let next = t.read(c) + 1.0;
        t.assign(c, next);
        t.assign(v, x * next);
        let sum = (0..3).fold(x.sum(), |sum, _| (x * sum * 0.001).sum());
        t.assign(s, sum);
    });
    for round in 1..4 {
        engine.call(spread, Tensor::from([2.0_f64, 4.0])).unwrap();
        assert_eq!(engine.value(c).unwrap(), Tensor::from(f64::from(round)));
        assert_eq!(engine.value(v).unwrap(), Tensor::from([2.0 * f64::from(round), 4.0 * f64::from(round)]));
    }
}

#[test]
fn the_last_assign_of_a_variable_wins_whatever_was_computed_first() {
    let mut engine = Engine::new();
    let [v, w] = variables(&mut engine, [Tensor::from([0.0_f32; 2]), Tensor::from([7.0_f32, 8.0])]);
    let twice = engine.function::<(Tensor, bool), ()>("twice", move |t, (x, is_input)| {
        t.assign(v, x * x.sum());
        t.assign(v, if is_input { x } else { t.read(w) });
    });
    for (is_input, wanted) in [(true, [1.0_f32, 2.0]), (false, [7.0, 8.0])] {
        engine.call(twice, (Tensor::from([1.0_f32, 2.0]), is_input)).unwrap();
        assert_eq!(engine.value(v).unwrap(), Tensor::from(wanted));
    }
}

#[test]
fn what_was_assigned_before_an_op_failed_stays_also_where_it_is_a_copy() {
    let mut engine = Engine::new();
    let [c, d] = variables(&mut engine, [Tensor::from(0_i32), Tensor::from(41_i32)]);
    for (way, wanted) in [(0_i64, 7), (1, 41), (2, 5), (3, 8)] {
        engine.set_value(c, 0_i32).unwrap();
        let fails = engine.function::<Tensor, Tensor>("fails", move |t, x| {
            let value = match way {
                0 => x,
                1 => t.read(d),
                2 => t.number(5.0, DType::I32),
                _ => x + 1,
            };
            t.assign(c, value);
            x / (x - x)
        });
        engine.call(fails, Tensor::from(7_i32)).unwrap_err();
        assert_eq!(engine.value(c).unwrap(), Tensor::from(wanted), "way {way}");
        let fails_before = engine.function::<Tensor, ()>("fails_before", move |t, x| {
            let quotient = x / (x - x);
            t.assign(d, quotient);
        });
        engine.call(fails_before, Tensor::from(7_i32)).unwrap_err();
        assert_eq!(engine.value(d).unwrap(), Tensor::from(41_i32));
    }
}
