//! Scenes: what is wrong in one is shown where it is; what is right trains to the same bits, and leaves whole files or none.

mod trained;
mod wrong_data;
mod wrong_scenes;

use entigrad::scene::{Options, Scene, SceneError, Trained, load, train};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A small scene that is right.
const SCENE: &str = r#"// Two numbers tell which of three kinds it is.
(
    seed: 7,
    data: (
        file: "kinds.csv",
        target: "kind",
        scaling: Divide(2.0),
        test_rows: 2,
    ),
    model: Mlp(layers: [8, 3], activation: Tanh),
    loss: CrossEntropy,
    train: (
        optimizer: Adam(learning_rate: 0.05),
        batch_rows: 4,
        epochs: 3,
    ),
)
"#;

/// Its data.
const DATA: &str = "x,y,kind\n0,1,0\n1,0,1\n1,1,2\n0,2,0\n2,0,1\n2,2,2\n0,3,0\n3,0,1\n3,3,2\n";

/// A folder with a scene and its data in it, removed at the end.
struct Folder(TempDir);

impl Folder {
    fn new(scene: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::write(folder.path("kinds.ron"), scene).unwrap();
        fs::write(folder.path("kinds.csv"), data).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn load(&self) -> Result<Scene, SceneError> {
        load(self.path("kinds.ron"))
    }

    /// Trains the scene, with its files in `out`.
    fn train(&self) -> Result<(Trained, String), SceneError> {
        let mut printed = Vec::new();
        let options = Options { out: Some(self.path("out")), ..Options::default() };
        let trained = train(&self.load()?, &options, &mut printed)?;
        Ok((trained, String::from_utf8(printed).unwrap()))
    }

    /// What is said of a scene or data that are wrong, without the name of the folder. Nothing may have been written.
    fn complaint(&self) -> String {
        let error = self.train().map(|_| ()).unwrap_err();
        assert_eq!(self.names(), ["kinds.csv", "kinds.ron"], "{error}");
        assert!(error.is_in_scene(), "{error}");
        self.without_folder(&error.to_string())
    }

    fn without_folder(&self, text: &str) -> String {
        text.replace(&format!("{}{}", self.0.path().display(), std::path::MAIN_SEPARATOR), "")
    }

    fn names(&self) -> Vec<String> {
        names(self.0.path())
    }
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// `text` with one place replaced that must be there.
fn edited(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is not there to be replaced");
    text.replacen(from, to, 1)
}
