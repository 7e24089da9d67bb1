//! Which jinja templates pull in which others, as far as the source says so literally.
//!
//! The engine does not give away its syntax tree, so tags are found by a scan that knows comments, strings and raw
//! blocks. A name that is computed is not followed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::file::Template;
use crate::{Error, ErrorKind};

/// One tag that pulls in another template.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Include {
    /// The names to try, in order; none if the name is computed.
    pub(super) targets: Vec<String>,
    /// Where the tag starts in the body.
    pub(super) offset: usize,
    /// Whether the template goes on without it.
    pub(super) optional: bool,
}

/// Returns the tags of a body that pull in another template.
pub(super) fn includes(body: &str) -> Vec<Include> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = memchr::memchr(b'{', &body.as_bytes()[at..]).map(|skip| at + skip) {
        let inside = offset + 2;
        let end = match body.as_bytes().get(offset + 1) {
            Some(b'#') => {
                memchr::memmem::find(&body.as_bytes()[inside..], b"#}").map(|n| inside + n)
            }
            Some(b'{') => code_end(body, inside, "}}"),
            Some(b'%') => code_end(body, inside, "%}"),
            _ => {
                at = offset + 1;
                continue;
            }
        };
        let Some(end) = end else { break };
        at = end + 2;
        if body.as_bytes()[offset + 1] != b'%' {
            continue;
        }
        let tag = body[inside..end].trim_matches(['-', '+']).trim();
        if tag == "raw" {
            let Some(end) = raw_end(body, at) else { break };
            at = end;
        } else if let Some(include) = include(tag, offset) {
            found.push(include);
        }
    }
    found
}

/// Returns where code ends that starts at `from`; strings may hold anything.
fn code_end(body: &str, from: usize, close: &str) -> Option<usize> {
    let bytes = body.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'"' | b'\'') => at += literal_len(&bytes[at..], quote)?,
            _ if bytes[at..].starts_with(close.as_bytes()) => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Returns the length of a string literal with its quotes.
fn literal_len(bytes: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

fn raw_end(body: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memmem::find(&body.as_bytes()[at..], b"{%")? + 2;
        if let Some(rest) = after_endraw(&body[at..]) {
            return Some(body.len() - rest.len());
        }
    }
}

/// Returns what follows the tag, whose opening is read already, that ends a raw block.
fn after_endraw(text: &str) -> Option<&str> {
    let word = unsigned(text).trim_start().strip_prefix("endraw")?;
    unsigned(word.trim_start()).strip_prefix("%}")
}

/// Returns the text without the sign that controls white space.
fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn include(tag: &str, offset: usize) -> Option<Include> {
    let word = tag
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(tag.len());
    if !matches!(&tag[..word], "include" | "extends" | "import" | "from") {
        return None;
    }
    let expression = tag[word..].trim_start();
    let (targets, rest) = match expression.strip_prefix(['[', '(']) {
        Some(list) => literals(list),
        None => match literal(expression) {
            Some((target, rest)) => (vec![target], rest),
            None => (Vec::new(), ""),
        },
    };
    let next = rest.trim_start();
    let goes_on = ["as", "import", "ignore", "with", "without"]
        .iter()
        .any(|word| next.split_whitespace().next() == Some(word));
    Some(Include {
        targets: if next.is_empty() || goes_on {
            targets
        } else {
            Vec::new()
        },
        offset,
        optional: next.starts_with("ignore"),
    })
}

/// Returns the leading string literal and what follows it; none if it has escapes.
fn literal(text: &str) -> Option<(String, &str)> {
    let quote = text
        .bytes()
        .next()
        .filter(|byte| matches!(byte, b'"' | b'\''))?;
    let len = literal_len(text.as_bytes(), quote)?;
    let inner = &text[1..len - 1];
    (!inner.contains('\\')).then(|| (inner.to_owned(), &text[len..]))
}

/// Returns the string literals of a list and what follows it; none if anything else is in it.
fn literals(list: &str) -> (Vec<String>, &str) {
    let mut targets = Vec::new();
    let mut rest = list.trim_start();
    while let Some((target, after)) = literal(rest) {
        targets.push(target);
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    match rest.strip_prefix([']', ')']) {
        Some(rest) => (targets, rest),
        None => (Vec::new(), ""),
    }
}

/// Who pulls in whom among the templates of a set.
pub(super) struct Graph<'a> {
    templates: &'a [Template],
    index: BTreeMap<String, usize>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(templates: &'a [Template]) -> Self {
        Self {
            templates,
            index: names(templates),
        }
    }

    /// Tells whether a template of that name can be pulled in.
    pub(super) fn has(&self, name: &str) -> bool {
        self.index.contains_key(name)
    }

    fn edges(&self, template: &Template) -> VecDeque<(usize, usize)> {
        includes(template.body.text())
            .iter()
            .filter_map(|include| {
                let target = include
                    .targets
                    .iter()
                    .find_map(|name| self.index.get(name))?;
                Some((*target, include.offset))
            })
            .collect()
    }

    /// Returns the template and all it pulls in; nothing if a computed name hides what that is.
    pub(super) fn reach(&self, start: &'a Template) -> Option<Vec<&'a Template>> {
        let mut seen = BTreeSet::new();
        let mut reached = vec![start];
        let mut next = 0;
        while let Some(&template) = reached.get(next) {
            next += 1;
            for include in includes(template.body.text()) {
                if include.targets.is_empty() {
                    return None;
                }
                let targets = include
                    .targets
                    .iter()
                    .filter_map(|name| self.index.get(name));
                reached.extend(
                    targets
                        .filter(|&&target| seen.insert(target))
                        .map(|&target| &self.templates[target]),
                );
            }
        }
        Some(reached)
    }

    /// Returns the error for the first cycle that rendering `start` could run into.
    pub(super) fn cycle_from(&self, start: &Template, done: &mut BTreeSet<usize>) -> Option<Error> {
        let known = self.templates.iter().position(|other| other == start);
        let mut walk = vec![Step {
            template: start,
            at: known,
            edges: self.edges(start),
        }];
        loop {
            let step = walk.last_mut()?;
            let Some((target, offset)) = step.edges.pop_front() else {
                done.extend(step.at);
                walk.pop();
                continue;
            };
            let closing = step.template;
            if let Some(first) = walk.iter().position(|step| step.at == Some(target)) {
                let mut files: Vec<&str> = walk[first..]
                    .iter()
                    .map(|step| step.template.file.as_str())
                    .collect();
                files.push(&self.templates[target].file);
                let detail = format!("templates include each other: `{}`", files.join(" → "));
                return Some(
                    Error::new(ErrorKind::BadTemplate, detail)
                        .at(&closing.file, closing.line_at(offset)),
                );
            }
            if !done.contains(&target) {
                let template = &self.templates[target];
                walk.push(Step {
                    template,
                    at: Some(target),
                    edges: self.edges(template),
                });
            }
        }
    }
}

/// A template being walked, and what it pulls in that was not walked yet.
struct Step<'a> {
    template: &'a Template,
    at: Option<usize>,
    edges: VecDeque<(usize, usize)>,
}

/// Returns every name that an include can use: a file name first, then a declared name, then a stem.
pub(super) fn names(templates: &[Template]) -> BTreeMap<String, usize> {
    let mut index = BTreeMap::new();
    let mut add = |name: &str, at: usize| {
        if !name.contains(['/', '\\']) {
            index.entry(name.to_owned()).or_insert(at);
        }
    };
    for (at, template) in templates.iter().enumerate() {
        add(&template.file, at);
    }
    for (at, template) in templates.iter().enumerate() {
        if template.names_itself {
            add(&template.name, at);
        }
    }
    for (at, template) in templates.iter().enumerate() {
        add(&template.stem, at);
    }
    index
}
