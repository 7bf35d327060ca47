//! Plans: what some twenty of them take is counted exactly, and how one prints is a snapshot. Where a count is more than it would
//! have to be, that is said.

use entigrad::prelude::*;
use entigrad::systems::kernels::counts::Counts;
use entigrad::systems::plan::{Plans, print};

use super::printing::assert_snapshot;

/// Makes and plans a function in an engine; its concrete.
type Make = fn(&mut Engine) -> Result<ConcreteId, Error>;

/// The concrete of `body` after one call.
fn of<A: Structure + Clone>(
    engine: &mut Engine,
    arguments: A,
    body: impl for<'t> Fn(Trace<'t>, A::Traced<'t>) -> Value<'t> + Send + Sync + 'static,
) -> Result<ConcreteId, Error> {
    let function = engine.function::<A, Tensor>("f", body);
    engine.call(function, arguments.clone())?;
    engine.concrete(function, arguments)
}

fn zeros(shape: &[usize]) -> Tensor {
    Tensor::zeros(DType::F32, shape).unwrap()
}

/// A net, and a batch of inputs and targets.
type Batch = (ModelId, (Tensor, Tensor));

/// The mean squared error of a net of two layers, 4 -> 8 -> 2, and a batch of 16 rows.
fn mlp_loss(engine: &mut Engine) -> Result<(Function<Batch, Tensor>, Batch), Error> {
    let model = engine.spawn_model("net");
    for (name, shape) in [("w0", &[4, 8][..]), ("b0", &[8]), ("w1", &[8, 2]), ("b1", &[2])] {
        engine.variable(model, name, zeros(shape))?;
    }
    let loss = engine.method::<(Tensor, Tensor), Tensor>("loss", |_, net, (x, y)| {
        let hidden = (x.matmul(net.read("w0")) + net.read("b0")).tanh();
        (hidden.matmul(net.read("w1")) + net.read("b1")).mse(y)
    });
    Ok((loss, (model, (zeros(&[16, 4]), zeros(&[16, 2])))))
}

fn mlp_step(engine: &mut Engine, optimizer: impl Optimizer) -> Result<ConcreteId, Error> {
    let (loss, batch) = mlp_loss(engine)?;
    let trainer = engine.train(loss, batch).with(optimizer).spawn()?;
    engine.step_concrete(trainer)
}

/// Instructions, buffers, bytes of the arena, bytes read, bytes written, flops.
const PLANS: &[(&str, [usize; 6], Make)] = &[
    ("the sum of two scalars", [1, 3, 0, 8, 4, 1], |engine| {
        let two = (Tensor::from(1.0_f32), Tensor::from(2.0_f32));
        of::<(Tensor, Tensor)>(engine, two, |_, (x, y)| x + y)
    }),
    ("a chain of three functions of a thousand numbers", [1, 2, 0, 4000, 4000, 3000], |engine| {
        of::<Tensor>(engine, zeros(&[1000]), |_, x| x.tanh().sin().exp())
    }),
    // One step, which does both ops.
    ("a product and a sum, of a hundred numbers", [1, 4, 0, 1200, 400, 200], |engine| {
        let three = (zeros(&[100]), zeros(&[100]), zeros(&[100]));
        of::<(Tensor, Tensor, Tensor)>(engine, three, |_, (x, y, z)| x * y + z)
    }),
    ("the sum of exponentials", [1, 2, 0, 4000, 4, 2000], |engine| {
        of::<Tensor>(engine, zeros(&[1000]), |_, x| x.exp().sum())
    }),
    // The division of one number by 1000 is an instruction of its own: what a reduction gives is not used in the same one.
    ("the mean of a thousand numbers", [2, 3, 128, 4004, 8, 1001], |engine| {
        of::<Tensor>(engine, zeros(&[1000]), |_, x| x.mean())
    }),
    // A hundred numbers, read as a column and as a row; nothing of a hundred times a hundred is stored.
    ("the squared distances of all pairs, summed for each", [1, 2, 0, 800, 400, 30_000], |engine| {
        of::<Tensor>(engine, zeros(&[100]), |_, x| (x.reshape([100, 1]) - x.reshape([1, 100])).square().sum_over(&[1]))
    }),
    // 2 · 4 · 3 · 2 flops, and no transposed copy.
    ("a product of transposed matrices", [1, 3, 0, 72, 32, 48], |engine| {
        let two = (zeros(&[3, 4]), zeros(&[2, 3]));
        of::<(Tensor, Tensor)>(engine, two, |_, (x, y)| x.transpose(&[1, 0]).matmul(y.transpose(&[1, 0])))
    }),
    // The matrix of six numbers counts for either side.
    ("a matrix by itself transposed", [1, 2, 0, 48, 16, 24], |engine| {
        of::<Tensor>(engine, zeros(&[2, 3]), |_, x| x.matmul(x.transpose(&[1, 0])))
    }),
    // Nothing is repeated in memory: three numbers are read.
    ("a matrix by a row that is shown four times", [1, 3, 0, 44, 24, 48], |engine| {
        let two = (zeros(&[2, 4]), zeros(&[3]));
        of::<(Tensor, Tensor)>(engine, two, |_, (x, y)| x.matmul(y.broadcast([4, 3])))
    }),
    // The product of eight numbers is stored and read again: 32 bytes each way that one instruction for both would save.
    ("a layer: a product, a bias, a function", [2, 5, 128, 120, 64, 64], |engine| {
        let three = (zeros(&[2, 3]), zeros(&[3, 4]), zeros(&[4]));
        of::<(Tensor, Tensor, Tensor)>(engine, three, |_, (x, w, b)| (x.matmul(w) + b).tanh())
    }),
    ("views of views", [1, 2, 0, 96, 96, 24], |engine| {
        of::<Tensor>(engine, zeros(&[24]), |_, x| x.reshape([2, 3, 4]).transpose(&[2, 0, 1]).reshape([8, 3]).exp())
    }),
    // An argument is no result, so it is copied.
    ("an argument in another shape", [1, 2, 0, 96, 96, 0], |engine| {
        of::<Tensor>(engine, zeros(&[24]), |_, x| x.reshape([4, 6]))
    }),
    // The places are spread in memory first: an op with a kernel of its own reads dense operands. It counts all that it could read.
    ("rows taken by number", [2, 4, 128, 152, 48, 6], |engine| {
        let two = (zeros(&[10, 3]), Tensor::from([1_i32, 2]));
        of::<(Tensor, Tensor)>(engine, two, |_, (x, places)| x.gather(places.reshape([2, 1]).broadcast([2, 3]), 0))
    }),
    // Three times over the matrix, which is the least: the mean, the variance, the result. Between them one instruction each for
    // the sixteen means and roots, so that these are not computed for each element.
    ("a norm of each row", [5, 6, 256, 12_608, 4352, 6208], |engine| {
        of::<Tensor>(engine, zeros(&[16, 64]), |_, x| {
            let centred = x - x.mean_over(&[1]).reshape([16, 1]);
            let variance = centred.square().mean_over(&[1]);
            centred / (variance + 1e-5).sqrt().reshape([16, 1])
        })
    }),
    // All 80 logarithms of probabilities are stored for `gather` to take eight. Small numbers after a reduction have instructions of their own:
    // eight logarithms, and one mean.
    ("the cross entropy of eight rows of ten", [7, 9, 640, 1476, 456, 506], |engine| {
        let two = (zeros(&[8, 10]), Tensor::from([0_i32; 8]));
        of::<(Tensor, Tensor)>(engine, two, |_, (x, labels)| x.cross_entropy(labels))
    }),
    // Two more: `scatter_add`, and the copy of zeros for the labels. What the backward pass needs for each element comes along
    // where the loss is computed.
    // The exponentials are stored: to read them again is less than to compute them again.
    ("the gradient of the cross entropy", [9, 18, 1152, 2916, 1512, 946], |engine| {
        let two = (zeros(&[8, 10]), Tensor::from([0_i32; 8]));
        let f = engine.function::<(Tensor, Tensor), Tensor>("f", |_, (x, labels)| x.cross_entropy(labels));
        let gradient = engine.value_and_gradient_of_arguments(f)?;
        engine.call(gradient, two.clone())?;
        engine.concrete(gradient, two)
    }),
    // Five products, which need 2 · 16 · (2 · 4 · 8 + 3 · 8 · 2) flops, and a fused instruction wherever something stands between
    // them: three. One more for the gradient of the last bias, which is reduced otherwise than the loss that is computed along
    // with it, and one for the mean. The hidden layer is saved, its derivative computed from it.
    ("the loss and the gradient of a net", [10, 18, 1152, 4524, 2544, 4577], |engine| {
        let (loss, batch) = mlp_loss(engine)?;
        let gradient = engine.value_and_gradient(loss)?;
        engine.call(gradient, batch.clone())?;
        engine.concrete(gradient, batch)
    }),
    // One instruction more for each of the four variables, in place.
    ("a step of gradient descent", [14, 22, 1280, 4988, 2776, 4693], |engine| mlp_step(engine, Sgd::new(0.1))),
    ("a step of gradient descent with momentum", [14, 30, 1280, 5220, 3008, 4809], |engine| {
        mlp_step(engine, Sgd::new(0.1).momentum(0.9))
    }),
    // And one for what all variables share.
    ("a step of Adam", [15, 44, 1536, 5500, 3264, 5340], |engine| mlp_step(engine, Adam::new(0.1))),
    // The powers of Adam's decays are assigned, so they wait for `gather`, which may fail; the whole update waits for them.
    ("a step of Adam on a cross entropy", [12, 30, 768, 1708, 896, 879], |engine| {
        let model = engine.spawn_model("net");
        engine.variable(model, "w", zeros(&[4, 3]))?;
        let loss = engine.method::<(Tensor, Tensor), Tensor>("loss", |_, net, (x, labels)| {
            x.matmul(net.read("w")).cross_entropy(labels)
        });
        let batch = (model, (zeros(&[8, 4]), Tensor::from([0_i32; 8])));
        let trainer = engine.train(loss, batch).with(Adam::new(0.1)).spawn()?;
        engine.step_concrete(trainer)
    }),
    // Read and written where it is.
    ("a variable that counts", [1, 2, 0, 4, 4, 1], |engine| {
        let model = engine.spawn_model("model");
        let count = engine.non_trainable_variable(model, "count", 0.0_f32)?;
        let function = engine.function::<(), ()>("count", move |t, ()| t.assign(count, t.read(count) + 1.0));
        engine.call(function, ())?;
        engine.concrete(function, ())
    }),
    // Four copies; three would do.
    ("two variables that change places", [4, 6, 256, 160, 160, 0], |engine| {
        let model = engine.spawn_model("model");
        let (x, y) = (engine.variable(model, "x", zeros(&[10]))?, engine.variable(model, "y", zeros(&[10]))?);
        let function = engine.function::<(), ()>("swap", move |t, ()| {
            let (old_x, old_y) = (t.read(x), t.read(y));
            t.assign(x, old_y);
            t.assign(y, old_x);
        });
        engine.call(function, ())?;
        engine.concrete(function, ())
    }),
];

/// The text of the only instance of a plan, and what it takes.
fn planned(make: Make) -> (String, Counts) {
    let mut engine = Engine::new();
    let concrete = make(&mut engine).unwrap();
    let plans = engine.world().get::<Plans>(concrete.entity).unwrap();
    assert_eq!(plans.instances.len(), 1);
    (print(plans, false), plans.instances[0].program.counts())
}

#[test]
fn plans_take_no_more_and_no_less_than_they_did() {
    let mut differences = Vec::new();
    for (name, [instructions, buffers, arena_bytes, bytes_read, bytes_written, flops], make) in PLANS {
        let (text, counts) = planned(*make);
        let known = Counts {
            instructions: *instructions,
            buffers: *buffers,
            arena_bytes: *arena_bytes,
            bytes_read: *bytes_read,
            bytes_written: *bytes_written,
            flops: *flops,
        };
        if counts != known {
            differences.push(format!("{name}: {counts}\nbefore: {known}\n{text}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn pairs_move_bytes_by_their_number_alone() {
    let counts = |n: usize| {
        let mut engine = Engine::new();
        let concrete = of::<Tensor>(&mut engine, zeros(&[n]), move |_, x| {
            (x.reshape([n, 1]) - x.reshape([1, n])).square().sum_over(&[1])
        });
        let plans = engine.world().get::<Plans>(concrete.unwrap().entity).unwrap();
        plans.instances[0].program.counts()
    };
    let (small, large) = (counts(50), counts(500));
    assert_eq!(large.bytes_moved(), 10 * small.bytes_moved());
    assert_eq!(large.flops, 100 * small.flops);
}

#[test]
fn printing_the_plan_of_a_net_gives_what_it_gave() {
    let (_, _, make) = PLANS.iter().find(|(name, ..)| *name == "the loss and the gradient of a net").unwrap();
    assert_snapshot("plan.txt", &planned(*make).0);
}

#[test]
fn printed_instructions_say_what_they_read_and_how_it_lies() {
    for (name, lines) in [
        (
            "a norm of each row",
            &[
                "    r0 = b4[16:1 64:0]\n    r1 = b2[16:1 64:0]\n    r1 = sub b0 r1   %7\n    b5 = div r1 r0   %17\n",
                "  saved: %1 sum, %4 div, %9 sum, %14 sqrt\n  computed again: %7 sub\n",
            ][..],
        ),
        ("a product and a sum, of a hundred numbers", &["    b3 = mul_add b0 b1 b2   %3 %4\n  saved: nothing\n"]),
        ("a product of transposed matrices", &["  0: b2 = product b0T b1T, m 4 k 3 n 2   %4\n"]),
        ("a matrix by a row that is shown four times", &["  0: b2 = product b0 b1[4:0 3:1], m 2 k 4 n 3   %3\n"]),
        ("rows taken by number", &["    b2 = copy r0   %3\n  1: b3 = gather b0 b2   %4\n"]),
        (
            "two variables that change places",
            &["  b2 = variable `model/x` : f32[10]   %0\n", "  2: b3 = copy b1   %1\n"],
        ),
    ] {
        let (_, _, make) = PLANS.iter().find(|(found, ..)| *found == name).unwrap();
        let text = planned(*make).0;
        for line in lines {
            assert!(text.contains(line), "{line}is not in\n{text}");
        }
    }
}

#[test]
fn a_plan_is_printed_before_any_call_where_all_lengths_are_known() {
    let mut engine = Engine::new();
    let double = engine.function::<Tensor, Tensor>("double", |_, x| x + x);
    let concrete = engine.concrete(double, zeros(&[3])).unwrap();
    let text = engine.print_plan(concrete).unwrap();
    assert!(text.contains("plans.rs:") && text.contains("\nplan of double(f32[3])\n"), "{text}");
    assert!(text.contains("  0: fused over 3, tile 16\n    b1 = add b0 b0   %1\n"), "{text}");

    let any = engine.function::<Tensor, Tensor>("any", |_, x| x + x);
    engine.set_signature(any, [TensorSpec::new(DType::F32, [Dim::from("n")])]).unwrap();
    let concrete = engine.concrete(any, zeros(&[3])).unwrap();
    assert!(!engine.print_plan(concrete).unwrap().contains("plan of"));
    engine.call(any, zeros(&[2])).unwrap();
    engine.call(any, zeros(&[4])).unwrap();
    let text = engine.print_plan(concrete).unwrap();
    let plans: Vec<&str> = text.lines().filter(|line| line.starts_with("plan of")).collect();
    assert_eq!(plans, ["plan of any(f32[2])", "plan of any(f32[4])"]);

    engine.despawn(any);
    assert!(engine.print_plan(concrete).unwrap_err().to_string().contains("any"));
}
