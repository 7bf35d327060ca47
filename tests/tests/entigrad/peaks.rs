//! The most memory that lives at once: what goes in and out, what is trained and saved, and little besides.
//!
//! Measured in a pool of one thread, so that all of it is counted. The promise leaves a tenth and 16 MB; these cases have to do with a
//! tenth and 1 MB, so that one spare copy of anything large is found.

use entigrad::prelude::*;
use entigrad_tests::allocation::peak_bytes_of;
use entigrad_tests::random::Random;

const MEGABYTE: usize = 1 << 20;

/// Asserts that what `f` needs besides what lives already is these bytes, and little more, the first time and warm.
fn assert_peak<R>(name: &str, bytes: usize, mut f: impl FnMut() -> R) {
    for round in ["first", "second", "third"] {
        let (peak, result) = peak_bytes_of(&mut f);
        drop(result);
        let most = bytes + bytes / 10 + MEGABYTE;
        assert!(peak <= most as isize, "{name}, {round} time: {peak} bytes, where {bytes} are needed");
    }
}

fn alone(f: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(f);
}

fn floats(seed: u64, shape: &[usize]) -> Tensor {
    let mut random = Random(seed);
    let count = shape.iter().product();
    let numbers: Vec<f32> = (0..count).map(|_| random.uniform(-0.1, 0.1) as f32).collect();
    Tensor::new(shape, &numbers).unwrap()
}

#[test]
fn the_peak_is_measured() {
    let (peak, kept) = peak_bytes_of(|| {
        drop(floats(1, &[1 << 20]));
        Tensor::zeros(DType::F32, &[1 << 18]).unwrap()
    });
    // Numbers and their copy in a tensor; what is kept comes later.
    assert!((8 << 20..9 << 20).contains(&peak), "{peak}");
    assert_eq!(kept.len(), 1 << 18);
}

#[test]
fn a_chain_and_its_gradient_need_their_arguments_and_results() {
    alone(|| {
        let length = 2_000_000;
        let mut engine = Engine::new();
        let f = engine.function::<(Tensor, Tensor), Tensor>("f", |_, (x, y)| {
            let wave = (x * 3.0).sin() * (-x.square()).exp();
            ((wave + y).tanh() * y.cos() + x.sigmoid()).square().sum()
        });
        let (x, y) = (floats(1, &[length]), floats(2, &[length]));
        let arguments = || (x.clone(), y.clone());
        assert_peak("value", 0, || engine.call(f, arguments()).unwrap());
        let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
        assert_peak("value and gradient", 2 * 4 * length, || engine.call(gradient, arguments()).unwrap());
        let mut results = engine.call(gradient, arguments()).unwrap();
        assert_peak("into results", 0, || engine.call_into(gradient, arguments(), &mut results).unwrap());
    });
}

#[test]
fn a_chain_that_is_its_own_result_needs_that_alone() {
    alone(|| {
        let length = 2_000_000;
        let mut engine = Engine::new();
        let f = engine.function::<Tensor, Tensor>("f", |_, x| (x.sin() + x.square().exp()).tanh() / (x + 2.0));
        let x = floats(1, &[length]);
        assert_peak("a chain", 4 * length, || engine.call(f, x.clone()).unwrap());
    });
}

#[test]
fn pairs_and_their_gradient_never_exist_all_at_once() {
    alone(|| {
        let count = 2000;
        let mut engine = Engine::new();
        let f = engine.function::<(Tensor, Tensor), Tensor>("f", |_, (x, y)| {
            (-(x - y).square()).exp().sum_over(&[1]).square().sum()
        });
        let arguments = (floats(1, &[count, 1]), floats(2, &[1, count]));
        // All pairs would be 16 MB.
        assert_peak("pairs", 4 * count, || engine.call(f, arguments.clone()).unwrap());
        let gradient = engine.value_and_gradient_of_arguments(f).unwrap();
        assert_peak("pairs and gradient", 3 * 4 * count, || engine.call(gradient, arguments.clone()).unwrap());
        let greatest =
            engine.function::<(Tensor, Tensor), Tensor>("greatest", |_, (x, y)| (x * y).max_over(&[0]).sum());
        let gradient = engine.value_and_gradient_of_arguments(greatest).unwrap();
        assert_peak("greatest and gradient", 4 * 4 * count, || engine.call(gradient, arguments.clone()).unwrap());
    });
}

#[test]
fn a_step_of_a_net_needs_its_state_and_what_is_saved() {
    alone(|| {
        let (rows, widths) = (40_000, [16, 64, 64, 8]);
        let mut engine = Engine::new();
        let net = engine.spawn_model("net");
        for (layer, width) in widths.windows(2).enumerate() {
            engine.variable(net, &format!("w{layer}"), floats(3, width)).unwrap();
            engine.variable(net, &format!("b{layer}"), floats(4, &width[1..])).unwrap();
        }
        let loss = engine.method::<(Tensor, Tensor), Tensor>("loss", |_, net, (x, labels)| {
            let first = (x.matmul(net.read("w0")) + net.read("b0")).tanh();
            let second = (first.matmul(net.read("w1")) + net.read("b1")).tanh();
            (second.matmul(net.read("w2")) + net.read("b2")).cross_entropy(labels)
        });
        let labels = Tensor::from((0..rows as i32).map(|row| row % 8).collect::<Vec<_>>());
        let batch = (net, (floats(5, &[rows, 16]), labels));
        let trainer = engine.train(loss, batch).with(Adam::new(0.001)).spawn().unwrap();
        // Saved are the two hidden layers; of the logits there are a few copies: themselves, logarithms, cotangents.
        let saved = 4 * rows * (64 + 64);
        // One cotangent of a hidden layer is there while the next one is made of it.
        let cotangents = 4 * rows * 64;
        let logits = 3 * 4 * rows * 8;
        let peak = saved + cotangents + logits;
        assert_peak("a step", peak, || engine.run(trainer, 1).unwrap());
    });
}
