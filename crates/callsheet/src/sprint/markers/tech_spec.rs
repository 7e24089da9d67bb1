//! Which story needs a tech spec, by the markers of the agent that wrote the stories.
//!
//! Doubt means `REQUIRED`: a spec too many costs an agent, one too few costs a story.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::word::{Bracketed, Name};

/// Whether a story needs a tech spec. The order is from the better to the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TechSpec {
    /// It does not.
    Skip,
    /// It does, or nobody knows.
    Required,
}

/// How many bytes may stand before a marker that belong to its story.
const LONGEST_LABEL: usize = 300;

/// What the agent decided.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    /// Values with the key that they were written for.
    keyed: Vec<(String, TechSpec)>,
    /// Values without one.
    unkeyed: Vec<TechSpec>,
}

impl Decisions {
    /// Notes a marker; one that says neither word is none.
    pub(super) fn note(&mut self, marker: &Bracketed<'_>, stories: &[String]) {
        if marker.name != Name::TechSpecDecision {
            return;
        }
        let mut words: Vec<&str> = (marker.body)
            .split(|c: char| c.is_whitespace() || matches!(c, ':' | '='))
            .filter(|word| !word.is_empty())
            .collect();
        let value = match words.pop() {
            Some(word) if word.eq_ignore_ascii_case("REQUIRED") => TechSpec::Required,
            Some(word) if word.eq_ignore_ascii_case("SKIP") => TechSpec::Skip,
            _ => return,
        };
        match (words[..].as_ref(), labelled(marker.before, stories)) {
            ([key], _) => self.keyed.push(((*key).to_owned(), value)),
            ([], Some(key)) => self.keyed.push((key.to_owned(), value)),
            ([], None) => self.unkeyed.push(value),
            _ => {}
        }
    }

    /// Tells whether there is any marker.
    pub(super) fn is_empty(&self) -> bool {
        self.keyed.is_empty() && self.unkeyed.is_empty()
    }

    /// Tells whether some story needs a spec, which is so where nothing is said.
    pub(super) fn is_needed(&self, bound: &BTreeMap<String, TechSpec>) -> bool {
        let worst = if bound.is_empty() {
            self.unkeyed.iter().max()
        } else {
            bound.values().max()
        };
        worst != Some(&TechSpec::Skip)
    }

    /// Binds the values to the stories.
    ///
    /// A key takes its value to its story, and the worse of several wins; a key of another story is ignored. Values without a
    /// key go to the stories that no key named, in their order. More of them than stories are a repetition where every round
    /// says the same, else nobody knows what they mean. What has no value needs a spec.
    pub(super) fn bind(&self, stories: &[String]) -> BTreeMap<String, TechSpec> {
        if stories.is_empty() {
            let mut bound = BTreeMap::new();
            for (key, value) in &self.keyed {
                worsen(&mut bound, key, *value);
            }
            return bound;
        }
        let mut bound = BTreeMap::new();
        for (key, value) in &self.keyed {
            if let Some(story) = story(key, stories) {
                worsen(&mut bound, story, *value);
            }
        }
        let open: Vec<&String> = stories
            .iter()
            .filter(|key| !bound.contains_key(*key))
            .collect();
        for (at, story) in open.iter().enumerate() {
            worsen(&mut bound, story, self.unkeyed_at(at, open.len()));
        }
        bound
    }

    /// Returns the value without a key for one of some stories.
    fn unkeyed_at(&self, at: usize, stories: usize) -> TechSpec {
        let is_repeated = self.unkeyed.len() > stories;
        let mut rounds = self.unkeyed.chunks(stories);
        let first = rounds.next().unwrap_or_default();
        if is_repeated && !rounds.all(|round| round == first) {
            return TechSpec::Required;
        }
        first.get(at).copied().unwrap_or(TechSpec::Required)
    }
}

fn worsen(bound: &mut BTreeMap<String, TechSpec>, key: &str, value: TechSpec) {
    let slot = bound.entry(key.to_owned()).or_insert(value);
    *slot = (*slot).max(value);
}

/// Returns the story that a line names before its marker, and nothing else: `2a-1: [TECH-SPEC-DECISION: SKIP]`.
fn labelled<'a>(before: &str, stories: &'a [String]) -> Option<&'a str> {
    if before.len() > LONGEST_LABEL {
        return None;
    }
    let label = before.trim().trim_end_matches(':').trim();
    let label = match label.split_once(' ') {
        Some((word, key)) if word.eq_ignore_ascii_case("story") => key.trim(),
        _ => label,
    };
    story(label, stories)
}

/// Returns the story that a key means: the very one, else the only one of which one key is the beginning of the other.
pub(super) fn story<'a>(key: &str, stories: &'a [String]) -> Option<&'a str> {
    let key = key.to_lowercase();
    if let Some(story) = stories.iter().find(|story| story.to_lowercase() == key) {
        return Some(story);
    }
    let begins = |long: &str, short: &str| {
        is_story(short)
            && long
                .strip_prefix(short)
                .is_some_and(|rest| rest.starts_with('-'))
    };
    let mut near = stories.iter().filter(|story| {
        let story = story.to_lowercase();
        begins(&story, &key) || begins(&key, &story)
    });
    match (near.next(), near.next()) {
        (Some(story), None) => Some(story),
        _ => None,
    }
}

/// Tells whether a key ends with the number of a story within its epic, as `2a-1` does and `2a` does not.
fn is_story(key: &str) -> bool {
    let epic = key.trim_end_matches(|c: char| c.is_ascii_digit());
    epic.len() < key.len() && epic.len() > 1 && epic.ends_with('-')
}
