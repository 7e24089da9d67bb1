//! Frontmatter: finds the header of a file and reads the fields we know; other fields are nobody's business.
//!
//! Nothing here fails. What cannot be used is left out and becomes a diagnostic.

use std::ops::Range;

use super::diagnostic::{Diagnostic, DiagnosticKind};
use super::file::{Language, Variable};
use crate::document::yaml::{self, Entry, Kind, Node};

/// The header and the body as byte ranges of the file's text.
pub(super) struct Split {
    pub(super) header: Range<usize>,
    pub(super) body: usize,
}

/// Finds a header: the first line and a later one are exactly `---`, blanks at their ends aside.
pub(super) fn split(text: &str) -> Option<Split> {
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next().filter(|line| is_fence(line))?;
    let start = opening.len();
    let mut end = start;
    for line in lines {
        if is_fence(line) {
            return Some(Split {
                header: start..end,
                body: end + line.len(),
            });
        }
        end += line.len();
    }
    None
}

/// Tells whether a text begins like a header that is never closed: a fence, and then a key.
pub(super) fn is_unclosed(text: &str) -> bool {
    let mut lines = text.split('\n');
    let opens = lines.next().is_some_and(is_fence);
    let first = lines.find(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let is_key = first
        .and_then(|line| line.split_once(':'))
        .is_some_and(|(key, rest)| {
            let word = key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            word && !key.is_empty() && (rest.trim().is_empty() || rest.starts_with([' ', '\t']))
        });
    opens && is_key && split(text).is_none()
}

fn is_fence(line: &str) -> bool {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.trim_end_matches([' ', '\t']) == "---"
}

/// What a header says.
#[derive(Default)]
pub(super) struct Header {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) category: Option<String>,
    pub(super) version: Option<String>,
    pub(super) language: Language,
    pub(super) tags: Vec<String>,
    pub(super) variables: Vec<Variable>,
    /// The line in the file that declares each of `variables`.
    pub(super) lines: Vec<usize>,
    /// Whether there is a list of variables, be it an empty one.
    pub(super) lists_variables: bool,
}

/// Reads a header that starts in the second line of `file`; nothing if it is no YAML mapping.
pub(super) fn read(file: &str, text: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Header> {
    let mut reader = FrontmatterReader { file, diagnostics };
    match yaml::parse(text) {
        Ok(None) => Some(Header::default()),
        Ok(Some(Node {
            kind: Kind::Map(entries),
            ..
        })) => Some(reader.header(&entries)),
        Ok(Some(Node {
            kind: Kind::Null, ..
        })) => Some(Header::default()),
        Ok(Some(node)) => {
            reader.report(Some(node.line), "the frontmatter is not a mapping");
            None
        }
        Err(error) => {
            let reason = error.reason;
            reader.report(
                error.line,
                &format!("the frontmatter is not valid YAML: {reason}"),
            );
            None
        }
    }
}

struct FrontmatterReader<'a> {
    file: &'a str,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl FrontmatterReader<'_> {
    fn report(&mut self, line: Option<usize>, message: &str) {
        self.diagnostics.push(Diagnostic {
            file: self.file.to_owned(),
            line: line.map(|line| line + 1),
            kind: DiagnosticKind::Frontmatter,
            message: message.to_owned(),
        });
    }

    fn header(&mut self, entries: &[Entry]) -> Header {
        for (at, entry) in entries.iter().enumerate() {
            if entries[..at].iter().any(|before| before.key == entry.key) {
                let message = format!("`{}` is there twice; the last one counts", entry.key);
                self.report(Some(entry.line), &message);
            }
        }
        let mut header = Header {
            name: self
                .text(entries, "name")
                .filter(|name| !crate::text::strip(name).is_empty()),
            description: self.text(entries, "description"),
            category: self.text(entries, "category"),
            version: self.text(entries, "version"),
            language: self.language(entries),
            tags: self.tags(entries),
            ..Header::default()
        };
        if let Some(entry) = yaml::get(entries, "variables") {
            header.lists_variables = matches!(entry.value.kind, Kind::List(_));
            self.variables(entry, &mut header);
        }
        header
    }

    fn text(&mut self, entries: &[Entry], key: &str) -> Option<String> {
        let entry = yaml::get(entries, key)?;
        match &entry.value.kind {
            Kind::Null => None,
            Kind::Scalar(text) => Some(text.clone()),
            Kind::List(_) | Kind::Map(_) => {
                self.report(Some(entry.line), &format!("`{key}` is not plain text"));
                None
            }
        }
    }

    fn language(&mut self, entries: &[Entry]) -> Language {
        match self.text(entries, "engine").as_deref() {
            None | Some("plain") => Language::Plain,
            Some("jinja") => Language::Jinja,
            Some(other) => {
                let line = yaml::get(entries, "engine").map(|entry| entry.line);
                let message = format!("`engine` is `plain` or `jinja`, not `{other}`");
                self.report(line, &message);
                Language::Plain
            }
        }
    }

    fn tags(&mut self, entries: &[Entry]) -> Vec<String> {
        let Some(entry) = yaml::get(entries, "tags") else {
            return Vec::new();
        };
        let items = match &entry.value.kind {
            Kind::Null => return Vec::new(),
            Kind::Scalar(tag) => return vec![tag.clone()],
            Kind::List(items) => items.as_slice(),
            Kind::Map(_) => std::slice::from_ref(&entry.value),
        };
        let mut tags = Vec::new();
        for item in items {
            match &item.kind {
                Kind::Scalar(tag) => tags.push(tag.clone()),
                _ => self.report(Some(item.line), "a tag is not plain text"),
            }
        }
        tags
    }

    fn variables(&mut self, entry: &Entry, header: &mut Header) {
        let items = match &entry.value.kind {
            Kind::Null => return,
            Kind::List(items) => items,
            Kind::Scalar(_) | Kind::Map(_) => {
                self.report(Some(entry.line), "`variables` is not a list");
                return;
            }
        };
        for item in items {
            let Some(variable) = self.variable(item) else {
                continue;
            };
            if header.variables.iter().any(|old| old.name == variable.name) {
                let message = format!("variable `{}` is declared twice", variable.name);
                self.report(Some(item.line), &message);
                continue;
            }
            header.variables.push(variable);
            header.lines.push(item.line + 1);
        }
    }

    fn variable(&mut self, item: &Node) -> Option<Variable> {
        let variable = match &item.kind {
            Kind::Scalar(name) => Variable {
                name: name.clone(),
                description: None,
                required: false,
                default: None,
            },
            Kind::Map(entries) => Variable {
                name: self.text(entries, "name").unwrap_or_default(),
                description: self.text(entries, "description"),
                required: self.required(entries),
                default: self.text(entries, "default"),
            },
            Kind::Null | Kind::List(_) => Variable::default(),
        };
        if crate::text::strip(&variable.name).is_empty() {
            self.report(Some(item.line), "a variable has no name");
            return None;
        }
        Some(variable)
    }

    fn required(&mut self, entries: &[Entry]) -> bool {
        let Some(text) = self.text(entries, "required") else {
            return false;
        };
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => true,
            "false" | "no" | "off" | "0" | "" => false,
            _ => {
                let line = yaml::get(entries, "required").map(|entry| entry.line);
                self.report(line, &format!("`required` is true or false, not `{text}`"));
                true
            }
        }
    }
}
