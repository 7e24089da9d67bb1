//! Markers: what an agent says about its own phase, read out of its own text.
//!
//! The text is what the agent wrote, whole: no output of tools, no thoughts. Quoted lines, fenced code and comments are not
//! its own words and are not read. Markdown, spacing and case do not count. Where markers contradict each other, the worse one
//! wins; where there is none, nothing is known, and that is never a success.
//!
//! | marker | read in | worse is |
//! |---|---|---|
//! | `[TECH-SPEC-DECISION: REQUIRED\|SKIP]`, with the key of a story before the word or before the marker | create-story | `REQUIRED`, also where there is none |
//! | `HIGHEST SEVERITY: CRITICAL\|HIGH\|MEDIUM\|LOW` | reviews | in this order |
//! | `ZERO ISSUES`, as a line or a sentence of its own | reviews | anything else |
//! | `Issues: 0 CRITICAL, 2 HIGH, 1 MEDIUM, 0 LOW` | reviews | the worst with a count above 0; zeros alone say nothing |
//! | `[CRITICAL-ISSUES-FOUND: YES\|NO]` | reviews | `YES`, which beside `ZERO ISSUES` is `HIGH` |
//! | `[DEV-STORY-COMPLETE: YES\|NO]`, `[DEV-STORY-BLOCKED: YES]` | dev-story | `NO`, blocked |
//! | `[COMMIT-FAILED: reason]`, `[NO-CHANGES-TO-COMMIT]`, `[COMMIT-SUCCESS: hash]` | commit | in this order |

mod findings;
mod own;
mod severity;
mod tech_spec;
#[cfg(test)]
mod tests;
mod word;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use findings::{Finding, MOST as MOST_FINDINGS};
pub use severity::{Counts, Severity};
pub use tech_spec::TechSpec;

use super::Phase;
use crate::Fingerprint;
use tech_spec::Decisions;
use word::{Bracketed, Name};

/// The name and version of the shape.
pub const SCHEMA: &str = "callsheet.sprint-parse/1";

/// What an agent said about its own phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an answer of its own in the wire form"
)]
#[non_exhaustive]
pub struct Markers {
    /// The name and version of the shape.
    pub schema: String,
    /// The phase that the text was read for.
    pub phase: Phase,
    /// Whether there is any marker of the phase; without one, nothing is known.
    pub marked: bool,
    /// The worst that a reviewer found.
    pub severity: Severity,
    /// Whether a reviewer found something critical.
    pub critical: bool,
    /// What the reviewer counted.
    pub counts: Option<Counts>,
    /// Which story needs a tech spec.
    pub tech_spec: BTreeMap<String, TechSpec>,
    /// Whether any story needs one.
    pub tech_spec_needed: bool,
    /// Whether the story is implemented; nothing where the agent does not say.
    pub complete: Option<bool>,
    /// Whether the agent cannot go on.
    pub blocked: bool,
    /// What came of the commit.
    pub commit: Option<Commit>,
    /// What the reviewer found, as far as it is kept.
    pub findings: Vec<Finding>,
    /// How many findings more there were.
    pub more_findings: usize,
    /// A hash of the findings; the same ones said again have the same.
    pub fingerprint: Option<Fingerprint>,
}

/// What an agent says came of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Commit {
    /// There is a commit.
    Success {
        /// Its hash, as the agent wrote it, in lower case. Of several commits the last one.
        hash: String,
    },
    /// There was nothing to commit.
    NoChanges,
    /// There is none.
    Failed {
        /// Why.
        reason: String,
    },
}

impl Commit {
    /// Returns how bad it is.
    fn rank(&self) -> u8 {
        match self {
            Self::Success { .. } => 0,
            Self::NoChanges => 1,
            Self::Failed { .. } => 2,
        }
    }
}

impl Markers {
    /// Reads the text of an agent; `stories` are the keys that its phase was for, in their order.
    pub fn parse(phase: Phase, text: &str, stories: &[String]) -> Self {
        let lines = own::lines(text);
        let mut markers = Self::nothing(phase);
        match phase {
            Phase::CreateStory => markers.decide(&lines, stories),
            Phase::StoryReview | Phase::TechSpecReview | Phase::CodeReview => {
                markers.review(&lines);
            }
            Phase::DevStory => markers.develop(&lines, stories),
            Phase::Commit => markers.commit(&lines),
            Phase::ProjectContext | Phase::Discovery | Phase::TechSpec | Phase::ResolveConflict => {
            }
        }
        markers
    }

    fn nothing(phase: Phase) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            phase,
            marked: false,
            severity: Severity::Unknown,
            critical: false,
            counts: None,
            tech_spec: BTreeMap::new(),
            tech_spec_needed: false,
            complete: None,
            blocked: false,
            commit: None,
            findings: Vec::new(),
            more_findings: 0,
            fingerprint: None,
        }
    }

    fn decide(&mut self, lines: &[own::OwnLine], stories: &[String]) {
        let mut decisions = Decisions::default();
        for marker in bracketed(lines) {
            decisions.note(&marker, stories);
        }
        self.marked = !decisions.is_empty();
        self.tech_spec = decisions.bind(stories);
        self.tech_spec_needed = decisions.is_needed(&self.tech_spec);
    }

    fn review(&mut self, lines: &[own::OwnLine]) {
        let mut is_yes = None::<bool>;
        for marker in bracketed(lines) {
            if marker.name == Name::CriticalIssuesFound
                && let Some(yes) = yes(&marker, &[])
            {
                is_yes = Some(yes || is_yes.unwrap_or_default());
            }
        }
        for line in lines {
            if let Some(counts) = word::counts(&line.text) {
                self.counts.get_or_insert_default().add(&counts);
            }
            let zero = word::is_zero(&line.text).then_some(Severity::Zero);
            let said = word::severity(&line.text).max(zero);
            self.severity = self.severity.max(said.unwrap_or_default());
        }
        let counted = self.counts.as_ref().and_then(Counts::worst);
        self.severity = self.severity.max(counted.unwrap_or_default());
        if self.severity == Severity::Zero && is_yes == Some(true) {
            self.severity = Severity::High;
        }
        self.critical = is_yes == Some(true) || self.severity == Severity::Critical;
        self.marked = is_yes.is_some() || self.severity != Severity::Unknown;
        self.findings = findings::findings(lines);
        self.fingerprint = findings::fingerprint(self.severity, &self.findings);
        self.more_findings = findings::cap(&mut self.findings);
    }

    fn develop(&mut self, lines: &[own::OwnLine], stories: &[String]) {
        for marker in bracketed(lines) {
            let Some(yes) = yes(&marker, stories) else {
                continue;
            };
            match marker.name {
                Name::DevStoryComplete => {
                    self.complete = Some(yes && self.complete.unwrap_or(true));
                }
                Name::DevStoryBlocked => self.blocked |= yes,
                _ => {}
            }
        }
        self.marked = self.complete.is_some() || self.blocked;
        if self.blocked {
            self.complete = Some(false);
        }
    }

    fn commit(&mut self, lines: &[own::OwnLine]) {
        for marker in bracketed(lines) {
            let Some(commit) = outcome(&marker) else {
                continue;
            };
            let is_worse = |before: &Commit| commit.rank() >= before.rank();
            if self.commit.as_ref().is_none_or(is_worse) {
                self.commit = Some(commit);
            }
        }
        self.marked = self.commit.is_some();
    }
}

fn bracketed(lines: &[own::OwnLine]) -> impl Iterator<Item = Bracketed<'_>> {
    lines.iter().flat_map(|line| word::bracketed(&line.text))
}

/// Returns what a marker answers; one of another story answers nothing.
fn yes(marker: &Bracketed<'_>, stories: &[String]) -> Option<bool> {
    let answer = |word: &str| match word {
        word if word.eq_ignore_ascii_case("YES") => Some(true),
        word if word.eq_ignore_ascii_case("NO") => Some(false),
        _ => None,
    };
    let mut words = marker.body.split(|c: char| c.is_whitespace() || c == ':');
    let first = words.next().unwrap_or_default();
    answer(first).or_else(|| {
        let is_known = stories.is_empty() || tech_spec::story(first, stories).is_some();
        words
            .rfind(|word| !word.is_empty())
            .and_then(answer)
            .filter(|_| is_known)
    })
}

/// Returns what a marker says about the commit; a placeholder of the instructions says nothing.
fn outcome(marker: &Bracketed<'_>) -> Option<Commit> {
    let body = marker.body;
    let is_placeholder = body.starts_with(['{', '<']);
    match marker.name {
        Name::CommitFailed if is_placeholder => None,
        Name::CommitFailed => Some(Commit::Failed {
            reason: body.to_owned(),
        }),
        Name::NoChangesToCommit => Some(Commit::NoChanges),
        Name::CommitSuccess => {
            let hash = body.split_whitespace().next().unwrap_or_default();
            let is_hash =
                (4..=64).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit());
            is_hash.then(|| Commit::Success {
                hash: hash.to_ascii_lowercase(),
            })
        }
        _ => None,
    }
}
