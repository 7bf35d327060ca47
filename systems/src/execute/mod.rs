//! The execute pass: jobs run their plans.
//!
//! *Invariants*: every weak reference is checked before anything of a job runs; jobs that share a variable which one of them
//! writes run in the order given, all others in parallel; what a job assigned before it failed stays, also when something
//! panics; a failed job stops nobody else.

mod bind;
mod stale;
mod workspaces;

pub use bind::bind_variables;
pub(crate) use bind::bind_with_state;
pub use stale::{check_captured, check_functions, check_variable, check_variables};
pub use workspaces::Workspaces;

use bevy_ecs::entity::{Entity, EntityHashMap};
use bevy_ecs::world::World;
use entigrad_components::{Stored, Tensor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::error::Error;
use crate::kernels::RunFailure;
use crate::kernels::program::Program;
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
    /// The values of the variables, while it runs.
    values: Vec<Tensor>,
}

/// Whether a job ran.
pub type Outcome = Result<(), Error>;

impl Job {
    /// A run of a plan.
    pub fn new(instance: Arc<Instance>, inputs: Vec<Tensor>, variables: Arc<[Entity]>) -> Self {
        Self { instance, inputs, variables, outputs: Vec::new(), values: Vec::new() }
    }
}

/// Runs one job.
pub fn execute_one(world: &mut World, job: &mut Job) -> Outcome {
    check(world, job)?;
    let workspaces = Workspaces::of(world);
    let (variables, instance) = (job.variables.clone(), job.instance.clone());
    let is_written = &instance.program.is_written;
    job.values.clear();
    for (variable, is_written) in variables.iter().zip(is_written) {
        job.values.push(take(world, *variable, *is_written));
    }
    let outcome = run(job, &workspaces);
    for ((variable, value), is_written) in variables.iter().zip(job.values.drain(..)).zip(is_written) {
        if *is_written {
            put_back(world, *variable, value);
        }
    }
    outcome
}

/// Runs jobs; how each ended, in their order.
///
/// *Reads* and *writes* [`Stored`] of the jobs' variables.
pub fn execute(world: &mut World, jobs: &mut [Job]) -> Vec<Outcome> {
    if let [only] = jobs {
        return vec![execute_one(world, only)];
    }
    // Collect: jobs in groups that share what one of them writes, each group with the values of its variables.
    let workspaces = Workspaces::of(world);
    let groups = groups(jobs);
    let work = jobs.iter().fold(0_usize, |work, job| work.saturating_add(job.instance.program.work_nanoseconds));
    let mut taken_jobs: Vec<Option<&mut Job>> = jobs.iter_mut().map(Some).collect();
    let collected: Vec<Collected<'_>> = groups
        .into_iter()
        .map(|places| {
            let jobs = places.into_iter().filter_map(|place| Some((place, taken_jobs[place].take()?)));
            collect(world, jobs.collect())
        })
        .collect();
    // Compute: groups in parallel, the jobs of one in order.
    let ran: Vec<Ran> = parallel::map(collected, work, |group| run_group(group, &workspaces));
    // Commit.
    let mut outcomes: Vec<(usize, Outcome)> = Vec::with_capacity(taken_jobs.len());
    for group in ran {
        group.written.into_iter().for_each(|(variable, value)| put_back(world, variable, value));
        outcomes.extend(group.outcomes);
    }
    outcomes.sort_by_key(|(place, _)| *place);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
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
    jobs: Vec<(usize, &'a mut Job, Outcome)>,
    written: EntityHashMap<Tensor>,
}

/// What is left of a group that ran.
struct Ran {
    outcomes: Vec<(usize, Outcome)>,
    written: EntityHashMap<Tensor>,
}

/// Checks the jobs of a group, and takes what they need out of the world.
fn collect<'a>(world: &mut World, jobs: Vec<(usize, &'a mut Job)>) -> Collected<'a> {
    let checked: Vec<(usize, &mut Job, Outcome)> = jobs
        .into_iter()
        .map(|(place, job)| {
            let outcome = check(world, job);
            (place, job, outcome)
        })
        .collect();
    let mut written: EntityHashMap<Tensor> = EntityHashMap::default();
    for (_, job, _) in checked.iter().filter(|(.., outcome)| outcome.is_ok()) {
        for (variable, is_written) in job.variables.iter().zip(&job.instance.program.is_written) {
            if *is_written && !written.contains_key(variable) {
                written.insert(*variable, take(world, *variable, true));
            }
        }
    }
    let mut collected = Collected { jobs: checked, written };
    for (_, job, _) in collected.jobs.iter_mut().filter(|(.., outcome)| outcome.is_ok()) {
        let Job { variables, values, .. } = &mut **job;
        values.clear();
        for variable in variables.iter() {
            // What the group writes comes from those before, when the job's turn comes.
            let is_ours = collected.written.contains_key(variable);
            values.push(if is_ours { Tensor::default() } else { take(world, *variable, false) });
        }
    }
    collected
}

/// Runs the jobs of one group in order, each on what those before it left.
fn run_group(group: Collected<'_>, workspaces: &Workspaces) -> Ran {
    let Collected { jobs, mut written } = group;
    let mut outcomes = Vec::with_capacity(jobs.len());
    for (place, job, checked) in jobs {
        let outcome = checked.and_then(|()| {
            let variables = job.variables.clone();
            let instance = job.instance.clone();
            for ((variable, value), is_written) in
                variables.iter().zip(&mut job.values).zip(&instance.program.is_written)
            {
                if let Some(latest) = written.get_mut(variable) {
                    *value = if *is_written { std::mem::take(latest) } else { latest.clone() };
                }
            }
            let outcome = run(job, workspaces);
            for ((variable, value), is_written) in
                variables.iter().zip(job.values.drain(..)).zip(&instance.program.is_written)
            {
                if *is_written {
                    written.insert(*variable, value);
                }
            }
            outcome
        });
        outcomes.push((place, outcome));
    }
    Ran { outcomes, written }
}

/// Runs a job on the values of its variables, which it may change. A panic is an error, and the changes before it stay.
fn run(job: &mut Job, workspaces: &Workspaces) -> Outcome {
    let instance = job.instance.clone();
    let (skeleton, program) = (&instance.skeleton, &instance.program);
    fit_outputs(program, &mut job.outputs)?;
    let Job { inputs, values, outputs, .. } = job;
    let ran =
        workspaces.with(|workspace| catch_unwind(AssertUnwindSafe(|| program.run(inputs, values, outputs, workspace))));
    match ran {
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

/// The places of jobs, in groups that share a variable which one of them writes; groups and their jobs in order.
fn groups(jobs: &[Job]) -> Vec<Vec<usize>> {
    let mut written: EntityHashMap<()> = EntityHashMap::default();
    for job in jobs {
        let weak = job.instance.skeleton.weak().iter().zip(job.variables.iter());
        written.extend(weak.filter(|(weak, _)| weak.is_written).map(|(_, variable)| (*variable, ())));
    }
    // Union by the first job that touched a written variable, with path halving.
    let mut parent: Vec<usize> = (0..jobs.len()).collect();
    let mut first_user: EntityHashMap<usize> = EntityHashMap::default();
    for (place, job) in jobs.iter().enumerate() {
        for variable in job.variables.iter().filter(|variable| written.contains_key(*variable)) {
            let other = *first_user.entry(*variable).or_insert(place);
            let (left, right) = (root(&mut parent, other), root(&mut parent, place));
            parent[left.max(right)] = left.min(right);
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: Vec<Option<usize>> = vec![None; jobs.len()];
    for place in 0..jobs.len() {
        let root = root(&mut parent, place);
        let group = *group_of[root].get_or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(place);
    }
    groups
}

fn root(parent: &mut [usize], place: usize) -> usize {
    let mut place = place;
    while parent[place] != place {
        parent[place] = parent[parent[place]];
        place = parent[place];
    }
    place
}
