//! References to what is gone.

use entigrad_components::{Kind, Origin};
use std::sync::Arc;

use super::kind_name;

/// A reference to what is gone: promise 1 of the design, in words.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "function `{function}` cannot run: {} the {} `{path}`, which was despawned{}{}. {}",
    who(.reads.as_deref(), *.kind),
    kind_name(*.kind),
    .model.as_ref().map_or_else(String::new, |model| format!(" with its model `{model}`")),
    place(*.origin, *.is_role),
    cure(*.kind, *.is_role)
)]
pub struct Stale {
    /// The function that was called.
    pub function: Arc<str>,
    /// The function whose body reads it, where that is another one.
    pub reads: Option<Arc<str>>,
    /// What died.
    pub kind: Kind,
    /// Its path.
    pub path: Arc<str>,
    /// The model that it went with.
    pub model: Option<Arc<str>>,
    /// Where it was captured, or read as a role.
    pub origin: Option<Origin>,
    /// Whether it was found by its role in a model argument.
    pub is_role: bool,
}

fn who(reads: Option<&str>, kind: Kind) -> String {
    match (reads, kind) {
        (Some(inner), _) => format!("`{inner}`, which it calls, reads"),
        (None, Kind::Function) => "it calls".to_owned(),
        (None, Kind::Model | Kind::Variable | Kind::Concrete | Kind::Trainer) => "it reads".to_owned(),
    }
}

fn place(origin: Option<Origin>, is_role: bool) -> String {
    let verb = if is_role { "read" } else { "captured" };
    origin.map_or_else(String::new, |origin| format!(" ({verb} at {origin})"))
}

fn cure(kind: Kind, is_role: bool) -> &'static str {
    match kind {
        Kind::Variable | Kind::Model if is_role => {
            "A model takes its variables with it: despawn what trains or calls with that model too"
        }
        Kind::Variable | Kind::Model => {
            "A graph function keeps no variable alive: keep the model for as long as the function is called, or write a \
             method, which takes its model as an argument"
        }
        Kind::Function | Kind::Concrete | Kind::Trainer => "Keep the function for as long as others call it",
    }
}
