//! Markers in one line of plain text.
//!
//! The forms of the source document count in running text where that is safe: bad news anywhere, `ZERO ISSUES` only as a line
//! or a sentence of its own. Other spellings count only as a line of their own.

use std::collections::BTreeMap;

use super::{Counts, Severity};

/// The words with brackets, and what each of them means.
const BRACKETED: [(&str, Name); 7] = [
    ("TECH-SPEC-DECISION", Name::TechSpecDecision),
    ("CRITICAL-ISSUES-FOUND", Name::CriticalIssuesFound),
    ("DEV-STORY-COMPLETE", Name::DevStoryComplete),
    ("DEV-STORY-BLOCKED", Name::DevStoryBlocked),
    ("COMMIT-SUCCESS", Name::CommitSuccess),
    ("COMMIT-FAILED", Name::CommitFailed),
    ("NO-CHANGES-TO-COMMIT", Name::NoChangesToCommit),
];

const HIGHEST: &str = "HIGHEST SEVERITY";
const ZERO: &str = "ZERO ISSUES";

/// What may follow `ZERO ISSUES` on its line.
const FOUND: [&str; 5] = ["found", "detected", "left", "remain", "remaining"];

/// What a line may call the result that `ZERO ISSUES` is; the result of one part of a review is not the result.
const LABELS: [&str; 7] = [
    "result",
    "verdict",
    "highest severity",
    "review result",
    "code review result",
    "final result",
    "final verdict",
];

/// The name of a marker with brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    TechSpecDecision,
    CriticalIssuesFound,
    DevStoryComplete,
    DevStoryBlocked,
    CommitSuccess,
    CommitFailed,
    NoChangesToCommit,
}

/// A marker with brackets: `[NAME: BODY]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bracketed<'a> {
    pub(super) name: Name,
    /// What stands after the name and its colon.
    pub(super) body: &'a str,
    /// What stands before it on its line.
    pub(super) before: &'a str,
}

/// Tells whether a line is a marker and nothing else.
pub(super) fn is_marker(line: &str) -> bool {
    own_severity(line).is_some() || is_zero(line) || counts(line).is_some() || {
        let end = line.trim_end();
        line.starts_with('[') && end.ends_with(']') && !bracketed(line).is_empty()
    }
}

/// Returns every marker with brackets of a line, in order.
pub(super) fn bracketed(line: &str) -> Vec<Bracketed<'_>> {
    let pairs = pairs(line);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = line[from..].find('[').map(|at| from + at) {
        from = at + 1;
        let Some((name, rest)) = name(line[from..].trim_start()) else {
            continue;
        };
        let end = match pairs.get(&at) {
            Some(end) => *end,
            // What failed is told even where the bracket is missing.
            None if name == Name::CommitFailed => line.len(),
            None => continue,
        };
        let body = &line[line.len() - rest.len()..end];
        found.push(Bracketed {
            name,
            body: body.trim().trim_start_matches(':').trim(),
            before: &line[..at],
        });
        from = end;
    }
    found
}

fn name(text: &str) -> Option<(Name, &str)> {
    BRACKETED.iter().find_map(|(word, name)| {
        let rest = after(text, word)?;
        let is_end = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
        is_end.then_some((*name, rest))
    })
}

/// Returns where each bracket of a line closes, by where it opens.
fn pairs(line: &str) -> BTreeMap<usize, usize> {
    let mut pairs = BTreeMap::new();
    let mut open = Vec::new();
    for at in memchr::memchr2_iter(b'[', b']', line.as_bytes()) {
        if line.as_bytes()[at] == b'[' {
            open.push(at);
        } else if let Some(from) = open.pop() {
            pairs.insert(from, at);
        }
    }
    pairs
}

/// Returns what follows some words at the beginning of a text. Case does not count, and words are joined by anything that joins.
fn after<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let mut rest = text;
    for wanted in words.chars() {
        let is_gap = |c: char| matches!(c, ' ' | '-' | '_');
        if is_gap(wanted) {
            let gap = rest.trim_start_matches(is_gap);
            if gap.len() == rest.len() {
                return None;
            }
            rest = gap;
        } else {
            let first = rest.chars().next()?;
            if !first.eq_ignore_ascii_case(&wanted) {
                return None;
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    Some(rest)
}

/// Returns the worst severity that a line names as the highest one.
pub(super) fn severity(line: &str) -> Option<Severity> {
    let running = line.match_indices(HIGHEST).filter_map(|(at, _)| {
        let rest = line[at + HIGHEST.len()..].trim_start().strip_prefix(':')?;
        level(rest.trim_start())
    });
    running.chain(own_severity(line)).max()
}

/// Returns the severity of a line that begins with the marker.
fn own_severity(line: &str) -> Option<Severity> {
    let rest = after(line, HIGHEST)?;
    let rest = after(rest.trim_start(), "FOUND").unwrap_or(rest);
    let rest = rest.trim_start().strip_prefix([':', '=', '-'])?;
    level(rest.trim_start_matches(|c: char| c.is_whitespace() || !c.is_ascii() || c == '['))
}

/// Returns the level that a text begins with, the worse of two that are joined; more are a list to choose from.
fn level(text: &str) -> Option<Severity> {
    let (first, mut rest) = Severity::at(text)?;
    let mut levels = vec![first];
    while let Some(next) = rest.trim_start().strip_prefix(['|', '/']) {
        let Some((level, after)) = Severity::at(next.trim_start()) else {
            break;
        };
        levels.push(level);
        rest = after;
    }
    match levels.len() {
        1 | 2 => levels.into_iter().max(),
        _ => None,
    }
}

/// Tells whether a line, or its last sentence, says that there are no issues and nothing else.
pub(super) fn is_zero(line: &str) -> bool {
    if after(line, ZERO).is_some_and(is_end) {
        return true;
    }
    let Some(at) = line.rfind(ZERO) else {
        return false;
    };
    let before = line[..at].trim_end();
    let is_labelled = before.strip_suffix(':').is_some_and(|label| {
        let label = label.trim();
        LABELS.iter().any(|known| known.eq_ignore_ascii_case(label))
    });
    (is_labelled || before.ends_with(['.', '!'])) && is_end(&line[at + ZERO.len()..])
}

/// Tells whether nothing follows `ZERO ISSUES` that could take it back.
fn is_end(rest: &str) -> bool {
    let says_nothing = |c: char| !c.is_alphanumeric() && !matches!(c, '?' | '？' | '|');
    if !rest.chars().next().is_none_or(says_nothing) {
        return false;
    }
    let rest = rest.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '!'));
    rest.chars().all(says_nothing) || FOUND.iter().any(|word| word.eq_ignore_ascii_case(rest))
}

/// Returns how many issues of each level a line counts: `Issues: 0 CRITICAL, 2 HIGH, 1 MEDIUM, 0 LOW`.
pub(super) fn counts(line: &str) -> Option<Counts> {
    let running = line.match_indices("Issues").map(|(at, _)| &line[at..]);
    std::iter::once(line).chain(running).find_map(counts_at)
}

fn counts_at(text: &str) -> Option<Counts> {
    let rest = after(text, "ISSUES")?;
    let rest = after(rest.trim_start(), "FOUND").unwrap_or(rest);
    let mut rest = rest.trim_start().strip_prefix(':')?;
    let mut counts = None::<Counts>;
    loop {
        rest = rest.trim_start_matches([' ', ',', ';', '/', '|']);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Some((level, after)) = Severity::at(rest[digits..].trim_start()) else {
            return counts;
        };
        // A number that no report can have is as bad as one.
        let count = match rest[..digits].parse::<u32>() {
            Ok(count) => count,
            Err(_) if digits == 0 => return counts,
            Err(_) => u32::MAX,
        };
        let slot = counts.get_or_insert_default().slot(level);
        *slot = (*slot).max(count);
        rest = after;
    }
}
