//! Fills the instructions of a workflow with its variables, in bounds.
//!
//! `{name}` and `{config_source}:key` come first, then `{{name}}`. What has no value stays as it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::expand::reference;
use super::{Names, Read, TOTAL_LIMIT, resolve};
use crate::template::placeholders;
use crate::{Error, ErrorKind};

/// A text whose names were replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filled {
    /// The text.
    pub text: String,
    /// The names in doubled braces that have no value, in order of their first use.
    pub missing: Vec<String>,
}

/// Replaces the names of a text by values; `read` gives the configuration files that it refers to.
///
/// ```
/// use std::collections::BTreeMap;
///
/// let values = BTreeMap::from([("story_key".to_owned(), "2a-1".to_owned()), ("dir".to_owned(), "out".to_owned())]);
/// let filled = callsheet::workflow::fill("{dir}/{{story_key}}.md {else} {{other}}", "i.md", &values, &|_| Err("is gone".to_owned()))?;
/// assert_eq!(filled.text, "out/2a-1.md {else} {{other}}");
/// assert_eq!(filled.missing, ["other"]);
/// # Ok::<(), callsheet::Error>(())
/// ```
pub fn fill(
    text: &str,
    file: &str,
    values: &BTreeMap<String, String>,
    read: Read<'_>,
) -> Result<Filled, Error> {
    let mut parts: Vec<(Range<usize>, &str)> = Vec::new();
    let configured = configured(text, file, values, read)?;
    for (range, name, key) in references(text) {
        let value = match key {
            Some(key) => configured.get(&(name, key)),
            None => values.get(name),
        };
        parts.extend(value.map(|value| (range, value.as_str())));
    }
    let text = replaced(text, &parts, file)?;
    let mut missing = Vec::new();
    let mut parts: Vec<(Range<usize>, &str)> = Vec::new();
    for hole in placeholders(&text) {
        match values.get(&hole.name) {
            Some(value) => parts.push((hole.range, value)),
            None if missing.contains(&hole.name) => {}
            None => missing.push(hole.name),
        }
    }
    let text = replaced(&text, &parts, file)?;
    Ok(Filled { text, missing })
}

/// Returns the single-braced names of a text, with the key where one follows.
fn references(text: &str) -> Vec<(Range<usize>, &str, Option<&str>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|skip| at + skip) {
        match reference(text, open) {
            Some(reference) => {
                at = reference.end;
                found.push((open..at, reference.name, reference.config_key));
            }
            None => {
                at = open
                    + text[open..]
                        .bytes()
                        .take_while(|&byte| byte == b'{')
                        .count();
            }
        }
    }
    found
}

/// Returns what the configuration files say for each name and key that a text refers to.
fn configured<'t>(
    text: &'t str,
    file: &str,
    values: &BTreeMap<String, String>,
    read: Read<'_>,
) -> Result<BTreeMap<(&'t str, &'t str), String>, Error> {
    let asked: BTreeSet<(&str, &str)> = references(text)
        .into_iter()
        .filter_map(|(_, name, key)| Some((name, key?)))
        .filter(|(name, _)| values.contains_key(*name))
        .collect();
    // One document with a line for each of them, so that every configuration file is read once.
    let lines = asked.iter().enumerate();
    let lines: Vec<String> = lines
        .map(|(nth, (name, key))| format!("v{nth}: \"{{{name}}}:{key}\""))
        .collect();
    let names = Names {
        given: &BTreeMap::new(),
        known: values,
    };
    let resolved = resolve(&lines.join("\n"), file, names, read)?;
    let failed = |key: &String| {
        resolved.problems.iter().any(|problem| problem.key == *key)
            || resolved.open.iter().any(|open| open.key == *key)
    };
    let found = resolved.values.iter().zip(asked);
    Ok(found
        .filter(|((key, _), _)| !failed(key))
        .map(|((_, value), asked)| (asked, value.clone()))
        .collect())
}

fn replaced(text: &str, parts: &[(Range<usize>, &str)], file: &str) -> Result<String, Error> {
    let grown = parts.iter().map(|(_, value)| value.len());
    let size = grown.fold(text.len(), usize::saturating_add);
    if size > TOTAL_LIMIT {
        let detail = format!("grows past {TOTAL_LIMIT} bytes when its variables are filled in");
        return Err(Error::new(ErrorKind::BadInput, detail).at(file, None));
    }
    let mut out = String::with_capacity(size);
    let mut copied = 0;
    for (range, value) in parts {
        out.push_str(&text[copied..range.start]);
        out.push_str(value);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> BTreeMap<String, String> {
        let values = [("config_source", "c.yaml"), ("a", "{{b}}"), ("b", "B")];
        values
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }

    fn read(path: &str) -> Result<String, String> {
        match path {
            "c.yaml" => Ok("out: '{b}/x'\nlang: German\n".to_owned()),
            _ => Err("does not exist".to_owned()),
        }
    }

    #[test]
    fn names_keys_and_placeholders_are_filled_in_this_order() {
        let filled = |text: &str| fill(text, "i.xml", &values(), &read).unwrap();
        let text = "{a} {config_source}:lang, {config_source}:none {gone} {{b}} {{ b }} {{{b}}} {{x}}{{x}} {}";
        assert_eq!(
            filled(text).text,
            "B German, {config_source}:none {gone} B B {{{b}}} {{x}}{{x}} {}"
        );
        assert_eq!(filled(text).missing, ["x"]);
        assert_eq!(filled("{config_source}").text, "c.yaml");
    }

    #[test]
    fn a_text_that_grows_without_end_is_refused() {
        let values = BTreeMap::from([("a".to_owned(), "x".repeat(64 * 1024))]);
        let error = fill(&"{a}".repeat(300), "i.xml", &values, &read).unwrap_err();
        assert_eq!(
            error.to_string(),
            "i.xml: grows past 16777216 bytes when its variables are filled in"
        );
        let error = fill(&"{{a}}".repeat(300), "i.xml", &values, &read).unwrap_err();
        assert!(
            error.to_string().starts_with("i.xml: grows past"),
            "{error}"
        );
    }
}
