//! Flat memory: worlds that spawn, train and despawn for ever.

use entigrad::prelude::*;
use entigrad_tests::allocation::live_bytes;

/// Spawns a two-layer model, calls its method, takes a gradient, despawns it.
fn round(
    engine: &mut Engine,
    forward: Function<(ModelId, Tensor), Tensor>,
    gradient: Function<(ModelId, Tensor), (Tensor, Gradients)>,
) {
    let model = engine.spawn_model("brain");
    for (name, shape) in
        [("layers/0/w", &[3, 4][..]), ("layers/0/b", &[4]), ("layers/1/w", &[4, 1]), ("layers/1/b", &[1])]
    {
        engine.variable(model, name, Tensor::full(shape, Scalar::F32(0.5)).unwrap()).unwrap();
    }
    let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    engine.call(forward, (model, x.clone())).unwrap();
    let (_, gradients) = engine.call(gradient, (model, x)).unwrap();
    assert_eq!(gradients.len(), 4);
    engine.despawn(model);
}

fn forward(engine: &mut Engine) -> Function<(ModelId, Tensor), Tensor> {
    engine.method::<Tensor, Tensor>("forward", |_, model, x| {
        let hidden = (x.matmul(model.read("layers/0/w")) + model.read("layers/0/b")).tanh();
        (hidden.matmul(model.read("layers/1/w")) + model.read("layers/1/b")).sum()
    })
}

#[test]
fn ten_thousand_models_that_come_and_go_leave_nothing_behind() {
    let mut engine = Engine::new();
    let before = engine.world().entities().count_spawned();
    let forward = forward(&mut engine);
    let gradient = engine.value_and_gradient(forward).unwrap();
    round(&mut engine, forward, gradient);
    let count = engine.world().entities().count_spawned();
    let mut bytes = 0;
    for number in 2..=10_000 {
        round(&mut engine, forward, gradient);
        assert_eq!(engine.world().entities().count_spawned(), count);
        if number == 1_000 {
            bytes = live_bytes();
        }
    }
    assert_eq!(live_bytes(), bytes);
    engine.despawn(forward);
    assert_eq!(engine.world().entities().count_spawned(), before);
}

#[test]
fn functions_that_come_and_go_leave_nothing_behind() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    engine.variable(model, "w", 2.0_f64).unwrap();
    let other = engine.spawn_model("other");
    let w = engine.variable(other, "w", 2.0_f64).unwrap();
    let mut sizes = Vec::new();
    for number in 0..2_000 {
        let times = engine.method::<Tensor, Tensor>("times", |_, model, x| x * model.read("w"));
        let square = engine.function::<(ModelId, Tensor), Tensor>("square", move |t, arguments| {
            (t.call(times, arguments) * t.read(w)).square()
        });
        let gradient = engine.value_and_gradient(square).unwrap();
        engine.call(times, (model, Tensor::from(3.0_f64))).unwrap();
        engine.call(gradient, (model, Tensor::from(3.0_f64))).unwrap();
        engine.despawn(square);
        engine.despawn(times);
        let spare = engine.spawn_model("a call that sweeps");
        engine.despawn(spare);
        if number == 1_000 || number == 1_999 {
            sizes.push((engine.world().entities().count_spawned(), live_bytes()));
        }
    }
    assert_eq!(sizes[0].0, sizes[1].0);
    let grown = sizes[1].1 - sizes[0].1 - size_of_val(&sizes[0]) as isize;
    assert!(grown.abs() < 256, "{grown} bytes more after a thousand rounds more");
}

#[test]
fn trainers_that_come_and_go_take_their_optimizer_state_with_them() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("model");
    let w = engine.variable(model, "w", 2.0_f64).unwrap();
    let loss = engine.function::<Tensor, Tensor>("loss", move |t, x| (x * t.read(w)).square());
    let round = |engine: &mut Engine| {
        let trainer = engine.train(loss, Tensor::from(1.0_f64)).with(Adam::new(0.01)).spawn().unwrap();
        engine.run(trainer, 3).unwrap();
        engine.despawn(trainer);
        engine.world().entities().count_spawned()
    };
    let count = round(&mut engine);
    for _ in 0..100 {
        assert_eq!(round(&mut engine), count);
    }
}

#[test]
fn traces_that_fail_leave_nothing_behind() {
    let mut engine = Engine::new();
    let f = engine.function::<Tensor, Tensor>("f", |_, x| x.matmul(x));
    let count = engine.world().entities().count_spawned();
    for _ in 0..100 {
        engine.call(f, Tensor::from(1.0_f32)).unwrap_err();
        assert_eq!(engine.world().entities().count_spawned(), count);
    }
}

#[test]
fn models_that_come_and_go_beside_one_that_stays_leave_nothing_behind() {
    let mut engine = Engine::new();
    let shared = engine.spawn_model("shared");
    engine.variable(shared, "scale", 2.0_f64).unwrap();
    let f =
        engine.function::<(ModelId, ModelId), Tensor>("f", |_, (shared, agent)| shared.read("scale") * agent.read("w"));
    let round = |engine: &mut Engine| {
        let agent = engine.spawn_model("agent");
        engine.variable(agent, "w", 3.0_f64).unwrap();
        assert_eq!(engine.call(f, (shared, agent)).unwrap(), Tensor::from(6.0_f64));
        engine.despawn(agent);
        let spare = engine.spawn_model("a call that sweeps");
        engine.despawn(spare);
        engine.world().entities().count_spawned()
    };
    let count = round(&mut engine);
    for _ in 0..100 {
        assert_eq!(round(&mut engine), count);
    }
}

#[test]
fn an_optimizer_forgets_what_went_and_takes_its_state_with_it() {
    let mut engine = Engine::new();
    let kept = engine.spawn_model("kept");
    let v = engine.variable(kept, "v", 1.0_f64).unwrap();
    let before = engine.world().entities().count_spawned();
    let optimizer = engine.spawn_optimizer(Adam::new(0.1)).unwrap();
    for _ in 0..50 {
        let model = engine.spawn_model("model");
        let w = engine.variable(model, "w", 1.0_f64).unwrap();
        engine.set_gradient(w, 1.0_f64).unwrap();
        assert_eq!(engine.optimize(optimizer, &[w]).unwrap(), 1);
        engine.despawn(model);
        let owned = engine.world().get::<entigrad::components::OwnedStates>(optimizer).unwrap();
        assert!(owned.0.is_empty());
    }
    engine.set_gradient(v, 1.0_f64).unwrap();
    engine.optimize(optimizer, &[v]).unwrap();
    engine.world_mut().despawn(optimizer);
    assert_eq!(engine.world().entities().count_spawned(), before);
}
