#![doc = include_str!("../../README.md")]

pub mod autodiff;
mod despawn;
mod engine;
pub mod prelude;
pub mod scene;
pub mod training;

pub use autodiff::Autodiff;
pub use despawn::Handle;
pub use engine::Engine;
pub use training::{TrainerReport, Training, UpdateReport};

pub use bevy_ecs;
pub use entigrad_components as components;
pub use entigrad_components::nalgebra;
pub use entigrad_systems as systems;
