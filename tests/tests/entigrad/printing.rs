//! Printed graphs, as snapshots: review a change of one by its diff. `BLESS=1 cargo test printing` writes them anew.

use entigrad::prelude::*;
use entigrad::systems::graph::{collect, print};
use entigrad::systems::ops::OpTable;

#[track_caller]
pub fn assert_snapshot(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/snapshots").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, known, "the snapshot {name} differs");
}

#[test]
fn the_line_its_gradient_and_its_training_step_print_as_before() {
    let mut engine = Engine::new();
    let model = engine.spawn_model("line");
    let w = engine.variable(model, "w", 0.0_f32).unwrap();
    let b = engine.variable(model, "b", 0.0_f32).unwrap();
    let predict = engine.function::<Tensor, Tensor>("predict", move |t, x| x * t.read(w) + t.read(b));
    let loss = engine.function::<(Tensor, Tensor), Tensor>("loss", move |t, (x, y)| t.call(predict, x).mse(y));
    engine.set_signature(loss, [(); 2].map(|()| TensorSpec::new(DType::F32, [Dim::from("N")]))).unwrap();
    let gradient = engine.value_and_gradient(loss).unwrap();
    let data = (Tensor::from([1.0_f32, 2.0]), Tensor::from([3.0_f32, 5.0]));
    let concretes = [engine.concrete(loss, data.clone()).unwrap(), engine.concrete(gradient, data.clone()).unwrap()];
    let trainer = engine.train(loss, data).with(Sgd::new(0.1).momentum(0.9)).spawn().unwrap();
    engine.run(trainer, 1).unwrap();
    let step = engine.world().get::<entigrad::components::Trainer>(trainer.entity).unwrap().step_function;
    let step = engine.world().get::<entigrad::components::Concretes>(step).unwrap().as_slice()[0];

    let table = OpTable::default();
    let text = |entity| print(&collect(engine.world(), entity).unwrap(), &table, false);
    let all = [concretes[0].entity, concretes[1].entity, step].map(text).join("\n");
    assert_snapshot("line.txt", &all);
    let with_origins = engine.print(concretes[0]).unwrap();
    assert!(with_origins.contains("printing.rs:"), "{with_origins}");
}
