//! Fits a line to four points, despawns its model, and calls the loss once more.
//!
//! `cargo run --release --example 01_line`

use entigrad::prelude::*;

fn main() -> Result<(), Error> {
    let mut engine = Engine::new();
    let line = engine.spawn_model("line");
    let w = engine.variable(line, "w", 0.0_f32)?;
    let b = engine.variable(line, "b", 0.0_f32)?;

    let loss = engine.function::<(Tensor, Tensor), Tensor>("loss", move |t, (x, y)| {
        let prediction = x * t.read(w) + t.read(b);
        (prediction - y).square().mean()
    });

    let data = (Tensor::from([0.0_f32, 1.0, 2.0, 3.0]), Tensor::from([1.0_f32, 3.0, 5.0, 7.0]));
    let trainer = engine.train(loss, data.clone()).with(Adam::new(0.1)).spawn()?;
    engine.run(trainer, 500)?;
    println!("w = {:.4}, b = {:.4}", engine.value(w)?.item::<f32>()?, engine.value(b)?.item::<f32>()?);

    engine.despawn(line);
    match engine.call(loss, data) {
        Ok(value) => println!("the loss is still {value}"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}
