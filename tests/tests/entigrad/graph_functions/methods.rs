//! Methods: functions of a model.

use entigrad::prelude::*;

/// M1
#[test]
fn a_method_reads_roles_and_one_that_is_missing_names_model_path_and_what_there_is() {
    let mut engine = Engine::new();
    let model = super::two_layers(&mut engine, 4);
    let forward = super::forward(&mut engine);
    assert!(engine.call(forward, (model, super::rows())).unwrap().item::<f32>().unwrap().is_finite());
    let wrong = engine.method::<Tensor, Tensor>("wrong", |_, model, x| x * model.read("layers/2/w"));
    let error = engine.call(wrong, (model, super::rows())).unwrap_err().to_string();
    let wanted = "function `wrong` cannot be traced: the model `brain` has no variable `layers/2/w`; it has `layers/0/b`, \
                  `layers/0/w`, `layers/1/b`, `layers/1/w` (";
    assert!(error.starts_with(wanted), "{error}");
    assert!(error.contains("methods.rs:"), "{error}");
}

/// M2
#[test]
fn two_models_with_other_shapes_are_a_trace_each() {
    let mut engine = Engine::new();
    let forward = super::forward(&mut engine);
    let (narrow, wide) = (super::two_layers(&mut engine, 4), super::two_layers(&mut engine, 8));
    for model in [narrow, wide, narrow] {
        engine.call(forward, (model, super::rows())).unwrap();
    }
    assert_eq!(engine.trace_count(forward), 2);
}

/// M5
#[test]
fn a_variable_changed_in_place_is_seen_without_a_new_trace() {
    let mut engine = Engine::new();
    let forward = super::forward(&mut engine);
    let model = super::two_layers(&mut engine, 4);
    let before = engine.call(forward, (model, super::rows())).unwrap();
    let bias = engine.find_variable(model, "layers/1/b").unwrap();
    engine.set_value(bias, Tensor::from([1.0_f32, 2.0])).unwrap();
    let after = engine.call(forward, (model, super::rows())).unwrap();
    let grown = after.item::<f32>().unwrap() - before.item::<f32>().unwrap();
    assert!((grown - 6.0).abs() < 1e-5, "two rows, each 1 + 2 more: {grown}");
    assert_eq!(engine.trace_count(forward), 1);
}

#[test]
fn a_variable_made_again_under_its_name_is_found_by_role() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let w = engine.variable(model, "w", 2.0_f32).unwrap();
    let double = engine.method::<Tensor, Tensor>("times", |_, model, x| x * model.read("w"));
    let three = Tensor::from(3.0_f32);
    assert_eq!(engine.call(double, (model, three.clone())).unwrap(), Tensor::from(6.0_f32));
    engine.despawn(w);
    let error = engine.call(double, (model, three.clone())).unwrap_err().to_string();
    assert!(error.contains("the model `model` has no variable `w`; it has none"), "{error}");
    engine.variable(model, "w", 5.0_f32).unwrap();
    assert_eq!(engine.call(double, (model, three)).unwrap(), Tensor::from(15.0_f32));
}

#[test]
fn the_same_model_twice_and_two_models_are_two_patterns() {
    let mut engine = Engine::new();
    let models = [1.0_f64, 10.0].map(|value| {
        let model = engine.spawn_model("model");
        engine.variable(model, "w", value).unwrap();
        model
    });
    let move_over = engine.function::<(ModelId, ModelId), Tensor>("move", |_, (from, to)| {
        to.assign("w", to.read("w") + from.read("w"));
        from.read("w")
    });
    let [a, b] = models;
    assert_eq!(engine.call(move_over, (a, b)).unwrap(), Tensor::from(1.0_f64));
    assert_eq!(engine.call(move_over, (a, a)).unwrap(), Tensor::from(2.0_f64));
    assert_eq!(engine.call(move_over, (b, a)).unwrap(), Tensor::from(11.0_f64));
    let values = models.map(|model| engine.find_variable(model, "w").and_then(|w| engine.value(w)).unwrap());
    assert_eq!(values, [13.0_f64, 11.0].map(Tensor::from));
    assert_eq!(engine.trace_count(move_over), 2);
}

#[test]
fn a_method_inside_a_function_works_on_the_models_it_is_given() {
    let mut engine = Engine::new();
    let times = engine.method::<Tensor, Tensor>("times", |_, model, x| x * model.read("w"));
    let both = engine.function::<(ModelId, ModelId, Tensor), Tensor>("both", move |t, (first, second, x)| {
        let inner = t.call(times, (second, x));
        t.call(times, (first, inner)) + t.call(times, (second, x))
    });
    let [a, b] = [2.0_f64, 5.0].map(|value| {
        let model = engine.spawn_model("model");
        engine.variable(model, "w", value).unwrap();
        model
    });
    let gradient = engine.value_and_gradient(both).unwrap();
    let (value, gradients) = engine.call(gradient, (a, b, Tensor::from(3.0_f64))).unwrap();
    // a·b·x + b·x
    assert_eq!(value, Tensor::from(45.0_f64));
    let [in_a, in_b] = [a, b].map(|model| engine.find_variable(model, "w").unwrap());
    assert_eq!(gradients.get(in_a).unwrap(), &Tensor::from(15.0_f64));
    assert_eq!(gradients.get(in_b).unwrap(), &Tensor::from(9.0_f64));
    assert_eq!(engine.trace_count(times), 1);
}

#[test]
fn an_inner_function_that_returns_its_model_returns_the_outer_one() {
    let mut engine = Engine::new();
    let pass =
        engine.function::<(ModelId, Tensor), (ModelId, Tensor)>("pass", |_, (model, x)| (model, x * model.read("w")));
    let slope = engine.function::<(ModelId, Tensor), Tensor>("slope", |_, (model, x)| x * x * model.read("w"));
    let slope = engine.value_and_gradient_of_arguments(slope).unwrap();
    let outer =
        engine.function::<(ModelId, ModelId, Tensor), (Tensor, Tensor)>("outer", move |t, (first, second, x)| {
            let (model, _) = t.call(pass, (second, x));
            let (_, (same, by_x)) = t.call(slope, (second, x));
            (model.read("w") * 10.0 + first.read("w"), by_x + same.read("w"))
        });
    let [a, b] = [2.0_f64, 5.0].map(|value| {
        let model = engine.spawn_model("model");
        engine.variable(model, "w", value).unwrap();
        model
    });
    // 10·5 + 2, and 2·3·5 + 5.
    let wanted = (Tensor::from(52.0_f64), Tensor::from(35.0_f64));
    assert_eq!(engine.call(outer, (a, b, Tensor::from(3.0_f64))).unwrap(), wanted);
}

#[test]
fn the_gradient_of_a_variable_that_is_captured_and_an_argument_is_refused_not_halved() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let w = engine.variable(model, "w", 3.0_f64).unwrap();
    let f = engine.method::<(), Tensor>("f", move |t, model, ()| model.read("w") * t.read(w));
    assert_eq!(engine.call(f, (model, ())).unwrap(), Tensor::from(9.0_f64));
    let gradient = engine.value_and_gradient(f).unwrap();
    let error = engine.call(gradient, (model, ())).unwrap_err().to_string();
    let wanted = "function `gradient of f` takes the gradient of `model/w`, which reaches it in two ways: captured and through a model";
    assert_eq!(error, wanted);
    let inside = engine.method::<(), Tensor>("inside", move |t, model, ()| {
        t.call(gradient, (model, ())).1.get(w).unwrap_or(t.read(w))
    });
    let error = engine.call(inside, (model, ())).unwrap_err().to_string();
    assert!(error.starts_with("function `inside` takes the gradient of `model/w`, which reaches it"), "{error}");
    let other = engine.spawn_model("other");
    let v = engine.variable(other, "w", 5.0_f64).unwrap();
    let (_, gradients) = engine.call(gradient, (other, ())).unwrap();
    assert_eq!((gradients.get(w), gradients.get(v)), (Some(&Tensor::from(5.0_f64)), Some(&Tensor::from(3.0_f64))));
}
