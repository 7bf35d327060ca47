//! An instance of a plan: its shapes, settled for the lengths of one call.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{DType, Dim, FunctionName, Kind, SymbolValues, Tensor, TensorSpec};
use smallvec::SmallVec;
use std::sync::Arc;

use super::compile::compile;
use super::values::values;
use super::{INSTANCE_COUNT_MAX, PlanError, Plans, Skeleton};
use crate::error::{Error, Length, RunError, spec_list};
use crate::graph::Node;
use crate::kernels::program::{Program, Shape};
use crate::names;

/// A plan that can run.
#[derive(Debug)]
pub struct Instance {
    /// What holds for all lengths.
    pub skeleton: Arc<Skeleton>,
    /// What the symbols stand for.
    pub symbols: SymbolValues,
    /// Dtype and shape of the inputs.
    pub inputs: Vec<(DType, Shape)>,
    /// The program.
    pub program: Program,
}

impl Instance {
    /// Whether these are inputs of the lengths that it was made for.
    pub fn takes(&self, inputs: &[Tensor]) -> bool {
        let fits = |(input, (dtype, shape)): (&Tensor, &(DType, Shape))| {
            input.dtype() == *dtype && input.shape() == &shape[..]
        };
        inputs.len() == self.inputs.len() && inputs.iter().zip(&self.inputs).all(fits)
    }
}

/// The instance of the plan of `concrete` for these inputs: found, or made.
pub fn instance_for(world: &mut World, concrete: Entity, inputs: &[Tensor]) -> Result<Arc<Instance>, Error> {
    let gone = |world: &World| Error::gone(Kind::Concrete, names::remembered(world, concrete));
    let Some(plans) = world.get::<Plans>(concrete) else { return Err(gone(world)) };
    if let Some(place) = plans.instances.iter().rposition(|instance| instance.takes(inputs)) {
        let found = plans.instances[place].clone();
        let is_latest = place + 1 == plans.instances.len();
        if !is_latest && let Some(mut plans) = world.get_mut::<Plans>(concrete) {
            plans.instances[place..].rotate_left(1);
        }
        return Ok(found);
    }
    let skeleton = plans.skeleton.clone();
    let symbols = bind(&skeleton, inputs)?;
    let instance = Arc::new(instantiate(&skeleton, symbols, inputs)?);
    if let Some(mut plans) = world.get_mut::<Plans>(concrete) {
        if plans.instances.len() == INSTANCE_COUNT_MAX {
            plans.instances.remove(0);
        }
        plans.instances.push(instance.clone());
    }
    Ok(instance)
}

/// Makes the one instance of a planned concrete whose lengths are all known, where no call has made it yet.
pub fn settle(world: &mut World, concrete: Entity) -> Result<(), Error> {
    let plans = world.get::<Plans>(concrete).filter(|plans| plans.instances.is_empty() && !plans.skeleton.has_symbols);
    let Some(plans) = plans else { return Ok(()) };
    let zeros = |spec: &TensorSpec| {
        let shape: Option<Vec<usize>> = spec.dims.iter().map(Dim::known).collect();
        Tensor::zeros(spec.dtype, &shape.unwrap_or_default())
    };
    let inputs = plans.skeleton.graph.inputs.iter().map(zeros).collect::<Result<Vec<Tensor>, _>>()?;
    instance_for(world, concrete, &inputs).map(drop)
}

fn misfit(skeleton: &Skeleton, inputs: &[Tensor]) -> Error {
    Error::Arguments {
        function: skeleton.graph.name.clone(),
        wanted: spec_list(&skeleton.graph.inputs),
        given: spec_list(inputs.iter().map(Tensor::spec)),
    }
}

/// What the symbols stand for, given the inputs.
fn bind(skeleton: &Skeleton, inputs: &[Tensor]) -> Result<SymbolValues, Error> {
    let mut symbols = SymbolValues::default();
    let fits = inputs.len() == skeleton.graph.inputs.len()
        && inputs
            .iter()
            .zip(&skeleton.graph.inputs)
            .all(|(input, spec)| input.dtype() == spec.dtype && input.shape().len() == spec.rank());
    if !fits {
        return Err(misfit(skeleton, inputs));
    }
    let pairs = || {
        inputs.iter().zip(&skeleton.graph.inputs).flat_map(|(input, spec)| input.shape().iter().zip(spec.dims.iter()))
    };
    for (length, dim) in pairs() {
        let Some(symbol) = dim.as_symbol() else { continue };
        symbols.bind(symbol, *length).map_err(|first| Error::SymbolConflict {
            function: skeleton.graph.name.clone(),
            symbol: symbol.clone(),
            first,
            second: *length,
        })?;
    }
    if pairs().any(|(length, dim)| dim.evaluate(&symbols) != Some(*length)) {
        return Err(misfit(skeleton, inputs));
    }
    Ok(symbols)
}

fn instantiate(skeleton: &Arc<Skeleton>, symbols: SymbolValues, inputs: &[Tensor]) -> Result<Instance, Error> {
    for constraint in &skeleton.graph.constraints {
        let length = |dim: &Dim| Length(dim.evaluate(&symbols));
        let (left_length, right_length) = (length(&constraint.left), length(&constraint.right));
        if left_length.0.is_none() || left_length != right_length {
            return Err(Error::Constraint {
                function: skeleton.graph.name.clone(),
                op: constraint.op,
                origin: constraint.origin,
                left: constraint.left.clone(),
                left_length,
                right: constraint.right.clone(),
                right_length,
            });
        }
    }
    let graph = &*skeleton.graph;
    let no_length = || Error::invalid(format!("function `{}` has a dim that is no length here", graph.name));
    let shape = |node: &Node| node.spec.dims.evaluate(&symbols).map(SmallVec::from_vec).ok_or_else(no_length);
    let shapes = graph.nodes.iter().map(shape).collect::<Result<Vec<Shape>, _>>()?;
    let program = program(skeleton, shapes, &symbols).map_err(|error| Error::Run {
        function: graph.name.clone(),
        op: skeleton.table.name(graph.nodes[error.node].op),
        origin: graph.nodes[error.node].origin,
        cause: error.cause,
    })?;
    let inputs = inputs.iter().map(|input| (input.dtype(), input.shape().into())).collect();
    Ok(Instance { skeleton: skeleton.clone(), symbols, inputs, program })
}

fn program(skeleton: &Skeleton, shapes: Vec<Shape>, symbols: &SymbolValues) -> Result<Program, PlanError> {
    let length = |dim: &Dim| dim.evaluate(symbols).ok_or(RunError::Misused("a length is no number here"));
    let values = values(&skeleton.table, &skeleton.graph, shapes, length)?;
    compile(&skeleton.table, &skeleton.graph, &values)
}

/// The name of a function that lives, or that is remembered.
pub(crate) fn function_name(world: &World, function: Entity) -> Arc<str> {
    let living = world.get::<FunctionName>(function).map(|name| name.0.clone());
    living.or_else(|| names::remembered(world, function)).unwrap_or_else(|| "?".into())
}
