//! Warm calls and warm steps allocate nothing.
//!
//! What runs here runs in a pool of one thread, so that all of it is counted; of a larger pool each thread is asked.

use entigrad::prelude::*;
use entigrad_tests::allocation::{allocations, allocations_of};
use entigrad_tests::random::Random;

/// What `f` gives in a pool of one thread.
fn alone<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(f)
}

fn floats(random: &mut Random, shape: &[usize]) -> Tensor {
    let numbers: Vec<f32> = random.directions(shape.iter().product()).into_iter().map(|x| x as f32 * 0.3).collect();
    Tensor::new(shape, &numbers).unwrap()
}

/// A net, rows and labels.
type Batch = (ModelId, (Tensor, Tensor));

/// A net of two layers with these widths, and so many rows with labels.
fn batch(engine: &mut Engine, [inputs, hidden, classes]: [usize; 3], rows: usize) -> Batch {
    let mut random = Random(11);
    let net = engine.spawn_model("net");
    for (name, shape) in
        [("w0", &[inputs, hidden][..]), ("b0", &[hidden]), ("w1", &[hidden, classes]), ("b1", &[classes])]
    {
        engine.variable(net, name, floats(&mut random, shape)).unwrap();
    }
    let labels: Vec<i32> = (0..rows).map(|_| random.below(classes) as i32).collect();
    (net, (floats(&mut random, &[rows, inputs]), Tensor::from(labels)))
}

/// Softmax cross entropy, and a reduction of a weight.
fn loss(engine: &mut Engine) -> Function<Batch, Tensor> {
    engine.method::<(Tensor, Tensor), Tensor>("loss", |_, net, (x, labels)| {
        let hidden = (x.matmul(net.read("w0")) + net.read("b0")).tanh();
        let logits = hidden.matmul(net.read("w1")) + net.read("b1");
        logits.cross_entropy(labels) + net.read("w0").square().sum() * 1e-3
    })
}

/// Trains by each optimiser, on fixed arguments and on batches; `check` is given what to say of it, an engine and a trainer.
fn for_each_trainer(check: impl Fn(&str, &mut Engine, TrainerId)) {
    for (name, is_batched) in ["sgd", "momentum", "adam"].into_iter().flat_map(|name| [(name, false), (name, true)]) {
        let mut engine = Engine::new();
        let (batch, loss) = (batch(&mut engine, [6, 8, 4], 50), loss(&mut engine));
        let training = engine.train(loss, batch);
        // Five batches an epoch, all of ten rows.
        let training = if is_batched { training.batches(10, Shuffle::Seeded(3)) } else { training };
        let trainer = match name {
            "sgd" => training.with(Sgd::new(0.1)).spawn(),
            "momentum" => training.with(Sgd::new(0.1).momentum(0.9)).spawn(),
            _ => training.with(Adam::new(0.01)).spawn(),
        };
        check(&format!("{name}, batched: {is_batched}"), &mut engine, trainer.unwrap());
    }
}

#[test]
fn a_thousand_warm_steps_allocate_no_more_than_ten() {
    alone(|| {
        for_each_trainer(|name, engine, trainer| {
            engine.run(trainer, 1).unwrap();
            let ten = allocations_of(|| engine.run(trainer, 10).unwrap());
            let thousand = allocations_of(|| engine.run(trainer, 1000).unwrap());
            assert_eq!(thousand, ten, "{name}");
        });
    });
}

#[test]
fn a_warm_run_of_one_step_allocates_nothing() {
    alone(|| {
        for_each_trainer(|name, engine, trainer| {
            engine.run(trainer, 10).unwrap();
            for _ in 0..100 {
                assert_eq!(allocations_of(|| engine.run(trainer, 1).unwrap()), 0, "{name}");
            }
        });
    });
}

#[test]
fn batches_of_two_sizes_allocate_no_more_in_a_later_epoch() {
    alone(|| {
        let mut engine = Engine::new();
        let (batch, loss) = (batch(&mut engine, [6, 8, 4], 50), loss(&mut engine));
        // Three batches of 16 rows and one of two.
        let training = engine.train(loss, batch).batches(16, Shuffle::Seeded(3));
        let trainer = training.with(Adam::new(0.01)).spawn().unwrap();
        // A batch of another size is looked up anew, which takes some; a later epoch takes what an earlier one did.
        engine.run(trainer, 8).unwrap();
        let epoch = allocations_of(|| engine.run(trainer, 4).unwrap());
        for _ in 0..20 {
            assert_eq!(allocations_of(|| engine.run(trainer, 4).unwrap()), epoch);
        }
    });
}

/// Trainers of models of their own, of a shared model, of captured variables.
fn many_trainers(engine: &mut Engine) {
    let loss = loss(engine);
    let shared = batch(engine, [6, 8, 4], 10);
    let bias = engine.find_variable(shared.0, "b0").unwrap();
    let captured = engine.function::<Tensor, Tensor>("captured", move |t, x| (x + t.read(bias)).square().mean());
    let x = floats(&mut Random(2), &[3, 8]);
    for number in 0..12 {
        let own = batch(engine, [6, 8, 4], 10);
        let spawned = match number % 4 {
            0 => engine.train(loss, shared.clone()).with(Sgd::new(0.1)).spawn(),
            1 => engine.train(captured, x.clone()).with(Sgd::new(0.1).momentum(0.5)).spawn(),
            2 => engine.train(loss, own).with(Adam::new(0.01)).spawn(),
            _ => engine.train(loss, own).batches(5, Shuffle::Seeded(number)).with(Adam::new(0.01)).spawn(),
        };
        spawned.unwrap();
    }
}

#[test]
fn a_warm_update_of_many_trainers_allocates_nothing() {
    alone(|| {
        let mut engine = Engine::new();
        many_trainers(&mut engine);
        (0..10).for_each(|_| assert_eq!(engine.update(), UpdateReport { running: 12, failed: 0 }));
        for _ in 0..100 {
            assert_eq!(allocations_of(|| engine.update()), 0);
        }
    });
}

#[test]
fn warm_steps_that_are_cut_for_threads_allocate_nothing_on_any_of_them() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let on_all_threads = || pool.broadcast(|_| allocations()).into_iter().sum::<u64>();
    let mut engine = Engine::new();
    let (batch, loss) = (batch(&mut engine, [64, 128, 10], 512), loss(&mut engine));
    let trainer = engine.train(loss, batch).with(Adam::new(0.01)).spawn().unwrap();
    pool.install(|| engine.run(trainer, 20).unwrap());
    // A thread that takes part for the first time gets memory to work with, which may be late: so there is a round without any.
    let is_without = (0..50).any(|_| {
        let before = on_all_threads();
        pool.install(|| engine.run(trainer, 30).unwrap());
        on_all_threads() == before
    });
    assert!(is_without);
}

/// Calls a function with these arguments into a result, warm, and counts.
fn assert_calls_allocate_nothing<A: Structure + Clone, R: Structure + Default>(
    engine: &mut Engine,
    function: Function<A, R>,
    arguments: &[A],
) {
    let mut result = R::default();
    let mut call = |engine: &mut Engine| {
        arguments.iter().for_each(|arguments| engine.call_into(function, arguments.clone(), &mut result).unwrap());
    };
    (0..3).for_each(|_| call(engine));
    for round in 0..100 {
        // Arguments that hold a `Vec` allocate where they are cloned.
        let clones = allocations_of(|| arguments.to_vec()) - u64::from(!arguments.is_empty());
        assert_eq!(allocations_of(|| call(engine)), clones, "round {round}");
    }
}

#[test]
fn a_warm_call_into_a_result_allocates_nothing() {
    alone(|| {
        let mut engine = Engine::new();
        let mut random = Random(3);
        let (x, y) = (floats(&mut random, &[20, 30]), floats(&mut random, &[30, 5]));
        let one = engine.function::<Tensor, Tensor>("one", |_, x| x.log_softmax(1).tanh());
        assert_calls_allocate_nothing(&mut engine, one, std::slice::from_ref(&x));
        let two = engine.function::<(Tensor, Tensor), (Tensor, Tensor)>("two", |_, (x, y)| {
            (x.matmul(y), x.square().sum_over(&[0]))
        });
        assert_calls_allocate_nothing(&mut engine, two, &[(x.clone(), y.clone())]);
        let list = engine.function::<Tensor, Vec<Tensor>>("list", |_, x| vec![x.sum(), x * 2.0, x.max_over(&[1])]);
        assert_calls_allocate_nothing(&mut engine, list, std::slice::from_ref(&x));
        let lists = engine.function::<Vec<Tensor>, Vec<Tensor>>("lists", |_, x| vec![x[0] + x[1], x[1].sum()]);
        assert_calls_allocate_nothing(&mut engine, lists, &[vec![x.clone(), x.clone()]]);
        let sum = engine.function::<(Tensor, Tensor), Tensor>("sum", |_, (x, y)| x.matmul(y).sin().sum());
        let gradient = engine.value_and_gradient_of_arguments(sum).unwrap();
        assert_calls_allocate_nothing(&mut engine, gradient, &[(x.clone(), y.clone())]);
        let pick = engine.function::<(Tensor, Tensor), Tensor>("pick", |_, (x, places)| x.gather(places, 0));
        assert_calls_allocate_nothing(&mut engine, pick, &[(x.reshaped(&[600]).unwrap(), Tensor::from([5_i32, 7]))]);
    });
}

#[test]
fn a_warm_call_of_a_method_and_of_its_gradient_allocates_nothing() {
    alone(|| {
        let mut engine = Engine::new();
        let (mine, loss) = (batch(&mut engine, [6, 8, 4], 10), loss(&mut engine));
        assert_calls_allocate_nothing(&mut engine, loss, std::slice::from_ref(&mine));
        let gradient = engine.value_and_gradient(loss).unwrap();
        assert_calls_allocate_nothing(&mut engine, gradient, std::slice::from_ref(&mine));
        let count = engine.method::<Tensor, Tensor>("count", |_, net, x| {
            net.assign("b1", net.read("b1") + x);
            net.read("b1")
        });
        assert_calls_allocate_nothing(&mut engine, count, &[(mine.0, Tensor::from(1.0_f32))]);
        // Two models in turns.
        let other = batch(&mut engine, [6, 8, 4], 10);
        assert_calls_allocate_nothing(&mut engine, loss, &[mine, other]);
    });
}

#[test]
fn the_allocations_of_a_call_are_those_of_its_result() {
    alone(|| {
        let mut engine = Engine::new();
        let x = floats(&mut Random(3), &[20, 30]);
        let double = engine.function::<Tensor, Tensor>("double", |_, x| x * 2.0);
        (0..3).for_each(|_| drop(engine.call(double, x.clone()).unwrap()));
        let tensor = allocations_of(|| Tensor::zeros(DType::F32, &[20, 30]).unwrap());
        assert!(tensor > 0);
        // And the list that the results are made in.
        let call = allocations_of(|| engine.call(double, x.clone()).unwrap());
        assert!((tensor..=tensor + 1).contains(&call), "{call} against {tensor}");
    });
}
