//! Everything that a program usually needs: `use entigrad::prelude::*;`.

pub use crate::training::{Batches, Shuffle};
pub use crate::{Autodiff, Engine, Handle, TrainerReport, Training, UpdateReport};
pub use bevy_ecs::entity::Entity;
pub use bevy_ecs::world::World;
pub use entigrad_components::{
    ConcreteId, DType, Dim, Dims, Function, ModelId, Scalar, Tensor, TensorSpec, TrainerId, VariableId,
};
pub use entigrad_systems::optimize::{StateExtent, StateSpec, Update, Updated};
pub use entigrad_systems::training::DataSource;
pub use entigrad_systems::{Adam, Error, Gradients, Optimizer, Sgd, Structure, Trace, TracedModel, Value};
