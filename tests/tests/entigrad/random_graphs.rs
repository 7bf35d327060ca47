//! Random graphs: planned and simplified equals plain, and gradients agree with differences.

use entigrad::prelude::*;
use entigrad::systems::graph::{self, Graph};
use entigrad::systems::ops::OpTable;
use entigrad::systems::simplify::simplified;
use entigrad_tests::interpreter::{Dense, interpret};
use entigrad_tests::random::Random;
use std::sync::Arc;

/// A program of so many ops on `[2, 3]` values, the same for one seed.
fn program<'t>(seed: u64, op_count: usize, leaves: &[Value<'t>]) -> Value<'t> {
    let mut random = Random(seed);
    let mut values: Vec<Value<'t>> = leaves.to_vec();
    for _ in 0..op_count {
        let (x, y) = (values[random.below(values.len())], values[random.below(values.len())]);
        values.push(match random.below(10) {
            0 => x + y,
            1 => x - y,
            2 => x * y,
            3 => x.sin(),
            4 => (x * y).tanh(),
            5 => x.less(y).select(x, y * 0.5),
            6 => x.mean_over(&[1]).reshape([2, 1]) + y,
            7 => x.transpose(&[1, 0]).reshape([2, 3]) * 0.5,
            8 => x.maximum(y),
            _ => x.matmul_with(y, true, false).sum_over(&[0]).tanh() + x,
        });
    }
    // Every value counts, so that the program has many paths; the mean of tanh keeps it tame.
    let sum = values.iter().map(|value| value.tanh().mean()).reduce(|sum, value| sum + value);
    sum.unwrap_or_else(|| leaves[0].mean())
}

fn point(seed: u64) -> Vec<Tensor> {
    let mut random = Random(seed + 1000);
    (0..3).map(|_| Tensor::new(&[2, 3], &random.directions(6)).unwrap()).collect()
}

#[test]
fn a_planned_random_graph_gives_the_bits_of_the_plain_interpreter() {
    for seed in 0..200 {
        let mut engine = Engine::new();
        let f = engine.function::<Vec<Tensor>, Tensor>("f", move |_, x| program(seed, 40, &x));
        let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
        let (value, slopes) = engine.call(gradient, point(seed)).unwrap();
        let concrete = engine.concrete(gradient, point(seed)).unwrap();
        let graph = graph::collect(engine.world(), concrete.entity).unwrap();
        // The committed graph is simplified already; doing it again finds nothing.
        assert_eq!(simplified((*graph).clone()).nodes.len(), graph.nodes.len());
        // Traced and derived again, and run op by op without being simplified.
        for graph in [graph, unsimplified(&mut engine, f, point(seed))] {
            let plain = interpret(&OpTable::default(), &graph, &point(seed));
            let outputs = [&value].into_iter().chain(&slopes);
            for (place, (output, node)) in outputs.zip(&graph.outputs).enumerate() {
                let (planned, plain) = (Dense::of(output), &plain[node.index()]);
                assert_eq!(planned.elements, plain.elements, "seed {seed}, output {place}");
            }
        }
    }
}

/// The graph of value and gradient of `f` as it is derived.
fn unsimplified(engine: &mut Engine, f: Function<Vec<Tensor>, Tensor>, point: Vec<Tensor>) -> Arc<Graph> {
    use entigrad::systems::gradient::{Derivation, Sources, derive};
    use entigrad::systems::structure::Flattened;
    use entigrad::systems::trace;
    engine.world_mut().get_mut::<entigrad::components::FunctionCache>(f.entity).unwrap().0.clear();
    let parts = Flattened::of(engine.world(), point).unwrap();
    let key = entigrad::systems::function::make_key(engine.world(), f.entity, &parts.tokens).unwrap();
    let request = trace::Request { function: f.entity, key, models: parts.models };
    let concrete = trace::trace(engine.world_mut(), &[request]).remove(0).unwrap();
    let draft = graph::collect(engine.world(), concrete).unwrap();
    let derivation = Derivation::ValueAndGradient(Sources::Arguments);
    derive(&OpTable::default(), &draft, &derivation, "unsimplified".into()).unwrap().into()
}

#[test]
fn the_gradient_of_a_random_graph_agrees_with_differences() {
    for seed in 0..40 {
        let mut engine = Engine::new();
        // Without kinks: a difference across one says nothing.
        let f = engine.function::<Vec<Tensor>, Tensor>("f", move |_, x| program(seed, 12, &x));
        let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
        let (_, slopes) = engine.call(gradient, point(seed)).unwrap();
        let mut random = Random(seed + 2000);
        let direction = random.directions(18);
        let mut at = |step: f64| {
            let moved = point(seed).into_iter().enumerate().map(|(place, leaf)| {
                let numbers = leaf.to_vec::<f64>().unwrap();
                let moved: Vec<f64> = numbers.iter().zip(&direction[place * 6..]).map(|(x, d)| x + step * d).collect();
                Tensor::new(&[2, 3], &moved).unwrap()
            });
            let moved = moved.collect();
            engine.call(f, moved).unwrap().item::<f64>().unwrap()
        };
        let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
        let along: f64 =
            slopes.iter().flat_map(|slope| slope.to_vec::<f64>().unwrap()).zip(&direction).map(|(s, d)| s * d).sum();
        assert!((along - difference).abs() < 1e-7 * along.abs().max(1.0), "seed {seed}: {along} against {difference}");
    }
}

#[test]
fn a_function_and_the_same_called_inside_another_give_the_same_bits() {
    for seed in 0..20 {
        let mut engine = Engine::new();
        let f = engine.function::<Vec<Tensor>, Tensor>("f", move |_, x| program(seed, 30, &x));
        let twice = engine.function::<Vec<Tensor>, (Tensor, Tensor)>("twice", move |t, x| {
            let first = t.call(f, x.clone());
            (first, t.call(f, x.clone()))
        });
        let alone = engine.call(f, point(seed)).unwrap();
        let (first, second) = engine.call(twice, point(seed)).unwrap();
        assert!(alone.bytes() == first.bytes() && first.bytes() == second.bytes());
    }
}
