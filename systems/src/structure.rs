//! Structures: what functions take and return.
//!
//! A structure splits into leaves (tensors) and a skeleton of tokens, and is rebuilt from them: at a call from tensors, in
//! a trace from traced values. Its traced form borrows the trace, so a traced value that outlives its trace does not
//! compile.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{Kind, ModelId, Static, Tensor, Token};
use smallvec::SmallVec;
use std::sync::Arc;

use crate::error::Error;
use crate::function;
use crate::names;
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
}

/// A structure taken apart: what a call is made of.
pub struct Flattened<'w> {
    /// The world, to look up models.
    pub world: &'w mut World,
    /// The skeleton.
    pub tokens: Vec<Token>,
    /// The leaves.
    pub leaves: Vec<Tensor>,
    /// The models.
    pub models: Models,
    /// The first thing that was wrong.
    pub error: Option<Error>,
}

impl<'w> Flattened<'w> {
    /// Takes `structure` apart.
    pub fn of<A: Structure>(world: &'w mut World, structure: A) -> Result<Parts, Error> {
        let (tokens, leaves) = (Vec::new(), Vec::new());
        let mut parts = Flattened { world, tokens, leaves, models: Models::new(), error: None };
        structure.flatten(&mut parts);
        match parts.error {
            Some(error) => Err(error),
            None => Ok(Parts { tokens: parts.tokens, leaves: parts.leaves, models: parts.models }),
        }
    }
}

/// What [`Flattened::of`] gives.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The skeleton, each leaf with its own spec.
    pub tokens: Vec<Token>,
    /// The leaves.
    pub leaves: Vec<Tensor>,
    /// The models.
    pub models: Models,
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

/// A skeleton being read after a call.
pub struct Rebuilt<'a> {
    /// The world's id, for handles.
    pub world: bevy_ecs::world::WorldId,
    /// What is left of the skeleton.
    pub tokens: &'a [Token],
    /// What is left of the leaves.
    pub leaves: std::vec::IntoIter<Tensor>,
    /// The models of the call.
    pub models: &'a [Entity],
    /// The variable of each weak reference of the concrete.
    pub variables: &'a [Entity],
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
        parts.tokens.push(Token::Leaf(self.spec()));
        parts.leaves.push(self);
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
}

/// Implements [`Structure`] for a tuple.
macro_rules! tuple {
    ($count:literal $($part:ident)*) => {
        #[allow(non_snake_case, unused_variables, clippy::unused_unit)]
        impl<$($part: Structure),*> Structure for ($($part,)*) {
            type Traced<'t> = ($($part::Traced<'t>,)*);
            fn flatten(self, parts: &mut Flattened<'_>) {
                parts.tokens.push(Token::Tuple($count));
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
        parts.tokens.push(Token::Vector(self.len() as u32));
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
}

impl<S: Structure> Structure for Option<S> {
    type Traced<'t> = Option<S::Traced<'t>>;
    fn flatten(self, parts: &mut Flattened<'_>) {
        parts.tokens.push(if self.is_some() { Token::Present } else { Token::Absent });
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
}

/// A model is keyed by its signature: one trace serves every model of a shape.
impl Structure for ModelId {
    type Traced<'t> = TracedModel<'t>;
    fn flatten(self, parts: &mut Flattened<'_>) {
        if self.world != parts.world.id() {
            parts.error.get_or_insert(Error::OtherWorld { kind: Kind::Model });
            return;
        }
        let Some(signature) = function::model_signature(parts.world, self.entity) else {
            let name = names::remembered(parts.world, self.entity);
            parts.error.get_or_insert(Error::gone(Kind::Model, name));
            return;
        };
        let known = parts.models.iter().position(|model| *model == self.entity);
        let place = known.unwrap_or_else(|| {
            parts.models.push(self.entity);
            parts.models.len() - 1
        });
        parts.tokens.push(Token::Model(place as u32, signature));
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
}

/// A plain entity is keyed by identity, generation included, and is itself inside the trace.
impl Structure for Entity {
    type Traced<'t> = Self;
    fn flatten(self, parts: &mut Flattened<'_>) {
        if parts.world.get_entity(self).is_err() {
            parts
                .error
                .get_or_insert_with(|| Error::invalid(format!("the entity {self} given as an argument was despawned")));
        }
        parts.tokens.push(Token::Entity(self));
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
}

/// Implements [`Structure`] for a host value, which is keyed by value and is itself inside the trace.
macro_rules! host_value {
    ($type:ty, $value:ident => $to:expr, $token:pat => $from:expr) => {
        impl Structure for $type {
            type Traced<'t> = Self;
            fn flatten(self, parts: &mut Flattened<'_>) {
                let $value = self;
                parts.tokens.push(Token::Static($to));
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
        }
    };
}
host_value!(bool, value => Static::Integer(i128::from(value)), Static::Integer(value) => Some(*value != 0));
host_value!(i64, value => Static::Integer(i128::from(value)), Static::Integer(value) => i64::try_from(*value).ok());
host_value!(usize, value => Static::Integer(value as i128), Static::Integer(value) => usize::try_from(*value).ok());
host_value!(String, value => Static::Text(Arc::from(value)), Static::Text(value) => Some(value.as_ref().to_owned()));
