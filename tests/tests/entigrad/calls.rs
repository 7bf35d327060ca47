//! The ways to call a function: again, into a result that is there, without changing the world, and for many models at once.

use entigrad::prelude::*;

fn vector(numbers: [f32; 3]) -> Tensor {
    Tensor::from(numbers)
}

/// Models with one variable `w` each: 1, 2, 3, …
fn models(engine: &mut Engine, count: usize) -> Vec<ModelId> {
    (1..=count)
        .map(|number| {
            let model = engine.spawn_model("model");
            engine.variable(model, "w", number as f32).unwrap();
            model
        })
        .collect()
}

#[test]
fn a_warm_call_sees_what_changed_since() {
    let mut engine = Engine::new();
    let models = models(&mut engine, 2);
    let scale = engine.method::<Tensor, Tensor>("scale", |_, model, x| x * model.read("w"));
    let call = |engine: &mut Engine, model: usize, x: Tensor| engine.call(scale, (models[model], x));
    for _ in 0..3 {
        assert_eq!(call(&mut engine, 0, 3.0_f32.into()).unwrap(), 3.0_f32.into());
        assert_eq!(call(&mut engine, 1, 3.0_f32.into()).unwrap(), 6.0_f32.into());
        assert_eq!(call(&mut engine, 1, vector([1.0, 2.0, 3.0])).unwrap(), vector([2.0, 4.0, 6.0]));
    }
    assert_eq!(engine.trace_count(scale), 2);
    let w = engine.find_variable(models[0], "w").unwrap();
    engine.set_value(w, 5.0_f32).unwrap();
    assert_eq!(call(&mut engine, 0, 3.0_f32.into()).unwrap(), 15.0_f32.into());
    // A model of another signature is traced anew.
    engine.variable(models[0], "v", 1.0_f32).unwrap();
    assert_eq!(call(&mut engine, 0, 3.0_f32.into()).unwrap(), 15.0_f32.into());
    assert_eq!(engine.trace_count(scale), 3);
    // An input signature means another trace, of a derived function too.
    let squares = engine.function::<Tensor, Tensor>("squares", |_, x| x.square().sum());
    let gradient = engine.value_and_gradient_of_arguments(squares).unwrap();
    engine.call(squares, vector([1.0; 3])).unwrap();
    engine.call(gradient, vector([1.0; 3])).unwrap();
    engine.set_signature(squares, [TensorSpec::new(DType::F32, [Dim::from("n")])]).unwrap();
    engine.call(squares, vector([1.0; 3])).unwrap();
    engine.call(gradient, vector([1.0; 3])).unwrap();
    assert_eq!((engine.trace_count(squares), engine.trace_count(gradient)), (2, 2));
    engine.despawn(models[1]);
    let error = call(&mut engine, 1, 3.0_f32.into()).unwrap_err().to_string();
    assert!(error.contains("the model `model`") && error.contains("despawned"), "{error}");
}

#[test]
fn a_warm_call_of_a_captured_variable_that_is_gone_says_so() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let w = engine.variable(model, "w", 2.0_f32).unwrap();
    let scale = engine.function::<Tensor, Tensor>("scale", move |t, x| x * t.read(w));
    let mut result = Tensor::default();
    for _ in 0..3 {
        engine.call_into(scale, 3.0_f32.into(), &mut result).unwrap();
        assert_eq!(engine.call_shared(scale, 3.0_f32.into()).unwrap(), result);
    }
    engine.despawn(model);
    let shared = engine.call_shared(scale, 3.0_f32.into()).unwrap_err().to_string();
    let error = engine.call(scale, 3.0_f32.into()).unwrap_err().to_string();
    assert!(error.contains("`model/w`") && error.contains("despawned"), "{error}");
    assert_eq!(shared, error);
    assert_eq!(engine.call_into(scale, 3.0_f32.into(), &mut result).unwrap_err().to_string(), error);
}

#[test]
fn a_result_that_is_there_is_written_where_it_is() {
    let mut engine = Engine::new();
    let both = engine.function::<Tensor, (Tensor, Vec<Tensor>)>("both", |_, x| (x * 2.0, vec![x + 1.0, x.sum()]));
    let x = vector([1.0, 2.0, 3.0]);
    let wanted = engine.call(both, x.clone()).unwrap();
    // What is no result of this structure is replaced.
    let mut result = (Tensor::default(), vec![Tensor::default()]);
    engine.call_into(both, x.clone(), &mut result).unwrap();
    assert_eq!(result, wanted);
    let places = [&result.0, &result.1[0], &result.1[1]].map(Tensor::storage_id);
    engine.call_into(both, vector([0.0; 3]), &mut result).unwrap();
    engine.call_into(both, x.clone(), &mut result).unwrap();
    assert_eq!(result, wanted);
    assert_eq!(places, [&result.0, &result.1[0], &result.1[1]].map(Tensor::storage_id));
    // What somebody else holds is left as it is.
    let held = result.0.clone();
    engine.call_into(both, vector([0.0; 3]), &mut result).unwrap();
    assert_eq!((&held, &result.0), (&wanted.0, &vector([0.0; 3])));
    // Another shape comes in between.
    engine.call_into(both, Tensor::from([1.0_f32]), &mut result).unwrap();
    assert_eq!(result.0, Tensor::from([2.0_f32]));
    engine.call_into(both, x, &mut result).unwrap();
    assert_eq!(result, wanted);
}

#[test]
fn gradients_are_written_where_they_are() {
    let mut engine = Engine::new();
    let models = models(&mut engine, 2);
    let loss = engine.method::<Tensor, Tensor>("loss", |_, model, x| (x * model.read("w")).sum());
    let gradient = engine.value_and_gradient(loss).unwrap();
    let mut result = (Tensor::default(), Gradients::default());
    for (model, value) in [(0, 6.0_f32), (1, 12.0), (0, 6.0)] {
        let w = engine.find_variable(models[model], "w").unwrap();
        engine.call_into(gradient, (models[model], vector([1.0, 2.0, 3.0])), &mut result).unwrap();
        assert_eq!((&result.0, result.1.get(w)), (&value.into(), Some(&6.0_f32.into())));
        assert_eq!(result.1.len(), 1);
    }
}

#[test]
fn an_error_leaves_a_result_that_can_be_used_again() {
    let mut engine = Engine::new();
    let divide = engine.function::<(Tensor, Tensor), Tensor>("divide", |_, (x, y)| x / y);
    let mut result = Tensor::default();
    engine.call_into(divide, (6_i32.into(), 3_i32.into()), &mut result).unwrap();
    engine.call_into(divide, (6_i32.into(), 0_i32.into()), &mut result).unwrap_err();
    engine.call_into(divide, (8_i32.into(), 2_i32.into()), &mut result).unwrap();
    assert_eq!(result, 4_i32.into());
}

#[test]
fn a_shared_call_makes_no_plan_and_assigns_nothing() {
    let mut engine = Engine::new();
    let models = models(&mut engine, 2);
    let scale = engine.method::<Tensor, Tensor>("scale", |_, model, x| x * model.read("w"));
    let error = engine.call_shared(scale, (models[0], 1.0_f32.into())).unwrap_err().to_string();
    assert!(error.contains("`scale` has no plan") && error.contains("call it once before"), "{error}");
    engine.call(scale, (models[0], 1.0_f32.into())).unwrap();
    // The second model was never called with.
    assert_eq!(engine.call_shared(scale, (models[1], 4.0_f32.into())).unwrap(), 8.0_f32.into());
    engine.call_shared(scale, (models[1], vector([1.0; 3]))).unwrap_err();
    let count = engine.method::<Tensor, Tensor>("count", |_, model, x| {
        let next = model.read("w") + x;
        model.assign("w", next);
        next
    });
    engine.call(count, (models[0], 1.0_f32.into())).unwrap();
    let error = engine.call_shared(count, (models[0], 1.0_f32.into())).unwrap_err().to_string();
    assert!(error.contains("`count` assigns variables"), "{error}");
    assert_eq!(engine.value(engine.find_variable(models[0], "w").unwrap()).unwrap(), 2.0_f32.into());
}

#[test]
fn many_models_give_what_each_gives() {
    let results: Vec<(Tensor, Tensor)> = [1, 2, 3, 7]
        .into_iter()
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut engine = Engine::new();
                let models = models(&mut engine, 500);
                let act = engine.method::<(Tensor, Tensor), (Tensor, Tensor)>("act", |_, model, (x, bias)| {
                    let y = (x * model.read("w") + bias).tanh();
                    (y, y.sum())
                });
                let numbers: Vec<f32> = (0..500 * 40).map(|place| (place % 97) as f32 / 50.0 - 1.0).collect();
                let x = Tensor::new(&[500, 40], &numbers).unwrap();
                let bias = Tensor::new(&[500], &numbers[..500]).unwrap();
                let (y, sums) = engine.call_many(act, &models, (x.clone(), bias.clone())).unwrap();
                for place in [0, 1, 250, 499] {
                    let row = |x: &Tensor| x.rows(&[place]).unwrap().reshaped(&x.shape()[1..]).unwrap();
                    let one = engine.call(act, (models[place], (row(&x), row(&bias)))).unwrap();
                    assert_eq!((row(&y), row(&sums)), one);
                }
                assert_eq!(engine.trace_count(act), 1);
                (y, sums)
            })
        })
        .collect();
    assert!(results.iter().all(|result| *result == results[0]));
}

#[test]
fn many_models_keep_state_of_their_own_and_share_what_is_captured() {
    let mut engine = Engine::new();
    let models = models(&mut engine, 3);
    let world = engine.spawn_model("world");
    let total = engine.variable(world, "total", 0.0_f32).unwrap();
    let count = engine.method::<Tensor, Tensor>("count", move |t, model, x| {
        let next = model.read("w") + x;
        model.assign("w", next);
        let sum = t.read(total) + next;
        t.assign(total, sum);
        sum
    });
    // One after the other: each adds to what the one before left.
    let x = vector([10.0, 20.0, 30.0]);
    assert_eq!(engine.call_many(count, &models, x.clone()).unwrap(), vector([11.0, 33.0, 66.0]));
    assert_eq!(engine.call_many(count, &models, x.clone()).unwrap(), vector([87.0, 129.0, 192.0]));
    assert_eq!(engine.value(total).unwrap(), 192.0_f32.into());
    let w = engine.find_variable(models[2], "w").unwrap();
    assert_eq!(engine.value(w).unwrap(), 63.0_f32.into());
    // What is changed in between is seen, and a model that is gone is told.
    engine.set_value(w, 0.0_f32).unwrap();
    assert_eq!(engine.call_many(count, &models, vector([0.0; 3])).unwrap(), vector([213.0, 255.0, 255.0]));
    engine.despawn(models[1]);
    let error = engine.call_many(count, &models, x).unwrap_err().to_string();
    assert!(error.contains("the model `model`") && error.contains("despawned"), "{error}");
}

#[test]
fn what_cannot_be_asked_of_many_is_told() {
    let mut engine = Engine::new();
    let models = models(&mut engine, 3);
    let scale = engine.method::<Tensor, Tensor>("scale", |_, model, x| x * model.read("w"));
    let error = |engine: &mut Engine, models: &[ModelId], x: Tensor, told: &str| {
        let error = engine.call_many(scale, models, x).unwrap_err().to_string();
        assert!(error.contains("`scale` cannot be called for many") && error.contains(told), "{error}");
    };
    error(&mut engine, &models, Tensor::from([1.0_f32, 2.0]), "there are 3 models, and an argument is f32[2]");
    error(&mut engine, &models, Tensor::from(1.0_f32), "there are 3 models, and an argument is f32[]");
    error(&mut engine, &[], Tensor::zeros(DType::F32, &[0]).unwrap(), "there are no models");
    let other = engine.spawn_model("other");
    engine.variable(other, "w", vector([1.0; 3])).unwrap();
    error(&mut engine, &[models[0], other], Tensor::from([1.0_f32, 2.0]), "the variables of `other` are others");
    // A model may be there twice, unless it is written.
    let twice = [models[1], models[1]];
    assert_eq!(engine.call_many(scale, &twice, [1.0_f32, 2.0].into()).unwrap(), [2.0_f32, 4.0].into());
    let count = engine.method::<Tensor, Tensor>("count", |_, model, x| {
        model.assign("w", x);
        x
    });
    let error = engine.call_many(count, &twice, [1.0_f32, 2.0].into()).unwrap_err().to_string();
    assert!(error.contains("a model is there twice"), "{error}");
    let gradient = engine.value_and_gradient(scale).unwrap();
    let error = engine.call_many(gradient, &models, vector([1.0; 3])).unwrap_err().to_string();
    assert!(error.contains("its result is about the model"), "{error}");
}
