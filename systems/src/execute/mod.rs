//! The execute pass: jobs run their plans.
//!
//! *Invariants*: every weak reference is checked before anything of a job runs; jobs that share a variable which one of them
//! writes run in the order given, all others in parallel; what a job assigned before it failed stays, also when something
//! panics; a failed job stops nobody else.

mod bind;
mod groups;
mod stale;
mod workspaces;

pub use bind::bind_variables;
pub(crate) use bind::bind_with_state;
pub use groups::Groups as JobGroups;
pub use stale::{check_captured, check_functions, check_variable, check_variables};
pub use workspaces::Workspaces;

use bevy_ecs::entity::{Entity, EntityHashMap};
use bevy_ecs::world::World;
use entigrad_components::{Stored, Tensor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use groups::Groups;

use crate::error::Error;
use crate::kernels::program::Program;
use crate::kernels::{RunFailure, Workspace};
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
    /// The values of the variables, while it runs.
    values: Vec<Tensor>,
}

/// Whether a job ran.
pub type Outcome = Result<(), Error>;

impl Job {
    /// A run of a plan.
    pub fn new(instance: Arc<Instance>, inputs: Vec<Tensor>, variables: Arc<[Entity]>) -> Self {
        Self { instance, inputs, variables, outputs: Vec::new(), outcome: Ok(()), values: Vec::new() }
    }
}

/// Runs one job.
pub fn execute_one(world: &mut World, job: &mut Job) -> Outcome {
    let workspaces = Workspaces::of(world);
    begin(world, job)?;
    let outcome = workspaces.with(|workspace| run(job, workspace));
    end(world, job);
    outcome
}

/// Checks a job and takes the values that it runs on out of the world: nothing else can read what it writes until [`end`].
pub(crate) fn begin(world: &mut World, job: &mut Job) -> Outcome {
    check(world, job)?;
    let Job { instance, variables, values, .. } = job;
    values.clear();
    for (variable, is_written) in variables.iter().zip(&instance.program.is_written) {
        values.push(take(world, *variable, *is_written));
    }
    Ok(())
}

/// Puts the values of a job back.
pub(crate) fn end(world: &mut World, job: &mut Job) {
    let Job { instance, variables, values, .. } = job;
    for ((variable, value), is_written) in variables.iter().zip(values.drain(..)).zip(&instance.program.is_written) {
        if *is_written {
            put_back(world, *variable, value);
        }
    }
}

/// Runs jobs; how each ended is its `outcome`.
///
/// *Reads* and *writes* [`Stored`] of the jobs' variables.
pub fn execute(world: &mut World, jobs: &mut [Job]) {
    if let [only] = jobs {
        only.outcome = execute_one(world, only);
        return;
    }
    let workspaces = Workspaces::of(world);
    let mut groups =
        world.get_resource_mut::<Groups>().map(|mut groups| std::mem::take(&mut *groups)).unwrap_or_default();
    groups.follow(jobs);
    let work = jobs.iter().fold(0_usize, |work, job| work.saturating_add(job.instance.program.work_nanoseconds));
    if groups.are_single() {
        for job in &mut *jobs {
            job.outcome = begin(world, job);
        }
        parallel::each_run(jobs, work, |jobs| {
            workspaces.with(|workspace| {
                for job in jobs.iter_mut().filter(|job| job.outcome.is_ok()) {
                    job.outcome = run(job, workspace);
                }
            });
        });
        // What did not begin has no values.
        jobs.iter_mut().for_each(|job| end(world, job));
    } else {
        execute_groups(world, jobs, &groups, work, &workspaces);
    }
    world.insert_resource(groups);
}

/// Runs jobs of which some share what one of them writes.
fn execute_groups(world: &mut World, jobs: &mut [Job], groups: &Groups, work: usize, workspaces: &Workspaces) {
    // Collect: each group with the values of its variables.
    let mut jobs: Vec<Option<&mut Job>> = jobs.iter_mut().map(Some).collect();
    let collected: Vec<Collected<'_>> = groups
        .iter()
        .map(|places| collect(world, places.iter().filter_map(|place| jobs[*place].take()).collect()))
        .collect();
    // Compute: groups in parallel, the jobs of one in order.
    let ran = parallel::map(collected, work, |group| run_group(group, workspaces));
    // Commit.
    for (variable, value) in ran.into_iter().flatten() {
        put_back(world, variable, value);
    }
}

/// Checks everything that a job refers to weakly, before anything of it runs.
fn check(world: &World, job: &Job) -> Outcome {
    let skeleton = &job.instance.skeleton;
    check_functions(world, skeleton.name(), &skeleton.functions)?;
    for (weak, variable) in skeleton.weak().iter().zip(job.variables.iter()) {
        let Some(stored) = world.get::<Stored>(*variable) else {
            return Err(stale::stale_variable(world, skeleton.name(), weak, *variable).into());
        };
        if !stored.0.fits(&weak.spec) {
            let (given, wanted, path) = (stored.0.spec(), &weak.spec, &weak.path);
            let message =
                format!("function `{}` takes `{path}` as {wanted}, but it holds {given} now", skeleton.name());
            return Err(Error::invalid(message));
        }
    }
    Ok(())
}

/// The value of a variable: taken out where it is to be written, so that nobody else holds it; else shared.
fn take(world: &mut World, variable: Entity, is_written: bool) -> Tensor {
    if is_written {
        world.get_mut::<Stored>(variable).map(|mut stored| std::mem::take(&mut stored.0)).unwrap_or_default()
    } else {
        world.get::<Stored>(variable).map(|stored| stored.0.clone()).unwrap_or_default()
    }
}

fn put_back(world: &mut World, variable: Entity, value: Tensor) {
    if let Some(mut stored) = world.get_mut::<Stored>(variable) {
        stored.0 = value;
    }
}

/// Jobs that run one after the other, and the values of the variables that some of them write.
struct Collected<'a> {
    jobs: Vec<&'a mut Job>,
    written: EntityHashMap<Tensor>,
}

/// Checks the jobs of a group, and takes what they need out of the world.
fn collect<'a>(world: &mut World, mut jobs: Vec<&'a mut Job>) -> Collected<'a> {
    for job in &mut jobs {
        job.outcome = check(world, job);
    }
    let mut written: EntityHashMap<Tensor> = EntityHashMap::default();
    for job in jobs.iter().filter(|job| job.outcome.is_ok()) {
        for (variable, is_written) in job.variables.iter().zip(&job.instance.program.is_written) {
            if *is_written && !written.contains_key(variable) {
                written.insert(*variable, take(world, *variable, true));
            }
        }
    }
    for job in jobs.iter_mut().filter(|job| job.outcome.is_ok()) {
        let Job { variables, values, .. } = &mut **job;
        values.clear();
        for variable in variables.iter() {
            // What the group writes comes from those before, when the job's turn comes.
            let is_ours = written.contains_key(variable);
            values.push(if is_ours { Tensor::default() } else { take(world, *variable, false) });
        }
    }
    Collected { jobs, written }
}

/// Runs the jobs of one group in order, each on what those before it left; what they left in the end.
fn run_group(group: Collected<'_>, workspaces: &Workspaces) -> EntityHashMap<Tensor> {
    let Collected { jobs, mut written } = group;
    for job in jobs.into_iter().filter(|job| job.outcome.is_ok()) {
        let instance = job.instance.clone();
        let Job { variables, values, .. } = &mut *job;
        for ((variable, value), is_written) in variables.iter().zip(values).zip(&instance.program.is_written) {
            if let Some(latest) = written.get_mut(variable) {
                *value = if *is_written { std::mem::take(latest) } else { latest.clone() };
            }
        }
        job.outcome = workspaces.with(|workspace| run(job, workspace));
        let Job { variables, values, .. } = &mut *job;
        for ((variable, value), is_written) in variables.iter().zip(values.drain(..)).zip(&instance.program.is_written)
        {
            if *is_written {
                written.insert(*variable, value);
            }
        }
    }
    written
}

/// Runs a job that has begun on the values of its variables, which it may change. A panic is an error, and the changes before it
/// stay.
pub(crate) fn run(job: &mut Job, workspace: &mut Workspace) -> Outcome {
    let Job { instance, inputs, values, outputs, .. } = job;
    let (skeleton, program) = (&instance.skeleton, &instance.program);
    fit_outputs(program, outputs)?;
    match catch_unwind(AssertUnwindSafe(|| program.run(inputs, values, outputs, workspace))) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(RunFailure { instruction, cause })) => {
            let instruction = &program.instructions[instruction];
            let function = skeleton.name().clone();
            Err(Error::Run { function, op: instruction.op, origin: instruction.origin, cause })
        }
        Err(panic) => {
            let function = skeleton.name().clone();
            Err(Error::Panicked { function, message: panic_message(&*panic) })
        }
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
