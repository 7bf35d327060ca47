//! A dense draft of a graph: what a trace writes, what Gradient and Simplify turn into another one, what becomes op
//! entities once.
//!
//! *Invariants*: nodes stand in program order, which is a topological order: operands come before their users. A node gives
//! one value; an op with several results is followed by `result` nodes. In a flat graph there is at most one read of a weak
//! reference before the first assign to it, and none after: later reads are the assigned values themselves.

mod collect;
mod flatten;
mod print;
mod spawn;

pub use collect::collect;
pub use flatten::flatten;
pub use print::print;
pub use spawn::spawn_ops;

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use entigrad_components::function::Constraint;
use entigrad_components::{Attributes, CacheKey, OpId, Origin, OutputSkeleton, Tensor, TensorSpec, WeakReference};
use smallvec::SmallVec;
use std::sync::Arc;

/// The place of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The operands of a node.
pub type NodeIds = SmallVec<[NodeId; 3]>;

/// One op of a draft.
#[derive(Clone, Debug)]
pub struct Node {
    /// The row of the op table.
    pub op: OpId,
    /// Dtype and dims of its value.
    pub spec: TensorSpec,
    /// Its operands.
    pub operands: NodeIds,
    /// What else the row needs.
    pub attributes: Attributes,
    /// Where the user wrote it.
    pub origin: Origin,
}

/// A concrete that a graph runs as part of itself.
#[derive(Clone, Debug)]
pub struct Body {
    /// The function.
    pub function: Entity,
    /// What selects the concrete among its traces.
    pub key: CacheKey,
    /// Its graph.
    pub graph: Arc<Graph>,
    /// The place, among the outer graph's weak references, of each of the body's.
    pub weak: Vec<u32>,
}

/// A graph of ops.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The function's name.
    pub name: Arc<str>,
    /// The key it was traced for.
    pub key: CacheKey,
    /// The ops in program order.
    pub nodes: Vec<Node>,
    /// Dtype and dims of the inputs.
    pub inputs: Vec<TensorSpec>,
    /// The values it returns.
    pub outputs: Vec<NodeId>,
    /// Their structure.
    pub output_skeleton: OutputSkeleton,
    /// Tensors from outside, by order of first use.
    pub captures: Vec<Tensor>,
    /// Variables read or written, by order of first touch.
    pub weak: Vec<WeakReference>,
    /// The concretes that its `call` nodes run.
    pub bodies: Vec<Body>,
    /// Functions whose bodies were inlined here: they must live too.
    pub inlined: Vec<Entity>,
    /// Lengths that must agree.
    pub constraints: Vec<Constraint>,
    /// Whether gradients of variables were taken on the way: then no variable may reach it in two ways.
    pub takes_gradients: bool,
    /// How deep its calls nest: what bounds every recursion over bodies.
    pub depth: usize,
}

impl Graph {
    /// An empty graph.
    pub fn new(name: Arc<str>, key: CacheKey) -> Self {
        Self {
            name,
            key,
            nodes: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            output_skeleton: Arc::from([]),
            captures: Vec::new(),
            weak: Vec::new(),
            bodies: Vec::new(),
            inlined: Vec::new(),
            constraints: Vec::new(),
            takes_gradients: false,
            depth: 0,
        }
    }

    /// Every function whose body it runs, each once.
    pub fn functions(&self) -> Vec<Entity> {
        let mut functions = self.inlined.clone();
        for body in &self.bodies {
            for function in [body.function].into_iter().chain(body.graph.functions()) {
                if !functions.contains(&function) {
                    functions.push(function);
                }
            }
        }
        functions
    }

    /// The node of this id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Adds a node.
    pub fn push(&mut self, node: Node) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("a graph has fewer than 2^32 nodes"));
        self.nodes.push(node);
        id
    }
}

/// A concrete whose ops are not spawned yet. Written by Trace and Gradient; turned into op entities by Simplify.
#[derive(Component, Debug)]
pub struct Draft(pub Arc<Graph>);
