//! The same bits for any number of threads and any order of archetypes.

use bevy_ecs::component::Component;
use entigrad::prelude::*;
use entigrad_tests::random::Random;

#[derive(Component)]
struct Tag<const N: usize>;

/// Trains a swarm whose agents share one bias, and gives all bits of it.
fn train_swarm(threads: usize, scramble: bool) -> Vec<u8> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut engine = Engine::new();
        let mut random = Random(5);
        let shared = engine.spawn_model("shared");
        let bias = engine.variable(shared, "bias", Tensor::from([0.0_f32; 8])).unwrap();
        let private = engine.method::<Tensor, Tensor>("private", |_, model, x| {
            let hidden = (x.matmul(model.read("w0")) + model.read("b0")).tanh();
            hidden.matmul(model.read("w1")).square().mean()
        });
        let sharing = engine.method::<Tensor, Tensor>("sharing", move |t, model, x| {
            let hidden = (x.matmul(model.read("w0")) + t.read(bias)).sigmoid();
            (hidden.matmul(model.read("w1")) - 1.0).square().mean()
        });
        let mut variables = vec![bias];
        for number in 0..60 {
            let mut floats = |shape: &[usize]| {
                let count = shape.iter().product();
                let numbers: Vec<f32> = random.directions(count).into_iter().map(|number| number as f32).collect();
                Tensor::new(shape, &numbers).unwrap()
            };
            let model = engine.spawn_model("agent");
            if scramble {
                // Other archetypes, and swapped rows in their tables: query order is not creation order.
                let spare = engine.world_mut().spawn(Tag::<1>).id();
                let mut entity = engine.world_mut().entity_mut(model.entity);
                if number % 3 == 0 {
                    entity.insert(Tag::<2>);
                }
                engine.world_mut().despawn(spare);
            }
            for (name, shape) in [("w0", &[16, 8][..]), ("b0", &[8]), ("w1", &[8, 2])] {
                let variable = engine.variable(model, name, floats(shape)).unwrap();
                if scramble && number % 2 == 0 {
                    engine.world_mut().entity_mut(variable.entity).insert(Tag::<3>);
                }
                variables.push(variable);
            }
            let loss = if number % 4 == 0 { sharing } else { private };
            engine.train(loss, (model, floats(&[32, 16]))).with(Adam::new(0.01)).spawn().unwrap();
        }
        for _ in 0..10 {
            assert_eq!(engine.update(), UpdateReport { running: 60, failed: 0 });
        }
        variables.iter().flat_map(|variable| engine.value(*variable).unwrap().bytes().to_vec()).collect()
    })
}

#[test]
fn a_swarm_trains_to_the_same_bits_on_1_2_and_7_threads_and_in_other_archetypes() {
    let bits = train_swarm(1, false);
    for (threads, scramble) in [(2, false), (7, false), (1, true), (7, true)] {
        assert!(train_swarm(threads, scramble) == bits, "{threads} threads, scrambled: {scramble}");
    }
}
