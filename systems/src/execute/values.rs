//! Where the values of variables are, checked: the weak check of every call.
//!
//! `unsafe` is allowed here as in the rest of the pass: values are found by the id of their component, which is looked up once and
//! not for each of them, and that says nothing of its type.
#![allow(unsafe_code)]

use bevy_ecs::component::ComponentId;
use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{Stored, WeakReference};

use super::stale::unusable_variable;
use crate::error::Error;
use crate::kernels::Span;
use crate::plan::Skeleton;

/// Finds the values of a plan's variables.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    skeleton: &'a Skeleton,
    /// The id of [`Stored`]; `None` in a world that never had a variable.
    stored: Option<ComponentId>,
}

impl<'a> Values<'a> {
    /// Those of a plan in a world.
    pub fn of(world: &World, skeleton: &'a Skeleton) -> Self {
        Self { skeleton, stored: world.component_id::<Stored>() }
    }

    /// Where a value is that is read; `None` where there is none of this spec.
    #[inline]
    fn read(self, world: &World, weak: &WeakReference, variable: Entity) -> Option<Span> {
        let found = world.get_by_id(variable, self.stored?)?;
        // SAFETY: the id is that of the type, in this world.
        let stored = unsafe { found.deref::<Stored>() };
        stored.0.fits(&weak.spec).then(|| Span::readable(&stored.0))
    }

    /// Where a value is that is written; it gets storage of its own.
    #[inline]
    fn written(self, world: &mut World, weak: &WeakReference, variable: Entity) -> Option<Span> {
        let found = world.get_mut_by_id(variable, self.stored?)?;
        // SAFETY: as above.
        let mut stored = unsafe { found.with_type::<Stored>() };
        stored.0.fits(&weak.spec).then(|| Span::writable(&mut stored.0))
    }

    /// Adds to `spans` where each of a plan's variables is, as the plan reads or writes it.
    pub fn find_all(
        self,
        world: &mut World,
        is_written: &[bool],
        variables: &[Entity],
        spans: &mut Vec<Span>,
    ) -> Result<(), Error> {
        for ((weak, variable), is_written) in self.skeleton.weak().iter().zip(variables).zip(is_written) {
            let span =
                if *is_written { self.written(world, weak, *variable) } else { self.read(world, weak, *variable) };
            let Some(span) = span else { return Err(self.unusable(world, weak, *variable)) };
            spans.push(span);
        }
        Ok(())
    }

    /// The same where the plan only reads.
    pub fn read_all(self, world: &World, variables: &[Entity], spans: &mut Vec<Span>) -> Result<(), Error> {
        for (weak, variable) in self.skeleton.weak().iter().zip(variables) {
            let Some(span) = self.read(world, weak, *variable) else {
                return Err(self.unusable(world, weak, *variable));
            };
            spans.push(span);
        }
        Ok(())
    }

    #[cold]
    fn unusable(self, world: &World, weak: &WeakReference, variable: Entity) -> Error {
        unusable_variable(world, self.skeleton.name(), weak, variable)
    }
}
