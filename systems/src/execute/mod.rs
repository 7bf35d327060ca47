//! The execute pass: jobs run their plans.
//!
//! A job runs on the values where they are in the world: nothing touches the world between `begin` and the end of its runs.
//!
//! *Invariants*: every weak reference is checked before anything of a job runs; jobs that share a variable which one of them
//! writes run in the order given, all others in parallel; what a job assigned before it failed stays, also when something
//! panics; a failed job stops nobody else.
//!
//! `unsafe` is allowed here, where values are found and run on, and else in the kernels alone: jobs point into the world, since to take values out of it and put them back
//! would cost a small step as much as its arithmetic.
#![allow(unsafe_code)]

mod bind;
mod groups;
mod many;
mod stale;
mod values;
mod workspaces;

pub(crate) use bind::bind_with_state;
pub use bind::{bind_variables, find_roles, find_variables};
pub use groups::Groups as JobGroups;
pub use many::{Crowd, execute_many};
pub use stale::{check_captured, check_functions, check_variable, check_variables};
pub use workspaces::Workspaces;

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::Tensor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use groups::Groups;
use values::Values;

use crate::error::Error;
use crate::kernels::program::Program;
use crate::kernels::{RunFailure, Span, Workspace};
use crate::parallel;
use crate::plan::Instance;
use crate::trace::pass::panic_message;

/// One run of a plan. Whoever runs it often keeps it: its buffers are used again.
#[derive(Clone, Debug)]
pub struct Job {
    /// The plan.
    pub instance: Arc<Instance>,
    /// The leaves of the arguments.
    pub inputs: Vec<Tensor>,
    /// The variable of each weak reference.
    pub variables: Arc<[Entity]>,
    /// The leaves of the result: filled by the run, in storage of their own where they have some of the right spec.
    pub outputs: Vec<Tensor>,
    /// How the last run ended.
    pub outcome: Outcome,
    /// Where the values of the variables are, then the inputs and the outputs: while it runs.
    spans: Vec<Span>,
}

/// A job that is handed on: by its pointer.
pub type KeptJob = Box<Job>;

/// Whether a job ran.
pub type Outcome = Result<(), Error>;

impl Job {
    /// A run of a plan.
    pub fn new(instance: Arc<Instance>, inputs: Vec<Tensor>, variables: Arc<[Entity]>) -> Self {
        Self { instance, inputs, variables, outputs: Vec::new(), outcome: Ok(()), spans: Vec::new() }
    }
}

/// Runs one job.
pub fn execute_one(world: &mut World, job: &mut Job) -> Outcome {
    execute_repeatedly(world, job, |_, _| Ok(false))
}

/// Runs one job again and again, until `next` says that it is enough or leaves inputs of other specs. `next` is given the inputs,
/// to change them, and the outputs of the run before.
pub fn execute_repeatedly(
    world: &mut World,
    job: &mut Job,
    mut next: impl FnMut(&mut Vec<Tensor>, &[Tensor]) -> Result<bool, Error>,
) -> Outcome {
    let workspaces = Workspaces::of(world);
    begin(world, job)?;
    workspaces.with(|workspace| {
        loop {
            // SAFETY: the job has begun, and the world has been ours since.
            unsafe { run(job, workspace)? };
            if !next(&mut job.inputs, &job.outputs)? || !job.instance.takes(&job.inputs) {
                return Ok(());
            }
        }
    })
}

/// Runs one job that changes nothing in the world.
pub fn execute_shared(world: &World, job: &mut Job) -> Outcome {
    let Job { instance, variables, spans, .. } = &mut *job;
    let skeleton = &instance.skeleton;
    if instance.program.is_written.contains(&true) {
        let message = format!("function `{}` assigns variables, which a shared call cannot", skeleton.name());
        return Err(Error::invalid(message));
    }
    check_functions(world, skeleton.name(), &skeleton.functions)?;
    spans.clear();
    Values::of(world, skeleton).read_all(world, variables, spans)?;
    // SAFETY: the world is borrowed, so nobody writes what the spans are of.
    Workspaces::of(world).with(|workspace| unsafe { run(job, workspace) })
}

/// Checks everything that a job refers to weakly, and finds where its values are; those it writes get storage of their own.
fn begin(world: &mut World, job: &mut Job) -> Outcome {
    let Job { instance, variables, spans, .. } = job;
    let skeleton = &instance.skeleton;
    check_functions(world, skeleton.name(), &skeleton.functions)?;
    spans.clear();
    Values::of(world, skeleton).find_all(world, &instance.program.is_written, variables, spans)
}

/// Runs jobs; how each ended is its `outcome`.
///
/// *Reads* and *writes* [`entigrad_components::Stored`] of the jobs' variables.
pub fn execute(world: &mut World, jobs: &mut [KeptJob]) {
    if let [only] = jobs {
        only.outcome = execute_one(world, only);
        return;
    }
    let workspaces = Workspaces::of(world);
    let mut groups =
        world.get_resource_mut::<Groups>().map(|mut groups| std::mem::take(&mut *groups)).unwrap_or_default();
    groups.follow(jobs);
    let work = jobs.iter().fold(0_usize, |work, job| work.saturating_add(job.instance.program.work_nanoseconds));
    // Collect.
    for place in 0..jobs.len() {
        // The values of many jobs are far apart: the way to the next ones is fetched while these are looked at.
        if let Some(next) = jobs.get(place + 1) {
            next.spans.iter().for_each(Span::fetch_header);
        }
        jobs[place].outcome = begin(world, &mut jobs[place]);
    }
    if groups.are_single() {
        // Compute: in place.
        parallel::each_run(jobs, work, |jobs| {
            // SAFETY: the jobs have begun, the world is ours, and what one writes no other touches.
            workspaces.with(|workspace| unsafe { run_in_order(jobs.iter_mut().map(|job| &mut **job), workspace) });
        });
    } else {
        // Once more, since what one job got storage of its own for another may have looked at before.
        jobs.iter_mut().filter(|job| job.outcome.is_ok()).for_each(|job| job.outcome = begin(world, job));
        let first = Jobs(jobs.as_mut_ptr());
        parallel::each(groups.len(), work, |group| {
            let first = &first;
            // SAFETY: as above, for groups; each job is in one of them.
            let jobs = groups.places(group).iter().map(|place| unsafe { &mut **first.0.add(*place) });
            workspaces.with(|workspace| unsafe { run_in_order(jobs, workspace) });
        });
    }
    world.insert_resource(groups);
}

/// The first of some jobs.
struct Jobs(*mut KeptJob);
// SAFETY: whoever shares it takes other jobs than the others.
unsafe impl Sync for Jobs {}

/// Runs those of the jobs that have begun well.
///
/// # Safety
/// As for [`run`].
unsafe fn run_in_order<'a>(jobs: impl IntoIterator<Item = &'a mut Job>, workspace: &mut Workspace) {
    let mut jobs = jobs.into_iter().filter(|job| job.outcome.is_ok()).peekable();
    while let Some(job) = jobs.next() {
        // Many small jobs would wait for memory more than they compute.
        if let Some(next) = jobs.peek() {
            workspace.look_ahead(next.spans.iter().copied().chain(next.inputs.iter().map(Span::readable)));
        }
        // SAFETY: the caller's promise.
        job.outcome = unsafe { run(job, workspace) };
    }
}

/// Runs a job that has begun on the values of its variables, which it may change. A panic is an error, and the changes before it
/// stay.
///
/// # Safety
/// Since the job has begun nobody has touched its variables but runs of this job or of others before it.
unsafe fn run(job: &mut Job, workspace: &mut Workspace) -> Outcome {
    let Job { instance, inputs, variables, outputs, spans, .. } = job;
    let (skeleton, program) = (&instance.skeleton, &instance.program);
    fit_outputs(program, outputs)?;
    spans.truncate(variables.len());
    spans.extend(inputs.iter().map(Span::readable));
    spans.extend(outputs.iter_mut().map(Span::writable));
    // SAFETY: the spans are those of the job's variables, inputs and outputs.
    unsafe { run_program(skeleton.name(), program, spans, workspace) }
}

/// Runs a program; a panic is an error.
///
/// # Safety
/// As for [`Program::run`].
unsafe fn run_program(name: &Arc<str>, program: &Program, spans: &[Span], workspace: &mut Workspace) -> Outcome {
    // SAFETY: the caller's promise.
    match catch_unwind(AssertUnwindSafe(|| unsafe { program.run(spans, workspace) })) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(RunFailure { instruction, cause })) => {
            let instruction = &program.instructions[instruction];
            Err(Error::Run { function: name.clone(), op: instruction.op, origin: instruction.origin, cause })
        }
        Err(panic) => Err(Error::Panicked { function: name.clone(), message: panic_message(&*panic) }),
    }
}

/// Makes `outputs` tensors of a program's results, where they are not already.
fn fit_outputs(program: &Program, outputs: &mut Vec<Tensor>) -> Result<(), Error> {
    outputs.truncate(program.outputs.len());
    for (place, (dtype, shape)) in program.outputs.iter().enumerate() {
        let fits = |tensor: &Tensor| tensor.dtype() == *dtype && tensor.shape() == &shape[..] && tensor.is_unique();
        match outputs.get_mut(place) {
            Some(tensor) if fits(tensor) => {}
            Some(tensor) => *tensor = Tensor::zeros(*dtype, shape)?,
            None => outputs.push(Tensor::zeros(*dtype, shape)?),
        }
    }
    Ok(())
}
