//! Variables are weak: the heart.

use bevy_ecs::prelude::{IntoScheduleConfigs, ResMut, Resource, Schedules};
use entigrad::components::{FuncGraph, Variable};
use entigrad::prelude::*;
use entigrad::systems::plan::Plans;
use entigrad::systems::schedule::{EntigradSystems, EntigradUpdate};

fn variable_count(world: &mut World) -> usize {
    world.query::<&Variable>().iter(world).count()
}

/// V1
#[test]
fn a_concrete_lists_its_variables_in_order_of_first_touch_trainable_or_not() {
    let super::Line { mut engine, model, w, b, .. } = super::line();
    let scale = engine.non_trainable_variable(model, "scale", 2.0_f32).unwrap();
    let f =
        engine.function::<Tensor, Tensor>("f", move |t, x| x * t.read(scale) + t.read(b) * t.read(w) + t.read(scale));
    let concrete = engine.concrete(f, Tensor::from(1.0_f32)).unwrap();
    let graph = engine.world().get::<FuncGraph>(concrete.entity).unwrap();
    let listed: Vec<(&str, bool)> = graph.weak.iter().map(|weak| (&*weak.path, weak.trainable)).collect();
    assert_eq!(listed, [("line/scale", false), ("line/b", true), ("line/w", true)]);
    // A method's model is an argument: nothing of it is captured.
    let method = engine.method::<(), Tensor>("method", |_, model, ()| model.read("w"));
    let concrete = engine.concrete(method, (model, ())).unwrap();
    assert!(engine.captured_variables(concrete).unwrap().is_empty());
}

/// V2
#[test]
fn a_list_of_living_variables_yields_each() {
    let super::Line { mut engine, w, b, loss, .. } = super::line();
    let concrete = engine.concrete(loss, super::data()).unwrap();
    let listed: Vec<VariableId> =
        engine.captured_variables(concrete).unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(listed, [w, b]);
}

/// V3
#[test]
fn a_list_with_a_dead_variable_yields_those_before_it_then_the_error() {
    let super::Line { mut engine, w, b, loss, .. } = super::line();
    let concrete = engine.concrete(loss, super::data()).unwrap();
    engine.despawn(b);
    let listed = engine.captured_variables(concrete).unwrap();
    assert_eq!(*listed[0].as_ref().unwrap(), w);
    let error = listed[1].as_ref().unwrap_err().to_string();
    assert!(error.contains("the variable `line/b`, which was despawned (captured at"), "{error}");
}

/// V4
#[test]
fn a_call_of_a_stale_function_fails_before_anything_runs() {
    let mut engine = Engine::new();
    let kept = engine.spawn_model("kept");
    let counter = engine.variable(kept, "counter", 0.0_f64).unwrap();
    let lost = engine.spawn_model("lost");
    let v = engine.variable(lost, "v", 1.0_f64).unwrap();
    let f = engine.function::<(), Tensor>("f", move |t, ()| {
        t.assign(counter, t.read(counter) + 1.0);
        t.read(v)
    });
    engine.call(f, ()).unwrap();
    assert_eq!(engine.value(counter).unwrap(), Tensor::from(1.0_f64));
    engine.despawn(lost);
    for _ in 0..2 {
        engine.call(f, ()).unwrap_err();
        assert_eq!(engine.value(counter).unwrap(), Tensor::from(1.0_f64), "nothing was assigned");
    }
}

/// V5
#[test]
fn the_error_names_function_variable_model_place_and_cure() {
    let super::Line { mut engine, model, loss, .. } = super::line();
    engine.call(loss, super::data()).unwrap();
    engine.despawn(model);
    let error = engine.call(loss, super::data()).unwrap_err().to_string();
    let place = error.find("graph_functions.rs:").map(|start| {
        let rest = &error[start..];
        rest[..rest.find(')').unwrap()].to_owned()
    });
    let place = place.expect("the place is named");
    let path = error[..error.find(&place).unwrap()].rsplit(' ').next().unwrap().to_owned();
    let text = error.replace(&format!("{path}{place}"), "PLACE");
    assert_eq!(
        text,
        "function `loss` cannot run: it reads the variable `line/w`, which was despawned with its model `line` (captured at \
         PLACE). A graph function keeps no variable alive: keep the model for as long as the function is called, or write a \
         method, which takes its model as an argument"
    );
}

/// V5, where the variable died alone, and where an inner function reads it
#[test]
fn the_error_tells_what_died_and_who_reads_it() {
    let super::Line { mut engine, w, loss, .. } = super::line();
    let outer = engine.function::<(Tensor, Tensor), Tensor>("outer", move |t, data| t.call(loss, data));
    engine.call(outer, super::data()).unwrap();
    engine.despawn(w);
    let error = engine.call(outer, super::data()).unwrap_err().to_string();
    let start = "function `outer` cannot run: `loss`, which it calls, reads the variable `line/w`, which was despawned (captured";
    assert!(error.starts_with(start), "{error}");
}

/// V6
#[test]
fn the_variables_of_a_model_are_gone_in_the_same_call_by_engine_or_by_world() {
    let mut engine = Engine::new();
    let forward = super::forward(&mut engine);
    for by_world in [false, true] {
        let before = variable_count(engine.world_mut());
        let model = super::two_layers(&mut engine, 4);
        engine.call(forward, (model, super::rows())).unwrap();
        assert_eq!(variable_count(engine.world_mut()), before + 4);
        match by_world {
            true => assert!(engine.world_mut().despawn(model.entity)),
            false => assert!(engine.despawn(model)),
        }
        assert_eq!(variable_count(engine.world_mut()), before);
        let error = engine.call(forward, (model, super::rows())).unwrap_err().to_string();
        assert_eq!(error, "the model `brain` was despawned");
    }
}

/// V7
#[test]
fn one_function_serves_many_models_that_come_and_go() {
    let mut engine = Engine::new();
    let forward = super::forward(&mut engine);
    let kept = super::two_layers(&mut engine, 4);
    let first = engine.call(forward, (kept, super::rows())).unwrap();
    let count = super::entity_count(&engine);
    for _ in 0..100 {
        let model = super::two_layers(&mut engine, 4);
        engine.call(forward, (model, super::rows())).unwrap();
        engine.despawn(model);
        assert_eq!(super::entity_count(&engine), count);
    }
    assert_eq!(engine.call(forward, (kept, super::rows())).unwrap(), first);
    assert_eq!(engine.trace_count(forward), 1);
}

/// V10
#[test]
fn a_variable_of_equal_spec_even_in_the_same_slot_is_never_taken_for_the_dead_one() {
    let super::Line { mut engine, model, w, loss, .. } = super::line();
    engine.call(loss, super::data()).unwrap();
    engine.despawn(w);
    let mut again = engine.variable(model, "w", 2.0_f32).unwrap();
    while again.entity.index() != w.entity.index() {
        engine.despawn(again);
        again = engine.variable(model, "w", 2.0_f32).unwrap();
    }
    assert_ne!(again, w);
    let error = engine.call(loss, super::data()).unwrap_err().to_string();
    assert!(error.contains("it reads the variable `line/w`, which was despawned"), "{error}");
}

/// V12
#[test]
fn what_was_cached_for_a_dead_entity_goes_and_the_rest_stays() {
    let mut engine = Engine::new();
    let scaled =
        engine.function::<(Entity, ModelId, Tensor), Tensor>("scaled", |_, (_, model, x)| (x * model.read("w")).sum());
    let gradient = engine.value_and_gradient(scaled).unwrap();
    let model = engine.spawn_model("model");
    engine.variable(model, "w", 2.0_f32).unwrap();
    let entities = [(); 2].map(|()| engine.world_mut().spawn_empty().id());
    let x = Tensor::from([1.0_f32, 2.0]);
    let count = super::entity_count(&engine);
    engine.call(gradient, (entities[1], model, x.clone())).unwrap();
    let one_key = super::entity_count(&engine);
    engine.call(gradient, (entities[0], model, x.clone())).unwrap();
    assert_eq!((engine.concrete_count(scaled), engine.concrete_count(gradient)), (2, 2));

    engine.world_mut().despawn(entities[0]);
    let f32_value = |engine: &mut Engine| engine.call(gradient, (entities[1], model, x.clone())).unwrap().0;
    assert_eq!(f32_value(&mut engine), Tensor::from(6.0_f32));
    assert_eq!((engine.concrete_count(scaled), engine.concrete_count(gradient)), (1, 1));
    assert_eq!(super::entity_count(&engine), one_key - 1, "concretes, ops, bindings went with the key's entity");
    engine.world_mut().despawn(entities[1]);
    engine.spawn_model("a call that sweeps");
    assert_eq!(super::entity_count(&engine), count - 2 + 1);
}

/// V12, for a captured variable
#[test]
fn the_plan_of_a_stale_function_goes_at_the_next_engine_entry() {
    let super::Line { mut engine, model, loss, .. } = super::line();
    engine.call(loss, super::data()).unwrap();
    let concrete = engine.concrete(loss, super::data()).unwrap();
    assert!(engine.world().get::<Plans>(concrete.entity).is_some());
    engine.world_mut().despawn(model.entity);
    engine.spawn_model("a call that sweeps");
    assert!(engine.world().get::<Plans>(concrete.entity).is_none());
}

/// V14
#[test]
fn a_gradient_and_a_step_whose_variable_died_name_the_original_function() {
    let super::Line { mut engine, model, loss, .. } = super::line();
    let gradient = engine.value_and_gradient(loss).unwrap();
    engine.call(gradient, super::data()).unwrap();
    let trainer = engine.train(loss, super::data()).with(Sgd::new(0.1)).spawn().unwrap();
    engine.run(trainer, 2).unwrap();
    engine.despawn(model);
    let start =
        "cannot run: `loss`, which it calls, reads the variable `line/w`, which was despawned with its model `line`";
    for error in [engine.call(gradient, super::data()).unwrap_err(), engine.run(trainer, 1).unwrap_err()] {
        assert!(error.to_string().contains(start), "{error}");
    }
}

#[derive(Resource, Default)]
struct Doomed(Option<Entity>);

/// V15
#[test]
fn a_variable_despawned_between_two_passes_fails_its_job_and_no_other() {
    let mut engine = Engine::new();
    engine.world_mut().init_resource::<Doomed>();
    let loss = engine.method::<Tensor, Tensor>("loss", |_, model, x| (x * model.read("w")).square().sum());
    let mut trainers = Vec::new();
    for _ in 0..3 {
        let model = engine.spawn_model("model");
        let w = engine.variable(model, "w", 1.0_f64).unwrap();
        let trainer = engine.train(loss, (model, Tensor::from(1.0_f64))).with(Sgd::new(0.1)).spawn().unwrap();
        trainers.push((w, trainer));
    }
    fn strike(mut commands: bevy_ecs::prelude::Commands, mut doomed: ResMut<Doomed>) {
        if let Some(entity) = doomed.0.take() {
            commands.entity(entity).despawn();
        }
    }
    let mut schedules = engine.world_mut().resource_mut::<Schedules>();
    let between = strike.after(EntigradSystems::Plan).before(EntigradSystems::Execute);
    schedules.get_mut(EntigradUpdate).unwrap().add_systems(between);

    assert_eq!(engine.update(), UpdateReport { running: 3, failed: 0 });
    engine.world_mut().resource_mut::<Doomed>().0 = Some(trainers[1].0.entity);
    assert_eq!(engine.update(), UpdateReport { running: 2, failed: 1 });
    assert_eq!(engine.update(), UpdateReport { running: 2, failed: 1 });
    let steps = trainers.iter().map(|(_, trainer)| engine.trainer(*trainer).unwrap().step_count);
    assert_eq!(steps.collect::<Vec<_>>(), [3, 1, 3]);
    let error = engine.trainer(trainers[1].1).unwrap().error.unwrap().to_string();
    assert!(
        error.contains("`loss`, which it calls, reads the variable `model/w`, which was despawned (read at"),
        "{error}"
    );
}

/// V16
#[test]
fn a_concrete_kept_after_its_function_was_despawned_is_an_error_that_names_it() {
    let super::Line { mut engine, loss, .. } = super::line();
    let concrete = engine.concrete(loss, super::data()).unwrap();
    assert!(engine.call_concrete::<(Tensor, Tensor), Tensor>(concrete, super::data()).is_ok());
    engine.despawn(loss);
    let error = engine.call_concrete::<(Tensor, Tensor), Tensor>(concrete, super::data()).unwrap_err().to_string();
    assert_eq!(error, "this concrete of function `loss` is gone: it was despawned with its function, or evicted");
    let error = engine.call(loss, super::data()).unwrap_err().to_string();
    assert_eq!(error, "the function `loss` was despawned");
}

/// V17
#[test]
fn thousands_of_models_of_one_shape_are_one_trace_and_one_plan() {
    let mut engine = Engine::new();
    let forward = super::forward(&mut engine);
    let models: Vec<ModelId> = (0..1000).map(|_| super::two_layers(&mut engine, 4)).collect();
    let first = engine.call(forward, (models[0], super::rows())).unwrap();
    for model in &models {
        assert_eq!(engine.call(forward, (*model, super::rows())).unwrap(), first);
    }
    assert_eq!((engine.trace_count(forward), engine.concrete_count(forward)), (1, 1));
    let world = engine.world_mut();
    assert_eq!(world.query::<&Plans>().iter(world).map(|plans| plans.instances.len()).collect::<Vec<_>>(), [1]);
    let bindings = |world: &mut World| world.query::<&entigrad::components::Binding>().iter(world).count();
    assert_eq!(bindings(engine.world_mut()), 1000);
    for model in &models[..500] {
        engine.despawn(*model);
    }
    assert_eq!(bindings(engine.world_mut()), 500);
    for (place, model) in models.iter().enumerate() {
        assert_eq!(engine.call(forward, (*model, super::rows())).is_ok(), place >= 500);
    }
    assert_eq!(engine.trace_count(forward), 1);
}
