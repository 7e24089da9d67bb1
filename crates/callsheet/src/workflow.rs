//! Variables of `workflow.yaml` files: which text each key stands for once every `{name}` in it is known.
//!
//! No clock and no disk: `system-generated` stays as it is, and a configuration file is asked for by its path.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::document::Malformed;
use crate::document::yaml::{self, Entry, Kind};
use crate::{Error, ErrorKind};

mod expand;
mod fill;

pub use fill::{Filled, fill};

/// The number of bytes a resolved value may have.
pub(crate) const VALUE_LIMIT: usize = 64 * 1024;

/// The number of bytes all resolved values together may have.
pub(crate) const TOTAL_LIMIT: usize = 16 * 1024 * 1024;

/// The number of keys that may refer to each other in a row.
pub(crate) const CHAIN_LIMIT: usize = 64;

/// The number of bytes a dotted path may have: nested keys repeat the names above them.
const PATH_LIMIT: usize = 1024;

/// What a workflow file says once its variables are resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Resolved {
    /// The values in file order, nested keys and list items by their dotted path.
    pub values: Vec<(String, String)>,
    /// The names that are left for the run; the text stays as it stands there.
    pub open: Vec<Open>,
    /// What could not be resolved; the text stays as it stands there.
    pub problems: Vec<Problem>,
    /// The given names that nothing uses.
    pub unused: Vec<String>,
    /// The keys of required variables that the file has no value for, and that were given one.
    pub supplied: Vec<String>,
}

/// A name that has no value yet, because only a run has one for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Open {
    /// The name.
    pub name: String,
    /// The dotted path of the key whose text it is in.
    pub key: String,
    /// The line of that key in the workflow file; nothing if it is in a configuration file.
    pub line: Option<usize>,
    /// Whether the file declares it as a variable that is required.
    pub required: bool,
}

/// Something that could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The dotted path of the key whose text it is in.
    pub key: String,
    /// The line of that key in the workflow file; nothing if it is in a configuration file.
    pub line: Option<usize>,
    /// What a caller can branch on.
    pub kind: ProblemKind,
    /// The sentence for people: lower case, no period, user values in backticks.
    pub message: String,
}

/// What kind of problem it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProblemKind {
    /// A key is there twice.
    Duplicate,
    /// A name stands for a list or a mapping.
    NotText,
    /// Keys refer to each other in a circle.
    Cycle,
    /// A configuration file cannot be read.
    MissingConfig,
    /// A configuration file does not have the key.
    MissingKey,
    /// A value grows past its limit, or refers too deep.
    TooLong,
}

/// The values that a workflow file does not say itself.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The values that somebody gives; they win over those of the file.
    pub given: &'a BTreeMap<String, String>,
    /// The values of names that the file does not have.
    pub known: &'a BTreeMap<String, String>,
}

/// Returns the text of a configuration file by its path, or what stands behind its name in a sentence: `does not exist`.
pub type Read<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Resolves the variables of a workflow file.
///
/// `{name}` is a given value, the file's own key of that name, a variable of its block `variables`, or a known value; a name
/// without any is left for the run. `{config_source}:key`, or any name that ends in `_source`, is the key of the YAML file
/// that the name stands for, which `read` gives by its path. Doubled braces belong to prompt templates and stay.
///
/// ```
/// use std::collections::BTreeMap;
/// use callsheet::workflow::{Names, resolve};
///
/// let text = "config_source: config.yaml\nfolder: '{config_source}:out'\nfile: '{folder}/{name}-{story}.md'\n";
/// let read = |path: &str| match path {
///     "config.yaml" => Ok("out: build".to_owned()),
///     _ => Err("does not exist".to_owned()),
/// };
/// let given = BTreeMap::from([("name".to_owned(), "plan".to_owned())]);
/// let names = Names { given: &given, known: &BTreeMap::new() };
/// let resolved = resolve(text, "workflow.yaml", names, &read)?;
///
/// assert_eq!(resolved.values[1], ("folder".to_owned(), "build".to_owned()));
/// assert_eq!(resolved.values[2].1, "build/plan-{story}.md", "what has no value stays");
/// assert_eq!(resolved.open[0].name, "story");
/// # Ok::<(), callsheet::Error>(())
/// ```
pub fn resolve(
    text: &str,
    file: &str,
    names: Names<'_>,
    read: Read<'_>,
) -> Result<Resolved, Error> {
    let document = Document::parse(text)
        .map_err(|error| Error::new(ErrorKind::BadInput, error.reason).at(file, error.line))?;
    let keys: Vec<String> = document.order.clone();
    let mut resolver = expand::Resolver::new(names, read);
    resolver.add(document);
    let values = keys
        .into_iter()
        .filter_map(|key| Some((key.clone(), resolver.value(&key)?)))
        .collect();
    let unused = names
        .given
        .keys()
        .filter(|name| !resolver.used.contains(*name));
    Ok(Resolved {
        values,
        unused: unused.cloned().collect(),
        open: resolver.open,
        problems: resolver.problems,
        supplied: resolver.supplied,
    })
}

/// A YAML file as texts by dotted path.
struct Document {
    order: Vec<String>,
    fields: BTreeMap<String, Field>,
    /// What the keys are that hold more than a text.
    containers: BTreeMap<String, &'static str>,
    /// The keys that are there twice, with the line of the first.
    twice: Vec<(String, usize)>,
}

/// A text as written, or a required variable that has none.
struct Field {
    text: Option<Rc<str>>,
    line: usize,
}

impl Field {
    fn has_text(&self) -> bool {
        self.text.as_deref().is_none_or(|text| !text.is_empty())
    }
}

impl Document {
    fn parse(text: &str) -> Result<Self, Malformed> {
        let mut document = Self {
            order: Vec::new(),
            fields: BTreeMap::new(),
            containers: BTreeMap::new(),
            twice: Vec::new(),
        };
        let parsed = yaml::parse(text).map_err(|error| Malformed {
            reason: format!("not valid YAML: {}", error.reason),
            ..error
        })?;
        match parsed.map(|node| (node.line, node.kind)) {
            None | Some((_, Kind::Null)) => {}
            Some((_, Kind::Map(entries))) => {
                for entry in &entries {
                    document.add(&entry.key, entry.line, &entry.value.kind)?;
                }
            }
            Some((line, _)) => {
                return Err(Malformed::at(line, "the file is not a mapping"));
            }
        }
        Ok(document)
    }

    fn add(&mut self, path: &str, line: usize, kind: &Kind) -> Result<(), Malformed> {
        if path.len() > PATH_LIMIT {
            let reason = format!("a key is longer than {PATH_LIMIT} bytes");
            return Err(Malformed::at(line, reason));
        }
        match kind {
            Kind::Null => self.put(path, line, Some("")),
            Kind::Scalar(text) => self.put(path, line, Some(text)),
            Kind::List(items) => {
                self.containers.insert(path.to_owned(), "a list");
                for (at, item) in items.iter().enumerate() {
                    self.add(&format!("{path}.{at}"), item.line, &item.kind)?;
                }
            }
            Kind::Map(entries) if is_variable(path, entries) => {
                match yaml::get(entries, "default").map(|entry| &entry.value.kind) {
                    Some(Kind::Scalar(default)) => self.put(path, line, Some(default)),
                    _ if is_required(entries) => self.put(path, line, None),
                    _ => {}
                }
            }
            Kind::Map(entries) => {
                self.containers.insert(path.to_owned(), "a mapping");
                for entry in entries {
                    let path = format!("{path}.{}", entry.key);
                    self.add(&path, entry.line, &entry.value.kind)?;
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, path: &str, line: usize, text: Option<&str>) {
        let text = text.map(Rc::from);
        let old = self.fields.insert(path.to_owned(), Field { text, line });
        match old {
            Some(old) => self.twice.push((path.to_owned(), old.line)),
            None => self.order.push(path.to_owned()),
        }
    }
}

/// Tells whether a mapping describes a variable instead of holding values of its own.
fn is_variable(path: &str, entries: &[Entry]) -> bool {
    let known = |key: &str| matches!(key, "description" | "required" | "default");
    let telling = |key: &str| matches!(key, "required" | "default");
    !entries.is_empty()
        && entries.iter().all(|entry| known(&entry.key))
        && (path.starts_with("variables.") || entries.iter().any(|entry| telling(&entry.key)))
}

fn is_required(entries: &[Entry]) -> bool {
    yaml::get(entries, "required").is_some_and(|entry| match &entry.value.kind {
        Kind::Scalar(text) => matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "yes" | "on" | "1"
        ),
        _ => false,
    })
}

/// Returns the values that the prompts of a sprint know: the stories, their epic, and the review attempt.
pub fn prompt_variables(story_keys: &[String], review_attempt: u32) -> Map<String, Value> {
    let first = story_keys.first().map(String::as_str).unwrap_or_default();
    [
        ("story_key", first.to_owned()),
        ("story_keys", story_keys.join(",")),
        ("epic_id", epic_id(first).to_owned()),
        ("review_attempt", review_attempt.to_string()),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), Value::String(text)))
    .collect()
}

/// Returns the epic of a story key: `2a` of `2a-1-slug`, `5-sr` of `5-sr-3`.
///
/// A key of another form gives what stands before its last hyphen, or itself.
pub fn epic_id(key: &str) -> &str {
    numbered_epic(key)
        .or_else(|| key.rsplit_once('-').map(|(epic, _)| epic))
        .unwrap_or(key)
}

fn numbered_epic(key: &str) -> Option<&str> {
    let bytes = key.as_bytes();
    let run = |from: usize, test: fn(&u8) -> bool| {
        from + bytes[from..].iter().take_while(|byte| test(byte)).count()
    };
    let mut end = run(0, u8::is_ascii_digit);
    if end == 0 {
        return None;
    }
    end += usize::from(bytes.get(end).is_some_and(u8::is_ascii_lowercase));
    if bytes.get(end) == Some(&b'-') {
        let word = run(end + 1, u8::is_ascii_lowercase);
        end = if word > end + 1 { word } else { end };
    }
    match bytes.get(end..end + 2) {
        Some([b'-', digit]) if digit.is_ascii_digit() => Some(&key[..end]),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
