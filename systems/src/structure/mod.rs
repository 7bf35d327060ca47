//! Structures: what functions take and return.
//!
//! A structure splits into leaves (tensors) and a skeleton of tokens, and is rebuilt from them: at a call from tensors, in
//! a trace from traced values. Its traced form borrows the trace, so a traced value that outlives its trace does not
//! compile.

mod flattened;

pub(crate) use flattened::Recognized;
pub use flattened::{Flattened, Known, Parts};

use bevy_ecs::entity::Entity;
use entigrad_components::{ModelId, Static, Tensor, Token};
use smallvec::SmallVec;
use std::sync::Arc;

use crate::error::Error;
use crate::trace::{Trace, TracedModel, Value};

/// The model arguments of a call, in order of first appearance.
pub type Models = SmallVec<[Entity; 1]>;

/// A type that functions take and return.
pub trait Structure: Sized + 'static {
    /// The same inside a trace.
    type Traced<'t>;

    /// Takes this apart.
    fn flatten(self, parts: &mut Flattened<'_>);
    /// Builds the traced form from a skeleton and traced leaves; `None` where the skeleton is of another structure.
    fn traced<'t>(parts: &mut TracedParts<'_, 't>) -> Option<Self::Traced<'t>>;
    /// A traced form that stands in for the result of a call that could not be traced: what follows from it is not told.
    fn stand_in<'t>(trace: Trace<'t>) -> Self::Traced<'t>;
    /// Takes a traced form apart.
    fn untrace<'t>(traced: Self::Traced<'t>, parts: &mut Untraced<'t>);
    /// Builds this from a skeleton and tensors; `None` where the skeleton is of another structure.
    fn rebuild(parts: &mut Rebuilt<'_>) -> Option<Self>;
    /// Swaps every tensor of this with one of `parts`, so that a call can write where the last one's results are; false, whatever
    /// was swapped by then, where this is of another structure or cannot tell.
    fn exchange(&mut self, parts: &mut Exchanged<'_>) -> bool {
        let _ = parts;
        false
    }
}

/// A skeleton being read in a trace.
pub struct TracedParts<'a, 't> {
    /// The trace.
    pub trace: Trace<'t>,
    /// What is left of the skeleton.
    pub tokens: &'a [Token],
    /// What is left of the leaves.
    pub leaves: &'a [Value<'t>],
    /// In results of an inner function: the outer place of each of its weak references.
    pub weak: &'a [u32],
    /// In results of an inner function: the outer number of each of its model arguments; else empty, and numbers are outer ones.
    pub models: &'a [u32],
}

/// A traced structure taken apart.
pub struct Untraced<'t> {
    /// The skeleton.
    pub tokens: Vec<Token>,
    /// The leaves.
    pub leaves: Vec<Value<'t>>,
}

/// A result being read after a call: its skeleton, and leaves that are given away or lent.
pub struct ResultParts<'a, L> {
    /// The world's id, for handles.
    pub world: bevy_ecs::world::WorldId,
    /// What is left of the skeleton.
    pub tokens: &'a [Token],
    /// What is left of the leaves.
    pub leaves: L,
    /// The models of the call.
    pub models: &'a [Entity],
    /// The variable of each weak reference of the concrete.
    pub variables: &'a [Entity],
}

/// A result that is built from its leaves.
pub type Rebuilt<'a> = ResultParts<'a, std::vec::Drain<'a, Tensor>>;

/// A result whose leaves change places with a structure's own.
pub type Exchanged<'a> = ResultParts<'a, std::slice::IterMut<'a, Tensor>>;

impl<L: Iterator> ResultParts<'_, L> {
    /// Whether all was read.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.tokens.is_empty() && self.leaves.next().is_none()
    }
}

/// Takes the first token off a skeleton.
pub fn next_token<'a>(tokens: &mut &'a [Token]) -> Option<&'a Token> {
    let (first, rest) = tokens.split_first()?;
    *tokens = rest;
    Some(first)
}

fn next_leaf<'t>(parts: &mut TracedParts<'_, 't>) -> Option<Value<'t>> {
    let (first, rest) = parts.leaves.split_first()?;
    parts.leaves = rest;
    Some(*first)
}

impl Structure for Tensor {
    type Traced<'t> = Value<'t>;
    fn flatten(self, parts: &mut Flattened<'_>) {
        parts.leaf(self);
    }
    fn traced<'t>(parts: &mut TracedParts<'_, 't>) -> Option<Value<'t>> {
        matches!(next_token(&mut parts.tokens)?, Token::Leaf(_)).then(|| next_leaf(parts))?
    }
    fn stand_in<'t>(trace: Trace<'t>) -> Value<'t> {
        trace.poison(None)
    }
    fn untrace<'t>(traced: Value<'t>, parts: &mut Untraced<'t>) {
        parts.tokens.push(Token::Leaf(traced.spec()));
        parts.leaves.push(traced);
    }
    fn rebuild(parts: &mut Rebuilt<'_>) -> Option<Self> {
        matches!(next_token(&mut parts.tokens)?, Token::Leaf(_)).then(|| parts.leaves.next())?
    }
    fn exchange(&mut self, parts: &mut Exchanged<'_>) -> bool {
        let is_leaf = matches!(next_token(&mut parts.tokens), Some(Token::Leaf(_)));
        let other = parts.leaves.next().filter(|_| is_leaf);
        other.map(|other| std::mem::swap(self, other)).is_some()
    }
}

/// Implements [`Structure`] for a tuple.
macro_rules! tuple {
    ($count:literal $($part:ident)*) => {
        #[allow(non_snake_case, unused_variables, clippy::unused_unit)]
        impl<$($part: Structure),*> Structure for ($($part,)*) {
            type Traced<'t> = ($($part::Traced<'t>,)*);
            fn flatten(self, parts: &mut Flattened<'_>) {
                parts.token(Token::Tuple($count));
                let ($($part,)*) = self;
                $($part.flatten(parts);)*
            }
            fn traced<'t>(parts: &mut TracedParts<'_, 't>) -> Option<Self::Traced<'t>> {
                (*next_token(&mut parts.tokens)? == Token::Tuple($count)).then_some(())?;
                Some(($($part::traced(parts)?,)*))
            }
            fn stand_in<'t>(trace: Trace<'t>) -> Self::Traced<'t> {
                ($($part::stand_in(trace),)*)
            }
            fn untrace<'t>(traced: Self::Traced<'t>, parts: &mut Untraced<'t>) {
                parts.tokens.push(Token::Tuple($count));
                let ($($part,)*) = traced;
                $($part::untrace($part, parts);)*
            }
            fn rebuild(parts: &mut Rebuilt<'_>) -> Option<Self> {
                (*next_token(&mut parts.tokens)? == Token::Tuple($count)).then_some(())?;
                Some(($($part::rebuild(parts)?,)*))
            }
            fn exchange(&mut self, parts: &mut Exchanged<'_>) -> bool {
                let ($($part,)*) = self;
                next_token(&mut parts.tokens) == Some(&Token::Tuple($count)) $(&& $part.exchange(parts))*
            }
        }
    };
}
tuple!(0);
tuple!(1 A);
tuple!(2 A B);
tuple!(3 A B C);
tuple!(4 A B C D);
tuple!(5 A B C D E);
tuple!(6 A B C D E F);

impl<S: Structure> Structure for Vec<S> {
    type Traced<'t> = Vec<S::Traced<'t>>;
    fn flatten(self, parts: &mut Flattened<'_>) {
        parts.token(Token::Vector(self.len() as u32));
        self.into_iter().for_each(|part| part.flatten(parts));
    }
    fn traced<'t>(parts: &mut TracedParts<'_, 't>) -> Option<Self::Traced<'t>> {
        let Token::Vector(count) = next_token(&mut parts.tokens)? else { return None };
        (0..*count).map(|_| S::traced(parts)).collect()
    }
    fn stand_in<'t>(_: Trace<'t>) -> Self::Traced<'t> {
        Vec::new()
    }
    fn untrace<'t>(traced: Self::Traced<'t>, parts: &mut Untraced<'t>) {
        parts.tokens.push(Token::Vector(traced.len() as u32));
        traced.into_iter().for_each(|part| S::untrace(part, parts));
    }
    fn rebuild(parts: &mut Rebuilt<'_>) -> Option<Self> {
        let Token::Vector(count) = next_token(&mut parts.tokens)? else { return None };
        (0..*count).map(|_| S::rebuild(parts)).collect()
    }
    fn exchange(&mut self, parts: &mut Exchanged<'_>) -> bool {
        next_token(&mut parts.tokens) == Some(&Token::Vector(self.len() as u32))
            && self.iter_mut().all(|part| part.exchange(parts))
    }
}

impl<S: Structure> Structure for Option<S> {
    type Traced<'t> = Option<S::Traced<'t>>;
    fn flatten(self, parts: &mut Flattened<'_>) {
        parts.token(if self.is_some() { Token::Present } else { Token::Absent });
        if let Some(part) = self {
            part.flatten(parts);
        }
    }
    fn traced<'t>(parts: &mut TracedParts<'_, 't>) -> Option<Self::Traced<'t>> {
        match next_token(&mut parts.tokens)? {
            Token::Present => Some(Some(S::traced(parts)?)),
            token => (*token == Token::Absent).then_some(None),
        }
    }
    fn stand_in<'t>(_: Trace<'t>) -> Self::Traced<'t> {
        None
    }
    fn untrace<'t>(traced: Self::Traced<'t>, parts: &mut Untraced<'t>) {
        parts.tokens.push(if traced.is_some() { Token::Present } else { Token::Absent });
        if let Some(part) = traced {
            S::untrace(part, parts);
        }
    }
    fn rebuild(parts: &mut Rebuilt<'_>) -> Option<Self> {
        match next_token(&mut parts.tokens)? {
            Token::Present => Some(Some(S::rebuild(parts)?)),
            token => (*token == Token::Absent).then_some(None),
        }
    }
    fn exchange(&mut self, parts: &mut Exchanged<'_>) -> bool {
        match (next_token(&mut parts.tokens), self) {
            (Some(Token::Present), Some(part)) => part.exchange(parts),
            (token, part) => token == Some(&Token::Absent) && part.is_none(),
        }
    }
}

/// A model is keyed by its signature: one trace serves every model of a shape.
impl Structure for ModelId {
    type Traced<'t> = TracedModel<'t>;
    fn flatten(self, parts: &mut Flattened<'_>) {
        parts.model(self);
    }
    fn traced<'t>(parts: &mut TracedParts<'_, 't>) -> Option<TracedModel<'t>> {
        let Token::Model(argument, _) = next_token(&mut parts.tokens)? else { return None };
        let outer = parts.models.get(*argument as usize).unwrap_or(argument);
        Some(TracedModel::new(parts.trace, *outer))
    }
    fn stand_in<'t>(trace: Trace<'t>) -> TracedModel<'t> {
        TracedModel::new(trace, u32::MAX)
    }
    fn untrace<'t>(traced: TracedModel<'t>, parts: &mut Untraced<'t>) {
        parts.tokens.push(Token::Model(traced.argument(), traced.signature()));
    }
    fn rebuild(parts: &mut Rebuilt<'_>) -> Option<Self> {
        let Token::Model(argument, _) = next_token(&mut parts.tokens)? else { return None };
        Some(Self::new(parts.world, *parts.models.get(*argument as usize)?))
    }
    fn exchange(&mut self, parts: &mut Exchanged<'_>) -> bool {
        let Some(Token::Model(argument, _)) = next_token(&mut parts.tokens) else { return false };
        let model = parts.models.get(*argument as usize).map(|model| Self::new(parts.world, *model));
        model.map(|model| *self = model).is_some()
    }
}

/// A plain entity is keyed by identity, generation included, and is itself inside the trace.
impl Structure for Entity {
    type Traced<'t> = Self;
    fn flatten(self, parts: &mut Flattened<'_>) {
        if parts.world.get_entity(self).is_err() {
            parts.refuse(Error::invalid(format!("the entity {self} given as an argument was despawned")));
        }
        parts.token(Token::Entity(self));
    }
    fn traced<'t>(parts: &mut TracedParts<'_, 't>) -> Option<Self> {
        if let Token::Entity(entity) = next_token(&mut parts.tokens)? { Some(*entity) } else { None }
    }
    fn stand_in<'t>(_: Trace<'t>) -> Self {
        Self::PLACEHOLDER
    }
    fn untrace<'t>(traced: Self, parts: &mut Untraced<'t>) {
        parts.tokens.push(Token::Entity(traced));
    }
    fn rebuild(parts: &mut Rebuilt<'_>) -> Option<Self> {
        if let Token::Entity(entity) = next_token(&mut parts.tokens)? { Some(*entity) } else { None }
    }
    fn exchange(&mut self, parts: &mut Exchanged<'_>) -> bool {
        let Some(Token::Entity(entity)) = next_token(&mut parts.tokens) else { return false };
        *self = *entity;
        true
    }
}

/// Implements [`Structure`] for a host value, which is keyed by value and is itself inside the trace.
macro_rules! host_value {
    ($type:ty, $value:ident => $to:expr, $token:pat => $from:expr) => {
        impl Structure for $type {
            type Traced<'t> = Self;
            fn flatten(self, parts: &mut Flattened<'_>) {
                let $value = self;
                parts.token(Token::Static($to));
            }
            fn traced<'t>(parts: &mut TracedParts<'_, 't>) -> Option<Self> {
                if let Token::Static($token) = next_token(&mut parts.tokens)? { $from } else { None }
            }
            fn stand_in<'t>(_: Trace<'t>) -> Self {
                Self::default()
            }
            fn untrace<'t>(traced: Self, parts: &mut Untraced<'t>) {
                let $value = traced;
                parts.tokens.push(Token::Static($to));
            }
            fn rebuild(parts: &mut Rebuilt<'_>) -> Option<Self> {
                if let Token::Static($token) = next_token(&mut parts.tokens)? { $from } else { None }
            }
            fn exchange(&mut self, parts: &mut Exchanged<'_>) -> bool {
                let Some(Token::Static($token)) = next_token(&mut parts.tokens) else { return false };
                let value: Option<Self> = $from;
                value.map(|value| *self = value).is_some()
            }
        }
    };
}
host_value!(bool, value => Static::Integer(i128::from(value)), Static::Integer(value) => Some(*value != 0));
host_value!(i64, value => Static::Integer(i128::from(value)), Static::Integer(value) => i64::try_from(*value).ok());
host_value!(usize, value => Static::Integer(value as i128), Static::Integer(value) => usize::try_from(*value).ok());
host_value!(String, value => Static::Text(Arc::from(value)), Static::Text(value) => Some(value.as_ref().to_owned()));
