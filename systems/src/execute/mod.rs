//! The execute pass: jobs run their plans.
//!
//! *Invariants*: every weak reference is checked before anything of a job runs; jobs that share a variable which one of them
//! writes run in the order given, all others in parallel; what a job assigned before it failed stays, also when something
//! panics; a failed job stops nobody else.

mod bind;
mod interpret;
mod stale;

pub use bind::bind_variables;
pub(crate) use bind::bind_with_state;
pub use stale::{check_captured, check_functions, check_variable, check_variables};

use bevy_ecs::entity::{Entity, EntityHashMap};
use bevy_ecs::world::World;
use entigrad_components::{Stored, Tensor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::error::Error;
use crate::parallel;
use crate::plan::Instance;
use crate::trace::pass::panic_message;

/// One run of a plan.
#[derive(Clone, Debug)]
pub struct Job {
    /// The plan.
    pub instance: Arc<Instance>,
    /// The leaves of the arguments.
    pub inputs: Vec<Tensor>,
    /// The variable of each weak reference.
    pub variables: Arc<[Entity]>,
}

/// What a job gave, or the values of its variables before it ran.
pub type Outcome = Result<Vec<Tensor>, Error>;

/// Runs one job.
pub fn execute_one(world: &mut World, job: &Job) -> Outcome {
    let mut values = collect(world, job)?;
    let outcome = run(job, &mut values);
    commit(world, job, values);
    outcome
}

/// Runs jobs; what each gave, in their order.
///
/// *Reads* and *writes* [`Stored`] of the jobs' variables.
pub fn execute(world: &mut World, jobs: &[Job]) -> Vec<Outcome> {
    if let [only] = jobs {
        return vec![execute_one(world, only)];
    }
    // Collect: jobs in groups that share what one of them writes, each group with the values of its variables.
    let groups = groups(jobs);
    let collected: Vec<Vec<(usize, Outcome)>> = groups
        .iter()
        .map(|group| group.iter().map(|place| (*place, collect(world, &jobs[*place]))).collect())
        .collect();
    // Compute: groups in parallel, the jobs of one in order.
    let work = jobs.iter().fold(0_usize, |work, job| work.saturating_add(job.instance.work_nanoseconds));
    let ran: Vec<Vec<Ran>> = parallel::map(collected, work, |group| run_group(jobs, group));
    // Commit, in the order of the jobs.
    let mut ran: Vec<Ran> = ran.into_iter().flatten().collect();
    ran.sort_by_key(|ran| ran.place);
    ran.into_iter()
        .map(|ran| {
            commit(world, &jobs[ran.place], ran.values);
            ran.outcome
        })
        .collect()
}

/// A job that ran, and its variables' values since.
struct Ran {
    place: usize,
    values: Vec<Tensor>,
    outcome: Outcome,
}

/// The values of a job's variables, once all are known to be alive and of the right spec.
fn collect(world: &World, job: &Job) -> Outcome {
    let skeleton = &job.instance.skeleton;
    check_functions(world, &skeleton.name, &skeleton.functions)?;
    let mut values = Vec::with_capacity(job.variables.len());
    for (weak, variable) in skeleton.weak.iter().zip(job.variables.iter()) {
        let Some(stored) = world.get::<Stored>(*variable) else {
            return Err(stale::stale_variable(world, &skeleton.name, weak, *variable).into());
        };
        if !stored.0.fits(&weak.spec) {
            let (given, wanted, path) = (stored.0.spec(), &weak.spec, &weak.path);
            let message = format!("function `{}` takes `{path}` as {wanted}, but it holds {given} now", skeleton.name);
            return Err(Error::invalid(message));
        }
        values.push(stored.0.clone());
    }
    Ok(values)
}

/// Runs a job on the values of its variables, which it may change. A panic is an error, and the changes before it stay.
fn run(job: &Job, values: &mut [Tensor]) -> Outcome {
    let run = AssertUnwindSafe(|| interpret::interpret(&job.instance, &job.inputs, values));
    catch_unwind(run).unwrap_or_else(|panic| {
        let function = job.instance.skeleton.name.clone();
        Err(Error::Panicked { function, message: panic_message(&*panic) })
    })
}

/// Puts changed values back.
fn commit(world: &mut World, job: &Job, values: Vec<Tensor>) {
    let written = job.instance.skeleton.weak.iter().map(|weak| weak.is_written);
    for ((variable, value), is_written) in job.variables.iter().zip(values).zip(written) {
        if is_written && let Some(mut stored) = world.get_mut::<Stored>(*variable) {
            stored.0 = value;
        }
    }
}

/// Runs the jobs of one group in order, each on what those before it left.
fn run_group(jobs: &[Job], group: Vec<(usize, Outcome)>) -> Vec<Ran> {
    let is_shared = group.len() > 1;
    let mut latest: EntityHashMap<Tensor> = EntityHashMap::default();
    let mut ran = Vec::with_capacity(group.len());
    for (place, collected) in group {
        let job = &jobs[place];
        let (values, outcome) = match collected {
            Err(error) => (Vec::new(), Err(error)),
            Ok(mut values) => {
                for (value, variable) in values.iter_mut().zip(job.variables.iter()).filter(|_| is_shared) {
                    if let Some(changed) = latest.get(variable) {
                        *value = changed.clone();
                    }
                }
                let outcome = run(job, &mut values);
                (values, outcome)
            }
        };
        if is_shared {
            latest.extend(job.variables.iter().copied().zip(values.iter().cloned()));
        }
        ran.push(Ran { place, values, outcome });
    }
    ran
}

/// The places of jobs, in groups that share a variable which one of them writes; groups and their jobs in order.
fn groups(jobs: &[Job]) -> Vec<Vec<usize>> {
    let mut written: EntityHashMap<()> = EntityHashMap::default();
    for job in jobs {
        let weak = job.instance.skeleton.weak.iter().zip(job.variables.iter());
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
