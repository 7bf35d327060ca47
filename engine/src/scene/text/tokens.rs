//! The pieces of a RON text: words (names, numbers, texts in quotes), brackets, commas and colons.

use std::ops::Range;

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name, a number or a text in quotes.
    Word,
    /// An opening bracket of any kind.
    Open,
    /// A closing bracket of any kind.
    Close,
    /// A comma.
    Comma,
    /// A colon.
    Colon,
}

/// One piece.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its bytes.
    pub range: Range<usize>,
}

/// The pieces of `text`, without spaces, comments and `#![..]` attributes.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut place = 0;
    while let Some(character) = text[place..].chars().next() {
        let rest = &text[place..];
        let (kind, length) = match character {
            '(' | '[' | '{' => (Some(Kind::Open), 1),
            ')' | ']' | '}' => (Some(Kind::Close), 1),
            ',' => (Some(Kind::Comma), 1),
            ':' => (Some(Kind::Colon), 1),
            '#' => (None, rest.find(']').map_or(rest.len(), |end| end + 1)),
            '/' if rest.starts_with("//") => (None, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (None, block_comment(rest)),
            other if other.is_whitespace() => (None, other.len_utf8()),
            _ => (Some(Kind::Word), word(rest)),
        };
        tokens.extend(kind.map(|kind| Token { kind, range: place..place + length }));
        place += length;
    }
    tokens
}

/// The length of a comment that may hold others.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut place) = (0_usize, 0);
    while place < text.len() {
        let rest = &text[place..];
        let step = if rest.starts_with("/*") {
            depth += 1;
            2
        } else if rest.starts_with("*/") {
            depth = depth.saturating_sub(1);
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        place += step;
        if depth == 0 {
            break;
        }
    }
    place
}

/// The length of the word that `text` begins with: at least one character.
fn word(text: &str) -> usize {
    if text.starts_with('"') {
        return quoted(text);
    }
    let hashes = text.strip_prefix('r').map_or(0, |rest| rest.len() - rest.trim_start_matches('#').len());
    if text.starts_with('r') && text[1 + hashes..].starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let start = hashes + 2;
        return text[start..].find(&end).map_or(text.len(), |place| start + place + end.len());
    }
    let is_end = |character: char| character.is_whitespace() || "()[]{},:\"".contains(character);
    let end = text.find(is_end).unwrap_or(text.len());
    let word = &text[..end];
    let comment = word.find("//").into_iter().chain(word.find("/*")).min().unwrap_or(end);
    let first = text.chars().next().map_or(1, char::len_utf8);
    comment.max(first)
}

/// The length of a text in quotes, or of all that is left where they are not closed.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return place + 1,
            _ => {}
        }
    }
    text.len()
}
