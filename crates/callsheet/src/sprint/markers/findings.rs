//! The findings of a review, and a fingerprint by which the same findings are known again.
//!
//! A finding is a heading, an item of a list, a row of a table or a line that begins with a severity, as in
//! `- **[HIGH]** src/a.rs:12 does not check its input`. Below a heading that is only a severity (`### High severity (2)`) every
//! item of the outer list is one. Markers and what counts to nothing (`- HIGH: none`) are not.
//!
//! The fingerprint is that of the highest severity and of all findings, each as its severity and its words: lower case, without
//! Markdown, punctuation, the number of the item, numbers of lines (`:12`, `:3-9`, `line 12`, `lines 3 to 9`, `#L12`), of the
//! attempt and of the review, dates, times and bare numbers. What has letters in it stays, such as paths, `2a-1` or `CWE-89`.
//! Order and repetition do not count. Without findings there is no fingerprint: a severity alone is not a pattern.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::own::{OwnLine, Shape};
use super::{Severity, word};
use crate::Fingerprint;

/// How many findings are kept.
pub const MOST: usize = 50;

/// How many characters of a finding are kept.
const LONGEST: usize = 300;

/// Words that say nothing beside a severity.
const EMPTY: [&str; 19] = [
    "severity",
    "severities",
    "priority",
    "issue",
    "issues",
    "finding",
    "findings",
    "problem",
    "problems",
    "found",
    "none",
    "no",
    "n",
    "a",
    "and",
    "fixed",
    "new",
    "level",
    "remaining",
];

/// Words whose number says where or when, not what.
const NUMBERED: [&str; 10] = [
    "line",
    "lines",
    "ln",
    "l",
    "attempt",
    "review",
    "round",
    "pass",
    "iteration",
    "col",
];

/// One thing that a reviewer found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The line that tells it, without Markdown.
    pub text: String,
}

/// Returns the findings of some lines, in their order and whole.
pub(super) fn findings(lines: &[OwnLine]) -> Vec<Finding> {
    let mut found = Vec::new();
    // The severity of the section, and how far its items are indented.
    let mut section: Option<(Severity, Option<usize>)> = None;
    for line in lines {
        if word::is_marker(&line.text) || !word::bracketed(&line.text).is_empty() {
            continue;
        }
        let severity = tagged(line);
        let is_title = line.shape == Shape::Heading || line.text.ends_with(':');
        if is_empty(&line.text) {
            if is_title {
                section = severity.map(|severity| (severity, None));
            }
            continue;
        }
        let inherited = match (&mut section, line.shape) {
            (Some((severity, first)), Shape::Item | Shape::Row) => {
                let first = *first.get_or_insert(line.indent);
                (line.indent <= first + 1).then_some(*severity)
            }
            (_, Shape::Heading) => {
                section = None;
                None
            }
            _ => None,
        };
        if let Some(severity) = severity.or(inherited) {
            let text = line.text.clone();
            found.push(Finding { severity, text });
        }
    }
    found
}

/// Returns the fingerprint of findings.
pub(super) fn fingerprint(severity: Severity, findings: &[Finding]) -> Option<Fingerprint> {
    if findings.is_empty() {
        return None;
    }
    let lines: BTreeSet<(&str, String)> = findings
        .iter()
        .map(|finding| (finding.severity.as_str(), normal(&finding.text)))
        .collect();
    let lines = lines.iter().map(|(name, text)| (*name, text.as_bytes()));
    let severity = [("severity", severity.as_str().as_bytes())];
    Some(Fingerprint::of_named(severity.into_iter().chain(lines)))
}

/// Keeps as many findings as a report needs, and returns how many more there were.
pub(super) fn cap(findings: &mut Vec<Finding>) -> usize {
    let more = findings.len().saturating_sub(MOST);
    findings.truncate(MOST);
    for finding in findings {
        if let Some((end, _)) = finding.text.char_indices().nth(LONGEST) {
            finding.text.truncate(end);
            finding.text.push('…');
        }
    }
    more
}

/// Returns the severity that a line is about.
fn tagged(line: &OwnLine) -> Option<Severity> {
    let loud = loud(&line.text);
    let leading = leading(&line.text);
    match line.shape {
        Shape::Plain => leading
            .filter(|(_, is_marked)| *is_marked)
            .map(|(level, _)| level),
        _ => leading.map(|(level, _)| level).or(loud),
    }
}

/// Returns the first severity in capitals.
fn loud(text: &str) -> Option<Severity> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut loud = words.filter(|word| !word.contains(|c: char| c.is_lowercase()));
    loud.find_map(Severity::named)
}

/// Returns the severity that a text begins with, after a number or an id, and whether a mark sets it off.
fn leading(text: &str) -> Option<(Severity, bool)> {
    let mut rest = text;
    let mut skipped = 0;
    loop {
        let next =
            rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '[' | '(' | '#'));
        let is_opened = next.len() < rest.trim_start().len();
        if let Some((level, after)) = Severity::at(next) {
            let is_loud = next.starts_with(level.as_str());
            let is_set_off = after.trim_start().starts_with([']', ')', ':', '-', '|'])
                || ["severity", "priority"].iter().any(|word| {
                    let after = after.trim_start().get(..word.len());
                    after.is_some_and(|after| after.eq_ignore_ascii_case(word))
                });
            return (is_opened || is_loud || is_set_off)
                .then_some((level, is_opened || is_set_off));
        }
        let (token, after) = next.split_once(' ')?;
        let is_id =
            token.contains(|c: char| c.is_ascii_digit()) || token.eq_ignore_ascii_case("issue");
        if !is_id || skipped == 2 {
            return None;
        }
        skipped += 1;
        rest = after;
    }
}

/// Tells whether a line has nothing but severities, counts and words that say nothing.
fn is_empty(text: &str) -> bool {
    words(text).iter().all(|word| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        is_number || Severity::named(word).is_some() || EMPTY.contains(&word.as_str())
    })
}

/// Returns the words of a finding that tell what it is.
fn normal(text: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut numbered = false;
    for word in words(text) {
        if Severity::named(&word).is_some() || is_place(&word) {
            continue;
        }
        if NUMBERED.contains(&word.as_str()) {
            // The word goes with its number: `line 12` and `:12` are the same place.
            numbered = true;
            continue;
        }
        if numbered && word == "to" {
            continue;
        }
        numbered = false;
        kept.push(word);
    }
    kept.join(" ")
}

/// Tells whether a word is a number, a range, a date, a time or the place of a line.
fn is_place(word: &str) -> bool {
    let bare = word.strip_prefix('l').unwrap_or(word);
    let bare = bare.strip_suffix('z').unwrap_or(bare);
    !bare.is_empty()
        && bare.starts_with(|c: char| c.is_ascii_digit())
        && bare
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | 't' | 'l'))
}

/// Returns the words of a text in lower case: letters and digits, with what joins them in paths and ids.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    lower
        .split(|c: char| !is_word(c))
        .map(|word| word.trim_matches(['.', '-', '/', '_']))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}
