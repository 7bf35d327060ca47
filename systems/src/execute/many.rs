//! One plan for many models: each runs on its row of the inputs, and writes its row of the outputs.
//!
//! `unsafe` is allowed here as in the rest of the pass: runs point into the world, and into rows of tensors that they share.
#![allow(unsafe_code)]

use bevy_ecs::entity::{Entity, EntityHashSet};
use bevy_ecs::world::World;
use entigrad_components::{Tensor, WeakReference, WeakSource};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::values::Values;
use super::{Outcome, Workspaces, check_functions, find_roles, run_program};
use crate::error::Error;
use crate::kernels::Span;
use crate::parallel;
use crate::plan::Instance;

/// Whom a plan is run for: different models.
#[derive(Debug)]
pub struct Crowd {
    /// The plan.
    pub instance: Arc<Instance>,
    /// How many.
    count: usize,
    /// The variables of each, one after the other.
    variables: Vec<Entity>,
    /// Whether what one of them writes no other touches.
    is_independent: bool,
    /// Where their values are, while it runs.
    spans: Vec<Span>,
}

impl Crowd {
    /// These models, each the one model argument of its run.
    pub fn new(world: &World, instance: Arc<Instance>, models: &[Entity]) -> Result<Self, Error> {
        let skeleton = &instance.skeleton;
        let mut variables = Vec::with_capacity(models.len() * skeleton.weak().len());
        for model in models {
            variables.extend(find_roles(world, skeleton, &[*model])?);
        }
        let is_written = |place: usize| skeleton.weak()[place % skeleton.weak().len()].is_written;
        let written: EntityHashSet =
            (0..variables.len()).filter(|place| is_written(*place)).map(|place| variables[place]).collect();
        let is_captured = |weak: &WeakReference| match &weak.source {
            WeakSource::Captured(variable) => written.contains(variable),
            WeakSource::Role { .. } | WeakSource::State { .. } => false,
        };
        let is_independent = !skeleton.weak().iter().any(is_captured);
        Ok(Self { count: models.len(), variables, is_independent, spans: Vec::new(), instance })
    }
}

/// Runs the plan for each of a crowd, whose members are different models: `inputs` and `outputs` have a row for each. Every weak
/// reference is checked before anything is written. Where members fail, the others run on, and the error is that of the first.
pub fn execute_many(world: &mut World, crowd: &mut Crowd, inputs: &[Tensor], outputs: &mut [Tensor]) -> Outcome {
    let Crowd { instance, count, variables, is_independent, spans } = crowd;
    let (skeleton, program) = (&instance.skeleton, &instance.program);
    check_functions(world, skeleton.name(), &skeleton.functions)?;
    let (found, weak_count) = (Values::of(world, skeleton), skeleton.weak().len());
    // Collect: where what is written is. It gets storage of its own first, which may move what is read.
    let does_write = program.is_written.contains(&true);
    let passes = if does_write { 2 } else { 0 };
    for _ in 0..passes {
        spans.clear();
        for variables in variables.chunks(weak_count) {
            found.find_all(world, &program.is_written, variables, spans)?;
        }
    }
    let has_rows = |tensor: &Tensor| tensor.shape().first() == Some(count);
    assert!(inputs.iter().chain(outputs.iter()).all(has_rows), "inputs and outputs have a row for each member");
    // Compute; where nothing is written, with the collecting in parallel, too.
    let rows: Vec<Row> = inputs.iter().map(Row::readable).chain(outputs.iter_mut().map(Row::writable)).collect();
    let failure = FirstFailure::default();
    let workspaces = Workspaces::of(world);
    let work = if *is_independent { program.work_nanoseconds.saturating_mul(*count) } else { 0 };
    let world: &World = world;
    let run = |places: Range<usize>| {
        let mut read = Vec::new();
        let values: &[Span] = if does_write {
            &spans[places.start * weak_count..places.end * weak_count]
        } else {
            for place in places.clone() {
                let variables = &variables[place * weak_count..][..weak_count];
                if let Err(error) = found.read_all(world, variables, &mut read) {
                    return failure.note(place, error);
                }
            }
            &read
        };
        let of = |place: usize| &values[(place - places.start) * weak_count..][..weak_count];
        workspaces.with(|workspace| {
            let mut own: Vec<Span> = Vec::with_capacity(weak_count + rows.len());
            for place in places.clone() {
                own.clear();
                own.extend_from_slice(of(place));
                own.extend(rows.iter().map(|row| row.span.behind(place * row.bytes)));
                if place + 1 < places.end {
                    workspace.look_ahead(of(place + 1).iter().copied());
                }
                // SAFETY: the values are those of the member's variables, which are its own where they are written; the rows are
                // its own, too. The world is ours.
                let outcome = unsafe { run_program(skeleton.name(), program, &own, workspace) };
                outcome.unwrap_or_else(|error| failure.note(place, error));
            }
        });
    };
    parallel::each_range(*count, work, run);
    failure.outcome()
}

/// What failed, of all that did the first in order.
#[derive(Default)]
struct FirstFailure(Mutex<Option<(usize, Error)>>);

impl FirstFailure {
    fn note(&self, place: usize, error: Error) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| place < *known) {
            *first = Some((place, error));
        }
    }

    fn outcome(self) -> Outcome {
        let first = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        first.map_or(Ok(()), |(_, error)| Err(error))
    }
}

/// The rows of a tensor.
struct Row {
    /// The first, and all behind it.
    span: Span,
    /// The size of one.
    bytes: usize,
}

impl Row {
    fn readable(tensor: &Tensor) -> Self {
        Self { span: Span::readable(tensor), bytes: Self::size(tensor) }
    }

    fn writable(tensor: &mut Tensor) -> Self {
        let bytes = Self::size(tensor);
        Self { span: Span::writable(tensor), bytes }
    }

    fn size(tensor: &Tensor) -> usize {
        tensor.shape()[1..].iter().product::<usize>() * tensor.dtype().size_bytes()
    }
}
