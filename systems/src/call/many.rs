//! One method for many models in one call.
//!
//! The arguments have one more leading axis than the method takes: a row for each model; so has the result.

use bevy_ecs::component::Component;
use bevy_ecs::entity::{Entity, EntityHashSet};
use bevy_ecs::world::World;
use entigrad_components::{Kind, Model, ModelVersion, Tensor, TensorSpec, Token};

use super::{concrete_for, ensure_plan, function_name, rebuilt};
use crate::error::Error;
use crate::execute::{Crowd, execute_many};
use crate::function::model_signature;
use crate::names;
use crate::plan::instance_for;
use crate::structure::{Flattened, Known, Parts, Structure};

/// The crowd that a method was called for last. Written and read at each such call; cleared where warm calls are.
#[derive(Component, Debug, Default)]
pub struct WarmCrowd(Option<Warm>);

/// A crowd, and what it was found by.
#[derive(Debug)]
struct Warm {
    /// The arguments, rows and all.
    known: Known,
    concrete: Entity,
    crowd: Crowd,
}

/// Calls a method for each of `models`, which are of one signature, with its row of the arguments; the rows of the results.
pub fn call_many<A: Structure, R: Structure>(
    world: &mut World,
    method: Entity,
    models: &[Entity],
    arguments: A,
) -> Result<R, Error> {
    let Parts { tokens, leaves, models: others } = Flattened::of(world, arguments)?;
    let name = function_name(world, method)?;
    let refused = |cause: &str| Error::invalid(format!("`{name}` cannot be called for many: {cause}"));
    if !others.is_empty() {
        return Err(refused("its other arguments hold a model"));
    }
    let warm = world.get_mut::<WarmCrowd>(method).and_then(|mut warm| warm.0.take());
    let mut warm = match warm.filter(|warm| warm.is_for(world, &tokens, models)) {
        Some(warm) => warm,
        None => Warm::new(world, method, tokens, &leaves, models, &refused)?,
    };
    let program = &warm.crowd.instance.program;
    let stacked = |shape: &[usize]| [&[models.len()], shape].concat();
    let zeros = |(dtype, shape): &(_, crate::kernels::program::Shape)| Tensor::zeros(*dtype, &stacked(shape));
    let mut outputs = program.outputs.iter().map(zeros).collect::<Result<Vec<Tensor>, _>>()?;
    let outcome = execute_many(world, &mut warm.crowd, &leaves, &mut outputs);
    let instance = warm.crowd.instance.clone();
    if let Ok(mut method) = world.get_entity_mut(method) {
        method.insert(WarmCrowd(Some(warm)));
    }
    outcome?;
    rebuilt(world, &instance.skeleton.graph.output_skeleton, &mut outputs, &[], &[])
}

impl Warm {
    /// Whether this is the crowd of a call, and none of its models has changed.
    fn is_for(&self, world: &World, tokens: &[Token], models: &[Entity]) -> bool {
        let is_same = |((known, version), model): (&(Entity, ModelVersion), &Entity)| {
            known == model && world.get::<ModelVersion>(*model) == Some(version)
        };
        let known = &self.known;
        known.tokens == tokens && known.models.len() == models.len() && known.models.iter().zip(models).all(is_same)
    }

    fn new(
        world: &mut World,
        method: Entity,
        tokens: Vec<Token>,
        leaves: &[Tensor],
        models: &[Entity],
        refused: &impl Fn(&str) -> Error,
    ) -> Result<Self, Error> {
        let gone = |world: &World, model| Error::gone(Kind::Model, names::remembered(world, model));
        let Some(first) = models.first() else {
            return Err(refused("there are no models, whose variables it could read"));
        };
        let signature = model_signature(world, *first).ok_or_else(|| gone(world, *first))?;
        for model in models {
            if model_signature(world, *model).ok_or_else(|| gone(world, *model))? != signature {
                let name = world.get::<Model>(*model).map(|model| model.name.clone()).unwrap_or_default();
                return Err(refused(&format!("the variables of `{name}` are others than those of the first model")));
            }
        }
        // A row is called with what is left of each leaf behind its first axis.
        let mut key = vec![Token::Tuple(2), Token::Model(0, signature)];
        for token in &tokens {
            key.push(match token {
                Token::Leaf(spec) => Token::Leaf(row_spec(spec, models.len()).ok_or_else(|| {
                    refused(&format!("there are {} models, and an argument is {spec}", models.len()))
                })?),
                other => other.clone(),
            });
        }
        let concrete = concrete_for(world, method, &key, &[*first].into_iter().collect())?;
        ensure_plan(world, concrete)?;
        let rows = leaves.iter().map(|leaf| leaf.rows(&[0])?.reshaped(&leaf.shape()[1..]));
        let rows = rows.collect::<Result<Vec<Tensor>, _>>()?;
        let instance = instance_for(world, concrete, &rows)?;
        let skeleton = &instance.skeleton.graph.output_skeleton;
        if skeleton.iter().any(|token| matches!(token, Token::Model(..) | Token::Variable(_))) {
            return Err(refused("its result is about the model that it is called with"));
        }
        let mut seen = EntityHashSet::default();
        if instance.program.is_written.contains(&true) && !models.iter().all(|model| seen.insert(*model)) {
            return Err(refused("it assigns variables, and a model is there twice"));
        }
        let crowd = Crowd::new(world, instance, models)?;
        let known = Known { tokens, models: ModelVersion::of_each(world, models) };
        Ok(Self { known, concrete, crowd })
    }
}

/// The spec of a row of a stack of so many.
fn row_spec(spec: &TensorSpec, count: usize) -> Option<TensorSpec> {
    let (first, rest) = spec.dims.split_first()?;
    (first.known() == Some(count)).then(|| TensorSpec::new(spec.dtype, rest.iter().cloned()))
}

/// Forgets the crowd of a method that ran a concrete which is gone, or whose plan is; of any where no concrete is named.
pub(super) fn forget_crowd(world: &mut World, method: Entity, concrete: Option<Entity>) {
    if let Some(mut warm) = world.get_mut::<WarmCrowd>(method)
        && concrete.is_none_or(|concrete| warm.0.as_ref().is_some_and(|warm| warm.concrete == concrete))
    {
        warm.0 = None;
    }
}
