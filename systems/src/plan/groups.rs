//! Groups: what becomes one fused instruction.
//!
//! Stored elementwise values and reductions of one level and one domain go together, so that they share what they read and
//! what they compute on the way.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::stored::{Stored, fold_extents};
use super::values::{Class, Value, view_operand};
use crate::graph::Graph;
use crate::kernels::access::View;
use crate::kernels::program::Extents;

/// The most values that one group stores: each is a stream through the cache.
const STORES_MAX: usize = 24;
/// The most of few elements, where an instruction costs more than its streams.
const SMALL_STORES_MAX: usize = 64;
const SMALL_LENGTH: usize = 64;

/// What becomes one fused instruction.
#[derive(Debug)]
pub(super) struct Group {
    /// The level at which it runs.
    pub level: u32,
    /// Elements of its domain.
    pub length: usize,
    /// The order in which a reduction's operand is gone through, where it is not its own.
    pub domain: Option<View>,
    /// Nodes that it stores, ascending.
    pub stores: Vec<usize>,
    /// Reductions that end it, ascending.
    pub folds: Vec<usize>,
    /// How the domain is reduced.
    pub extents: Option<Extents>,
}

/// The groups of a graph, in an order in which they can run at their levels.
pub(super) fn groups(graph: &Graph, values: &[Value], stored: &Stored) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut buckets: FxHashMap<(u32, usize), SmallVec<[usize; 2]>> = FxHashMap::default();
    // The last group that a value needs element by element, with its level.
    let mut needs: Vec<Option<(u32, usize)>> = vec![None; values.len()];
    for index in (0..values.len()).filter(|index| stored.is_needed[*index]) {
        let operands = match values[index].class {
            Class::View(_) => SmallVec::from_slice(&[view_operand(graph, values, index)]),
            _ => graph.nodes[index].operands.clone(),
        };
        needs[index] = operands.iter().filter_map(|operand| needs[operand.index()]).max();
        if !stored.is_stored[index] {
            continue;
        }
        let (domain, extents, length) = match values[index].class {
            Class::Elementwise(..) | Class::View(_) => (None, None, values[index].length),
            Class::Fold(_) => {
                let operand = &values[operands[0].index()];
                let (domain, extents) = fold_extents(&operand.shape, &graph.nodes[index].attributes);
                (domain, Some(extents), operand.length)
            }
            _ => {
                needs[index] = None;
                continue;
            }
        };
        let level = stored.level[index];
        let first = needs[index].filter(|(at, _)| *at == level).map_or(0, |(_, group)| group);
        let bucket = buckets.entry((level, length)).or_default();
        let joins = |group: &usize| *group >= first && fits(&groups[*group], extents, domain.as_ref());
        let place = bucket.iter().copied().find(joins).unwrap_or_else(|| {
            let (stores, folds) = (Vec::new(), Vec::new());
            groups.push(Group { level, length, domain: domain.clone(), stores, folds, extents: None });
            bucket.push(groups.len() - 1);
            groups.len() - 1
        });
        let group = &mut groups[place];
        match extents {
            None => group.stores.push(index),
            Some(extents) => {
                group.folds.push(index);
                group.extents = Some(extents);
            }
        }
        needs[index] = extents.is_none().then_some((level, place));
    }
    groups
}

/// Whether a value that is reduced so, or not at all, can join a group.
fn fits(group: &Group, extents: Option<Extents>, domain: Option<&View>) -> bool {
    let most = if group.length <= SMALL_LENGTH { SMALL_STORES_MAX } else { STORES_MAX };
    let is_same_domain = group.domain.as_ref() == domain;
    let is_same_fold = match (group.extents, extents) {
        (Some(held), Some(wanted)) => held == wanted,
        (None, _) | (_, None) => true,
    };
    is_same_domain && is_same_fold && group.stores.len() + group.folds.len() < most
}
