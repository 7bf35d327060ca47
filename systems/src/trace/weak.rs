//! The variables that a trace touches: which they are, and the value each has at this point of the program.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::{
    Attributes, CreationIndex, Kind, Model, Variable, VariableId, VariableOf, WeakReference, WeakSource,
};
use std::sync::Arc;

use super::{Trace, Value};
use crate::error::{Error, TraceCause};
use crate::names;
use crate::ops;

impl<'t> Trace<'t> {
    /// The place of a variable among the weak references.
    #[track_caller]
    pub(super) fn captured(self, variable: VariableId) -> Result<u32, TraceCause> {
        let Some(world) = self.0.snapshot.as_ref().map(|snapshot| snapshot.world) else {
            return Err(stale_variable(Arc::from("?"), None));
        };
        if variable.world != world.id() {
            return Err(TraceCause::Inner(Box::new(Error::OtherWorld { kind: Kind::Variable })));
        }
        let source = WeakSource::Captured(variable.entity);
        if let Some(place) = self.0.weak_places.borrow().get(&source) {
            return Ok(*place);
        }
        let Some(found) = world.get::<Variable>(variable.entity) else {
            let path = names::remembered(world, variable.entity).unwrap_or_else(|| "?".into());
            return Err(stale_variable(path, names::owner_remembered(world, variable.entity)));
        };
        let path = variable_path(world, variable.entity, &found.name);
        let created = world.get::<CreationIndex>(variable.entity).map_or(0, |index| index.0);
        let function = self.name();
        Ok(self.weak_place(WeakReference {
            source,
            spec: found.spec.clone(),
            trainable: found.trainable,
            path,
            function,
            origin: self.origin(),
            created,
            is_written: false,
        }))
    }

    /// The place of a weak reference, which is added where it is new.
    pub(crate) fn weak_place(self, weak: WeakReference) -> u32 {
        let mut places = self.0.weak_places.borrow_mut();
        *places.entry(weak.source.clone()).or_insert_with(|| {
            let mut graph = self.0.graph.borrow_mut();
            graph.weak.push(weak);
            self.0.current.borrow_mut().push(None);
            (graph.weak.len() - 1) as u32
        })
    }

    /// The value of a weak reference now: after an assign the assigned value itself.
    #[track_caller]
    pub(crate) fn read_weak(self, place: u32) -> Value<'t> {
        let current = self.0.current.borrow()[place as usize];
        if let Some(id) = current {
            return Value { trace: self, id };
        }
        let spec = self.0.graph.borrow().weak[place as usize].spec.clone();
        let value = self.emit_source(ops::READ, Attributes::Index(place), spec);
        self.0.current.borrow_mut()[place as usize] = Some(value.id);
        value
    }

    #[track_caller]
    pub(crate) fn assign_weak(self, place: u32, value: Value<'t>) {
        let (wanted, path) = {
            let weak = &self.0.graph.borrow().weak[place as usize];
            (weak.spec.clone(), weak.path.clone())
        };
        if let Err(cause) = self.check_ours(&[value]) {
            self.refuse(cause, &[value]);
            return;
        }
        let given = value.spec();
        if given != wanted {
            self.refuse(TraceCause::Assign { path, wanted, given }, &[value]);
            return;
        }
        // The value is assigned as it is: the op's own value is nothing that anyone reads.
        self.push(ops::ASSIGN, &[value], Attributes::Index(place), wanted);
        self.0.graph.borrow_mut().weak[place as usize].is_written = true;
        self.0.current.borrow_mut()[place as usize] = Some(value.id);
    }

    /// What a weak reference is.
    pub(crate) fn weak(self, place: u32) -> WeakReference {
        self.0.graph.borrow().weak[place as usize].clone()
    }
}

fn stale_variable(path: Arc<str>, model: Option<Arc<str>>) -> TraceCause {
    TraceCause::StaleVariable { path, model }
}

/// `model/name` of a variable that lives.
pub fn variable_path(world: &World, variable: Entity, name: &str) -> Arc<str> {
    let model = world.get::<VariableOf>(variable).and_then(|owner| world.get::<Model>(owner.0));
    match model {
        Some(model) => format!("{}/{name}", model.name).into(),
        None => name.into(),
    }
}
