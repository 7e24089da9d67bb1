//! New values for some keys of a YAML header; every other line of it stays as it is.

use serde_json::{Map, Value};

use crate::document::yaml::{self, Kind};
use crate::package::frontmatter;

/// Words that YAML programs take for something else than text.
const WORDS: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Returns the text with new values for some keys of its header.
///
/// A header that cannot be changed line by line is written anew, with all its keys.
pub(super) fn rewrite(text: &str, changes: &[(&str, Value)]) -> Result<String, String> {
    let found = frontmatter::parse(text).map_err(|error| error.to_string())?;
    let mut fields = found.fields.clone();
    for (key, value) in changes {
        fields.insert((*key).to_owned(), value.clone());
    }
    let header = &text[found.header.clone()];
    let whole = |header: String| {
        let (before, after) = (&text[..found.header.start], &text[found.header.end..]);
        format!("{before}{header}{after}")
    };
    let reads_back =
        |candidate: &str| frontmatter::parse(candidate).is_ok_and(|read| read.fields == fields);
    let by_line = by_line(header, changes).map(whole);
    if let Some(new) = by_line.filter(|new| reads_back(new)) {
        return Ok(new);
    }
    let new = whole(with_line_ends(&all(&fields), header));
    if reads_back(&new) {
        Ok(new)
    } else {
        Err("a value cannot be written as YAML".to_owned())
    }
}

/// Replaces the lines of the changed keys, and adds those that are new at the end.
fn by_line(header: &str, changes: &[(&str, Value)]) -> Option<String> {
    let entries = match yaml::parse(header).ok()?.map(|node| node.kind) {
        None | Some(Kind::Null) => Vec::new(),
        Some(Kind::Map(entries)) => entries,
        Some(_) => return None,
    };
    let lines: Vec<&str> = header.split_inclusive('\n').collect();
    let mut out = String::with_capacity(header.len());
    let mut next = 0;
    for (at, entry) in entries.iter().enumerate() {
        let start = entry.line - 1;
        let end = entries
            .get(at + 1)
            .map_or(lines.len(), |entry| entry.line - 1);
        out.push_str(&lines.get(next..start)?.concat());
        let own = lines.get(start..end)?;
        next = end;
        match changes.iter().find(|(key, _)| *key == entry.key) {
            None => out.push_str(&own.concat()),
            Some((key, value)) => {
                // Comments and blank lines below a value belong to what follows.
                let tail = own
                    .iter()
                    .rev()
                    .take_while(|line| line.trim().is_empty() || line.starts_with('#'))
                    .count();
                out.push_str(&with_line_ends(&pair(key, value), header));
                out.push_str(&own[own.len() - tail..].concat());
            }
        }
    }
    out.push_str(&lines.get(next..)?.concat());
    for (key, value) in changes {
        if !entries.iter().any(|entry| entry.key == *key) {
            out.push_str(&with_line_ends(&pair(key, value), header));
        }
    }
    Some(out)
}

fn with_line_ends(text: &str, like: &str) -> String {
    if like.contains("\r\n") {
        text.replace('\n', "\r\n")
    } else {
        text.to_owned()
    }
}

fn all(fields: &Map<String, Value>) -> String {
    fields.iter().map(|(key, value)| pair(key, value)).collect()
}

/// Returns a key with its value: items of lists and fields of maps on lines of their own, what is deeper as JSON.
fn pair(key: &str, value: &Value) -> String {
    let key = scalar(&Value::from(key));
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| format!("  - {}\n", scalar(item)));
            format!("{key}:\n{}", items.collect::<String>())
        }
        Value::Object(fields) if !fields.is_empty() => {
            let fields = fields.iter().map(|(name, value)| {
                format!(
                    "  {}: {}\n",
                    scalar(&Value::from(name.as_str())),
                    scalar(value)
                )
            });
            format!("{key}:\n{}", fields.collect::<String>())
        }
        value => format!("{key}: {}\n", scalar(value)),
    }
}

/// Returns a value as JSON, which is YAML too; a text that can be nothing else needs no quotes.
fn scalar(value: &Value) -> String {
    match value.as_str() {
        Some(text) if is_plain(text) => text.to_owned(),
        _ => value.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte))
        && !WORDS.contains(&text.to_lowercase().as_str())
}
