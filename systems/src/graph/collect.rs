//! Reads a concrete's op entities back into a dense graph: the collect step of every pass after Trace.

use bevy_ecs::entity::{Entity, EntityHashMap};
use bevy_ecs::world::World;
use entigrad_components::{Attributes, Bodies, ConcreteOf, FuncGraph, Kind, Op, Operands, Ops, Origin, TensorSpec};
use std::sync::Arc;

use super::{Body, Draft, Graph, Node, NodeId};
use crate::error::Error;
use crate::names;
use crate::ops;

/// The graph of `concrete`, from its draft where the ops are not spawned yet.
pub fn collect(world: &World, concrete: Entity) -> Result<Arc<Graph>, Error> {
    if let Some(draft) = world.get::<Draft>(concrete) {
        return Ok(draft.0.clone());
    }
    let gone = || Error::gone(Kind::Concrete, names::remembered(world, concrete));
    let func_graph = world.get::<FuncGraph>(concrete).ok_or_else(gone)?;
    let entities = world.get::<Ops>(concrete).map(Ops::as_slice).unwrap_or_default();
    let mut places: EntityHashMap<NodeId> = EntityHashMap::default();
    places.reserve(entities.len());
    let mut graph = Graph {
        inputs: func_graph.inputs.clone(),
        output_skeleton: func_graph.output_skeleton.clone(),
        captures: func_graph.captures.clone(),
        weak: func_graph.weak.clone(),
        inlined: func_graph.functions.clone(),
        takes_gradients: func_graph.takes_gradients,
        depth: func_graph.depth,
        constraints: func_graph.constraints.clone(),
        ..Graph::new(func_graph.name.clone(), func_graph.key.clone())
    };
    graph.nodes.reserve(entities.len());
    for entity in entities {
        let mut node = collect_op(world, *entity, &places).ok_or_else(gone)?;
        if node.op == ops::CALL {
            node.attributes = Attributes::Index(graph.bodies.len() as u32);
            graph.bodies.push(collect_body(world, *entity)?);
        }
        places.insert(*entity, graph.push(node));
    }
    graph.outputs = func_graph.outputs.iter().filter_map(|output| places.get(output).copied()).collect();
    Ok(Arc::new(graph))
}

fn collect_op(world: &World, entity: Entity, places: &EntityHashMap<NodeId>) -> Option<Node> {
    let entity = world.get_entity(entity).ok()?;
    let op = entity.get::<Op>()?;
    let operands = &entity.get::<Operands>()?.0;
    Some(Node {
        op: op.id,
        spec: entity.get::<TensorSpec>()?.clone(),
        operands: operands.iter().map(|operand| places.get(operand).copied()).collect::<Option<_>>()?,
        attributes: op.attributes.clone(),
        origin: *entity.get::<Origin>()?,
    })
}

/// The body of a call op. Calls nest at most as deep as traces may, so this recursion is bounded.
fn collect_body(world: &World, call: Entity) -> Result<Body, Error> {
    let Some(body) = world.get::<Bodies>(call).and_then(|bodies| bodies.0.first()) else {
        return Err(Error::gone(Kind::Concrete, None));
    };
    let gone = || Error::gone(Kind::Concrete, names::remembered(world, body.concrete));
    let function = world.get::<ConcreteOf>(body.concrete).ok_or_else(gone)?.0;
    let graph = collect(world, body.concrete)?;
    Ok(Body { function, key: graph.key.clone(), graph, weak: body.weak.to_vec() })
}
