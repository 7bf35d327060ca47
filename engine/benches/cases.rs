//! Small cases under criterion: a call, a training step, a trace, an update of many trainers.
//!
//! `cargo bench --bench cases`

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use entigrad::prelude::*;

criterion_group!(cases, call, tiny_step, small_step, trace_of_1000_ops, update_of_100_trainers);
criterion_main!(cases);

/// A warm call that adds 1 to sixteen numbers.
fn call(criterion: &mut Criterion) {
    let mut engine = Engine::new();
    let add = engine.function::<Tensor, Tensor>("add", |_, x| x + 1.0);
    let x = Tensor::from([1.0_f32; 16]);
    criterion.bench_function("call", |bencher| bencher.iter(|| engine.call(add, x.clone()).unwrap()));
}

/// 4-16-1 tanh, 8 rows, squared error, SGD.
fn tiny_step(criterion: &mut Criterion) {
    let mut engine = Engine::new();
    let loss = network_loss(&mut engine, 2);
    let trainer = spawn_trainer(&mut engine, loss, &[4, 16, 1], 8, Sgd::new(0.05));
    criterion.bench_function("tiny_step", |bencher| bencher.iter(|| engine.run(trainer, 1).unwrap()));
}

/// 64-128-128-10 tanh, 64 rows, squared error, Adam.
fn small_step(criterion: &mut Criterion) {
    let mut engine = Engine::new();
    let loss = network_loss(&mut engine, 3);
    let trainer = spawn_trainer(&mut engine, loss, &[64, 128, 128, 10], 64, Adam::new(1e-3));
    criterion.bench_function("small_step", |bencher| bencher.iter(|| engine.run(trainer, 1).unwrap()));
}

/// The first call, in a new engine, of value and gradient of a chain of a thousand ops.
fn trace_of_1000_ops(criterion: &mut Criterion) {
    let x = Tensor::from([0.5_f32; 16]);
    let first_call = |mut engine: Engine| {
        let chain = engine.function::<Tensor, Tensor>("chain", |_, x| {
            let end = (0..1000).fold(x, |x, place| match place % 3 {
                0 => x * 1.01,
                1 => x + 0.01,
                _ => x.sin(),
            });
            end.sum()
        });
        let gradient = engine.value_and_gradient_of_arguments(chain).unwrap();
        engine.call(gradient, x.clone()).unwrap();
        engine
    };
    criterion.bench_function("trace_of_1000_ops", |bencher| {
        bencher.iter_batched(Engine::new, first_call, BatchSize::SmallInput);
    });
}

/// One update of a hundred networks 4-16-1 tanh, 8 rows each, Adam.
fn update_of_100_trainers(criterion: &mut Criterion) {
    let mut engine = Engine::new();
    let loss = network_loss(&mut engine, 2);
    for _ in 0..100 {
        spawn_trainer(&mut engine, loss, &[4, 16, 1], 8, Adam::new(1e-3));
    }
    criterion.bench_function("update_of_100_trainers", |bencher| bencher.iter(|| engine.update()));
}

type NetworkLoss = Function<(ModelId, (Tensor, Tensor)), Tensor>;

/// The squared error of a network of `layers` layers, tanh between them.
fn network_loss(engine: &mut Engine, layers: usize) -> NetworkLoss {
    engine.method("loss", move |_, model, (x, y): (Value<'_>, Value<'_>)| {
        let output = (0..layers).fold(x, |x, layer| {
            let y = x.matmul(model.read(&format!("w{layer}"))) + model.read(&format!("b{layer}"));
            if layer + 1 < layers { y.tanh() } else { y }
        });
        output.mse(y)
    })
}

/// A network of these sizes and its trainer.
fn spawn_trainer(
    engine: &mut Engine,
    loss: NetworkLoss,
    sizes: &[usize],
    rows: usize,
    optimizer: impl Optimizer,
) -> TrainerId {
    let model = engine.spawn_model("network");
    for (layer, pair) in sizes.windows(2).enumerate() {
        engine.variable(model, &format!("w{layer}"), waves(pair, (pair[0] as f32).powf(-0.5))).unwrap();
        engine.variable(model, &format!("b{layer}"), waves(&pair[1..], 0.0)).unwrap();
    }
    let data = (waves(&[rows, sizes[0]], 1.0), waves(&[rows, sizes[sizes.len() - 1]], 1.0));
    engine.train(loss, (model, data)).with(optimizer).spawn().unwrap()
}

/// Numbers up to `size` that look random and are the same every time.
fn waves(shape: &[usize], size: f32) -> Tensor {
    let number = |place| size * (place as f32 * 12.9898).sin();
    Tensor::new(shape, &(0..shape.iter().product()).map(number).collect::<Vec<f32>>()).unwrap()
}
