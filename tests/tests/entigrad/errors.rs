//! Errors say what is, what was wanted, and where. Their texts are pinned.

use entigrad::prelude::*;

/// The error of a body, with the place cut out.
#[track_caller]
fn refused<A: Structure>(
    arguments: A,
    body: impl for<'t> Fn(Trace<'t>, A::Traced<'t>) -> Value<'t> + Send + Sync + 'static,
) -> String {
    let mut engine = Engine::new();
    let f = engine.function::<A, Tensor>("f", body);
    without_places(&engine.call(f, arguments).unwrap_err().to_string())
}

/// `text` with every `path/errors.rs:line` made `HERE`.
fn without_places(text: &str) -> String {
    let mut words = String::new();
    for (index, part) in text.split('(').enumerate() {
        let place = part.find("errors.rs:").and_then(|_| part.find(')'));
        words.push_str(if index > 0 { "(" } else { "" });
        words.push_str(&place.map_or_else(|| part.to_owned(), |end| format!("HERE{}", &part[end..])));
    }
    words
}

fn vector() -> Tensor {
    Tensor::from([1.0_f32, 2.0, 3.0])
}

fn matrix() -> Tensor {
    Tensor::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]])
}

#[test]
fn refused_ops_name_themselves_their_operands_and_the_cure() {
    let cases = [
        (
            refused((matrix(), matrix()), |_, (x, y)| x.matmul(y)),
            "`matmul` of f32[2, 3] and f32[2, 3]: the inner lengths 3 and 2 differ",
        ),
        (
            refused((vector(), Tensor::from([1.0_f32, 2.0])), |_, (x, y)| x + y),
            "`add` of f32[3] and f32[2]: the shapes [3] and [2] do not broadcast (equal lengths, or a literal 1)",
        ),
        (
            refused((vector(), Tensor::from(1.0_f64)), |_, (x, y)| x * y),
            "`mul` of f32[3] and f64[]: the dtypes f32 and f64 differ; cast one of them, for example with `.cast(DType::F64)`",
        ),
        (refused(Tensor::from(1_i32), |_, x| x.exp()), "`exp` of i32[]: it takes f32 or f64, not i32"),
        (refused(Tensor::from(true), |_, x| x + x), "`add` of bool[] and bool[]: it takes numbers, not bool"),
        (
            refused(Tensor::from(1.0_f32), |_, x| x.matmul(x)),
            "`matmul` of f32[] and f32[]: it takes rank 2 or more (matrices), not 0",
        ),
        (refused(vector(), |_, x| x.sum_over(&[1])), "`sum` of f32[3]: there is no axis 1 in rank 1"),
        (refused(matrix(), |_, x| x.sum_over(&[0, 0])), "`sum` of f32[2, 3]: [0, 0] does not name each axis once"),
        (
            refused(matrix(), |_, x| x.transpose(&[1, 1])),
            "`transpose` of f32[2, 3]: [1, 1] does not name each axis once",
        ),
        (refused(matrix(), |_, x| x.reshape([4])), "`reshape` of f32[2, 3]: 6 elements do not fill [4]"),
        (
            refused(vector(), |_, x| x.broadcast([2])),
            "`broadcast` of f32[3]: the shapes [3] and [2] do not broadcast (equal lengths, or a literal 1)",
        ),
        (
            refused(vector(), |_, x| x.select(x, x)),
            "`select` of f32[3], f32[3] and f32[3]: it takes a bool condition, not f32",
        ),
        (
            refused(Tensor::from([1_i32]), |_, x| x * 2.5),
            "`number` of i32[1]: the host number 2.5 is no i32; cast the tensor first, for example with `.cast(DType::F32)`",
        ),
        (
            refused(vector(), |_, x| x * 1e300),
            "`number` of f32[3]: the host number 1e300 is no f32; cast the tensor first, for example with `.cast(DType::F64)`",
        ),
        (refused(vector(), |_, x| x.gather(x, 0)), "`gather` of f32[3] and f32[3]: it takes i32 indices, not f32"),
        (
            refused(Tensor::zeros(DType::F32, &[2, 0]).unwrap(), |_, x| x.max_over(&[1])),
            "`max` of f32[2, 0]: there is no element to take the maximum of",
        ),
    ];
    for (error, wanted) in cases {
        assert_eq!(error, format!("function `f` cannot be traced: {wanted} (HERE)"));
    }
}

#[test]
fn the_first_cause_comes_first_and_what_follows_from_it_is_not_told() {
    let error = refused((matrix(), vector()), |_, (x, y)| {
        let wrong = x.matmul(x);
        assert_eq!(wrong.shape().to_string(), "[2, 3]", "a refused value still has a shape");
        let follows = (wrong + y.reshape([3])).sum_over(&[7]);
        follows + y.reshape([4]).sum()
    });
    assert_eq!(
        error,
        "function `f` cannot be traced: `matmul` of f32[2, 3] and f32[2, 3]: the inner lengths 3 and 2 differ (HERE)\n  and then: \
         `reshape` of f32[3]: 3 elements do not fill [4] (HERE)"
    );
}

#[test]
fn a_composition_says_the_place_where_the_user_called_it() {
    let mut engine = Engine::new();
    let line = line!() + 1;
    let f = engine.function::<Tensor, Tensor>("f", |_, x| x.cross_entropy(x));
    let error = engine.call(f, matrix()).unwrap_err().to_string();
    assert!(error.contains(&format!("errors.rs:{line})")), "{error}");
}

#[test]
fn a_panic_in_a_body_is_an_error_and_a_recorded_error_wins_over_it() {
    let text = refused(vector(), |_, _| panic!("nobody expects this"));
    assert_eq!(text, "the body of function `f` panicked while it was traced: nobody expects this");
    let text = refused(vector(), |_, x| {
        x.reshape([4]);
        panic!("this follows")
    });
    assert_eq!(text, "function `f` cannot be traced: `reshape` of f32[3]: 3 elements do not fill [4] (HERE)");
}

#[test]
fn an_index_out_of_range_and_a_division_by_zero_are_errors_when_they_run() {
    let out_of_range =
        |places: [i32; 2]| refused((vector(), Tensor::from(places)), |_, (x, places)| x.gather(places, 0));
    let wanted = "function `f` failed in `gather` (HERE): index 3 at position 1 is out of range for axis 0 of length 3";
    assert_eq!(out_of_range([0, 3]), wanted);
    let wanted =
        "function `f` failed in `gather` (HERE): index -1 at position 0 is out of range for axis 0 of length 3";
    assert_eq!(out_of_range([-1, 0]), wanted);
    let scattered = refused((vector(), Tensor::from([7_i32])), |t, (x, places)| {
        x.scatter_add(places, t.number(1.0, DType::F32).reshape([1]), 0)
    });
    let wanted =
        "function `f` failed in `scatter_add` (HERE): index 7 at position 0 is out of range for axis 0 of length 3";
    assert_eq!(scattered, wanted);
    let divided = refused((Tensor::from([4_i32, 4]), Tensor::from([2_i32, 0])), |_, (x, y)| x / y);
    assert_eq!(divided, "function `f` failed in `div` (HERE): integer division by zero at position 1");
    let label = refused((matrix(), Tensor::from([0_i32, 3])), |_, (logits, labels)| logits.cross_entropy(labels));
    let wanted = "function `f` failed in `gather` (HERE): index 3 at position 1 is out of range for axis 1 of length 3";
    assert_eq!(label, wanted);
}

#[test]
fn assigning_another_spec_is_refused() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let v = engine.variable(model, "v", 1.0_f32).unwrap();
    let f = engine.function::<Tensor, ()>("f", move |t, x| t.assign(v, x));
    let error = without_places(&engine.call(f, vector()).unwrap_err().to_string());
    assert_eq!(error, "function `f` cannot be traced: `model/v` is f32[] and cannot be assigned f32[3] (HERE)");
    let error = engine.set_value(v, 1.0_f64).unwrap_err().to_string();
    assert_eq!(error, "the variable `v` is f32[] and cannot take f64[]");
}

#[test]
fn an_inner_function_that_cannot_be_traced_is_told_from_inside_out() {
    let mut engine = Engine::new();
    let inner = engine.function::<Tensor, Tensor>("inner", |_, x| x.reshape([4]));
    let outer = engine.function::<Tensor, Tensor>("outer", move |t, x| t.call(inner, x) + 1.0);
    let error = without_places(&engine.call(outer, vector()).unwrap_err().to_string());
    assert_eq!(
        error,
        "function `outer` cannot be traced: function `inner` cannot be traced: `reshape` of f32[3]: 3 elements do not fill [4] \
         (HERE) (HERE)"
    );
}

#[test]
fn a_call_that_fails_again_and_again_is_told_once() {
    let mut engine = Engine::new();
    let mut f = engine.function::<Tensor, Tensor>("broken", |_, x| x.reshape([4]));
    for _ in 0..10 {
        let inner = f;
        f = engine.function::<Tensor, Tensor>("outer", move |t, x| t.call(inner, x) + t.call(inner, x));
    }
    let error = engine.call(f, vector()).unwrap_err().to_string();
    assert!(error.len() < 2000, "{} bytes", error.len());
}

#[test]
fn a_stale_variable_met_while_tracing_is_told_by_its_path() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let v = engine.variable(model, "v", 1.0_f32).unwrap();
    let f = engine.function::<(), Tensor>("f", move |t, ()| t.read(v));
    engine.despawn(model);
    let error = without_places(&engine.call(f, ()).unwrap_err().to_string());
    let wanted = "function `f` cannot be traced: the variable `model/v` was despawned with its model `model` (HERE)";
    assert_eq!(error, wanted);
}

#[test]
fn a_called_function_that_was_despawned_is_told() {
    let mut engine = Engine::new();
    let inner = engine.function::<Tensor, Tensor>("inner", |_, x| x * 2.0);
    let outer = engine.function::<Tensor, Tensor>("outer", move |t, x| t.call(inner, x));
    assert_eq!(engine.call(outer, Tensor::from(2.0_f32)).unwrap(), Tensor::from(4.0_f32));
    engine.despawn(inner);
    let error = engine.call(outer, Tensor::from(2.0_f32)).unwrap_err().to_string();
    let wanted = "function `outer` cannot run: it reads the function `inner`, which was despawned. Keep the function for as long as \
                  others call it";
    assert_eq!(error, wanted.replace("it reads", "it calls"));
}

#[test]
fn gradients_of_what_has_none_are_refused() {
    let refused = |body: fn(Value<'_>) -> Value<'_>| {
        let mut engine = Engine::new();
        let f = engine.function::<Tensor, Tensor>("f", move |_, x| body(x));
        let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
        engine.call(gradient, vector()).unwrap_err().to_string()
    };
    assert_eq!(
        refused(|x| x),
        "function `f` has no gradient: its result is f32[3], and only a scalar has a gradient; reduce it, for example with `.sum()` \
         or `.mean()`"
    );
    let wanted = "function `f` has no gradient: its result is i32[], and only floating point has a gradient";
    assert_eq!(refused(|x| x.cast(DType::I32).sum()), wanted);
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, ()>("f", |_, _| ());
    let gradient = engine.value_and_gradient(f).unwrap();
    let error = engine.call(gradient, vector()).unwrap_err().to_string();
    assert_eq!(error, "function `f` has no gradient: it returns no tensor");
}

#[test]
fn ids_of_another_world_and_of_the_dead_are_told() {
    let (mut engine, mut other) = (Engine::new(), Engine::new());
    let model = engine.spawn_model("model");
    let f = engine.function::<Tensor, Tensor>("f", |_, x| x);
    let error = other.variable(model, "v", 1.0_f32).unwrap_err().to_string();
    assert_eq!(error, "this model belongs to another world: ids are only good in the world that made them");
    let error = other.call(f, vector()).unwrap_err().to_string();
    assert_eq!(error, "this function belongs to another world: ids are only good in the world that made them");
    assert!(!other.despawn(model));
    assert!(engine.despawn(model) && !engine.despawn(model));
    let error = engine.variable(model, "v", 1.0_f32).unwrap_err().to_string();
    assert_eq!(error, "the model `model` was despawned");
}

#[test]
fn a_variable_of_another_world_is_told_while_tracing() {
    let (mut engine, mut other) = (Engine::new(), Engine::new());
    let model = other.spawn_model("model");
    let v = other.variable(model, "v", 1.0_f32).unwrap();
    // The first entities of two worlds have one number.
    let ours = engine.spawn_model("model");
    let same_number = engine.variable(ours, "v", 2.0_f32).unwrap();
    assert_eq!(same_number.entity, v.entity);
    let f = engine.function::<(), Tensor>("f", move |t, ()| t.read(same_number) + t.read(v));
    let error = without_places(&engine.call(f, ()).unwrap_err().to_string());
    let wanted = "this variable belongs to another world: ids are only good in the world that made them (HERE)";
    assert_eq!(error, format!("function `f` cannot be traced: {wanted}"));
}

#[test]
fn what_follows_from_a_call_that_could_not_be_traced_is_not_told() {
    type Everything = (ModelId, Vec<Tensor>, Option<Tensor>, Tensor, Entity, bool);
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let inner = engine.function::<(ModelId, Tensor), Everything>("inner", |_, (model, x)| {
        (model, vec![x], None, x.reshape([4]), Entity::PLACEHOLDER, true)
    });
    let outer = engine.function::<(ModelId, Tensor), Tensor>("outer", move |t, (model, x)| {
        let (model, list, _, value, _, _) = t.call(inner, (model, x));
        model.assign("missing", value);
        model.read("missing") + list[0] + value.matmul(value)
    });
    let error = without_places(&engine.call(outer, (model, vector())).unwrap_err().to_string());
    let wanted = "function `inner` cannot be traced: `reshape` of f32[3]: 3 elements do not fill [4] (HERE) (HERE)";
    assert_eq!(error, format!("function `outer` cannot be traced: {wanted}"));
}

#[test]
fn a_loss_that_reads_nothing_to_train_is_refused() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let v = engine.non_trainable_variable(model, "v", 1.0_f32).unwrap();
    let loss = engine.function::<(), Tensor>("loss", move |t, ()| t.read(v).square());
    let trainer = engine.train(loss, ()).with(Sgd::new(0.1)).spawn().unwrap();
    let error = engine.run(trainer, 1).unwrap_err().to_string();
    let wanted = "function `loss` has no gradient: there is nothing to train: its result depends on no trainable variable that it reads";
    assert_eq!(error, wanted);
}

#[test]
fn a_source_or_an_effect_cannot_be_emitted_by_hand() {
    use entigrad::systems::ops;
    use entigrad_components::Attributes;
    for id in [ops::INPUT, ops::CAPTURE, ops::READ, ops::ASSIGN, ops::CALL, ops::RESULT, ops::POISON] {
        let text = refused(vector(), move |t, x| t.emit(id, &[x], Attributes::None));
        assert!(text.contains("the op was emitted wrongly"), "{text}");
    }
}

#[test]
fn names_of_variables_are_checked() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    engine.variable(model, "layers/0/w", 1.0_f32).unwrap();
    let error = engine.variable(model, "layers/0/w", 1.0_f32).unwrap_err().to_string();
    assert_eq!(error, "the model `model` has a variable `layers/0/w` already");
    for name in ["", "/w", "layers//w", "w/"] {
        assert!(engine.variable(model, name, 1.0_f32).is_err());
    }
    let error = engine.find_variable(model, "w").unwrap_err().to_string();
    assert_eq!(error, "the model `model` has no variable `w`; it has `layers/0/w`");
}

#[test]
fn a_concrete_called_with_what_it_was_not_traced_for_prints_both() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("f", |_, x| x);
    let concrete = engine.concrete(f, vector()).unwrap();
    let error = engine.call_concrete::<Tensor, Tensor>(concrete, matrix()).unwrap_err().to_string();
    assert_eq!(error, "function `f` takes (f32[3]), but was given (f32[2, 3])");
    let error = engine.call_concrete::<Vec<Tensor>, Tensor>(concrete, vec![vector()]).unwrap_err().to_string();
    assert_eq!(error, "function `f` takes (f32[3]), but was given (f32[3]) in another structure");
}

#[test]
fn tensors_that_cannot_be_are_errors() {
    let text = |result: Result<Tensor, entigrad::components::TensorError>| result.unwrap_err().to_string();
    let error = text(Tensor::new(&[2, 2], &[1.0_f32]));
    assert_eq!(error, "1 elements do not fill the shape [2, 2], which takes 4");
    let error = text(Tensor::zeros(DType::F64, &[usize::MAX, 2]));
    assert_eq!(error, format!("the shape [{}, 2] has more elements than can be addressed", usize::MAX));
    let error = text(Tensor::try_from(vec![vec![1.0_f32], vec![]]));
    assert_eq!(error, "row 1 has 0 elements, where the rows before have 1");
    assert_eq!(text(Tensor::from([1_i32]).rows(&[1])), "index 1 was asked of axis 0 of a tensor of shape [1]");
    let error = vector().item::<f32>().unwrap_err().to_string();
    assert_eq!(error, "one number was asked of a tensor of shape [3]");
    let error = vector().to_vec::<f64>().unwrap_err().to_string();
    assert_eq!(error, "the tensor holds f32 elements, but f64 were asked for");
    assert_eq!(Tensor::zeros(DType::F32, &[0, usize::MAX]).unwrap().len(), 0);
}
