//! `[redact]` of `callsheet.toml`: what a project takes for a secret besides what everybody does.

use serde::Deserialize;

use crate::Error;
use crate::redact::{Rule, Rules};

/// What a project sets about redaction.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Settings {
    /// The rules of the project.
    rules: Vec<Rule>,
}

/// The settings file, with the places where rules stand.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SettingsSpans {
    redact: RedactSpans,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RedactSpans {
    rules: Vec<RuleSpans>,
}

#[derive(Deserialize)]
struct RuleSpans {
    id: toml::Spanned<String>,
    regex: Option<toml::Spanned<String>>,
}

impl Settings {
    /// Returns the built-in rules with those of the project; an error names the line of the rule in `text`.
    pub(super) fn rules(&self, text: &str, file: &str) -> Result<Rules, Error> {
        match Rules::fault(&self.rules) {
            Some((index, error)) => Err(error.at(file, line(text, index))),
            None => Rules::with(self.rules.clone()),
        }
    }
}

/// Returns the line of a rule: of its expression, which is mostly at fault, or of its name.
fn line(text: &str, index: usize) -> Option<usize> {
    let places: SettingsSpans = toml::from_str(text).ok()?;
    let rule = places.redact.rules.into_iter().nth(index)?;
    let at = rule.regex.unwrap_or(rule.id).span().start;
    Some(text[..at].matches('\n').count() + 1)
}
