//! The compute step of every pass: over rayon where the work is large, in place where it is not.
//!
//! Which it is changes no result: results come back in the order of the items, and no item sees another.

use rayon::prelude::*;
use std::ops::Range;

/// Handing work to other threads costs some microseconds, so less than this much work, in nanoseconds, stays here.
const WORK_NANOSECONDS_MIN: usize = 50_000;

/// `f` of each item, in their order. `work_nanoseconds` is a rough guess of what all of them take together.
pub fn map<T: Send, R: Send>(items: Vec<T>, work_nanoseconds: usize, f: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
    if items.len() < 2 || work_nanoseconds < WORK_NANOSECONDS_MIN {
        items.into_iter().map(f).collect()
    } else {
        items.into_par_iter().map(f).collect()
    }
}

/// Calls `f` with 0, 1, … below `count`, in any order; on several threads where that is worth it.
pub fn each(count: usize, work_nanoseconds: usize, f: impl Fn(usize) + Sync) {
    if count < 2 || threads_for(work_nanoseconds) == 1 {
        (0..count).for_each(f);
    } else {
        (0..count).into_par_iter().with_max_len(1).for_each(&f);
    }
}

/// Runs a thread, so that threads that are done early find work.
const RUNS_PER_THREAD: usize = 8;

/// Calls `f` with ranges that cover 0, 1, … below `count`, one after the other or on several threads where that is worth it.
pub fn each_range(count: usize, work_nanoseconds: usize, f: impl Fn(Range<usize>) + Sync) {
    match threads_for(work_nanoseconds) {
        1 => f(0..count),
        threads => {
            let length = count.div_ceil(threads * RUNS_PER_THREAD).max(1);
            each(count.div_ceil(length), work_nanoseconds, |run| f(run * length..((run + 1) * length).min(count)));
        }
    }
}

/// Calls `f` with runs of `items`, one after the other or on several threads where that is worth it.
pub fn each_run<T: Send>(items: &mut [T], work_nanoseconds: usize, f: impl Fn(&mut [T]) + Sync) {
    match threads_for(work_nanoseconds) {
        1 => f(items),
        threads => items.par_chunks_mut(items.len().div_ceil(threads * RUNS_PER_THREAD).max(1)).for_each(&f),
    }
}

/// How many threads so much work is worth.
pub fn threads_for(work_nanoseconds: usize) -> usize {
    if work_nanoseconds < WORK_NANOSECONDS_MIN { 1 } else { rayon::current_num_threads() }
}
