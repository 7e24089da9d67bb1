//! Where a value stands: what the recipe's own text before it has left open.
//!
//! Only own text opens and closes anything here; values were made harmless and do neither.

use crate::freetext::strict::{self, Fence};
use crate::text::is_space;

/// How much of a line is kept to tell how it begins.
const HEAD: usize = 256;

/// What a value may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueContext {
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
    line: LineSoFar,
    fence: Option<Fence>,
    tag: Option<Tag>,
    /// Whether a JSON string is open.
    string: bool,
    /// Whether a backslash stood right before.
    escaped: bool,
    /// The last sign that is no white space.
    last: Option<char>,
    lines: LinesAbove,
}

/// What is known of the lines before.
#[derive(Clone, Copy, Debug, Default)]
struct LinesAbove {
    /// Whether a list may go on here.
    list: bool,
    /// Whether the last line is blank.
    apart: bool,
    /// Whether the rows of a table go on here.
    table: bool,
    /// What the last line is for one of signs that could underline it.
    above: Above,
}

/// What a line is for one behind it that could make a heading of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Above {
    #[default]
    Nothing,
    /// A line becomes a heading.
    Line,
    /// The text of a list item becomes one, by a line that is indented.
    Item,
}

/// What is in the line so far, beside its head.
#[derive(Clone, Copy, Debug, Default)]
struct LineSoFar {
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
    /// Returns what a value may do here that is followed by `next`; nothing means the end. `goes_on` tells whether a list in it
    /// would go on in a list of the recipe.
    pub(super) fn place(&self, next: Option<&str>, goes_on: bool) -> ValueContext {
        if self.string {
            return ValueContext::Json;
        }
        if let Some(tag) = self.tag {
            let quoted = tag.quote.is_some();
            return ValueContext::Attribute { quoted };
        }
        let blank =
            !self.line.long && !self.line.has_value && self.head.trim_matches(is_space).is_empty();
        let alone = blank && next.is_none_or(|next| next.starts_with('\n') && !underlines(next));
        match (self.fence, self.opened()) {
            (None, Some(_)) => ValueContext::Info,
            (Some(fence), _) if fence.at_margin => ValueContext::Fence,
            (Some(_), _) if alone => ValueContext::Block {
                items: true,
                tangled: true,
            },
            _ if alone => ValueContext::Block {
                items: self.lines.list || goes_on,
                tangled: self.lines.list || !self.head.is_empty(),
            },
            _ => ValueContext::Line,
        }
    }

    /// Tells whether the line so far makes a heading of what stands before it, unless it goes on.
    pub(super) fn is_underline(&self) -> bool {
        let is_indented = self.head.starts_with([' ', '\t']);
        let some =
            self.lines.above == Above::Line || self.lines.above == Above::Item && is_indented;
        some && !self.line.long && begins_underline(&self.head)
    }

    /// Tells whether nothing but white space is in the line so far.
    pub(super) fn at_start(&self) -> bool {
        !self.line.long && self.head.trim_matches(is_space).is_empty()
    }

    /// Tells whether a line that begins with this value is indented so far by it that it is code, or goes on with a list item.
    pub(super) fn moves_in(&self, value: &str) -> bool {
        const CODE: usize = 4;
        let blanks = value.len() - value.trim_start_matches([' ', '\t']).len();
        let tab = value[..blanks].contains('\t');
        let far = if self.lines.list { 1 } else { CODE };
        let is_far = self.head.len() + blanks >= far || tab;
        blanks > 0 && self.at_start() && self.head.len() < far && is_far
    }

    /// Tells whether the line is a row of a table.
    pub(super) fn in_table(&self) -> bool {
        let own = self.head[..self.own].trim_start_matches(is_space);
        self.lines.table || own.starts_with('|')
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
        if blank {
            self.lines.table = false;
            self.lines.above = Above::Nothing;
            if !self.line.has_value {
                self.tag = None;
            }
        } else {
            self.end_text();
        }
        // What is blank in a value may be a sign that Markdown does not take for white space.
        self.lines.apart = blank && !self.line.has_value;
        self.head.clear();
        (self.own, self.line) = (0, LineSoFar::default());
        (self.string, self.escaped) = (false, false);
    }

    /// Goes on behind a line with something in it.
    fn end_text(&mut self) {
        let own = &self.head[..self.own];
        let is_item = strict::is_item(own);
        let ends_paragraph = strict::ends_paragraph(own);
        let is_apart = self.lines.apart || ends_paragraph;
        // A value is no item of a list that matters, but it may be text of one.
        let ends = is_apart && !self.line.has_value && !self.head.starts_with([' ', '\t']);
        self.lines.list = is_item || self.lines.list && !ends;
        self.lines.table |= !self.line.has_value && begins_table(own);
        self.lines.above = match ends_paragraph {
            true => Above::Nothing,
            false if is_item => Above::Item,
            false => Above::Line,
        };
    }
}

/// Tells whether a line, were it over, would make a heading of the one before it.
pub(super) fn begins_underline(line: &str) -> bool {
    let signs = line.trim_matches(|c| is_space(c) || c == '>');
    let all = |sign: char| signs.chars().all(|c| c == sign);
    !signs.is_empty() && (all('-') || all('='))
}

/// Tells whether the first line of a text, behind a line break, makes a heading of what stands before it and nothing else.
pub(super) fn underlines(text: &str) -> bool {
    let mut lines = text.split('\n').skip(1);
    let line = lines.next().unwrap_or_default().trim_matches([' ', '\t']);
    !line.is_empty() && line.chars().all(|c| c == '=')
}

/// Tells whether a line says that a table begins.
fn begins_table(line: &str) -> bool {
    let only = line.chars().all(|c| is_space(c) || "|-:".contains(c));
    only && line.contains('-') && line.contains('|')
}

fn is_tag(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_alphabetic() || c == '/')
}
