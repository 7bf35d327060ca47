//! Structures taken apart: what a call is made of.
//!
//! A call that was made before is known again while its arguments are taken apart: as long as what comes is what came then,
//! nothing is written down but the tensors.

use bevy_ecs::world::World;
use entigrad_components::{Kind, ModelId, ModelVersion, Tensor, Token, VersionedModels};

use super::{Models, Structure};
use crate::error::Error;
use crate::function;
use crate::names;

/// The arguments of a call that was made before.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The skeleton.
    pub tokens: Vec<Token>,
    /// The models, each with its version then.
    pub models: VersionedModels,
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

/// A structure being taken apart.
pub struct Flattened<'w> {
    /// The world, to look up models.
    pub world: &'w World,
    known: &'w Known,
    /// How much of what is known came again; all so far where `tokens` is empty.
    known_count: usize,
    /// The skeleton so far, once it is another than the known one.
    tokens: Vec<Token>,
    leaves: Vec<Tensor>,
    models: Models,
    are_models_known: bool,
    error: Option<Error>,
}

/// A structure taken apart by someone who knows an earlier one.
pub(crate) struct Recognized {
    /// The skeleton, where it is another than the known one.
    pub tokens: Option<Vec<Token>>,
    /// The leaves.
    pub leaves: Vec<Tensor>,
    /// The models.
    pub models: Models,
    /// Whether the models are the known ones, unchanged.
    pub are_models_known: bool,
}

impl<'w> Flattened<'w> {
    /// Takes `structure` apart.
    pub fn of<A: Structure>(world: &'w World, structure: A) -> Result<Parts, Error> {
        let Recognized { tokens, leaves, models, .. } =
            Flattened::recognize(world, &Known::default(), Vec::new(), structure)?;
        Ok(Parts { tokens: tokens.unwrap_or_default(), leaves, models })
    }

    /// The same where it may be what is known already; the leaves go into an empty vector that is handed in.
    pub(crate) fn recognize<A: Structure>(
        world: &'w World,
        known: &'w Known,
        leaves: Vec<Tensor>,
        structure: A,
    ) -> Result<Recognized, Error> {
        let mut parts = Flattened {
            world,
            known,
            known_count: 0,
            tokens: Vec::new(),
            leaves,
            models: Models::new(),
            are_models_known: true,
            error: None,
        };
        structure.flatten(&mut parts);
        let Flattened { known_count, mut tokens, leaves, models, are_models_known, error, .. } = parts;
        if let Some(error) = error {
            return Err(error);
        }
        let is_known = tokens.is_empty() && known_count == known.tokens.len();
        if tokens.is_empty() && !is_known {
            tokens = known.tokens[..known_count].to_vec();
        }
        let are_models_known = is_known && are_models_known;
        Ok(Recognized { tokens: (!is_known).then_some(tokens), leaves, models, are_models_known })
    }

    /// Adds a tensor.
    pub fn leaf(&mut self, tensor: Tensor) {
        match self.next_known() {
            Some(Token::Leaf(spec)) if tensor.fits(spec) => self.known_count += 1,
            _ => self.new_token(Token::Leaf(tensor.spec())),
        }
        self.leaves.push(tensor);
    }

    /// Adds a model.
    pub fn model(&mut self, model: ModelId) {
        if model.world != self.world.id() {
            return self.refuse(Error::OtherWorld { kind: Kind::Model });
        }
        let entity = model.entity;
        let known = self.models.iter().position(|model| *model == entity);
        let place = known.unwrap_or(self.models.len());
        if known.is_none() {
            self.models.push(entity);
        }
        if let (Some(Token::Model(at, _)), Some((then, version))) = (self.next_known(), self.known.models.get(place))
            && (*at as usize, *then) == (place, entity)
            && self.world.get::<ModelVersion>(entity) == Some(version)
        {
            self.known_count += 1;
            return;
        }
        self.are_models_known = false;
        let Some(signature) = function::model_signature(self.world, entity) else {
            return self.refuse(Error::gone(Kind::Model, names::remembered(self.world, entity)));
        };
        self.token(Token::Model(place as u32, signature));
    }

    /// Adds a token that is neither a tensor nor a model.
    pub fn token(&mut self, token: Token) {
        match self.next_known() {
            Some(known) if *known == token => self.known_count += 1,
            _ => self.new_token(token),
        }
    }

    /// Says that something cannot be an argument; the first such error is the call's.
    pub fn refuse(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// The known token that may come next, as long as all before came again.
    fn next_known(&self) -> Option<&'w Token> {
        if self.tokens.is_empty() { self.known.tokens.get(self.known_count) } else { None }
    }

    fn new_token(&mut self, token: Token) {
        if self.tokens.is_empty() {
            self.tokens.extend_from_slice(&self.known.tokens[..self.known_count]);
        }
        self.tokens.push(token);
    }
}
