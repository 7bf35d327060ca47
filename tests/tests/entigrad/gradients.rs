//! Gradients of gradients, long chains, and what has none.

use approx::assert_relative_eq;
use entigrad::prelude::*;

fn item(tensor: &Tensor) -> f64 {
    tensor.item::<f64>().unwrap()
}

#[test]
fn the_mixed_derivative_of_y_times_x_squared_at_3_0_is_6() {
    // Where y = 0 the strong zero masks the cotangent of x², and its own derivative must not be masked with it.
    let mut engine = Engine::new();
    let f = engine.function::<(Tensor, Tensor), Tensor>("f", |_, (x, y)| y * x.square());
    let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
    let by_x = engine.function::<(Tensor, Tensor), Tensor>("by_x", move |t, (x, y)| t.call(gradient, (x, y)).1.0);
    let second = engine.value_and_gradient_of_arguments(by_x).unwrap();
    let (by_x, (by_xx, by_xy)) = engine.call(second, (Tensor::from(3.0_f64), Tensor::from(0.0_f64))).unwrap();
    assert_eq!((item(&by_x), item(&by_xx), item(&by_xy)), (0.0, 0.0, 6.0));
}

#[test]
fn a_dead_branch_of_a_select_sends_nothing_back() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("f", |_, x| x.less_equal(0.0).select(x.exp(), x + 1.0));
    let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
    let (value, slope) = engine.call(gradient, Tensor::from(1000.0_f64)).unwrap();
    assert_eq!((item(&value), item(&slope)), (1001.0, 1.0));
}

#[test]
fn repeated_gradients_of_a_cosine_go_round() {
    let mut engine = Engine::new();
    let mut f = engine.function::<Tensor, Tensor>("cos", |_, x| x.cos());
    let at = 0.7_f64;
    let mut values = Vec::new();
    for _ in 0..=4 {
        values.push(item(&engine.call(f, Tensor::from(at)).unwrap()));
        let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
        f = engine.function::<Tensor, Tensor>("slope", move |t, x| t.call(gradient, x).1);
    }
    let wanted = [at.cos(), -at.sin(), -at.cos(), at.sin(), at.cos()];
    for (value, wanted) in values.into_iter().zip(wanted) {
        assert_relative_eq!(value, wanted, max_relative = 1e-15);
    }
}

#[test]
fn the_cube_has_right_derivatives_up_to_the_third() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("cube", |_, x| x * x * x);
    let first = engine.value_and_gradient_of_arguments(f).unwrap();
    let slope = engine.function::<Tensor, Tensor>("slope", move |t, x| t.call(first, x).1);
    let second = engine.value_and_gradient_of_arguments(slope).unwrap();
    let curve = engine.function::<Tensor, Tensor>("curve", move |t, x| t.call(second, x).1);
    let third = engine.value_and_gradient_of_arguments(curve).unwrap();
    let (second, third) = engine.call(third, Tensor::from(2.0_f64)).unwrap();
    assert_eq!((item(&second), item(&third)), (12.0, 6.0));
}

/// p = 1, v = 0; a thousand times a = -k·p - 0.1·v, v += 0.01·a, p += 0.01·v; the loss is p².
#[test]
fn a_damped_spring_has_the_right_loss_and_slope_through_a_thousand_steps() {
    let mut world = World::new();
    let spring = world.spawn_model("spring");
    let k = world.variable(spring, "stiffness", 4.0_f64).unwrap();
    let loss = world.function::<(), Tensor>("loss", move |t, ()| {
        let k = t.read(k);
        let (mut p, mut v) = (t.number(1.0, DType::F64), t.number(0.0, DType::F64));
        for _ in 0..1000 {
            let a = -(k * p) - v * 0.1;
            v = v + a * 0.01;
            p = p + v * 0.01;
        }
        p * p
    });
    let gradient = world.value_and_gradient(loss).unwrap();
    let (value, gradients) = world.call(gradient, ()).unwrap();
    assert_relative_eq!(item(&value), 0.06567261742621089, max_relative = 1e-14);
    assert_relative_eq!(item(gradients.get(k).unwrap()), -0.7059475132773245, max_relative = 1e-14);
}

#[test]
fn a_graph_of_a_hundred_thousand_ops_in_a_row_overflows_no_stack() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("f", |_, x| (0..100_000).fold(x, |sum, _| sum + x));
    let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
    let (value, slope) = engine.call(gradient, Tensor::from(1.0_f64)).unwrap();
    assert_eq!((item(&value), item(&slope)), (100_001.0, 100_001.0));
}

#[test]
fn integer_leaves_have_zeros_of_their_own_dtype() {
    let mut engine = Engine::new();
    let f = engine.function::<(Tensor, Tensor), Tensor>("f", |_, (x, places)| x.gather(places, 0).sum());
    let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
    let (_, (by_x, by_places)) =
        engine.call(gradient, (Tensor::from([1.0_f64, 2.0]), Tensor::from([1_i32, 1]))).unwrap();
    assert_eq!((by_x, by_places), (Tensor::from([0.0_f64, 2.0]), Tensor::from([0_i32, 0])));
}

#[test]
fn the_rest_of_a_result_is_passed_through_with_its_structure() {
    let mut engine = Engine::new();
    type Result = (Tensor, Option<Tensor>, Vec<Tensor>);
    let f = engine.function::<Tensor, Result>("f", |_, x| (x.square(), None, vec![x + 1.0, x + 2.0]));
    let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
    let ((value, none, rest), slope) = engine.call(gradient, Tensor::from(3.0_f64)).unwrap();
    assert_eq!((item(&value), none, item(&rest[0]), item(&rest[1]), item(&slope)), (9.0, None, 4.0, 5.0, 6.0));
}

/// The value, slope and curvature of a function of one f64.
fn curvature(body: fn(Value<'_>) -> Value<'_>, at: f64) -> [f64; 3] {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("f", move |_, x| body(x));
    let first = engine.value_and_gradient_of_arguments(f).unwrap();
    let slope = engine.function::<Tensor, (Tensor, Tensor)>("slope", move |t, x| {
        let (value, slope) = t.call(first, x);
        (slope, value)
    });
    let second = engine.value_and_gradient_of_arguments(slope).unwrap();
    let ((slope, value), curvature) = engine.call(second, Tensor::from(at)).unwrap();
    [value, slope, curvature].map(|tensor| item(&tensor))
}

#[test]
fn a_dead_branch_sends_nothing_back_at_second_order_either() {
    let root: fn(Value<'_>) -> Value<'_> = |x| x.equal(0.0).select(x.zeros_like(), x * x.sqrt());
    assert_eq!(curvature(root, 0.0), [0.0, 0.0, 0.0]);
    let entropy: fn(Value<'_>) -> Value<'_> = |x| x.greater(0.0).select(x * x.log(), 0.0);
    assert_eq!(curvature(entropy, 0.0), [0.0, 0.0, 0.0]);
    let bump: fn(Value<'_>) -> Value<'_> = |x| x.greater(0.0).select((-1.0 / x).exp(), 0.0);
    assert_eq!(curvature(bump, 0.0), [0.0, 0.0, 0.0]);
    let [value, slope, curve] = curvature(root, 4.0);
    assert_eq!((value, slope, curve), (8.0, 3.0, 0.375));
}

#[test]
fn no_derivative_of_a_logarithm_below_zero_is_a_number() {
    assert!(curvature(|x| x.log(), -0.5).iter().all(|number| number.is_nan()));
    assert_eq!(curvature(|x| x.log(), 2.0)[1..], [0.5, -0.25]);
}
