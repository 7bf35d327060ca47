//! Tombstones: the names of what died, so that errors can still say them.
//!
//! *Invariant*: the store is a ring of fixed size whose names lie inline, so that a world that spawns and despawns for ever
//! uses the same memory for ever. What has fallen out of the ring is spoken of without a name.

use arrayvec::ArrayString;
use bevy_ecs::entity::Entity;
use bevy_ecs::resource::Resource;
use std::fmt::Write;

/// How many of the last deaths keep their name.
const TOMBSTONE_COUNT_MAX: usize = 512;
/// Longest name kept; longer ones are cut.
const NAME_BYTES_MAX: usize = 88;

/// A name that needs no heap.
pub type ShortName = ArrayString<NAME_BYTES_MAX>;

/// What the dead entity was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A model.
    Model,
    /// A variable.
    Variable,
    /// A graph function.
    Function,
    /// One trace of a function.
    Concrete,
    /// A trainer.
    Trainer,
}

/// Why it died, as far as its hook could see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It was despawned itself.
    Itself,
    /// Its owner was despawned, and it went along.
    Owner(Entity),
}

/// What is remembered of a dead entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The id it had.
    pub entity: Entity,
    /// What it was.
    pub kind: Kind,
    /// Its name; for a variable its path (`model/name`).
    pub name: ShortName,
    /// Why it died.
    pub cause: Cause,
}

/// The last deaths of a world.
#[derive(Resource, Debug)]
pub struct Tombstones {
    ring: Vec<Tombstone>,
    next: usize,
}

impl Default for Tombstones {
    fn default() -> Self {
        Self { ring: Vec::with_capacity(TOMBSTONE_COUNT_MAX), next: 0 }
    }
}

impl Tombstones {
    /// Remembers a death, at the cost of the oldest one.
    pub fn push(&mut self, tombstone: Tombstone) {
        if self.ring.len() < TOMBSTONE_COUNT_MAX {
            self.ring.push(tombstone);
        } else {
            self.ring[self.next] = tombstone;
        }
        self.next = (self.next + 1) % TOMBSTONE_COUNT_MAX;
    }

    /// What is remembered of `entity`, generation included.
    pub fn get(&self, entity: Entity) -> Option<&Tombstone> {
        self.ring.iter().find(|tombstone| tombstone.entity == entity)
    }
}

/// `parts` joined by `/`, cut at the end where too long.
pub fn short_name(parts: &[&str]) -> ShortName {
    let mut name = ShortName::new();
    for (index, part) in parts.iter().enumerate() {
        for character in (if index > 0 { "/" } else { "" }).chars().chain(part.chars()) {
            if name.write_char(character).is_err() {
                return name;
            }
        }
    }
    name
}
