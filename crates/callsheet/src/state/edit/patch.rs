//! New values in a YAML text, where the old ones stand: comments, order, and how everything else is written stay.
//!
//! Nothing here is sure of itself: whoever applies a patch reads the result, and takes it only if it says what it should.

use std::ops::Range;

use serde_json::{Map, Value};

use super::write::{inline, inline_like, pair};
use crate::document::yaml::{Entry, Kind, Node};

/// What goes with a value that is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The value alone.
    Value,
    /// The anchor and the tag before it, too.
    Properties,
}

/// What stands before a value: a key with its colon, or a dash.
struct Head {
    /// Where it ends.
    end: usize,
    /// The column that it begins in.
    column: usize,
    is_flow: bool,
    /// Whether a key has no colon, and thus no value.
    is_missing: bool,
}

impl Head {
    /// Returns the one of an item of a flow list, which has none.
    fn in_flow(end: usize) -> Self {
        Self {
            end,
            column: 0,
            is_flow: true,
            is_missing: false,
        }
    }
}

/// Changes of a text that were not made yet.
pub(super) struct Patch<'t> {
    text: &'t str,
    scope: Scope,
    edits: Vec<(Range<usize>, String)>,
}

impl<'t> Patch<'t> {
    pub(super) fn new(text: &'t str, scope: Scope) -> Self {
        Self {
            text,
            scope,
            edits: Vec::new(),
        }
    }

    /// Adds lines at the end of the text.
    pub(super) fn at_end(&mut self, lines: &str) {
        self.insert_lines(self.text.len(), lines);
    }

    /// Returns the text with all changes made; nothing if they get into each other's way.
    pub(super) fn applied(mut self) -> Option<String> {
        self.edits.sort_by_key(|(range, _)| range.start);
        let mut out = String::with_capacity(self.text.len());
        let mut done = 0;
        for (range, new) in &self.edits {
            out.push_str(self.text.get(done..range.start)?);
            out.push_str(new);
            done = range.end;
        }
        out.push_str(self.text.get(done..)?);
        Some(out)
    }

    /// Makes a mapping say what `new` says; only fields that differ are touched.
    pub(super) fn mapping(
        &mut self,
        node: &Node,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) -> Option<()> {
        let Kind::Map(entries) = &node.kind else {
            return None;
        };
        let is_flow = !node.at.is_empty();
        // What a merge brings stands elsewhere.
        let own = |entry: &&Entry| !self.text[entry.at.clone()].starts_with('*');
        let own: Vec<&Entry> = entries.iter().filter(own).collect();
        let own_named = |key: &str| own.iter().find(|entry| entry.key == key);
        for key in old.keys().filter(|key| !new.contains_key(*key)) {
            let entry = own_named(key).filter(|_| !is_flow)?;
            self.remove(entry)?;
        }
        let mut added = Vec::new();
        for (key, value) in new {
            match (own_named(key), old.get(key)) {
                (_, Some(same)) if same == value => {}
                (Some(entry), Some(old)) => {
                    let head = self.head_of(entry, is_flow);
                    self.value(&entry.value, &head, old, value)?;
                }
                _ => added.push(pair(key, value)),
            }
        }
        let end = own.iter().map(|entry| self.entry_end(entry)).max();
        if added.is_empty() {
            return Some(());
        }
        if is_flow {
            self.add_to_flow(end, node.at.end, &added);
        } else {
            let indent = " ".repeat(self.column(own.first()?.at.start));
            self.add_lines(end?, &indent, &added);
        }
        Some(())
    }

    fn list(&mut self, node: &Node, old: &[Value], new: &[Value]) -> Option<()> {
        let Kind::List(items) = &node.kind else {
            return None;
        };
        let is_flow = !node.at.is_empty();
        let mut end = self.line_start(node.at.start);
        for ((item, old), new) in items.iter().zip(old).zip(new) {
            if old != new {
                let head = if is_flow {
                    Head::in_flow(item.at.start)
                } else {
                    self.head_of_item(end..item.at.start)?
                };
                self.value(item, &head, old, new)?;
            }
            end = self.end(item).max(end);
        }
        let added: Vec<String> = new.get(old.len()..)?.iter().map(inline).collect();
        if added.is_empty() {
            return Some(());
        }
        if is_flow {
            let end = (!items.is_empty()).then_some(end);
            self.add_to_flow(end, node.at.end, &added);
        } else {
            // A list begins at its first dash, or behind it where it is not indented.
            let line = self.line_start(node.at.start);
            let indent = " ".repeat(self.text[line..].find('-')?);
            self.add_lines(end, &format!("{indent}- "), &added);
        }
        Some(())
    }

    /// Changes a value that is another one from now on.
    fn value(&mut self, node: &Node, head: &Head, old: &Value, new: &Value) -> Option<()> {
        let before = self.edits.len();
        let (done, shrinks) = match (old, new) {
            _ if node.is_alias => (None, true),
            (Value::Object(old), Value::Object(new)) => {
                let shrinks = old.keys().any(|key| !new.contains_key(key));
                (self.mapping(node, old, new), shrinks)
            }
            (Value::Array(old), Value::Array(new)) => {
                (self.list(node, old, new), old.len() > new.len())
            }
            _ => (None, true),
        };
        // What only grows is never written anew: there may be comments in it.
        if done.is_some() && !new_is_empty(new) || !shrinks {
            return done;
        }
        self.edits.truncate(before);
        self.replaced(node, head, new)
    }

    fn replaced(&mut self, node: &Node, head: &Head, new: &Value) -> Option<()> {
        let body = self.after_line(head.end);
        let is_block = !matches!(node.kind, Kind::Null | Kind::Scalar(_));
        if head.is_missing {
            // `{key}` in a flow mapping.
            self.insert(head.end, format!(": {}", inline(new)));
        } else if !node.at.is_empty() {
            if let Some(indicator) = self.block_scalar(head, node) {
                self.replace(indicator, new);
                return self.delete_lines(body, node.at.end);
            }
            let start = match self.scope {
                Scope::Value => node.at.start,
                Scope::Properties => head.end + self.blanks(head.end),
            };
            self.replace(start..self.end(node), new);
        } else if head.is_flow || !is_block && inline_only(new) {
            self.insert(head.end, format!(" {}", inline(new)));
        } else if is_block && node.at.start < body {
            let end = self.end(node);
            self.edits.push((node.at.start..end, inline(new)));
        } else {
            let indent = " ".repeat(head.column + 2);
            match new {
                Value::Object(fields) if !fields.is_empty() => {
                    let added: Vec<String> =
                        fields.iter().map(|(key, new)| pair(key, new)).collect();
                    self.add_lines(head.end, &indent, &added);
                }
                Value::Array(items) if !items.is_empty() => {
                    let added: Vec<String> = items.iter().map(inline).collect();
                    self.add_lines(head.end, &format!("{indent}- "), &added);
                }
                value => self.insert(head.end, format!(" {}", inline(value))),
            }
            return self.delete_lines(body, self.end(node));
        }
        Some(())
    }

    /// Takes the lines from `start` to the one with the last text before `end` away.
    fn delete_lines(&mut self, start: usize, end: usize) -> Option<()> {
        if end > start {
            let lines = self.text.get(start..end)?.trim_end();
            let end = self.after_line(start + lines.len());
            self.edits.push((start..end, String::new()));
        }
        Some(())
    }

    /// Takes the lines of an entry away.
    fn remove(&mut self, entry: &Entry) -> Option<()> {
        let start = self.line_start(entry.at.start);
        let alone = self.text[start..entry.at.start].trim().is_empty();
        let end = self.after_line(self.entry_end(entry));
        self.edits.push((start..end, String::new()));
        alone.then_some(())
    }

    fn replace(&mut self, range: Range<usize>, new: &Value) {
        let new = inline_like(new, &self.text[range.clone()]);
        self.edits.push((range, new));
    }

    fn insert(&mut self, at: usize, new: String) {
        self.edits.push((at..at, new));
    }

    fn add_to_flow(&mut self, end: Option<usize>, start: usize, added: &[String]) {
        let added = added.join(", ");
        match end {
            Some(end) => self.insert(end, format!(", {added}")),
            None => self.insert(start, added),
        }
    }

    fn add_lines(&mut self, end: usize, indent: &str, added: &[String]) {
        let lines = added.iter().map(|new| format!("{indent}{new}\n"));
        self.insert_lines(self.after_line(end), &lines.collect::<String>());
    }

    fn insert_lines(&mut self, at: usize, lines: &str) {
        let mut lines = lines.to_owned();
        if !lines.is_empty() && at > 0 && !self.text[..at].ends_with('\n') {
            lines.insert(0, '\n');
        }
        if self.text.contains("\r\n") {
            lines = lines.replace('\n', "\r\n");
        }
        self.insert(at, lines);
    }

    /// Returns where a value ends.
    fn end(&self, node: &Node) -> usize {
        if node.is_alias {
            return node.at.end;
        }
        let inner = match &node.kind {
            Kind::Null | Kind::Scalar(_) => return node.at.end,
            Kind::List(items) => items.iter().map(|item| self.end(item)).max(),
            Kind::Map(entries) => entries.iter().map(|entry| self.entry_end(entry)).max(),
        };
        let inner = inner.unwrap_or(node.at.end).max(node.at.end);
        if node.at.is_empty() {
            return inner;
        }
        self.closing(inner)
    }

    fn entry_end(&self, entry: &Entry) -> usize {
        let key = self.colon(entry).unwrap_or(entry.at.end);
        self.end(&entry.value).max(key)
    }

    /// Returns the end of the bracket that closes after the last value, with commas, blanks and comments before it.
    fn closing(&self, from: usize) -> usize {
        let mut at = from;
        for line in self.text[from..].split_inclusive('\n') {
            let code = line.split('#').next().unwrap_or_default();
            if let Some(close) = code.find(['}', ']']) {
                return at + close + 1;
            }
            at += line.len();
        }
        self.text.len()
    }

    fn head_of(&self, entry: &Entry, is_flow: bool) -> Head {
        let colon = self.colon(entry);
        Head {
            end: colon.unwrap_or(entry.at.end),
            column: self.column(entry.at.start),
            is_flow,
            is_missing: colon.is_none(),
        }
    }

    /// Returns the dash of an item, which is the first of the last line that has one.
    fn head_of_item(&self, range: Range<usize>) -> Option<Head> {
        let mut at = range.start;
        let mut dash = None;
        for line in self.text.get(range)?.split_inclusive('\n') {
            let blanks = line.len() - line.trim_start().len();
            if line[blanks..].starts_with('-') {
                dash = Some(at + blanks);
            }
            at += line.len();
        }
        let dash = dash?;
        Some(Head {
            end: dash + 1,
            column: self.column(dash),
            is_flow: false,
            is_missing: false,
        })
    }

    /// Returns the place behind the colon of a key.
    fn colon(&self, entry: &Entry) -> Option<usize> {
        let at = entry.at.end + self.blanks(entry.at.end);
        self.text[at..].starts_with(':').then_some(at + 1)
    }

    /// Returns the `|` or `>` of a text below its key or dash, with what belongs to it.
    fn block_scalar(&self, head: &Head, node: &Node) -> Option<Range<usize>> {
        let body = self.after_line(head.end);
        if head.is_flow || node.is_alias || node.at.start < body {
            return None;
        }
        let line = &self.text[head.end..body];
        let words = line.split_ascii_whitespace();
        let word = words.take_while(|word| !word.starts_with('#')).last()?;
        let at = head.end + line.find(word)?;
        word.starts_with(['|', '>']).then_some(at..at + word.len())
    }

    fn blanks(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        rest.len() - rest.trim_start_matches([' ', '\t']).len()
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    /// Returns the beginning of the line after the one that `at` is in; a place at the beginning of a line stays.
    fn after_line(&self, at: usize) -> usize {
        if self.text[..at].ends_with('\n') {
            return at;
        }
        self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |end| at + end + 1)
    }

    fn column(&self, at: usize) -> usize {
        self.text[self.line_start(at)..at].chars().count()
    }
}

fn new_is_empty(new: &Value) -> bool {
    match new {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn inline_only(new: &Value) -> bool {
    !matches!(new, Value::Object(_) | Value::Array(_)) || new_is_empty(new)
}
