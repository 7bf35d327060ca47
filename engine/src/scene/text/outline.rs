//! Where the fields of a RON text stand: values by path, such as `train.optimizer.learning_rate` or `model.layers[1]`.
//!
//! The RON parser gives no places for what it accepted, and few for what it refused; this reads the text a second time, for
//! messages only. *Invariants*: it takes any text, also one that is not RON; it does not recurse.

use std::ops::Range;

use super::tokens::{Kind, Token, tokens};

/// Values in more brackets than this have no path: no scene has any, and the paths of a text of nothing but brackets would
/// fill the memory.
const NAMED_DEPTH_MAX: usize = 64;

/// One value in the text.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// How to get there: empty for the whole.
    pub path: String,
    /// The field's name in front of it, where it has one.
    pub name: Option<Range<usize>>,
    /// The value, brackets included.
    pub value: Range<usize>,
    /// Whether it has brackets.
    pub is_container: bool,
    /// Whether its brackets are closed.
    pub is_closed: bool,
}

impl Node {
    /// The place to point at when the value as a whole is meant: its name, or where it begins.
    pub fn head(&self) -> Range<usize> {
        match &self.name {
            Some(name) => name.clone(),
            None if self.is_container => self.value.start..self.value.start + 1,
            None => self.value.clone(),
        }
    }
}

/// All values of a text, each before what is in it.
pub(crate) struct Outline(Vec<Node>);

impl Outline {
    /// The outline of a text.
    pub fn new(text: &str) -> Self {
        let mut builder = Builder { text, nodes: Vec::new(), open: Vec::new(), name: None };
        let tokens = tokens(text);
        for (place, token) in tokens.iter().enumerate() {
            let follows = |kind: Kind| tokens.get(place + 1).is_some_and(|next| next.kind == kind);
            let has_name = place > 0 && tokens[place - 1].kind == Kind::Word;
            match token.kind {
                Kind::Word if follows(Kind::Colon) => builder.name = Some(token.range.clone()),
                Kind::Word => builder.add(token, false),
                Kind::Open => builder.open(token, has_name),
                Kind::Close => builder.close(token),
                Kind::Comma => builder.next(),
                Kind::Colon => {}
            }
        }
        Self(builder.nodes)
    }

    /// The value at a path, or the innermost one around it that the text has.
    pub fn find(&self, path: &str) -> Option<&Node> {
        let mut path = path;
        loop {
            if let Some(node) = self.0.iter().find(|node| node.path == path) {
                return Some(node);
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }

    /// The innermost value that a place is in or at the end of.
    pub fn innermost(&self, place: usize) -> Option<&Node> {
        self.0.iter().rfind(|node| node.value.start <= place && place <= node.value.end)
    }

    /// The innermost container that a place is in: after its opening bracket, up to and including its closing one.
    pub fn container(&self, place: usize) -> Option<&Node> {
        let is_around = |node: &&Node| node.is_container && node.value.start < place && place <= node.value.end;
        self.0.iter().rfind(is_around)
    }

    /// The innermost container whose bracket is never closed.
    pub fn unclosed(&self) -> Option<&Node> {
        self.0.iter().rfind(|node| node.is_container && !node.is_closed)
    }

    /// The text in quotes that ends at a place and goes over lines, as one does whose quote is missing.
    pub fn broken_text(&self, text: &str, place: usize) -> Option<&Node> {
        let is_broken = |node: &&Node| {
            let value = &text[node.value.clone()];
            node.value.end == place && value.starts_with('"') && value.contains('\n')
        };
        self.0.iter().find(is_broken)
    }

    /// The value whose field name is `name` and stands nearest to a place.
    pub fn named(&self, text: &str, name: &str, place: usize) -> Option<&Node> {
        let named = |node: &&Node| node.name.clone().is_some_and(|range| text.get(range) == Some(name));
        let distance = |node: &&Node| node.name.as_ref().map_or(usize::MAX, |range| range.start.abs_diff(place));
        self.0.iter().filter(named).min_by_key(distance)
    }
}

/// An outline being made.
struct Builder<'a> {
    text: &'a str,
    nodes: Vec<Node>,
    /// The containers that are open, outermost first: the node, how many values it has so far, whether it is a list.
    open: Vec<(usize, usize, bool)>,
    /// The field name that was just read.
    name: Option<Range<usize>>,
}

impl Builder<'_> {
    fn path(&self) -> String {
        let Some((parent, index, is_list)) = self.open.last() else { return String::new() };
        if self.open.len() > NAMED_DEPTH_MAX {
            return String::new();
        }
        let parent = &self.nodes[*parent].path;
        match &self.name {
            Some(name) if parent.is_empty() => self.text[name.clone()].to_owned(),
            Some(name) => format!("{parent}.{}", &self.text[name.clone()]),
            None if *is_list => format!("{parent}[{index}]"),
            // The one value of `Divide(16.0)` is the value of the field.
            None => parent.clone(),
        }
    }

    fn add(&mut self, token: &Token, is_container: bool) {
        let path = self.path();
        let (name, value) = (self.name.take(), token.range.clone());
        self.nodes.push(Node { path, name, value, is_container, is_closed: !is_container });
    }

    /// An opening bracket: of the value that began with the word before it, or of a value of its own.
    fn open(&mut self, token: &Token, has_name: bool) {
        match self.nodes.last_mut().filter(|_| has_name) {
            Some(node) => (node.is_container, node.is_closed, node.value.end) = (true, false, token.range.end),
            None => self.add(token, true),
        }
        self.open.push((self.nodes.len() - 1, 0, self.text[token.range.clone()].starts_with('[')));
    }

    fn close(&mut self, token: &Token) {
        if let Some((node, ..)) = self.open.pop() {
            self.nodes[node].is_closed = true;
            self.nodes[node].value.end = token.range.end;
        }
        self.name = None;
    }

    fn next(&mut self) {
        if let Some((_, index, _)) = self.open.last_mut() {
            *index += 1;
        }
        self.name = None;
    }
}
