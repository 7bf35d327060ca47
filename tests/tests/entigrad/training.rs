//! Optimisers, trainers, batches.

use approx::assert_relative_eq;
use entigrad::prelude::*;

fn square() -> (Engine, VariableId, Function<(), Tensor>) {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let theta = engine.variable(model, "theta", 1.0_f64).unwrap();
    let loss = engine.function::<(), Tensor>("loss", move |t, ()| t.read(theta).square());
    (engine, theta, loss)
}

/// The first three steps of Adam on θ² from 1 with rate 0.1, as an independent program in f64 gives them.
const ADAM: [f64; 3] = [0.9000000005, 0.8004122286917922, 0.7015862729460296];

#[test]
fn adam_takes_the_right_first_steps() {
    let (mut engine, theta, loss) = square();
    let trainer = engine.train(loss, ()).with(Adam::new(0.1)).spawn().unwrap();
    for wanted in ADAM {
        engine.run(trainer, 1).unwrap();
        assert_relative_eq!(engine.value(theta).unwrap().item::<f64>().unwrap(), wanted, max_relative = 1e-12);
    }
    let report = engine.trainer(trainer).unwrap();
    assert_eq!(report.step_count, 3);
    assert_relative_eq!(report.last_loss.unwrap(), ADAM[1] * ADAM[1], max_relative = 1e-12);
}

#[test]
fn gradients_that_the_user_accumulates_are_applied_by_the_same_update() {
    let (mut engine, theta, loss) = square();
    let gradient = engine.value_and_gradient(loss).unwrap();
    let optimizer = engine.spawn_optimizer(Adam::new(0.1)).unwrap();
    for wanted in ADAM {
        let (_, gradients) = engine.call(gradient, ()).unwrap();
        engine.set_gradient(theta, gradients.get(theta).unwrap().clone()).unwrap();
        assert_eq!(engine.optimize(optimizer, &[theta, theta]).unwrap(), 1);
        assert_relative_eq!(engine.value(theta).unwrap().item::<f64>().unwrap(), wanted, max_relative = 1e-12);
        assert_eq!(engine.optimize(optimizer, &[theta]).unwrap(), 0, "the gradient is used up");
    }
}

#[test]
fn the_optimize_system_serves_variables_that_name_their_optimizer() {
    let (mut engine, theta, _) = square();
    let optimizer = engine.spawn_optimizer(Sgd::new(0.25)).unwrap();
    engine.world_mut().entity_mut(theta.entity).insert(entigrad::systems::optimize::OptimizedBy(optimizer));
    engine.set_gradient(theta, 2.0_f64).unwrap();
    engine.update();
    engine.update();
    assert_eq!(engine.value(theta).unwrap(), Tensor::from(0.5_f64));
}

#[test]
fn sgd_steps_with_and_without_momentum() {
    for (momentum, wanted) in [(0.0, [0.8, 0.64, 0.512]), (0.5, [0.8, 0.54, 0.302]), (1.0, [0.8, 0.44, -0.008])] {
        let (mut engine, theta, loss) = square();
        let trainer = engine.train(loss, ()).with(Sgd::new(0.1).momentum(momentum)).spawn().unwrap();
        for wanted in wanted {
            engine.run(trainer, 1).unwrap();
            assert_relative_eq!(engine.value(theta).unwrap().item::<f64>().unwrap(), wanted, max_relative = 1e-12);
        }
    }
}

#[test]
fn what_is_not_trainable_is_left_alone() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let w = engine.variable(model, "w", 1.0_f32).unwrap();
    let scale = engine.non_trainable_variable(model, "scale", 3.0_f32).unwrap();
    let loss = engine.function::<(), Tensor>("loss", move |t, ()| (t.read(w) * t.read(scale)).square());
    let trainer = engine.train(loss, ()).with(Sgd::new(0.01)).spawn().unwrap();
    engine.run(trainer, 5).unwrap();
    assert_eq!(engine.value(scale).unwrap(), Tensor::from(3.0_f32));
    assert!(engine.value(w).unwrap().item::<f32>().unwrap() < 1.0);
}

#[test]
fn two_trainers_of_one_variable_take_turns_in_creation_order() {
    let (mut engine, theta, loss) = square();
    let linear = engine.function::<(), Tensor>("linear", move |t, ()| t.read(theta) * 1.0);
    engine.train(loss, ()).with(Sgd::new(0.25)).spawn().unwrap();
    engine.train(linear, ()).with(Sgd::new(0.25)).spawn().unwrap();
    engine.update();
    // θ - 0.25·2θ, then minus 0.25.
    assert_eq!(engine.value(theta).unwrap(), Tensor::from(0.25_f64));
    assert_eq!(engine.update(), UpdateReport { running: 2, failed: 0 });
    assert_eq!(engine.value(theta).unwrap(), Tensor::from(-0.125_f64));
}

#[test]
fn a_trainer_that_fails_is_marked_and_the_rest_train_on() {
    let (mut engine, _, loss) = square();
    let wrong = engine.function::<Tensor, Tensor>("wrong", |_, x| x);
    let failing = engine.train(wrong, Tensor::from([1.0_f32, 2.0])).with(Sgd::new(0.1)).spawn().unwrap();
    let training = engine.train(loss, ()).with(Sgd::new(0.1)).spawn().unwrap();
    assert_eq!(engine.update(), UpdateReport { running: 1, failed: 1 });
    let error = engine.trainer(failing).unwrap().error.unwrap().to_string();
    assert_eq!(
        error,
        "function `wrong` has no gradient: its result is f32[2], and only a scalar has a gradient; reduce it, for example with \
         `.sum()` or `.mean()`"
    );
    assert_eq!(engine.trainer(training).unwrap().step_count, 1);
    assert_eq!(engine.run(failing, 1).unwrap_err().to_string(), error);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let (mut engine, _, loss) = square();
    let refused = |engine: &mut Engine, adam: Adam| engine.train(loss, ()).with(adam).spawn().unwrap_err().to_string();
    let text = "the learning rate of adam is NaN, and must be at least 0 and finite";
    assert_eq!(refused(&mut engine, Adam::new(f64::NAN)), text);
    let adam = Adam { beta2: 1.0, ..Adam::new(0.1) };
    assert_eq!(refused(&mut engine, adam), "the beta2 of adam is 1, and must be at least 0 and below 1");
}

#[test]
fn batches_give_each_row_once_an_epoch_in_an_order_of_their_seed() {
    let rows = Tensor::from((0..10).collect::<Vec<i32>>());
    let epoch = |shuffle, epoch: u64| {
        let mut batches = Batches::new(vec![rows.clone()], 4, shuffle).unwrap();
        assert_eq!(batches.steps_per_epoch(), 3);
        let steps = (0..3).map(|step| batches.leaves(epoch * 3 + step).unwrap().remove(0));
        steps.map(|batch| batch.to_vec::<i32>().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(epoch(Shuffle::Never, 1), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    let (first, second) = (epoch(Shuffle::Seeded(7), 0), epoch(Shuffle::Seeded(7), 1));
    assert_eq!(first, epoch(Shuffle::Seeded(7), 0));
    assert!(first != second && first != epoch(Shuffle::Seeded(8), 0));
    for order in [first, second] {
        let mut all = order.concat();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<i32>>());
    }
}

#[test]
fn batches_of_unequal_tensors_are_refused() {
    let leaves = vec![Tensor::from([1.0_f32, 2.0]), Tensor::from([1_i32])];
    let error = Batches::new(leaves, 1, Shuffle::Never).err().unwrap().to_string();
    assert_eq!(error, "batches need tensors of one number of rows: 2 and 1 differ");
    assert!(Batches::new(vec![Tensor::from([1.0_f32])], 0, Shuffle::Never).is_err());
}

#[test]
fn everything_works_on_a_plain_world() {
    let mut world = World::new();
    let entity = world.spawn_empty().id();
    let model = world.make_model(entity, "of the user").unwrap();
    let w = world.variable(model, "w", 4.0_f64).unwrap();
    let loss = world.function::<(), Tensor>("loss", move |t, ()| t.read(w).square());
    let trainer = world.train(loss, ()).with(Sgd::new(0.25)).spawn().unwrap();
    assert_eq!(world.update_trainers(), UpdateReport { running: 1, failed: 0 });
    assert_eq!(world.run(trainer, 1).unwrap(), Some(4.0));
    assert_eq!(world.value(w).unwrap(), Tensor::from(1.0_f64));
    world.despawn(entity);
    assert!(world.call(loss, ()).unwrap_err().to_string().contains("with its model `of the user`"));
}
