//! An instance of a plan: its shapes, settled for the lengths of one call.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{Dim, FunctionName, Kind, Scalar, SymbolValues, Tensor, TensorSpec};
use smallvec::SmallVec;
use std::sync::Arc;

use super::{BufferId, INSTANCE_COUNT_MAX, Plans, Skeleton, Source};
use crate::error::{Error, Length, spec_list};
use crate::names;

/// A rough guess of what an instruction takes besides its elements.
const INSTRUCTION_NANOSECONDS: usize = 100;

/// A plan that can run.
#[derive(Debug)]
pub struct Instance {
    /// The program.
    pub skeleton: Arc<Skeleton>,
    /// What the symbols stand for.
    pub symbols: SymbolValues,
    /// The shape of each buffer.
    pub shapes: Vec<SmallVec<[usize; 4]>>,
    /// The lengths that the program computes with.
    pub lengths: Vec<(BufferId, Tensor)>,
    /// A rough guess of what one run takes.
    pub work_nanoseconds: usize,
}

/// The instance of the plan of `concrete` for these inputs: found, or made.
pub fn instance_for(world: &mut World, concrete: Entity, inputs: &[Tensor]) -> Result<Arc<Instance>, Error> {
    let gone = |world: &World| Error::gone(Kind::Concrete, names::remembered(world, concrete));
    let Some(plans) = world.get::<Plans>(concrete) else { return Err(gone(world)) };
    if !plans.skeleton.has_symbols
        && let Some(only) = plans.instances.first()
    {
        return check_known(&plans.skeleton, inputs).map(|()| only.clone());
    }
    let skeleton = plans.skeleton.clone();
    let symbols = bind(&skeleton, inputs)?;
    if let Some(place) = plans.instances.iter().position(|instance| instance.symbols == symbols) {
        let found = plans.instances[place].clone();
        let is_latest = place + 1 == plans.instances.len();
        if !is_latest && let Some(mut plans) = world.get_mut::<Plans>(concrete) {
            plans.instances[place..].rotate_left(1);
        }
        return Ok(found);
    }
    let instance = Arc::new(instantiate(&skeleton, symbols)?);
    if let Some(mut plans) = world.get_mut::<Plans>(concrete) {
        if plans.instances.len() == INSTANCE_COUNT_MAX {
            plans.instances.remove(0);
        }
        plans.instances.push(instance.clone());
    }
    Ok(instance)
}

/// Checks inputs whose dims are all known.
fn check_known(skeleton: &Skeleton, inputs: &[Tensor]) -> Result<(), Error> {
    let fits = inputs.len() == skeleton.inputs.len()
        && inputs.iter().zip(&skeleton.inputs).all(|(input, spec)| input.fits(spec));
    if fits { Ok(()) } else { Err(misfit(skeleton, inputs)) }
}

fn misfit(skeleton: &Skeleton, inputs: &[Tensor]) -> Error {
    Error::Arguments {
        function: skeleton.name.clone(),
        wanted: spec_list(&skeleton.inputs),
        given: spec_list(inputs.iter().map(Tensor::spec)),
    }
}

/// What the symbols stand for, given the inputs.
fn bind(skeleton: &Skeleton, inputs: &[Tensor]) -> Result<SymbolValues, Error> {
    let mut symbols = SymbolValues::default();
    let fits = inputs.len() == skeleton.inputs.len()
        && inputs
            .iter()
            .zip(&skeleton.inputs)
            .all(|(input, spec)| input.dtype() == spec.dtype && input.shape().len() == spec.rank());
    if !fits {
        return Err(misfit(skeleton, inputs));
    }
    let pairs =
        || inputs.iter().zip(&skeleton.inputs).flat_map(|(input, spec)| input.shape().iter().zip(spec.dims.iter()));
    for (length, dim) in pairs() {
        let Some(symbol) = dim.as_symbol() else { continue };
        symbols.bind(symbol, *length).map_err(|first| Error::SymbolConflict {
            function: skeleton.name.clone(),
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

fn instantiate(skeleton: &Arc<Skeleton>, symbols: SymbolValues) -> Result<Instance, Error> {
    for constraint in &skeleton.constraints {
        let length = |dim: &Dim| Length(dim.evaluate(&symbols));
        let (left_length, right_length) = (length(&constraint.left), length(&constraint.right));
        if left_length.0.is_none() || left_length != right_length {
            return Err(Error::Constraint {
                function: skeleton.name.clone(),
                op: constraint.op,
                origin: constraint.origin,
                left: constraint.left.clone(),
                left_length,
                right: constraint.right.clone(),
                right_length,
            });
        }
    }
    let no_length = || Error::invalid(format!("function `{}` has a dim that is no length here", skeleton.name));
    let shape = |spec: &TensorSpec| spec.dims.evaluate(&symbols).map(SmallVec::from_vec).ok_or_else(no_length);
    let shapes = skeleton.buffers.iter().map(shape).collect::<Result<Vec<SmallVec<[usize; 4]>>, _>>()?;
    let elements = shapes.iter().map(|shape| shape.iter().fold(1_usize, |count, length| count.saturating_mul(*length)));
    let work_nanoseconds =
        elements.fold(0_usize, |work, elements| work.saturating_add(elements).saturating_add(INSTRUCTION_NANOSECONDS));
    let mut lengths = Vec::new();
    for (buffer, source) in &skeleton.sources {
        if let Source::Length(dim, dtype) = source {
            let length = dim.evaluate(&symbols).ok_or_else(no_length)?;
            lengths.push((*buffer, Tensor::scalar(Scalar::from_f64(length as f64, *dtype))));
        }
    }
    Ok(Instance { skeleton: skeleton.clone(), symbols, shapes, lengths, work_nanoseconds })
}

/// The name of a function that lives, or that is remembered.
pub(crate) fn function_name(world: &World, function: Entity) -> Arc<str> {
    let living = world.get::<FunctionName>(function).map(|name| name.0.clone());
    living.or_else(|| names::remembered(world, function)).unwrap_or_else(|| "?".into())
}
