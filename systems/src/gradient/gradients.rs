//! The gradient of every trainable variable that a function read.

use bevy_ecs::entity::Entity;
use entigrad_components::{Static, Tensor, Token, VariableId};

use crate::error::Error;
use crate::structure::{Exchanged, Flattened, Rebuilt, Structure, TracedParts, Untraced, next_token};
use crate::trace::{Trace, Value};
use entigrad_components::{WeakReference, WeakSource};

/// Gradients by variable, in the variables' order of creation. Each has its variable's dtype and shape; what the result
/// does not depend on has zeros.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gradients {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    variable: VariableId,
    is_connected: bool,
    gradient: Tensor,
}

impl Gradients {
    /// The gradient of a variable: zeros where the result does not depend on it, `None` where the function never touched it.
    pub fn get(&self, variable: VariableId) -> Option<&Tensor> {
        Some(&self.entry(variable)?.gradient)
    }

    /// The gradient of a variable, `None` also where the result does not depend on it.
    pub fn get_connected(&self, variable: VariableId) -> Option<&Tensor> {
        self.entry(variable).filter(|entry| entry.is_connected).map(|entry| &entry.gradient)
    }

    /// Every variable and its gradient.
    pub fn iter(&self) -> impl Iterator<Item = (VariableId, &Tensor)> {
        self.entries.iter().map(|entry| (entry.variable, &entry.gradient))
    }

    /// The variables that were touched but that the result does not depend on.
    pub fn unused(&self) -> impl Iterator<Item = VariableId> {
        self.entries.iter().filter(|entry| !entry.is_connected).map(|entry| entry.variable)
    }

    /// How many variables.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the function touched no trainable variable.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn entry(&self, variable: VariableId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.variable == variable)
    }
}

/// Gradients inside a trace.
#[derive(Clone, Debug)]
pub struct TracedGradients<'t> {
    entries: Vec<(u32, bool, WeakReference, Value<'t>)>,
}

impl<'t> TracedGradients<'t> {
    /// The gradient of a captured variable.
    pub fn get(&self, variable: VariableId) -> Option<Value<'t>> {
        self.find(|source| *source == WeakSource::Captured(variable.entity))
    }

    /// The gradient of the variable of this path in a model argument.
    pub fn get_role(&self, model: crate::trace::TracedModel<'t>, path: &str) -> Option<Value<'t>> {
        self.find(|source| matches!(source, WeakSource::Role { argument, path: found } if *argument == model.argument() && **found == *path))
    }

    /// All gradients, in order.
    pub fn values(&self) -> impl Iterator<Item = Value<'t>> {
        self.entries.iter().map(|(.., value)| *value)
    }

    fn find(&self, is: impl Fn(&WeakSource) -> bool) -> Option<Value<'t>> {
        self.entries.iter().find(|(_, _, weak, _)| is(&weak.source)).map(|(.., value)| *value)
    }
}

impl Structure for Gradients {
    type Traced<'t> = TracedGradients<'t>;

    fn flatten(self, parts: &mut Flattened<'_>) {
        parts.refuse(Error::invalid("gradients are results, not arguments: pass the tensors that they hold"));
    }

    fn traced<'t>(parts: &mut TracedParts<'_, 't>) -> Option<TracedGradients<'t>> {
        let Token::Vector(count) = next_token(&mut parts.tokens)? else { return None };
        let mut entries = Vec::with_capacity(*count as usize);
        for _ in 0..*count {
            let (inner, is_connected) = variable_tokens(&mut parts.tokens)?;
            let place = *parts.weak.get(inner)?;
            let value = <Tensor as Structure>::traced(parts)?;
            entries.push((place, is_connected, parts.trace.weak(place), value));
        }
        Some(TracedGradients { entries })
    }

    fn stand_in<'t>(_: Trace<'t>) -> TracedGradients<'t> {
        TracedGradients { entries: Vec::new() }
    }

    fn untrace<'t>(traced: TracedGradients<'t>, parts: &mut Untraced<'t>) {
        parts.tokens.push(Token::Vector(traced.entries.len() as u32));
        for (place, is_connected, _, value) in traced.entries {
            parts.tokens.push(Token::Variable(place));
            parts.tokens.push(Token::Static(Static::Integer(i128::from(is_connected))));
            <Tensor as Structure>::untrace(value, parts);
        }
    }

    fn rebuild(parts: &mut Rebuilt<'_>) -> Option<Self> {
        let Token::Vector(count) = next_token(&mut parts.tokens)? else { return None };
        let mut entries = Vec::with_capacity(*count as usize);
        for _ in 0..*count {
            let (place, is_connected) = variable_tokens(&mut parts.tokens)?;
            let entity: Entity = *parts.variables.get(place)?;
            let variable = VariableId::new(parts.world, entity);
            entries.push(Entry { variable, is_connected, gradient: Tensor::rebuild(parts)? });
        }
        Some(Self { entries })
    }

    fn exchange(&mut self, parts: &mut Exchanged<'_>) -> bool {
        next_token(&mut parts.tokens) == Some(&Token::Vector(self.entries.len() as u32))
            && self.entries.iter_mut().all(|entry| entry.exchange(parts).is_some())
    }
}

impl Entry {
    /// As [`Structure::exchange`].
    fn exchange(&mut self, parts: &mut Exchanged<'_>) -> Option<()> {
        let (place, is_connected) = variable_tokens(&mut parts.tokens)?;
        self.variable = VariableId::new(parts.world, *parts.variables.get(place)?);
        self.is_connected = is_connected;
        self.gradient.exchange(parts).then_some(())
    }
}

fn variable_tokens(tokens: &mut &[Token]) -> Option<(usize, bool)> {
    let Token::Variable(place) = next_token(tokens)? else { return None };
    let Token::Static(Static::Integer(is_connected)) = next_token(tokens)? else { return None };
    Some((*place as usize, *is_connected != 0))
}
