//! The same bits on 1, 2, 3 and 7 threads, for work that is large enough to be cut.

use entigrad::prelude::*;
use entigrad::systems::plan::Plans;
use entigrad_tests::random::Random;

/// Asserts that `f` gives the same bits in pools of every size.
fn assert_same_bits(name: &str, f: impl Fn() -> Vec<Tensor> + Sync) {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&f)
    };
    let wanted = on(1);
    assert!(!wanted.is_empty());
    for threads in [2, 3, 7] {
        for (place, (given, wanted)) in on(threads).iter().zip(&wanted).enumerate() {
            assert!(
                given.is_same(wanted) || given.bytes() == wanted.bytes(),
                "{name}: result {place}, {threads} threads"
            );
            assert_eq!((given.dtype(), given.shape()), (wanted.dtype(), wanted.shape()));
        }
    }
}

/// Calls `body` and asserts that its bits are the same, and that its plan is work for several threads.
fn assert_call_same_bits(
    name: &str,
    arguments: &[Tensor],
    body: impl for<'t> Fn(Trace<'t>, &[Value<'t>]) -> Vec<Value<'t>> + Send + Sync + Copy + 'static,
) {
    assert_same_bits(name, || {
        let mut engine = Engine::new();
        let f = engine.function::<Vec<Tensor>, Vec<Tensor>>("f", move |t, x| body(t, &x));
        let results = engine.call(f, arguments.to_vec()).unwrap();
        let concrete = engine.concrete(f, arguments.to_vec()).unwrap();
        let work = engine.world().get::<Plans>(concrete.entity).unwrap().instances[0].program.work_nanoseconds;
        assert!(work > 500_000, "{name} takes {work} ns, too little to be cut");
        results
    });
}

fn tensor(dtype: DType, shape: &[usize], seed: u64) -> Tensor {
    Tensor::new(shape, &Random(seed).directions(shape.iter().product())).unwrap().cast(dtype)
}

const FLOATS: [DType; 2] = [DType::F32, DType::F64];

#[test]
fn a_long_chain_with_several_results() {
    for dtype in FLOATS {
        let arguments = [tensor(dtype, &[2_000_003], 1), tensor(dtype, &[2_000_003], 2)];
        assert_call_same_bits(&format!("chain of {dtype}"), &arguments, |_, x| {
            let (x, y) = (x[0], x[1]);
            let wave = (x * 3.0).sin() * (-x.square()).exp();
            let both = wave.tanh() + y.cos() * 0.5;
            let is_less = both.less(y);
            vec![wave, both, is_less, is_less.select(both / (y.square() + 1.0), x), (both * 100.0).cast(DType::I32)]
        });
    }
}

#[test]
fn sums_and_maxima_along_rows_columns_and_all() {
    for dtype in FLOATS {
        for shape in [&[1801, 1203][..], &[3, 400_001], &[400_001, 3], &[3_000_017], &[41, 171, 173]] {
            let arguments = [tensor(dtype, shape, 3)];
            assert_call_same_bits(&format!("reductions of {dtype} {shape:?}"), &arguments, |_, x| {
                let x = x[0];
                let mut axes = vec![vec![0], vec![x.rank() - 1], (0..x.rank()).collect()];
                if x.rank() == 3 {
                    axes.extend([vec![1], vec![0, 2]]);
                }
                let of = |axes: &Vec<usize>| [x.sum_over(axes), (x * x).sum_over(axes), x.max_over(axes)];
                axes.iter().flat_map(of).collect()
            });
        }
    }
}

#[test]
fn integers_are_reduced_alike_too() {
    let numbers: Vec<i32> = (0..1_299_900_u64).map(|seed| Random(seed).bits() as i32).collect();
    assert_call_same_bits("integers", &[Tensor::from(numbers)], |_, x| {
        let matrix = x[0].reshape([619, 2100]);
        vec![x[0].sum(), x[0].max(), matrix.sum_over(&[0]), matrix.max_over(&[1])]
    });
}

#[test]
fn large_products_with_every_transpose() {
    for dtype in FLOATS {
        for [rows, inner, columns] in
            [[301, 403, 257], [1, 1500, 1100], [1100, 1500, 1], [2000, 64, 48], [48, 4000, 52]]
        {
            for (left, right) in [(false, false), (true, false), (false, true), (true, true)] {
                let shape = |is_transposed, [rows, columns]: [usize; 2]| {
                    if is_transposed { [columns, rows] } else { [rows, columns] }
                };
                let arguments =
                    [tensor(dtype, &shape(left, [rows, inner]), 4), tensor(dtype, &shape(right, [inner, columns]), 5)];
                let name = format!("product of {dtype} {rows} {inner} {columns} {left} {right}");
                assert_same_bits(&name, || {
                    let mut engine = Engine::new();
                    let f = engine
                        .function::<(Tensor, Tensor), Tensor>("f", move |_, (x, y)| x.matmul_with(y, left, right));
                    vec![engine.call(f, (arguments[0].clone(), arguments[1].clone())).unwrap()]
                });
            }
        }
    }
}

#[test]
fn strided_views() {
    for dtype in FLOATS {
        let arguments = [tensor(dtype, &[701, 1103], 6), tensor(dtype, &[1103, 1], 7), tensor(dtype, &[701], 8)];
        assert_call_same_bits(&format!("views of {dtype}"), &arguments, |_, x| {
            let (matrix, column, row) = (x[0], x[1], x[2]);
            let turned = matrix.transpose(&[1, 0]);
            let mixed = (turned * column + row).tanh();
            vec![
                mixed,
                mixed.transpose(&[1, 0]).sum_over(&[1]),
                turned.sum_over(&[1]),
                turned.max_over(&[0]),
                turned.reshape([701, 1103]) + matrix,
                turned.matmul(matrix.reshape([701, 1103])),
            ]
        });
    }
}

fn floats(random: &mut Random, shape: &[usize]) -> Tensor {
    let numbers: Vec<f32> = random.directions(shape.iter().product()).into_iter().map(|x| x as f32 * 0.1).collect();
    Tensor::new(shape, &numbers).unwrap()
}

/// A net of these widths.
fn net(engine: &mut Engine, random: &mut Random, widths: [usize; 3]) -> ModelId {
    let net = engine.spawn_model("net");
    for (name, shape) in [("w0", &widths[..2]), ("b0", &widths[1..2]), ("w1", &widths[1..]), ("b1", &widths[2..])] {
        engine.variable(net, name, floats(random, shape)).unwrap();
    }
    net
}

type Batch = (ModelId, (Tensor, Tensor));

fn loss(engine: &mut Engine) -> Function<Batch, Tensor> {
    engine.method::<(Tensor, Tensor), Tensor>("loss", |_, net, (x, labels)| {
        let hidden = (x.matmul(net.read("w0")) + net.read("b0")).relu();
        (hidden.matmul(net.read("w1")) + net.read("b1")).cross_entropy(labels)
    })
}

fn labels(random: &mut Random, rows: usize, classes: usize) -> Tensor {
    Tensor::from((0..rows).map(|_| random.below(classes) as i32).collect::<Vec<_>>())
}

fn values(engine: &Engine, models: &[ModelId]) -> Vec<Tensor> {
    let variables = models.iter().flat_map(|model| engine.variables(*model).unwrap());
    variables.map(|variable| engine.value(variable).unwrap()).collect()
}

#[test]
fn steps_of_adam_on_a_net() {
    assert_same_bits("a net 300-400-200, 256 rows", || {
        let (mut engine, mut random) = (Engine::new(), Random(9));
        let model = net(&mut engine, &mut random, [300, 400, 200]);
        let batch = (floats(&mut random, &[256, 300]), labels(&mut random, 256, 200));
        let loss = loss(&mut engine);
        let trainer = engine.train(loss, (model, batch)).with(Adam::new(0.001)).spawn().unwrap();
        let last = engine.run(trainer, 3).unwrap().unwrap();
        values(&engine, &[model]).into_iter().chain([Tensor::from(last)]).collect()
    });
}

#[test]
fn updates_of_fifty_trainers_some_of_which_share_a_model() {
    assert_same_bits("fifty trainers", || {
        let (mut engine, mut random) = (Engine::new(), Random(10));
        let loss = loss(&mut engine);
        let mut models: Vec<ModelId> = Vec::new();
        let mut losses = Vec::new();
        for number in 0..50 {
            // Every fifth trains the model of an earlier one, some with other settings.
            let model = match number {
                0 => net(&mut engine, &mut random, [20, 16, 8]),
                number if number % 5 == 0 => models[number / 2],
                _ => net(&mut engine, &mut random, [20, 16, 8]),
            };
            models.push(model);
            let batch = (model, (floats(&mut random, &[32, 20]), labels(&mut random, 32, 8)));
            let training = engine.train(loss, batch).with(Adam::new(if number % 2 == 0 { 0.01 } else { 0.002 }));
            losses.push(training.spawn().unwrap());
        }
        (0..5).for_each(|_| assert_eq!(engine.update(), UpdateReport { running: 50, failed: 0 }));
        let last = losses.iter().map(|trainer| engine.trainer(*trainer).unwrap().last_loss.unwrap());
        let last = Tensor::from(last.collect::<Vec<f64>>());
        values(&engine, &models).into_iter().chain([last]).collect()
    });
}
