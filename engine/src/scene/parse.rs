//! From text to settings; what the RON parser refuses is said in terms of the scene's fields.
//!
//! The parser's own messages name the rule that broke ("Expected comma"), and some stand at places far from the mistake: a
//! missing field at the closing bracket, a fraction for a whole number as a comma. The outline of the text tells which field
//! it was.

use ron::Options;
use ron::error::{Error as Code, Position, SpannedError};
use ron::extensions::Extensions;
use std::ops::Range;
use std::path::Path;

use super::error::SceneError;
use super::schema::Settings;
use super::text::{Diagnostic, Node, Outline, suggestion};

/// A value longer than this is not repeated in a message.
const VALUE_BYTES_MAX: usize = 40;

/// Parses a scene; `path` is for messages.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Settings, SceneError> {
    let extensions = Extensions::IMPLICIT_SOME | Extensions::UNWRAP_NEWTYPES;
    let options = Options::default().with_default_extension(extensions);
    options.from_str(text).map_err(|error| {
        let (place, message) = Refused::new(text, &error).explain(&error.code);
        Diagnostic::new(path, text, place, message).into()
    })
}

type Explained = (Range<usize>, String);

/// A text that was refused, and where the parser stood.
struct Refused<'a> {
    text: &'a str,
    outline: Outline,
    start: usize,
    place: usize,
}

/// The byte that a position, which counts lines and characters from 1, stands for.
fn offset(text: &str, position: Position) -> usize {
    let line_start = text.split_inclusive('\n').take(position.line - 1).map(str::len).sum::<usize>();
    let characters = text[line_start..].chars().take(position.col - 1);
    line_start + characters.map(char::len_utf8).sum::<usize>()
}

fn subject(path: &str) -> String {
    if path.is_empty() { "the scene".to_owned() } else { format!("`{path}`") }
}

impl<'a> Refused<'a> {
    fn new(text: &'a str, error: &SpannedError) -> Self {
        let (start, place) = (offset(text, error.span.start), offset(text, error.span.end));
        Self { text, outline: Outline::new(text), start, place }
    }

    fn explain(&self, code: &Code) -> Explained {
        match code {
            Code::NoSuchStructField { .. } | Code::MissingStructField { .. } | Code::DuplicateStructField { .. } => {
                self.field(code)
            }
            Code::NoSuchEnumVariant { expected, found, .. } => {
                let known = suggestion(found, expected.iter().copied());
                let path = self.outline.innermost(self.start).map_or("", |node| &node.path);
                (self.start..self.place, format!("{} cannot be `{found}`; {known}", subject(path)))
            }
            Code::ExpectedInteger | Code::InvalidIntegerDigit { .. } => self.wanted("a whole number"),
            Code::ExpectedFloat => self.wanted("a number"),
            Code::ExpectedString => self.wanted("a text in double quotes"),
            Code::ExpectedArray => self.wanted("a list in square brackets"),
            Code::IntegerOutOfBounds => self.out_of_bounds(),
            Code::ExpectedComma => self.comma(),
            Code::ExpectedMapColon => {
                (self.here(), "a colon was expected: fields are written `name: value`".to_owned())
            }
            Code::ExpectedStructLike | Code::ExpectedNamedStructLike(_) => self.brackets(),
            Code::ExpectedIdentifier | Code::SuggestRawIdentifier(_) => self.identifier(),
            Code::ExpectedDifferentStructName { expected, found } => {
                let message = format!("`{found}` stands where `{expected}`, or no name, was expected");
                (self.start..self.place, message)
            }
            Code::Eof | Code::ExpectedStructLikeEnd | Code::ExpectedArrayEnd => self.end(),
            Code::ExpectedStringEnd => (self.here(), "this text is not closed by a double quote".to_owned()),
            Code::UnclosedBlockComment => {
                let start = self.text[..self.start].rfind("/*").unwrap_or(self.start);
                (start..self.start, "this comment is never closed".to_owned())
            }
            Code::TrailingCharacters => (self.here(), "nothing may follow the scene".to_owned()),
            // The list of the parser's errors is open; the rest are rare, and its own words serve.
            other => (self.here(), lower_first(&other.to_string())),
        }
    }

    /// The word, bracket or character at the place.
    fn here(&self) -> Range<usize> {
        let is_end = |c: char| c.is_whitespace() || "()[]{},:".contains(c);
        let rest = &self.text[self.place..];
        let length = rest.find(is_end).unwrap_or(rest.len());
        self.place..self.place + length.max(1)
    }

    /// A field that is unknown, missing or given twice.
    fn field(&self, code: &Code) -> Explained {
        let container = self.outline.container(self.place);
        let path = container.map_or("", |node| &node.path);
        match code {
            Code::NoSuchStructField { expected, found, .. } => {
                let place = self.outline.named(self.text, found, self.place).map_or(self.here(), Node::head);
                let known = suggestion(found, expected.iter().copied());
                (place, format!("{} has no field `{found}`; {known}", subject(path)))
            }
            Code::DuplicateStructField { field, .. } => {
                let place = self.outline.named(self.text, field, self.place).map_or(self.here(), Node::head);
                (place, format!("{} has the field `{field}` twice", subject(path)))
            }
            Code::MissingStructField { field, .. } => {
                let place = container.map_or(self.here(), Node::head);
                (place, format!("{} lacks the field `{field}`", subject(path)))
            }
            other => (self.here(), lower_first(&other.to_string())),
        }
    }

    /// A message about the value at the place: `say` is given its field and its text.
    fn about_value(&self, say: impl Fn(&str, &str) -> String) -> Explained {
        match self.outline.innermost(self.place) {
            Some(node) => {
                let value = &self.text[node.value.clone()];
                let place = if node.is_container { self.here() } else { node.value.clone() };
                (place, say(&subject(&node.path), value))
            }
            None => (self.here(), say("the scene", "")),
        }
    }

    fn wanted(&self, what: &str) -> Explained {
        self.about_value(|subject, value| {
            if value.is_empty() || value.len() > VALUE_BYTES_MAX || value.contains('\n') {
                return format!("{subject} takes {what}");
            }
            format!("{subject} takes {what}, not `{value}`")
        })
    }

    fn out_of_bounds(&self) -> Explained {
        self.about_value(|subject, value| {
            let fault = if value.starts_with('-') { "cannot be negative" } else { "cannot be so large" };
            format!("{subject} {fault}")
        })
    }

    /// A comma was expected: a number of another kind, brackets that do not belong, or indeed a comma.
    fn comma(&self) -> Explained {
        let inside = self.outline.innermost(self.place).filter(|node| node.value.start < self.place);
        match inside {
            Some(node) if !node.is_container && self.place < node.value.end => {
                let value = &self.text[node.value.clone()];
                if value.parse::<f64>().is_ok() {
                    return self.wanted("a whole number");
                }
                return (node.value.clone(), format!("{} cannot be `{value}`", subject(&node.path)));
            }
            Some(node) if node.is_container && self.text[self.place..].starts_with(['(', '{', '[']) => {
                let name = self.text[node.value.start..self.place].trim_end();
                if !name.is_empty() && !name.contains(['(', '[', '{']) {
                    return (self.here(), format!("{}: `{name}` takes nothing in brackets", subject(&node.path)));
                }
            }
            Some(_) | None => {}
        }
        if let Some(node) = self.outline.broken_text(self.text, self.place) {
            return (node.value.start..node.value.start + 1, "this text is not closed by a double quote".to_owned());
        }
        let before = self.text[..self.place].trim_end().len();
        (before..before + 1, "a comma is missing after this".to_owned())
    }

    fn brackets(&self) -> Explained {
        self.about_value(|subject, value| {
            let is_name =
                value.starts_with(char::is_alphabetic) && value.chars().all(|c| c.is_alphanumeric() || c == '_');
            if is_name {
                return format!("{subject}: `{value}` needs what it takes in brackets, `{value}(..)`");
            }
            format!("{subject} takes fields in round brackets, `(name: value, ..)`")
        })
    }

    fn identifier(&self) -> Explained {
        if self.text[self.place..].starts_with('"') {
            return (self.here(), "names stand without quotes".to_owned());
        }
        match self.outline.container(self.place) {
            Some(node) if self.text[self.place..].starts_with(|c: char| c.is_ascii_digit() || "-+.".contains(c)) => {
                (self.here(), format!("{} takes named fields, `name: value`", subject(&node.path)))
            }
            Some(_) | None => self.about_value(|subject, _| format!("{subject} begins with a name, as in `Name(..)`")),
        }
    }

    /// The text ends too early, or a bracket closes that was not opened there.
    fn end(&self) -> Explained {
        match self.outline.unclosed() {
            Some(node) => {
                let message = format!("the bracket of {} is never closed", subject(&node.path));
                (node.head(), message)
            }
            None => (self.here(), "the text ends before the scene does".to_owned()),
        }
    }
}

fn lower_first(message: &str) -> String {
    let mut characters = message.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}
