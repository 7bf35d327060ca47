//! The updates of one step, appended to its graph variable by variable.

use entigrad_components::{DType, Scalar, TensorSpec, WeakReference, WeakSource};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Optimizer, StateExtent, StateSpec, Update};
use crate::graph::NodeId;
use crate::trace::pass::panic_message;
use crate::trace::{Trace, Value};

/// Appends updates to a graph.
pub(crate) struct Updates<'a, 't> {
    trace: Trace<'t>,
    optimizer: &'a dyn Optimizer,
    is_step: bool,
    /// The state of the last variable.
    states: Vec<State<'t>>,
}

/// A piece of state in a graph.
#[derive(Clone, Copy)]
struct State<'t> {
    place: u32,
    /// As it was before any update.
    before: Value<'t>,
}

impl<'a, 't> Updates<'a, 't> {
    /// The updates of all variables of a step: they share what is to be shared.
    pub fn of_step(trace: Trace<'t>, optimizer: &'a dyn Optimizer) -> Self {
        Self { trace, optimizer, is_step: true, states: Vec::new() }
    }

    /// Updates by themselves: each variable has all state for itself.
    pub fn of_variable(trace: Trace<'t>, optimizer: &'a dyn Optimizer) -> Self {
        Self { is_step: false, ..Self::of_step(trace, optimizer) }
    }

    /// Appends the update of the variable at `place`; what is wrong with it, if anything.
    pub fn append(&mut self, place: u32, gradient: NodeId) -> Result<(), String> {
        let (trace, gradient) = (self.trace, Value::of(self.trace, gradient));
        let specs = self.optimizer.states();
        let is_shared = |spec: &StateSpec| self.is_step && spec.extent == StateExtent::Shared;
        let earlier = std::mem::take(&mut self.states);
        for (number, spec) in specs.iter().enumerate() {
            let known = earlier.get(number).filter(|_| is_shared(spec)).copied();
            let state = known.unwrap_or_else(|| {
                let state = self.state_place(spec, (!is_shared(spec)).then_some(place), place);
                State { place: state, before: trace.read_weak(state) }
            });
            self.states.push(state);
        }
        let value = trace.read_weak(place);
        let states: Vec<Value<'t>> = self.states.iter().map(|state| state.before).collect();
        // An optimiser may be a user's own: what it does wrong is told as its fault, not the loss's.
        let update = AssertUnwindSafe(|| self.optimizer.update(Update { value, gradient, states: &states }));
        let updated = catch_unwind(update).map_err(|panic| format!("panicked: {}", panic_message(&*panic)))?;
        if updated.states.len() != specs.len() {
            return Err(format!("keeps {} states and gave {}", specs.len(), updated.states.len()));
        }
        let error_count = trace.error_count();
        trace.assign_weak(place, updated.value);
        for ((spec, state), after) in specs.iter().zip(&self.states).zip(updated.states) {
            // What is shared the first update has assigned.
            if earlier.is_empty() || !is_shared(spec) {
                trace.assign_weak(state.place, after);
            }
        }
        match trace.error_after(error_count) {
            Some(error) => Err(format!("gave what does not fit: {}", error.cause)),
            None => Ok(()),
        }
    }

    /// The place of a piece of state that is kept `of` a variable or for all; `variable` is the one being updated.
    fn state_place(&self, state: &StateSpec, of: Option<u32>, variable: u32) -> u32 {
        let weak = self.trace.weak(variable);
        let spec = match state.extent {
            StateExtent::Variable => weak.spec.clone(),
            StateExtent::Scalar | StateExtent::Shared => TensorSpec::scalar(DType::F64),
        };
        let initial = Scalar::from_f64(state.initial, spec.dtype);
        let path = match of {
            Some(_) => format!("{}/{}", weak.path, state.name),
            None => format!("{}/{}", self.optimizer.name(), state.name),
        };
        self.trace.weak_place(WeakReference {
            source: WeakSource::State { of, name: state.name, initial },
            spec,
            trainable: false,
            path: path.into(),
            created: 0,
            is_written: true,
            ..weak
        })
    }
}
