//! Edge cases from `assets/cases`: the right value and the right gradient.

use entigrad::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeCase {
    name: String,
    expression: String,
    point: Vec<Vec<f64>>,
    value: Vec<f64>,
    gradient: Vec<Vec<f64>>,
    #[serde(default)]
    tolerance: f64,
}

type Expression = for<'t> fn(Trace<'t>, &[Value<'t>]) -> Value<'t>;

/// What the names in the file stand for. A leaf of one number is a scalar in spirit: everything is summed at the end.
const EXPRESSIONS: &[(&str, Expression)] = &[
    ("abs", |_, x| x[0].maximum(-x[0])),
    ("sqrt", |_, x| x[0].sqrt()),
    ("zero times sqrt", |_, x| x[0].sqrt() * 0.0),
    ("relu", |_, x| x[0].relu()),
    ("relu both ways", |_, x| x[0].relu() - (-x[0]).relu()),
    ("max of itself", |_, x| x[0].maximum(x[0])),
    ("max of two", |_, x| x[0].maximum(x[1])),
    ("max over", |_, x| x[0].max()),
    ("select exp or line", |_, x| x[0].less_equal(0.0).select(x[0].exp(), x[0] + 1.0)),
    ("select line or sqrt", |_, x| x[0].less(1.0).select(x[0], x[0].sqrt())),
    ("log or zero", |_, x| x[0].greater(0.0).select(x[0].log(), 0.0)),
    ("select quotient or c", |_, x| x[0].less(0.0).select(x[0] / 0.0, x[1])),
    ("log", |_, x| x[0].log()),
    ("reciprocal", |_, x| 1.0 / x[0]),
    ("sigmoid", |_, x| x[0].sigmoid()),
    ("log softmax second", |t, x| {
        let second = t.constant(Tensor::from([[1_i32]]));
        x[0].reshape([1, 2]).log_softmax(1).gather(second, 1)
    }),
    ("tanh", |_, x| x[0].tanh()),
    ("a times exp of minus b", |_, x| x[0] * (-x[1]).exp()),
    ("exp broadcast twice", |_, x| x[0].broadcast([1]).exp().sum() + x[0].broadcast([1000]).exp().sum()),
    ("sum", |_, x| x[0].sum()),
    ("mean", |_, x| x[0].mean()),
    ("gather 0 0 1", |t, x| x[0].gather(t.constant(Tensor::from([0_i32, 0, 1])), 0).sum()),
    ("x times detached x", |_, x| x[0] * x[0].stop_gradient()),
    ("thousand uses", |_, x| (1..1000).fold(x[0], |sum, _| sum + x[0])),
    ("independent", |t, _| t.number(1.0, DType::F64)),
    ("rosenbrock", |t, x| {
        let [first, second] = [0_i32, 1].map(|place| x[0].gather(t.constant(Tensor::from([place])), 0));
        (1.0 - first).square() + (second - first.square()).square() * 100.0
    }),
    ("square", |_, x| x[0].square()),
    ("x over x", |_, x| x[0] / (x[0] + 0.0)),
];

#[track_caller]
fn assert_numbers(name: &str, what: &str, got: &Tensor, wanted: &[f64], tolerance: f64) {
    let got = got.to_vec::<f64>().unwrap();
    let near = |got: f64, wanted: f64| {
        got == wanted || (got.is_nan() && wanted.is_nan()) || (got - wanted).abs() <= tolerance * wanted.abs()
    };
    let is_right = got.len() == wanted.len() && got.iter().zip(wanted).all(|(got, wanted)| near(*got, *wanted));
    assert!(is_right, "{name}: the {what} is {got:?}, and {wanted:?} is right");
}

#[test]
fn every_edge_case_has_the_right_value_and_gradient() {
    let text = include_str!("../../../assets/cases/edge_cases.ron");
    let cases: Vec<EdgeCase> = ron::from_str(text).unwrap();
    assert!(cases.len() >= 30);
    for case in cases {
        let found = EXPRESSIONS.iter().find(|(name, _)| *name == case.expression);
        let (_, expression) = *found.unwrap_or_else(|| panic!("no expression `{}`", case.expression));
        let mut engine = Engine::new();
        let f = engine.function::<Vec<Tensor>, Tensor>("case", move |t, x| expression(t, &x).sum());
        let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
        let point: Vec<Tensor> = case.point.iter().map(|leaf| Tensor::from(&leaf[..])).collect();
        let (value, gradients) = engine.call(gradient, point).unwrap();
        assert_numbers(&case.name, "value", &value, &case.value, case.tolerance);
        assert_eq!(gradients.len(), case.gradient.len(), "{}", case.name);
        for (got, wanted) in gradients.iter().zip(&case.gradient) {
            assert_numbers(&case.name, "gradient", got, wanted, case.tolerance);
        }
    }
}
