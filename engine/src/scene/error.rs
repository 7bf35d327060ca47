//! What can go wrong with a scene: the user's mistakes, shown where they were made, and failures while it runs.

use entigrad_systems::Error;
use std::io;
use std::path::PathBuf;

use super::text::Diagnostic;

/// Anything that loading or running a scene can fail with.
#[derive(Debug, thiserror::Error)]
pub enum SceneError {
    /// The scene file cannot be read.
    #[error("{}: the scene cannot be read: {cause}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Something is wrong in the scene, or in the data that it names.
    #[error(transparent)]
    Wrong(Box<Diagnostic>),
    /// The engine refused or failed.
    #[error("scene `{scene}`: {cause}")]
    Engine {
        /// The scene.
        scene: String,
        /// Why.
        cause: Box<Error>,
    },
    /// The numbers went out of bounds.
    #[error(
        "scene `{scene}`: the {what} is {value} in epoch {epoch}; a smaller `train.optimizer.learning_rate` may help"
    )]
    Diverged {
        /// The scene.
        scene: String,
        /// Which.
        what: String,
        /// What it is.
        value: f64,
        /// The epoch, from 1.
        epoch: u32,
    },
    /// A file cannot be written.
    #[error("{}: cannot be written: {cause}", .path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// What is said on the way cannot be printed.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl SceneError {
    /// Whether the scene or its data must be changed first; else it is this run that failed.
    pub fn is_in_scene(&self) -> bool {
        match self {
            Self::Unreadable { .. } | Self::Wrong(_) => true,
            Self::Engine { .. } | Self::Diverged { .. } | Self::Unwritable { .. } | Self::Output(_) => false,
        }
    }
}

impl From<Diagnostic> for SceneError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Wrong(Box::new(diagnostic))
    }
}
