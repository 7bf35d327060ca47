//! The files that a training leaves: parameters as safetensors, metrics as CSV.
//!
//! *Invariant*: under its final name a file is whole. It is written beside, under a name that begins with a dot, and renamed.

use entigrad_components::{DType, Tensor};
use safetensors::tensor::{Dtype, TensorView, serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::SceneError;

/// Files that are not there yet: begun before the work, so that a folder that cannot be written to is found out early.
/// Dropped without [`Staging::finish`] it leaves nothing.
pub(crate) struct Staging {
    folder: PathBuf,
    is_folder_new: bool,
    /// Each file, and what it is called until it is finished.
    files: Vec<(PathBuf, PathBuf)>,
}

impl Staging {
    /// Begins files of these names in a folder, which is made where it is not there.
    pub fn new(folder: &Path, names: &[&str]) -> Result<Self, SceneError> {
        let is_folder_new = !folder.exists();
        std::fs::create_dir_all(folder).map_err(|cause| unwritable(folder, cause))?;
        let mut staging = Self { folder: folder.to_owned(), is_folder_new, files: Vec::new() };
        for name in names {
            let path = folder.join(name);
            let beside = folder.join(format!(".{name}.{}.partial", std::process::id()));
            if path.is_dir() {
                return Err(unwritable(&path, io::ErrorKind::IsADirectory.into()));
            }
            File::create(&beside).map_err(|cause| unwritable(&path, cause))?;
            staging.files.push((path, beside));
        }
        Ok(staging)
    }

    /// Writes the files, all of them before the first gets its name; their names.
    pub fn finish(mut self, contents: &[&[u8]]) -> Result<Vec<PathBuf>, SceneError> {
        for ((path, beside), bytes) in self.files.iter().zip(contents) {
            let file = File::create(beside).and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()
            });
            file.map_err(|cause| unwritable(path, cause))?;
        }
        for (path, beside) in &self.files {
            std::fs::rename(beside, path).map_err(|cause| unwritable(path, cause))?;
        }
        Ok(self.files.drain(..).map(|(path, _)| path).collect())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for (_, beside) in &self.files {
            let _ = std::fs::remove_file(beside);
        }
        if self.is_folder_new && !self.files.is_empty() {
            // Goes only where it is empty.
            let _ = std::fs::remove_dir(&self.folder);
        }
    }
}

fn unwritable(path: &Path, cause: io::Error) -> SceneError {
    SceneError::Unwritable { path: path.to_owned(), cause }
}

/// Tensors with names, and texts about them, in the safetensors format.
pub(crate) fn safetensors(tensors: &[(String, Tensor)], about: &[(&str, String)]) -> Result<Vec<u8>, String> {
    let views = tensors.iter().map(|(name, tensor)| {
        let dtype = match tensor.dtype() {
            DType::F32 => Dtype::F32,
            DType::F64 => Dtype::F64,
            DType::I32 => Dtype::I32,
            DType::Bool => Dtype::BOOL,
        };
        Ok((name, TensorView::new(dtype, tensor.shape().to_vec(), tensor.bytes())?))
    });
    let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>();
    let bytes = views.and_then(|views| serialize(views, None)).map_err(|error| error.to_string())?;
    with_metadata(&bytes, about).ok_or_else(|| "the safetensors header is not what was expected".to_owned())
}

/// Puts `about` into the header of safetensors bytes. The library would write it in an order that changes from run to run, and
/// equal trainings are to leave equal files.
fn with_metadata(bytes: &[u8], about: &[(&str, String)]) -> Option<Vec<u8>> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (header, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let tensors = std::str::from_utf8(header).ok()?.trim_end().strip_prefix('{')?;
    let pairs: Vec<String> = about.iter().map(|(key, value)| format!("{}:{}", json(key), json(value))).collect();
    let mut header = format!("{{\"__metadata__\":{{{}}},{tensors}", pairs.join(","));
    // The data begin at a multiple of eight bytes.
    header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
    Some([&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat())
}

/// A text as JSON.
fn json(text: &str) -> String {
    let escaped = text.chars().map(|character| match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        control if control.is_control() => format!("\\u{:04x}", u32::from(control)),
        other => other.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
