//! Memory that runs use and give back: a stack that the engine owns, as deep as runs were side by side.

use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use std::sync::{Arc, Mutex, PoisonError};

use crate::kernels::Workspace;

/// The workspaces that no run uses now.
#[derive(Resource, Clone, Debug, Default)]
pub struct Workspaces(Arc<Mutex<Vec<Workspace>>>);

impl Workspaces {
    /// Those of a world.
    pub fn of(world: &World) -> Self {
        world.get_resource::<Self>().cloned().unwrap_or_default()
    }

    /// Lends `f` a workspace.
    pub fn with<R>(&self, f: impl FnOnce(&mut Workspace) -> R) -> R {
        // A workspace holds nothing that a panic could leave half done.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspace = lock().pop().unwrap_or_default();
        let result = f(&mut workspace);
        lock().push(workspace);
        result
    }
}
