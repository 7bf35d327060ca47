//! From a file to a scene: read, parse, check.

use entigrad_systems::Error;
use std::path::{Path, PathBuf};

use super::check::check;
use super::error::SceneError;
use super::parse::parse;
use super::schema::Settings;
use super::text::{Diagnostic, Outline};

/// A scene that was read and is well formed. Its data have not been read yet.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The file's name without `.ron`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub settings: Settings,
    /// The file's text, for messages.
    text: String,
}

/// The largest file that is taken for a scene.
const SCENE_BYTES_MAX: usize = 1 << 20;

/// Reads a scene file. Nothing else is read or written.
pub fn load(path: impl AsRef<Path>) -> Result<Scene, SceneError> {
    let path = path.as_ref().to_owned();
    let unreadable = |cause| SceneError::Unreadable { path: path.clone(), cause };
    let bytes = std::fs::read(&path).map_err(unreadable)?;
    if bytes.len() > SCENE_BYTES_MAX {
        let message = format!("this file is larger than {SCENE_BYTES_MAX} bytes, and a scene is not: is it the data?");
        return Err(Diagnostic::new(&path, "", 0..0, message).into());
    }
    let text = utf8(&path, bytes)?;
    let settings = parse(&path, &text)?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let scene = Scene { name, path, settings, text };
    match check(&scene.settings) {
        Some((field, message)) => Err(scene.wrong(&field, message)),
        None => Ok(scene),
    }
}

impl Scene {
    /// The CSV file that the scene names.
    pub fn data_path(&self) -> PathBuf {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        folder.join(&self.settings.data.file)
    }

    /// An error of the engine while it works on this scene.
    pub(crate) fn failed(&self, cause: Error) -> SceneError {
        SceneError::Engine { scene: self.name.clone(), cause: Box::new(cause) }
    }

    /// An error about a field, or about the one around it where the text leaves it to its default.
    pub(crate) fn wrong(&self, field: &str, message: impl std::fmt::Display) -> SceneError {
        let outline = Outline::new(&self.text);
        let place = outline.find(field).map_or(0..1, |node| node.value.clone());
        Diagnostic::new(&self.path, &self.text, place, format!("`{field}` {message}")).into()
    }
}

/// The text of a file, without the mark of byte order that some editors put first.
pub(crate) fn utf8(path: &Path, bytes: Vec<u8>) -> Result<String, SceneError> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Err(error) => {
            let end = error.utf8_error().valid_up_to();
            let mut text = String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned();
            text.push(char::REPLACEMENT_CHARACTER);
            Err(Diagnostic::new(path, &text, end..end + 1, "this byte is not UTF-8 text").into())
        }
    }
}
