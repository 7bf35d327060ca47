//! A damped spring that lives in a world: how its end depends on its stiffness, through 1,000 steps that a host loop
//! unrolls into some 8,000 ops.
//!
//! p = 1, v = 0; a = -k·p - 0.1·v; v += 0.01·a; p += 0.01·v; the loss is p² at the end, the stiffness k = 4.
//!
//! `cargo run --release --example 02_spring`

use bevy_ecs::component::Component;
use entigrad::prelude::*;

/// What the simulation already had: a spring, and how it is damped.
#[derive(Component)]
struct Spring {
    damping: f64,
}

fn main() -> Result<(), Error> {
    let mut world = World::new();
    let entity = world.spawn(Spring { damping: 0.1 }).id();
    let spring = world.make_model(entity, "spring")?;
    let stiffness = world.variable(spring, "stiffness", 4.0_f64)?;
    let damping = world.get::<Spring>(entity).map_or(0.0, |spring| spring.damping);

    let loss = world.function::<(), Tensor>("spring_end", move |t, ()| {
        let k = t.read(stiffness);
        let (mut p, mut v) = (t.number(1.0, DType::F64), t.number(0.0, DType::F64));
        for _ in 0..1000 {
            let a = -(k * p) - v * damping;
            v = v + a * 0.01;
            p = p + v * 0.01;
        }
        p * p
    });
    let gradient = world.value_and_gradient(loss)?;
    let (value, gradients) = world.call(gradient, ())?;
    let slope = gradients.get(stiffness).ok_or_else(|| Error::invalid("the stiffness was not read"))?;
    println!("loss {:?}", value.item::<f64>()?);
    println!("d loss / d stiffness {:?}", slope.item::<f64>()?);

    // The same derivative trains the spring: let it end at rest.
    let trainer = world.train(loss, ()).with(Adam::new(0.01)).spawn()?;
    let last = world.run(trainer, 100)?;
    println!(
        "after 100 steps of Adam: loss {:.2e}, stiffness {:.4}",
        last.unwrap_or(f64::NAN),
        world.value(stiffness)?.item::<f64>()?
    );
    Ok(())
}
