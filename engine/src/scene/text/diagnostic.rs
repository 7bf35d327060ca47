//! A place in a text file and what is wrong there: `file:line:column: message`, then the line, then carets under the place.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A line longer than this is shown around the place only.
const LINE_CHARACTERS_MAX: usize = 120;
/// How many characters before the place are shown of such a line.
const CHARACTERS_BEFORE: usize = 50;

/// What is wrong at one place of a text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, as the user or a scene named it.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// The line, or what is shown of it.
    excerpt: String,
    /// Characters before the carets, and how many carets.
    carets: (usize, usize),
}

impl Diagnostic {
    /// A diagnostic of the bytes `place` of `text`. Of a place that spans lines, the first one is shown.
    pub(crate) fn new(file: &Path, text: &str, place: Range<usize>, message: impl Into<String>) -> Self {
        let start = floor_boundary(text, place.start);
        let end = floor_boundary(text, place.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let characters: Vec<char> = text[line_start..line_end].trim_end_matches('\r').chars().collect();
        let before = text[line_start..start].chars().count().min(characters.len());
        let width = text[start..end.min(line_end)].trim_end().chars().count().max(1);

        let (first, last) = window(characters.len(), before);
        let mut excerpt: String = characters[first..last].iter().map(|c| printable(*c)).collect();
        let mut indent = before - first;
        if first > 0 {
            excerpt.insert(0, '…');
            indent += 1;
        }
        if last < characters.len() {
            excerpt.push('…');
        }
        let carets = (indent, width.min((last - before).max(1)));
        let line = 1 + text[..start].matches('\n').count();
        Self { file: file.to_owned(), line, column: before + 1, message: message.into(), excerpt, carets }
    }
}

/// The greatest place up to `offset` that is between two characters.
fn floor_boundary(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

/// Which characters of a line are shown: all of a short one, those around the place of a long one.
fn window(length: usize, place: usize) -> (usize, usize) {
    if length <= LINE_CHARACTERS_MAX {
        return (0, length);
    }
    let first = place.saturating_sub(CHARACTERS_BEFORE).min(length - LINE_CHARACTERS_MAX);
    (first, first + LINE_CHARACTERS_MAX)
}

/// Tabs and other controls would move the carets, so each is shown as one space.
fn printable(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, excerpt, carets: (indent, width) } = self;
        writeln!(f, "{}:{line}:{column}: {message}", file.display())?;
        writeln!(f, "{}", excerpt.trim_end())?;
        write!(f, "{:indent$}{:^<width$}", "", "")
    }
}

impl std::error::Error for Diagnostic {}
