//! Expands the names in the texts of a workflow file, each text once.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{CHAIN_LIMIT, Document, Problem, ProblemKind, TOTAL_LIMIT, VALUE_LIMIT};

/// A key of one of the loaded files.
type Key = (usize, String);

/// The workflow file, the configuration files it names, and what is resolved of them so far.
pub(super) struct Resolver<'a> {
    documents: Vec<Document>,
    /// The number of each configuration file that was asked for, or why there is none.
    loaded: BTreeMap<String, Result<usize, String>>,
    known: &'a BTreeMap<String, String>,
    read: &'a dyn Fn(&str) -> Option<String>,
    resolved: BTreeMap<Key, Option<Rc<str>>>,
    /// The keys being resolved, outermost first.
    chain: Vec<Key>,
    circular: BTreeSet<Key>,
    total: usize,
    pub(super) problems: Vec<Problem>,
}

/// A name in braces, with what follows it.
pub(super) struct Reference<'t> {
    pub(super) name: &'t str,
    /// The key after the colon of `{config_source}:key`.
    pub(super) config_key: Option<&'t str>,
    pub(super) end: usize,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(
        document: Document,
        known: &'a BTreeMap<String, String>,
        read: &'a dyn Fn(&str) -> Option<String>,
    ) -> Self {
        Self {
            documents: vec![document],
            loaded: BTreeMap::new(),
            known,
            read,
            resolved: BTreeMap::new(),
            chain: Vec::new(),
            circular: BTreeSet::new(),
            total: 0,
            problems: Vec::new(),
        }
    }

    /// Returns the value of a key of the workflow file.
    pub(super) fn value(&mut self, key: &str) -> Option<String> {
        self.key_value((0, key.to_owned()))
            .as_deref()
            .map(str::to_owned)
    }

    fn key_value(&mut self, key: Key) -> Option<Rc<str>> {
        if let Some(value) = self.resolved.get(&key) {
            return value.clone();
        }
        let field = self.documents.get(key.0)?.fields.get(&key.1)?;
        let Some(raw) = field.text.clone() else {
            self.chain.push(key.clone());
            let message = "a required variable has no default".to_owned();
            self.report(ProblemKind::Unresolved, message);
            self.chain.pop();
            self.resolved.insert(key, None);
            return None;
        };
        self.chain.push(key.clone());
        let mut value: Rc<str> = match self.expand(&raw) {
            Some(text) => text.into(),
            None => Rc::clone(&raw),
        };
        self.chain.pop();
        if self.circular.contains(&key) {
            value = raw;
        }
        self.total = self.total.saturating_add(value.len());
        self.resolved.insert(key, Some(Rc::clone(&value)));
        Some(value)
    }

    /// Returns the text with its names replaced; nothing if it grows past a limit.
    fn expand(&mut self, raw: &str) -> Option<String> {
        let mut out = String::new();
        let mut copied = 0;
        let mut at = 0;
        while let Some(open) = raw[at..].find('{').map(|skip| at + skip) {
            let Some(reference) = reference(raw, open) else {
                at = open + raw[open..].bytes().take_while(|&byte| byte == b'{').count();
                continue;
            };
            at = reference.end;
            if let Some(value) = self.lookup(&reference) {
                out.push_str(&raw[copied..open]);
                out.push_str(&value);
                copied = reference.end;
            }
            let len = out.len() + raw.len() - copied;
            let over = if len > VALUE_LIMIT {
                format!("grows past {VALUE_LIMIT} bytes")
            } else if self.total.saturating_add(len) > TOTAL_LIMIT {
                format!("all values together grow past {TOTAL_LIMIT} bytes")
            } else {
                continue;
            };
            self.report(ProblemKind::TooLong, over);
            return None;
        }
        out.push_str(&raw[copied..]);
        Some(out)
    }

    fn lookup(&mut self, reference: &Reference<'_>) -> Option<Rc<str>> {
        let value = self.named(reference.name)?;
        match reference.config_key {
            Some(key) => self.config(&value, key),
            None => Some(value),
        }
    }

    fn named(&mut self, name: &str) -> Option<Rc<str>> {
        let document = self.chain.last().map_or(0, |key| key.0);
        let key = (document, name.to_owned());
        let known = self.known.get(name).map(|value| Rc::from(value.as_str()));
        if !self.documents.get(document)?.fields.contains_key(name) {
            if known.is_none() {
                let message = format!("`{name}` has no value");
                self.report(ProblemKind::Unresolved, message);
            }
            return known;
        }
        if self.chain.last() == Some(&key) && known.is_some() {
            return known;
        }
        self.enter(key)
    }

    /// Returns the value of a key on the way of resolving another one.
    fn enter(&mut self, key: Key) -> Option<Rc<str>> {
        if let Some(first) = self.chain.iter().position(|member| *member == key) {
            self.report_cycle(first);
            return None;
        }
        if self.chain.len() >= CHAIN_LIMIT && !self.resolved.contains_key(&key) {
            let message = format!("refers through more than {CHAIN_LIMIT} keys");
            self.report(ProblemKind::TooLong, message);
            return None;
        }
        self.key_value(key)
    }

    fn config(&mut self, path: &str, key: &str) -> Option<Rc<str>> {
        let document = match self.load(path) {
            Ok(document) => document,
            Err(message) => {
                self.report(ProblemKind::MissingConfig, message);
                return None;
            }
        };
        if !self.documents.get(document)?.fields.contains_key(key) {
            let message = format!("`{path}` has no key `{key}`");
            self.report(ProblemKind::MissingKey, message);
            return None;
        }
        self.enter((document, key.to_owned()))
    }

    fn load(&mut self, path: &str) -> Result<usize, String> {
        if let Some(loaded) = self.loaded.get(path) {
            return loaded.clone();
        }
        let loaded = match (self.read)(path).map(|text| Document::parse(&text)) {
            None => Err(format!("cannot read `{path}`")),
            Some(Err(error)) => Err(format!("`{path}` cannot be used: {}", error.reason)),
            Some(Ok(document)) => {
                self.documents.push(document);
                Ok(self.documents.len() - 1)
            }
        };
        self.loaded.insert(path.to_owned(), loaded.clone());
        loaded
    }

    fn report_cycle(&mut self, first: usize) {
        let members = &self.chain[first..];
        let mut names: Vec<&str> = members.iter().map(|key| key.1.as_str()).collect();
        names.extend(members.first().map(|key| key.1.as_str()));
        let message = format!("refers to itself: `{}`", names.join(" → "));
        self.circular.extend(members.iter().cloned());
        if let Some(key) = members.first().cloned() {
            self.report_at(&key, ProblemKind::Cycle, message);
        }
    }

    /// Adds a problem of the key being resolved, once.
    fn report(&mut self, kind: ProblemKind, message: String) {
        if let Some(key) = self.chain.last().cloned() {
            self.report_at(&key, kind, message);
        }
    }

    fn report_at(&mut self, key: &Key, kind: ProblemKind, message: String) {
        let fields = self.documents.first().map(|document| &document.fields);
        let line = (key.0 == 0)
            .then(|| fields.and_then(|fields| fields.get(&key.1)))
            .flatten()
            .map(|field| field.line);
        let problem = Problem {
            key: key.1.clone(),
            line,
            kind,
            message,
        };
        // All problems of one text come in a row, unless another key is resolved in between.
        if !self
            .problems
            .iter()
            .rev()
            .take(CHAIN_LIMIT)
            .any(|old| *old == problem)
        {
            self.problems.push(problem);
        }
    }
}

/// Returns the reference that opens at `open`; doubled braces and other text in braces are none.
pub(super) fn reference(raw: &str, open: usize) -> Option<Reference<'_>> {
    let name_len = raw[open + 1..].find(|c| !is_name(c))?;
    let name = &raw[open + 1..open + 1 + name_len];
    let close = open + 1 + name_len;
    if name.is_empty() || raw.as_bytes()[close] != b'}' {
        return None;
    }
    let plain = Reference {
        name,
        config_key: None,
        end: close + 1,
    };
    if !name.ends_with("_source") {
        return Some(plain);
    }
    let Some(rest) = raw[close + 1..].strip_prefix(':') else {
        return Some(plain);
    };
    let len = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    let key = rest[..len].trim_end_matches(['.', '-']);
    if key.is_empty() {
        return Some(plain);
    }
    Some(Reference {
        name,
        config_key: Some(key),
        end: close + 2 + key.len(),
    })
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}
