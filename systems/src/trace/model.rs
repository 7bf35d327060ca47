//! A model inside a trace: a method's view of its first argument.

use entigrad_components::{ModelSignature, Origin, TensorSpec, WeakReference, WeakSource};
use std::sync::Arc;

use super::{Trace, Value};
use crate::error::TraceCause;

/// A model argument. Its variables are found by path at each call, so one trace serves every model of this signature.
#[derive(Clone, Copy, Debug)]
pub struct TracedModel<'t> {
    trace: Trace<'t>,
    argument: u32,
}

impl std::fmt::Debug for Trace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace({})", self.name())
    }
}

impl<'t> TracedModel<'t> {
    pub(crate) fn new(trace: Trace<'t>, argument: u32) -> Self {
        Self { trace, argument }
    }

    pub(crate) fn argument(self) -> u32 {
        self.argument
    }

    /// The variables of every model that this trace serves; none of a stand-in.
    pub(crate) fn signature(self) -> Arc<ModelSignature> {
        let model = self.trace.0.models.get(self.argument as usize);
        model.map_or_else(|| Arc::new(ModelSignature::new(Vec::new())), |model| model.signature.clone())
    }

    fn name(self) -> Arc<str> {
        self.trace.0.models.get(self.argument as usize).map_or_else(|| "?".into(), |model| model.name.clone())
    }

    /// The value of the variable of this path (`"w"`, `"layers/0/w"`) at this point of the program.
    #[track_caller]
    pub fn read(self, path: &str) -> Value<'t> {
        match self.role(path) {
            Ok(place) => self.trace.read_weak(place),
            Err(cause) => self.trace.refuse(cause, &[]),
        }
    }

    /// Gives the variable of this path a new value of its spec whenever the function runs, in program order.
    #[track_caller]
    pub fn assign(self, path: &str, value: Value<'t>) {
        match self.role(path) {
            Ok(place) => self.trace.assign_weak(place, value),
            Err(cause) => {
                self.trace.refuse(cause, &[value]);
            }
        }
    }

    /// Dtype and dims of the variable of this path, where there is one.
    pub fn spec(self, path: &str) -> Option<TensorSpec> {
        Some(self.signature().get(path)?.spec.clone())
    }

    /// The paths of all variables, in order.
    pub fn paths(self) -> Vec<Arc<str>> {
        self.signature().entries().iter().map(|entry| entry.path.clone()).collect()
    }

    #[track_caller]
    fn role(self, path: &str) -> Result<u32, TraceCause> {
        // Of a stand-in nothing is told but why it is one.
        if self.argument == u32::MAX {
            return Err(TraceCause::StandIn);
        }
        let signature = self.signature();
        let Some(entry) = signature.get(path) else {
            let (model, path) = (self.name(), path.into());
            return Err(TraceCause::NoRole { model, path, known: self.paths() });
        };
        let source = WeakSource::Role { argument: self.argument, path: entry.path.clone() };
        let function = self.trace.name();
        Ok(self.trace.weak_place(WeakReference {
            source,
            spec: entry.spec.clone(),
            trainable: entry.trainable,
            path: entry.path.clone(),
            function,
            origin: Origin::here(),
            created: 0,
            is_written: false,
        }))
    }
}
