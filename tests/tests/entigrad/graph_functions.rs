//! What graph functions must do. The id in each test's doc names the behaviour it pins.

mod captures;
mod keys;
mod methods;
mod weak;

use entigrad::prelude::*;

/// A model `line` with `w` and `b`, and a function `loss` that captures both.
struct Line {
    engine: Engine,
    model: ModelId,
    w: VariableId,
    b: VariableId,
    loss: Function<(Tensor, Tensor), Tensor>,
}

fn line() -> Line {
    let mut engine = Engine::new();
    let model = engine.spawn_model("line");
    let w = engine.variable(model, "w", 2.0_f32).unwrap();
    let b = engine.variable(model, "b", 1.0_f32).unwrap();
    let loss = engine
        .function::<(Tensor, Tensor), Tensor>("loss", move |t, (x, y)| (x * t.read(w) + t.read(b) - y).square().mean());
    Line { engine, model, w, b, loss }
}

fn data() -> (Tensor, Tensor) {
    (Tensor::from([0.0_f32, 1.0, 2.0, 3.0]), Tensor::from([1.0_f32, 3.0, 5.0, 7.0]))
}

/// A two-layer model of a given width.
fn two_layers(engine: &mut Engine, hidden: usize) -> ModelId {
    let model = engine.spawn_model("brain");
    let weights = |rows: usize, columns: usize| Tensor::full(&[rows, columns], Scalar::F32(0.1)).unwrap();
    engine.variable(model, "layers/0/w", weights(3, hidden)).unwrap();
    engine.variable(model, "layers/0/b", Tensor::zeros(DType::F32, &[hidden]).unwrap()).unwrap();
    engine.variable(model, "layers/1/w", weights(hidden, 2)).unwrap();
    engine.variable(model, "layers/1/b", Tensor::zeros(DType::F32, &[2]).unwrap()).unwrap();
    model
}

fn forward(engine: &mut Engine) -> Function<(ModelId, Tensor), Tensor> {
    engine.method::<Tensor, Tensor>("forward", |_, model, x| {
        let hidden = (x.matmul(model.read("layers/0/w")) + model.read("layers/0/b")).tanh();
        (hidden.matmul(model.read("layers/1/w")) + model.read("layers/1/b")).sum()
    })
}

fn rows() -> Tensor {
    Tensor::from([[1.0_f32, 2.0, 3.0], [0.5, -1.0, 0.25]])
}

fn entity_count(engine: &Engine) -> u32 {
    engine.world().entities().count_spawned()
}
