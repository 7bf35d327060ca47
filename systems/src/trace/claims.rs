//! Who traces what: the claim table of one trace pass.
//!
//! *Invariants*: one trace of many requests for one key, also from many threads at once; a circle of functions is found,
//! not waited for; claims end with their pass, so that after a failure the next call traces again. Nothing here is committed.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{CacheKey, FunctionName, Kind, Model};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::ThreadId;

use super::pass;
use crate::error::Error;
use crate::function::{Body, cached_concrete};
use crate::gradient;
use crate::graph::{Graph, collect};
use crate::names;
use crate::ops::OpTable;
use crate::optimize;
use crate::structure::Models;

/// How deep functions may call each other.
pub const TRACE_DEPTH_MAX: usize = 128;

/// What a trace may look at: the world as it was when the pass began, and what the pass traced so far.
#[derive(Clone)]
pub struct Snapshot<'w> {
    /// The world.
    pub world: &'w World,
    /// The claims of this pass.
    pub claims: &'w Claims,
    /// Which request of the pass this is for.
    pub root: usize,
    /// The functions being traced, innermost first.
    pub frame: Option<&'w Frame<'w>>,
    /// The models of the call that asked, for messages.
    pub models: Models,
}

impl Snapshot<'_> {
    /// The name of a model argument.
    pub fn model_name(&self, argument: usize) -> Option<Arc<str>> {
        Some(self.world.get::<Model>(*self.models.get(argument)?)?.name.clone())
    }
}

/// One function being traced, and who called it.
pub struct Frame<'w> {
    name: Arc<str>,
    outer: Option<&'w Frame<'w>>,
    depth: usize,
}

impl Frame<'_> {
    /// The names from the outermost function to this one.
    fn chain(&self) -> Vec<Arc<str>> {
        let mut chain = vec![self.name.clone()];
        let mut frame = self.outer;
        while let Some(outer) = frame {
            chain.push(outer.name.clone());
            frame = outer.outer;
        }
        chain.reverse();
        chain
    }
}

type Wanted = (Entity, CacheKey);

/// The claims of one pass.
#[derive(Default)]
pub struct Claims {
    table: Mutex<Table>,
    changed: Condvar,
}

#[derive(Default)]
struct Table {
    claims: HashMap<Wanted, Claim>,
    /// What each waiting request waits for.
    waiting: HashMap<usize, Wanted>,
    /// What each blocked thread waits for.
    blocked: HashMap<ThreadId, Wanted>,
}

enum Claim {
    /// A request is tracing it, on this thread.
    By(usize, ThreadId),
    /// It is traced, or cannot be.
    Done(Result<Arc<Graph>, Error>),
}

/// What asking for a claim gives.
enum Answer {
    Mine,
    /// It belongs to a request that waits, perhaps over other threads, for one that lies below this one on this very thread, since a
    /// body handed work to rayon: waiting for it would never end, so it is traced once more.
    Below,
    Done(Result<Arc<Graph>, Error>),
    Circle,
}

impl Claims {
    /// Claims `wanted` for a request, waits for whom it belongs to, or finds that waiting would never end.
    fn ask(&self, wanted: &Wanted, root: usize) -> Answer {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match table.claims.get(wanted) {
                None => {
                    table.claims.insert(wanted.clone(), Claim::By(root, std::thread::current().id()));
                    return Answer::Mine;
                }
                Some(Claim::Done(outcome)) => return Answer::Done(outcome.clone()),
                Some(Claim::By(holder, thread)) => {
                    if table.waits_for(*holder, root) {
                        return Answer::Circle;
                    }
                    let here = std::thread::current().id();
                    if table.is_blocked_by(*thread, here) {
                        return Answer::Below;
                    }
                    table.waiting.insert(root, wanted.clone());
                    table.blocked.insert(here, wanted.clone());
                    table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
                    table.waiting.remove(&root);
                    table.blocked.remove(&here);
                }
            }
        }
    }

    /// Settles a claim for this pass; the next pass has claims of its own.
    fn settle(&self, wanted: &Wanted, outcome: &Result<Arc<Graph>, Error>) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.claims.insert(wanted.clone(), Claim::Done(outcome.clone()));
        self.changed.notify_all();
    }
}

impl Table {
    /// Whether `thread` is `here`, or waits, over other threads, for it.
    fn is_blocked_by(&self, thread: ThreadId, here: ThreadId) -> bool {
        let mut thread = thread;
        while thread != here {
            let Some(Claim::By(_, next)) = self.blocked.get(&thread).and_then(|wanted| self.claims.get(wanted)) else {
                return false;
            };
            thread = *next;
        }
        true
    }

    /// Whether `holder` is `root`, or waits, over others, for it.
    fn waits_for(&self, holder: usize, root: usize) -> bool {
        let mut holder = holder;
        loop {
            if holder == root {
                return true;
            }
            let Some(Claim::By(next, _)) = self.waiting.get(&holder).and_then(|wanted| self.claims.get(wanted)) else {
                return false;
            };
            holder = *next;
        }
    }
}

/// The graph of `function` for `key`: from the world, from this pass, or traced or derived now.
pub(crate) fn produce(
    snapshot: &Snapshot<'_>,
    table: &OpTable,
    function: Entity,
    key: &CacheKey,
) -> Result<Arc<Graph>, Error> {
    let world = snapshot.world;
    let gone = || Error::gone(Kind::Function, names::remembered(world, function));
    let name = world.get::<FunctionName>(function).ok_or_else(gone)?.0.clone();
    if let Some(concrete) = cached_concrete(world, function, key) {
        return collect(world, concrete);
    }
    let depth = snapshot.frame.map_or(0, |frame| frame.depth + 1);
    let frame = Frame { name, outer: snapshot.frame, depth };
    if depth >= TRACE_DEPTH_MAX {
        return Err(Error::Cycle { chain: shortened(frame.chain()) });
    }
    let wanted = (function, key.clone());
    match snapshot.claims.ask(&wanted, snapshot.root) {
        Answer::Done(outcome) => outcome,
        Answer::Circle => Err(Error::Cycle { chain: frame.chain() }),
        Answer::Below => make(&Snapshot { frame: Some(&frame), ..snapshot.clone() }, table, function, key),
        Answer::Mine => {
            let outcome = make(&Snapshot { frame: Some(&frame), ..snapshot.clone() }, table, function, key);
            snapshot.claims.settle(&wanted, &outcome);
            outcome
        }
    }
}

/// Traces or derives the graph of the function at the top of the frame.
fn make(snapshot: &Snapshot<'_>, table: &OpTable, function: Entity, key: &CacheKey) -> Result<Arc<Graph>, Error> {
    let gone = || Error::gone(Kind::Function, names::remembered(snapshot.world, function));
    let name = snapshot.frame.map_or_else(|| "?".into(), |frame| frame.name.clone());
    match snapshot.world.get::<Body>(function).ok_or_else(gone)? {
        Body::Closure(closure) => pass::run_body(snapshot, table, closure, name, key.clone()),
        Body::Derived { source, derivation } => {
            let graph = produce(snapshot, table, *source, key)?;
            gradient::derive(table, &graph, derivation, name).map(Arc::new)
        }
        Body::Update(optimizer) => optimize::update_graph(table, &**optimizer, name, key.clone()).map(Arc::new),
    }
}

/// A long chain with its middle left out.
fn shortened(chain: Vec<Arc<str>>) -> Vec<Arc<str>> {
    const ENDS: usize = 4;
    if chain.len() <= 2 * ENDS {
        return chain;
    }
    let middle = Arc::from(format!("… ({} more)", chain.len() - 2 * ENDS));
    let (first, last) = (chain[..ENDS].iter().cloned(), chain[chain.len() - ENDS..].iter().cloned());
    first.chain([middle]).chain(last).collect()
}
