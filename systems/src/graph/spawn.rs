//! Commits a draft: one entity an op, once, and the concrete's own component.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::reference::refer;
use entigrad_components::{Bodies, BodyUse, FuncGraph, Op, Operands, Ops};
use smallvec::smallvec;
use std::cell::RefCell;

use super::{Body, Graph};
use crate::function::cached_concrete;
use crate::ops;

/// Spawns the ops of `graph` as owned by `concrete`, in program order, and gives `concrete` its [`FuncGraph`].
///
/// The concretes of its bodies are committed already.
pub fn spawn_ops(world: &mut World, concrete: Entity, graph: &Graph) {
    let bodies: Vec<Option<BodyUse>> = graph.bodies.iter().map(|body| body_use(world, body)).collect();
    // A batch spawns one op after the other, so an op's operands have their ids when its turn comes.
    let spawned: RefCell<Vec<Entity>> = RefCell::new(Vec::with_capacity(graph.nodes.len()));
    let bundles = graph.nodes.iter().map(|node| {
        let spawned = spawned.borrow();
        let operands = Operands(node.operands.iter().map(|operand| spawned[operand.index()]).collect());
        let op = Op { id: node.op, attributes: node.attributes.clone() };
        (op, operands, node.spec.clone(), node.origin)
    });
    for entity in world.spawn_batch(bundles) {
        spawned.borrow_mut().push(entity);
    }
    let spawned = spawned.into_inner();
    for (node, entity) in graph.nodes.iter().zip(&spawned).filter(|(node, _)| node.op == ops::CALL) {
        if let Some(body) = ops::index_of(&node.attributes).and_then(|index| bodies[index].clone()) {
            world.entity_mut(*entity).insert(Bodies(smallvec![body]));
        }
    }
    let func_graph = FuncGraph {
        name: graph.name.clone(),
        key: graph.key.clone(),
        inputs: graph.inputs.clone(),
        outputs: graph.outputs.iter().map(|output| spawned[output.index()]).collect(),
        output_skeleton: graph.output_skeleton.clone(),
        captures: graph.captures.clone(),
        weak: graph.weak.clone(),
        functions: graph.functions(),
        takes_gradients: graph.takes_gradients,
        depth: graph.depth,
        constraints: graph.constraints.clone(),
    };
    for named in func_graph.named_entities() {
        refer(world, concrete, named);
    }
    world.entity_mut(concrete).insert((func_graph, Ops(spawned)));
}

/// The committed concrete of a body, where its function still lives.
fn body_use(world: &World, body: &Body) -> Option<BodyUse> {
    let concrete = cached_concrete(world, body.function, &body.key)?;
    Some(BodyUse { concrete, weak: body.weak.as_slice().into() })
}
