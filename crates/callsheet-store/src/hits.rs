//! What is found by its words: sections of prompts and records of logs, the best first.

use callsheet::Fingerprint;
use serde::Serialize;

use crate::carriers::least_key;
use crate::log::Stream;
use crate::project::Project;
use crate::{Id, Store, StoreError, id, search};

/// How many characters stand around what was found.
const AROUND: usize = 60;

/// Some of the texts that were found, the best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hits {
    /// The best of all that match.
    pub hits: Vec<Hit>,
    /// Whether there are more.
    pub more: bool,
}

/// A text that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// Where it stands.
    #[serde(flatten)]
    pub place: HitPlace,
    /// What stands around it, in one line.
    pub snippet: String,
}

/// Where a text was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "in", rename_all = "lowercase")]
#[non_exhaustive]
pub enum HitPlace {
    /// In a section of prompts.
    Prompt {
        /// The newest prompt that carries it.
        prompt: Id,
        /// How many prompts carry it.
        prompts: i64,
        /// The fingerprint of the section.
        section: Fingerprint,
        /// Where in the section it stands.
        at: usize,
    },
    /// In the log of a run.
    Log {
        /// The run.
        run: Id,
        /// The number of the record.
        seq: i64,
        /// The stream of the record.
        stream: Stream,
    },
}

impl Store {
    /// Finds sections and log records that hold all words of a text, the best first; only those of prompts and runs since a
    /// time, where one is given.
    ///
    /// Log records are found once they are indexed.
    pub async fn search(
        &self,
        project: &Project,
        text: &str,
        limit: usize,
        since: Option<i64>,
    ) -> Result<Hits, StoreError> {
        let (project, text) = (project.key, text.to_owned());
        let since = since.map(id::lowest).unwrap_or_default();
        self.read(move |tx| {
            let least = least_key(tx, project, &since)?;
            let most = limit.saturating_add(1);
            let mut hits = search::best(tx, project, &text, (&since, least), most)?;
            let more = hits.len() > limit;
            hits.truncate(limit);
            Ok(Hits { hits, more })
        })
        .await
    }
}

impl Hit {
    /// Makes a hit with what stands around it. Words that would be cut are left out.
    pub(crate) fn new(place: HitPlace, text: &str, at: usize) -> Self {
        let (before, after) = text.split_at(at);
        let space = |cut: usize| before[cut..].find(char::is_whitespace);
        let first = |(cut, _)| space(cut).map_or(at, |space| cut + space);
        let from = before.char_indices().rev().nth(AROUND / 3).map_or(0, first);
        let last = |(end, _)| after[..end].rfind(char::is_whitespace).unwrap_or(end);
        let to = after.char_indices().nth(AROUND).map_or(after.len(), last);
        let words: Vec<&str> = text[from..at + to].split_whitespace().collect();
        let snippet = words.join(" ");
        Self { place, snippet }
    }
}
