//! `[redact]` of `callsheet.toml`: what a project takes for a secret besides what everybody does.

use callsheet::redact::{Rule, Rules};
use serde::Deserialize;

/// What a project sets about redaction.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The rules of the project.
    rules: Vec<Rule>,
}

/// The settings file, with the places where rules stand.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Places {
    redact: RedactPlaces,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RedactPlaces {
    rules: Vec<Place>,
}

#[derive(Deserialize)]
struct Place {
    id: toml::Spanned<String>,
    regex: Option<toml::Spanned<String>>,
}

impl Settings {
    /// Returns the built-in rules with those of the project; an error names the line of the rule in `text`.
    pub(crate) fn rules(&self, text: &str, file: &str) -> Result<Rules, callsheet::Error> {
        match Rules::fault(&self.rules) {
            Some((index, error)) => Err(error.at(file, line(text, index))),
            None => Rules::with(self.rules.clone()),
        }
    }
}

/// Returns the line of a rule: of its expression, which is mostly at fault, or of its name.
fn line(text: &str, index: usize) -> Option<usize> {
    let places: Places = toml::from_str(text).ok()?;
    let rule = places.redact.rules.into_iter().nth(index)?;
    let at = rule.regex.unwrap_or(rule.id).span().start;
    Some(text[..at].matches('\n').count() + 1)
}
