//! Where a value stands: what the recipe's own text before it has left open.
//!
//! Only own text opens and closes anything here; values were made harmless and do neither.

use crate::freetext::strict::{self, Fence};
use crate::text::is_space;

/// How much of a line is kept to tell how it begins.
const HEAD: usize = 256;

/// What a value may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is part of a line.
    Line,
    /// It has its lines for itself.
    Block {
        /// Whether list items in it would go on with a list of the recipe.
        items: bool,
        /// Whether nobody can tell what a fence in it would do.
        tangled: bool,
    },
    /// It is in a code block.
    Fence,
    /// It follows the sign that opens a code block.
    Info,
    /// It is within a tag.
    Attribute {
        /// Whether it is quoted there.
        quoted: bool,
    },
    /// It is part of a JSON string.
    Json,
}

/// What stands before a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Scene {
    /// How the line begins.
    pub(super) head: String,
    /// How much of that is the recipe's own, before any value.
    pub(super) own: usize,
    /// What the values before have of a tag.
    pub(super) open: String,
    line: Line,
    fence: Option<Fence>,
    tag: Option<Tag>,
    /// Whether a JSON string is open.
    string: bool,
    /// Whether a backslash stood right before.
    escaped: bool,
    /// The last sign that is no white space.
    last: Option<char>,
    /// Whether the last line that is not blank is of a list.
    list: bool,
}

/// What is in the line so far, beside its head.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// It goes on behind its head.
    long: bool,
    has_value: bool,
}

#[derive(Clone, Copy, Debug)]
struct Tag {
    quote: Option<char>,
    /// Whether it is only a `<` so far.
    begun: bool,
}

impl Scene {
    /// Returns what a value may do here that is followed by `next`; nothing means the end.
    pub(super) fn place(&self, next: Option<&str>) -> Place {
        if self.string {
            return Place::Json;
        }
        if let Some(tag) = self.tag {
            let quoted = tag.quote.is_some();
            return Place::Attribute { quoted };
        }
        let blank =
            !self.line.long && !self.line.has_value && self.head.trim_matches(is_space).is_empty();
        let alone = blank && next.is_none_or(|next| next.starts_with('\n'));
        match (self.fence, self.opened()) {
            (None, Some(_)) => Place::Info,
            (Some(fence), _) if fence.at_margin => Place::Fence,
            (Some(_), _) if alone => Place::Block {
                items: true,
                tangled: true,
            },
            _ if alone => Place::Block {
                items: self.list || next.is_some_and(goes_on_with_a_list),
                tangled: self.list || !self.head.is_empty(),
            },
            _ => Place::Line,
        }
    }

    /// Returns the fence that the line so far is, by own signs alone.
    fn opened(&self) -> Option<Fence> {
        let fence = strict::fence(&self.head)?;
        (fence.end <= self.own).then_some(fence)
    }

    /// Goes on behind text of the recipe.
    pub(super) fn own(&mut self, text: &str) {
        self.open.clear();
        let mut rest = text;
        while let Some(end) = memchr::memchr(b'\n', rest.as_bytes()) {
            self.own_line(&rest[..end], Some('\n'));
            self.end_line();
            rest = &rest[end + 1..];
        }
        self.own_line(rest, None);
    }

    /// Goes on behind text of the recipe in one line, with the sign that follows it.
    fn own_line(&mut self, line: &str, next: Option<char>) {
        self.push(line);
        if !self.line.has_value {
            self.own = self.head.len();
        }
        let open = self.string || self.tag.is_some();
        if !open && memchr::memchr2(b'<', b'"', line.as_bytes()).is_none() {
            let signs = line.len() - line.trim_end_matches('\\').len();
            self.escaped = (signs % 2 == 1) != (self.escaped && signs == line.len());
            self.last = line.chars().rfind(|c| !is_space(*c)).or(self.last);
            return;
        }
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            self.mark(c, chars.peek().copied().or(next));
        }
    }

    /// Goes on behind a value as it was printed.
    pub(super) fn value(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let line = match memchr::memrchr(b'\n', text.as_bytes()) {
            Some(end) => {
                self.head.clear();
                self.own = 0;
                self.line.long = false;
                &text[end + 1..]
            }
            None => text,
        };
        if !self.open.is_empty() || memchr::memchr(b'<', text.as_bytes()).is_some() {
            self.open.push_str(text);
            let sign = self.open.rfind('<').unwrap_or(self.open.len());
            self.open.drain(..sign);
            if self.open.len() > HEAD || self.open.contains(['>', '\n', ' ']) {
                self.open.clear();
            }
        }
        self.line.has_value = true;
        self.escaped = false;
        self.last = Some('x');
        self.push(line);
        if let Some(tag) = &mut self.tag {
            tag.begun = false;
        }
    }

    fn push(&mut self, line: &str) {
        if !self.line.long {
            let kept = line.floor_char_boundary(HEAD - self.head.len());
            self.head.push_str(&line[..kept]);
            self.line.long = kept < line.len();
        }
    }

    fn mark(&mut self, c: char, next: Option<char>) {
        let escaped = self.escaped;
        self.escaped = c == '\\' && !escaped;
        if let Some(tag) = &mut self.tag {
            let closes = tag.quote.is_none() && c == '>';
            match (tag.quote, c) {
                (Some(quote), c) if c == quote => tag.quote = None,
                (None, '"' | '\'') => tag.quote = Some(c),
                _ => {}
            }
            if closes || tag.begun && !is_tag(Some(c)) {
                self.tag = None;
            } else {
                tag.begun = false;
            }
        } else if c == '<' && !self.string && (next.is_none() || is_tag(next)) {
            self.tag = Some(Tag {
                quote: None,
                begun: true,
            });
        } else if c == '"' && !escaped {
            self.string = !self.string && matches!(self.last, Some('{' | '[' | ',' | ':'));
        }
        if !is_space(c) {
            self.last = Some(c);
        }
    }

    fn end_line(&mut self) {
        let blank = self.head.trim_matches(is_space).is_empty();
        if let Some(found) = self.opened() {
            self.fence = match self.fence {
                Some(open) if found.closes(&open) => None,
                Some(open) => Some(open),
                None => found.opens.then_some(found),
            };
        }
        if !blank {
            let indented = self.head.starts_with([' ', '\t']);
            self.list = strict::is_item(&self.head[..self.own]) || self.list && indented;
        } else if !self.line.has_value {
            self.tag = None;
        }
        self.head.clear();
        (self.own, self.line) = (0, Line::default());
        (self.string, self.escaped) = (false, false);
    }
}

fn is_tag(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_alphabetic() || c == '/')
}

/// Tells whether the first line of a text that is not blank is a list item.
fn goes_on_with_a_list(text: &str) -> bool {
    let mut lines = text.split('\n');
    let first = lines.find(|line| !line.trim_matches(is_space).is_empty());
    first.is_some_and(strict::is_item)
}
