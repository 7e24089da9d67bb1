//! Expands the names in the texts of a workflow file, each text once.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{
    CHAIN_LIMIT, Document, Names, Open, Problem, ProblemKind, Read, TOTAL_LIMIT, VALUE_LIMIT,
};

/// The block whose keys are names, too.
const BLOCK: &str = "variables.";

/// A key of one of the loaded files.
type Key = (usize, String);

/// The workflow file, the configuration files it names, and what is resolved of them so far.
pub(super) struct Resolver<'a> {
    documents: Vec<Document>,
    /// The number of each configuration file that was asked for, or why there is none.
    loaded: BTreeMap<String, Result<usize, String>>,
    names: Names<'a>,
    read: Read<'a>,
    resolved: BTreeMap<Key, Option<Rc<str>>>,
    /// The keys being resolved, outermost first.
    chain: Vec<Key>,
    circular: BTreeSet<Key>,
    total: usize,
    pub(super) open: Vec<Open>,
    pub(super) problems: Vec<Problem>,
    /// The given names that were asked for.
    pub(super) used: BTreeSet<String>,
    pub(super) supplied: Vec<String>,
}

/// A name in braces, with what follows it.
pub(super) struct Reference<'t> {
    pub(super) name: &'t str,
    /// The key after the colon of `{config_source}:key`.
    pub(super) config_key: Option<&'t str>,
    pub(super) end: usize,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(names: Names<'a>, read: Read<'a>) -> Self {
        Self {
            documents: Vec::new(),
            loaded: BTreeMap::new(),
            names,
            read,
            resolved: BTreeMap::new(),
            chain: Vec::new(),
            circular: BTreeSet::new(),
            total: 0,
            open: Vec::new(),
            problems: Vec::new(),
            used: BTreeSet::new(),
            supplied: Vec::new(),
        }
    }

    /// Adds a file, of which the first is the workflow file, and returns its number.
    pub(super) fn add(&mut self, mut document: Document) -> usize {
        let twice = std::mem::take(&mut document.twice);
        let number = self.documents.len();
        self.documents.push(document);
        for (key, first) in twice {
            let message =
                format!("the key is there twice, first in line {first}; the last one counts");
            self.report_at(&(number, key), ProblemKind::Duplicate, message);
        }
        number
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
        let text = field.text.clone();
        let name = key.1.strip_prefix(BLOCK).unwrap_or(&key.1).to_owned();
        let given = self.given(&key.1).or_else(|| self.given(&name));
        if let Some(given) = given.filter(|_| key.0 == 0) {
            if text.is_none() {
                self.supplied.push(key.1.clone());
            }
            self.total = self.total.saturating_add(given.len());
            self.resolved.insert(key, Some(Rc::clone(&given)));
            return Some(given);
        }
        let Some(raw) = text else {
            self.leave(&key, name, true);
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
        if let Some(given) = self.given(name) {
            return Some(given);
        }
        let own = self.chain.last()?.clone();
        let known = self.names.known.get(name);
        let known = known.map(|value| Rc::from(value.as_str()));
        let document = self.documents.get(own.0)?;
        let variable = format!("{BLOCK}{name}");
        // An empty variable is one that the run fills.
        let filled = |key: &str| document.fields.get(key).is_some_and(super::Field::has_text);
        let keys = [
            document.fields.contains_key(name).then_some(name),
            filled(&variable).then_some(variable.as_str()),
        ];
        let mut keys = keys.into_iter().flatten();
        let other = keys.clone().find(|key| *key != own.1);
        // A key that names itself means what the name stands for elsewhere.
        let key = match (other, keys.next()) {
            (Some(key), _) => Some(key),
            (None, Some(itself)) if known.is_none() => Some(itself),
            _ => None,
        };
        if let Some(key) = key {
            let key = key.to_owned();
            return self.enter((own.0, key));
        }
        let container = |key: &str| document.containers.get(key).copied();
        if let Some(what) = container(name).or_else(|| container(&variable)) {
            let message = format!("`{name}` is {what}, and only a text can stand in a text");
            self.report(ProblemKind::NotText, message);
        } else if known.is_none() {
            self.leave(&own, name.to_owned(), false);
        }
        known
    }

    /// Returns the value that somebody gave to a name.
    fn given(&mut self, name: &str) -> Option<Rc<str>> {
        let given = self.names.given.get(name)?;
        self.used.insert(name.to_owned());
        Some(Rc::from(given.as_str()))
    }

    /// Notes that a name in the text of a key is left for the run, once.
    fn leave(&mut self, key: &Key, name: String, required: bool) {
        let open = Open {
            name,
            key: key.1.clone(),
            line: self.line_of(key),
            required,
        };
        if !self.open.contains(&open) {
            self.open.push(open);
        }
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
        let document = match (self.load(path), left_open(path)) {
            (Ok(document), _) => document,
            (Err(_), Some(name)) => {
                let own = self.chain.last()?.clone();
                self.leave(&own, name.to_owned(), false);
                return None;
            }
            (Err(message), None) => {
                self.report(ProblemKind::MissingConfig, message);
                return None;
            }
        };
        let Document {
            fields, containers, ..
        } = self.documents.get(document)?;
        if let Some(what) = containers.get(key) {
            let message =
                format!("`{key}` of `{path}` is {what}, and only a text can stand in a text");
            self.report(ProblemKind::NotText, message);
            return None;
        }
        if !fields.contains_key(key) {
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
            Err(why) => Err(format!("cannot read `{path}`: it {why}")),
            Ok(Err(error)) => Err(match error.line {
                Some(line) => format!("`{path}` cannot be used: line {line}: {}", error.reason),
                None => format!("`{path}` cannot be used: {}", error.reason),
            }),
            Ok(Ok(document)) => Ok(self.add(document)),
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

    /// Returns the line of a key of the workflow file.
    fn line_of(&self, key: &Key) -> Option<usize> {
        let document = self.documents.first().filter(|_| key.0 == 0)?;
        document.fields.get(&key.1).map(|field| field.line)
    }

    fn report_at(&mut self, key: &Key, kind: ProblemKind, message: String) {
        let problem = Problem {
            key: key.1.clone(),
            line: self.line_of(key),
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

/// Returns the first name in a path that has no value.
fn left_open(path: &str) -> Option<&str> {
    let opens = path.match_indices('{').map(|(at, _)| at);
    opens
        .filter_map(|at| reference(path, at))
        .map(|reference| reference.name)
        .next()
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}
