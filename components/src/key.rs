//! Keys: what selects a concrete function.
//!
//! A structure of arguments splits into leaves (tensors) and a skeleton of tokens. The key is the skeleton with every
//! leaf's spec in place: equality of tokens decides, never a hash or a joined string alone.

use bevy_ecs::entity::Entity;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::spec::TensorSpec;

/// One piece of a skeleton.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    /// A tensor.
    Leaf(TensorSpec),
    /// A tuple of so many structures follows.
    Tuple(u32),
    /// A vector of so many structures follows.
    Vector(u32),
    /// An `Option` that is `None`.
    Absent,
    /// An `Option` that is `Some`; its structure follows.
    Present,
    /// A host value, compared by value.
    Static(Static),
    /// A plain entity, compared by identity, generation included.
    Entity(Entity),
    /// A model, compared by signature, and which model argument of this call it is: the same model twice has one number.
    Model(u32, Arc<ModelSignature>),
    /// In results only: a variable, by its place among the concrete's weak references.
    Variable(u32),
}

/// A host value in a key. A host `if` on it leaves one branch in each trace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Static {
    /// An integer of any width, or a truth value.
    Integer(i128),
    /// A text.
    Text(Arc<str>),
}

/// Everything of a model that a trace can depend on: the sorted list of its variables.
#[derive(Debug)]
pub struct ModelSignature {
    entries: Vec<SignatureEntry>,
    hash: u64,
}

/// One variable in a signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SignatureEntry {
    /// Its name within the model.
    pub path: Arc<str>,
    /// Dtype and dims.
    pub spec: TensorSpec,
    /// Whether it is trained.
    pub trainable: bool,
}

impl ModelSignature {
    /// A signature of these variables; their order does not matter.
    pub fn new(mut entries: Vec<SignatureEntry>) -> Self {
        entries.sort_by(|left, right| left.path.cmp(&right.path));
        let mut hasher = std::hash::DefaultHasher::new();
        entries.hash(&mut hasher);
        Self { hash: hasher.finish(), entries }
    }

    /// The variables, in order of path.
    pub fn entries(&self) -> &[SignatureEntry] {
        &self.entries
    }

    /// The variable of this path.
    pub fn get(&self, path: &str) -> Option<&SignatureEntry> {
        let position = self.entries.binary_search_by(|entry| (*entry.path).cmp(path)).ok()?;
        self.entries.get(position)
    }
}

impl PartialEq for ModelSignature {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.entries == other.entries
    }
}
impl Eq for ModelSignature {}
impl Hash for ModelSignature {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

/// What selects a concrete of one function: the skeleton of its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CacheKey(pub Arc<[Token]>);

impl CacheKey {
    /// The specs of the leaves, in order.
    pub fn leaf_specs(&self) -> impl Iterator<Item = &TensorSpec> {
        self.0.iter().filter_map(|token| if let Token::Leaf(spec) = token { Some(spec) } else { None })
    }

    /// The plain entities in this key.
    pub fn entities(&self) -> impl Iterator<Item = Entity> {
        self.0.iter().filter_map(|token| if let Token::Entity(entity) = token { Some(*entity) } else { None })
    }
}
