//! Groups of jobs that share a variable which one of them writes: they run one after the other.
//!
//! Trainers that run together one update run together the next, so the groups are kept until the jobs are others.

use bevy_ecs::entity::{Entity, EntityHashMap};
use bevy_ecs::resource::Resource;
use std::sync::Arc;

use super::KeptJob;
use crate::plan::Skeleton;

/// The groups of the jobs that ran last.
#[derive(Resource, Debug, Default)]
pub struct Groups {
    /// What decides: whose variables, and which of them are written.
    jobs: Vec<(Arc<[Entity]>, Arc<Skeleton>)>,
    groups: Vec<Vec<usize>>,
}

impl Groups {
    /// Makes these the groups of `jobs`.
    pub(super) fn follow(&mut self, jobs: &[KeptJob]) {
        let mut pairs = jobs.iter().zip(&self.jobs);
        let are_same = pairs.all(|(job, (variables, skeleton))| {
            Arc::ptr_eq(&job.variables, variables) && Arc::ptr_eq(&job.instance.skeleton, skeleton)
        });
        if are_same && jobs.len() == self.jobs.len() {
            return;
        }
        self.jobs = jobs.iter().map(|job| (job.variables.clone(), job.instance.skeleton.clone())).collect();
        self.groups = groups(jobs);
    }

    /// Whether no job shares anything that one writes.
    pub(super) fn are_single(&self) -> bool {
        self.groups.len() == self.jobs.len()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The places of the jobs of a group, in order; groups are in order of their first jobs.
    pub(super) fn places(&self, group: usize) -> &[usize] {
        &self.groups[group]
    }
}

/// The places of jobs, in groups that share a variable which one of them writes; groups and their jobs in order.
fn groups(jobs: &[KeptJob]) -> Vec<Vec<usize>> {
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
