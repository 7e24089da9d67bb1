//! Coherence: a prompt must not tell the agent to use a tool that its policy denies.
//!
//! The check reads words, not meanings: a denied name counts where a word such as `use` or `call` asks for it and
//! nothing before or behind it takes that back. It changes nothing; what it finds is a warning.

mod words;

use std::ops::Range;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::Composition;
use crate::error::line_of;
use crate::reading::Reading;
use crate::recipe::Recipe;
use crate::source::lookup;

use words::{Word, asks_for, sentence};

/// The fields that are looked at where a recipe names none: groups with `enabled`, or a list of names.
const POLICIES: [&str; 2] = ["toolPolicy", "agentDefinition.tools"];
const DENIED: &str = "denied_tools";

/// A sentence that asks for a denied tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Mention {
    /// The tool, as the sentence names it.
    pub tool: String,
    /// The name or pattern that denies it.
    pub denied_by: String,
    /// The first byte of the name in the text.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// The message that it stands in, counted from 1, where the text is a list of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<usize>,
    /// The line of the name in the text or the message, counted from 1.
    pub line: usize,
    /// The sentence, on one line.
    pub sentence: String,
}

/// A sentence of a prompt that asks for a denied tool, with where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The sentence and the tool.
    #[serde(flatten)]
    pub mention: Mention,
    /// The layer, or `frame`.
    pub layer: String,
    /// The section, where the sentence belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The thing the name came from.
    pub source: String,
    /// The line in that thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_line: Option<usize>,
}

/// Returns the fields in which the policy of an input can stand.
pub(crate) fn policies(recipe: &Recipe) -> Vec<&str> {
    match &recipe.denies {
        Some(path) => vec![path],
        None => POLICIES.into_iter().chain([DENIED]).collect(),
    }
}

/// Returns what the policy of an input denies: names, and patterns with `*`.
///
/// A list of texts is taken as it is. In an object of groups, one that is `false` or has `enabled: false` denies its
/// own name and everything below it.
pub(crate) fn denied(recipe: &Recipe, fields: &Map<String, Value>) -> Vec<String> {
    let mut names = Vec::new();
    if let Some(path) = &recipe.denies {
        match lookup(fields, path) {
            Some(Value::Object(groups)) => names.extend(denied_groups(groups)),
            Some(other) => names.extend(listed(other)),
            None => {}
        }
    } else {
        let policies = POLICIES.iter().filter_map(|path| lookup(fields, path));
        for groups in policies.filter_map(Value::as_object) {
            names.extend(denied_groups(groups));
        }
        names.extend(lookup(fields, DENIED).into_iter().flat_map(listed));
    }
    names.sort();
    names.dedup();
    names
}

fn listed(value: &Value) -> Vec<String> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        other => std::slice::from_ref(other),
    };
    let names = items.iter().filter_map(Value::as_str);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn denied_groups(groups: &Map<String, Value>) -> impl Iterator<Item = String> {
    groups
        .iter()
        .filter(|(_, policy)| {
            let enabled = policy.get("enabled").unwrap_or(policy);
            enabled.as_bool() == Some(false)
        })
        .flat_map(|(group, _)| [group.clone(), format!("{group}.*")])
}

/// Returns the sentences of a text that ask for a denied tool.
///
/// ```
/// use callsheet::check::mentions;
///
/// let denied = ["fs.*".to_owned()];
/// let found = mentions("Never use `fs.read`.\nThen call `fs.write` to save.", &denied);
/// assert_eq!(found.len(), 1);
/// assert_eq!((found[0].tool.as_str(), found[0].line), ("fs.write", 2));
/// ```
pub fn mentions(text: &str, denied: &[String]) -> Vec<Mention> {
    if denied.is_empty() {
        return Vec::new();
    }
    let words = words::split(text);
    let mut found: Vec<Mention> = Vec::new();
    let mut told: Option<(usize, &str)> = None;
    for (at, word) in words.iter().enumerate() {
        let Some(pattern) = denied.iter().find(|pattern| matches(pattern, word.text)) else {
            continue;
        };
        // One sentence tells of one tool once.
        if !asks_for(&words, at) || told == Some((word.sentence, word.text)) {
            continue;
        }
        told = Some((word.sentence, word.text));
        found.push(mention(text, &words, word, pattern));
    }
    found
}

fn mention(text: &str, words: &[Word<'_>], word: &Word<'_>, pattern: &str) -> Mention {
    Mention {
        tool: word.text.to_owned(),
        denied_by: pattern.to_owned(),
        start: word.start,
        end: word.end(),
        message: None,
        line: line_of(text, word.start),
        sentence: sentence(text, words, word.sentence),
    }
}

/// Tells whether a name fits a pattern, in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    // What comes first is taken first: whatever follows then has the most room.
    for part in parts {
        let Some(at) = name.find(part) else {
            return false;
        };
        name = &name[at + part.len()..];
    }
    name.ends_with(end)
}

/// Returns the sentences of a prompt that ask for a tool that its policy denies.
pub fn coherence(composition: &Composition) -> Vec<Finding> {
    let reading = Reading::of(&composition.text);
    let texts = reading.texts().into_iter();
    let found = texts.flat_map(|(start, text)| {
        let found = mentions(text, &composition.denied).into_iter();
        found.map(move |mention| (start, mention))
    });
    found
        .map(|(start, mention)| {
            let place = reading.to_prompt(start + mention.start..start + mention.end);
            let message = reading.position(place.start).message;
            finding(composition, place, Mention { message, ..mention })
        })
        .collect()
}

/// Returns a mention with its place in the prompt and where it came from.
fn finding(composition: &Composition, place: Range<usize>, mention: Mention) -> Finding {
    let span = composition.source_map.at(place.start);
    let frame = || crate::source_map::FRAME.to_owned();
    Finding {
        layer: span.map_or_else(frame, |span| span.layer.clone()),
        section: span.and_then(|span| span.section.clone()),
        source: span.map_or_else(frame, |span| span.source.clone()),
        source_line: span.and_then(|span| span.line_at(&composition.text, place.start)),
        mention: Mention {
            start: place.start,
            end: place.end,
            ..mention
        },
    }
}

#[cfg(test)]
mod tests;
