//! Random programs over everything: what the engine gives are the bits of the plain interpreter.

use entigrad::prelude::*;
use entigrad::systems::graph::{self, Graph};
use entigrad::systems::ops::OpTable;
use entigrad_tests::interpreter::{Dense, interpret, interpret_with};
use entigrad_tests::programs::{Lengths, State, arguments, counter, initial, program, specs};
use std::sync::Arc;

/// What a program takes and gives.
type Body = Function<Vec<Tensor>, (Tensor, Vec<Tensor>)>;
/// What its gradient gives.
type Slopes = ((Tensor, Vec<Tensor>), Vec<Tensor>);

/// A program without variables.
fn stateless(engine: &mut Engine, seed: u64, steps: usize, lengths: Lengths) -> Body {
    engine.function::<Vec<Tensor>, (Tensor, Vec<Tensor>)>("f", move |t, x| {
        program(t, seed, steps, &lengths, &x, State::None).0
    })
}

/// The flat graph of a function.
fn flat<R: Structure>(engine: &mut Engine, function: Function<Vec<Tensor>, R>, arguments: Vec<Tensor>) -> Arc<Graph> {
    let concrete = engine.concrete(function, arguments).unwrap();
    graph::flatten(&graph::collect(engine.world(), concrete.entity).unwrap())
}

/// The leaves of a result with its gradient.
fn leaves(((loss, values), slopes): Slopes) -> Vec<Tensor> {
    [loss].into_iter().chain(values).chain(slopes).collect()
}

/// Asserts that results are those of the plain values of a graph's outputs.
fn assert_outputs(about: &str, graph: &Graph, plain: &[Dense], given: &[Tensor]) {
    assert_eq!(graph.outputs.len(), given.len());
    for (place, (given, node)) in given.iter().zip(&graph.outputs).enumerate() {
        let (given, plain) = (Dense::of(given), &plain[node.index()]);
        assert!(given.is_same(plain), "{about}, result {place}:\n{given:?}\nplain:\n{plain:?}");
    }
}

#[test]
fn random_programs_and_their_gradients_give_the_bits_of_the_plain_interpreter() {
    for seed in 0..150 {
        let lengths = Lengths::of(seed, true);
        let mut engine = Engine::new();
        let f = stateless(&mut engine, seed, 20, lengths);
        let point = arguments(seed, &lengths);
        let about = format!("seed {seed}, {lengths:?}");
        let (loss, values) = engine.call(f, point.clone()).unwrap_or_else(|error| panic!("{about}: {error}"));
        let graph = flat(&mut engine, f, point.clone());
        let plain = interpret(&OpTable::default(), &graph, &point);
        assert_outputs(&about, &graph, &plain, &[&[loss], &values[..]].concat());

        let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
        let given = engine.call(gradient, point.clone()).unwrap_or_else(|error| panic!("{about}: {error}"));
        let graph = flat(&mut engine, gradient, point.clone());
        let plain = interpret(&OpTable::default(), &graph, &point);
        assert_outputs(&format!("gradient of {about}"), &graph, &plain, &leaves(given));
    }
}
#[test]
fn a_random_program_with_symbols_is_traced_once_and_right_for_other_lengths() {
    for seed in 1000..1040 {
        let lengths = Lengths::of(seed, false);
        let mut engine = Engine::new();
        let f = stateless(&mut engine, seed, 20, lengths);
        engine.set_signature(f, specs(None)).unwrap();
        let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
        let graph = flat(&mut engine, gradient, arguments(seed, &lengths));
        let others = Lengths::of(seed + 500, false);
        // All one: a symbol that is 1 is not the literal 1.
        for lengths in [lengths, Lengths { k: lengths.k, ..others }, Lengths { n: 1, m: 1, k: 1 }] {
            let point = arguments(seed, &lengths);
            let about = format!("seed {seed}, {lengths:?}");
            let given = engine.call(gradient, point.clone()).unwrap_or_else(|error| panic!("{about}: {error}"));
            let plain = interpret(&OpTable::default(), &graph, &point);
            assert_outputs(&about, &graph, &plain, &leaves(given));
        }
        assert_eq!(engine.trace_count(f), 1);
    }
}

/// Variables in a world, and a program that reads and assigns them.
fn stateful(engine: &mut Engine, seed: u64, lengths: Lengths) -> (Vec<VariableId>, Body) {
    let model = engine.spawn_model("model");
    let variables = initial().into_iter().enumerate();
    let variables: Vec<VariableId> =
        variables.map(|(place, value)| engine.variable(model, &format!("v{place}"), value).unwrap()).collect();
    let last = *variables.last().unwrap();
    let counter = engine.function::<Tensor, Tensor>("counter", move |t, x| counter(t, last, x));
    let held = variables.clone();
    let f = engine.function::<Vec<Tensor>, (Tensor, Vec<Tensor>)>("f", move |t, x| {
        program(t, seed, 16, &lengths, &x, State::Variables(held.clone(), counter)).0
    });
    (variables, f)
}

/// The same program as a function of the variables' values, which gives their new ones: arguments and values, results and values.
fn counterpart(engine: &mut Engine, seed: u64, lengths: Lengths) -> Body {
    engine.function::<Vec<Tensor>, (Tensor, Vec<Tensor>)>("counterpart", move |t, x| {
        let (x, values) = x.split_at(x.len() - initial().len());
        let ((loss, mut results), state) = program(t, seed, 16, &lengths, x, State::Values(values.to_vec()));
        let State::Values(values) = state else { panic!("values stay values") };
        results.extend(values);
        (loss, results)
    })
}

#[test]
fn a_random_program_with_variables_does_what_one_does_that_is_handed_their_values() {
    for seed in 2000..2060 {
        let lengths = Lengths::of(seed, true);
        let mut engine = Engine::new();
        let (variables, f) = stateful(&mut engine, seed, lengths);
        let f = engine.value_and_gradient_of_arguments(f).unwrap();
        let point = arguments(seed, &lengths);
        let with = |values: &[Tensor]| [&point[..], values].concat();
        let (graph, table) = (flat(&mut engine, f, point.clone()), OpTable::default());
        let mut plainly = Engine::new();
        let pure = counterpart(&mut plainly, seed, lengths);
        let pure = plainly.value_and_gradient_of_arguments(pure).unwrap();
        let pure_graph = flat(&mut plainly, pure, with(&initial()));
        let at = |variable: VariableId, engine: &Engine| engine.value(variable).unwrap();
        for round in 0..3 {
            let about = format!("seed {seed}, {lengths:?}, round {round}");
            let before: Vec<Tensor> = variables.iter().map(|variable| at(*variable, &engine)).collect();
            let ((loss, results), slopes) =
                engine.call(f, point.clone()).unwrap_or_else(|error| panic!("{about}: {error}"));
            // The graph with its variables, each in turn.
            let mut held: Vec<Dense> = graph.weak.iter().map(|weak| Dense::of(&before[place_of(weak)])).collect();
            let plain = interpret_with(&table, &graph, &point, &mut held);
            let given = leaves(((loss.clone(), results.clone()), slopes.clone()));
            assert_outputs(&about, &graph, &plain, &given);
            for (held, weak) in held.iter().zip(&graph.weak) {
                let now = Dense::of(&at(variables[place_of(weak)], &engine));
                assert!(now.is_same(held), "{about}: {}", weak.path);
            }
            // The counterpart without variables: results, then the values of the variables, then slopes.
            let plain = interpret(&table, &pure_graph, &with(&before));
            let now = variables.iter().map(|variable| at(*variable, &engine));
            let given: Vec<Tensor> = [loss].into_iter().chain(results).chain(now).chain(slopes).collect();
            for (place, (given, node)) in given.iter().zip(&pure_graph.outputs).enumerate() {
                assert!(Dense::of(given).is_same(&plain[node.index()]), "{about}: counterpart, result {place}");
            }
        }
    }
}

/// Which of the variables a reference is to: they are named by their places.
fn place_of(weak: &entigrad_components::WeakReference) -> usize {
    weak.path.rsplit_once('v').unwrap().1.parse().unwrap()
}

#[test]
fn random_programs_use_every_op_that_has_a_kernel() {
    let table = OpTable::default();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let lengths = Lengths::of(seed, true);
        let mut engine = Engine::new();
        let f = stateless(&mut engine, seed, 20, lengths);
        let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
        let graph = flat(&mut engine, gradient, arguments(seed, &lengths));
        seen.extend(graph.nodes.iter().map(|node| table.name(node.op)));
    }
    let elsewhere = ["read", "assign", "call", "result"];
    let missing: Vec<_> = table
        .rows()
        .map(|(_, row)| row.name)
        .filter(|name| !seen.contains(name) && !elsewhere.contains(name))
        .collect();
    assert_eq!(missing, ["length"], "with symbols there are lengths");
}
