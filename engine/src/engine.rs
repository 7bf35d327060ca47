//! An engine that owns its world.

use bevy_ecs::world::World;

use crate::autodiff::Autodiff;
use crate::training::UpdateReport;
use entigrad_systems::schedule::install;
use entigrad_systems::sweep::sweep;

/// A world with the engine in it. Everything it can do is in [`Autodiff`], which a plain [`World`] can do as well; what an
/// engine adds is that it keeps the world's own bookkeeping short, as an app does for its world.
pub struct Engine {
    world: World,
    entry_count: u32,
}

/// The world's buffers of removed components are cleared at least once in so many calls.
const ENTRIES_PER_CLEAR: u32 = 64;

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine {
    /// An engine with an empty world.
    pub fn new() -> Self {
        let mut world = World::new();
        install(&mut world);
        Self { world, entry_count: 0 }
    }

    /// Runs one step of every trainer in the world. A trainer that fails is marked and stops nobody else.
    pub fn update(&mut self) -> UpdateReport {
        let report = self.update_trainers();
        self.world.clear_trackers();
        report
    }
}

impl Autodiff for Engine {
    fn world(&self) -> &World {
        &self.world
    }

    fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    fn enter(&mut self) -> &mut World {
        // What a despawn leaves in the world's own buffers has to be cleared by whoever owns the world.
        self.entry_count = (self.entry_count + 1) % ENTRIES_PER_CLEAR;
        if sweep(&mut self.world) || self.entry_count == 0 {
            self.world.clear_trackers();
        }
        &mut self.world
    }
}

impl Autodiff for World {
    fn world(&self) -> &World {
        self
    }

    fn world_mut(&mut self) -> &mut World {
        self
    }

    fn enter(&mut self) -> &mut World {
        install(self);
        sweep(self);
        self
    }
}
