//! Finding texts: by their words, ranked, in prompts and logs; or exactly, in prompts.
//!
//! The inverted index of the database offers passages by their trigrams. Whatever it offers is proven on the text.

mod exact;
pub(crate) mod index;
mod rank;
mod trigram;
mod words;

use std::collections::BTreeSet;

use callsheet::Fingerprint;
use serde::Serialize;

pub(crate) use exact::{Candidates, candidates};
pub use index::Unindexed;

use self::rank::Best;
use self::words::Query;
use crate::log::Stream;
use crate::project::Project;
use crate::{Id, Store, StoreError, id};

/// How many characters stand around what was found.
const AROUND: usize = 60;

/// So few passages, or prompts, are read rather than asked about once more: it takes some milliseconds.
const FEW: usize = 100;

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
        let (project, query) = (project.key, Query::parse(text));
        let since = since.map(id::lowest).unwrap_or_default();
        self.read(move |tx| {
            let mut best = Best {
                project,
                query: &query,
                since: &since,
                most: limit.saturating_add(1),
                seen: BTreeSet::new(),
                hits: Vec::new(),
            };
            if limit > 0 && !query.is_empty() {
                best.find(tx)?;
            }
            let more = best.hits.len() > limit;
            let hits = best.hits.into_iter().take(limit);
            let hits = hits.map(|(.., hit)| hit).collect();
            Ok(Hits { hits, more })
        })
        .await
    }
}

impl Hit {
    /// Makes a hit with what stands around it. Words that would be cut are left out.
    fn new(place: HitPlace, text: &str, at: usize) -> Self {
        let before = text[..at].char_indices().rev().nth(AROUND / 3);
        let from = before.map_or(0, |(cut, _)| {
            let space = text[cut..at].find(char::is_whitespace);
            space.map_or(at, |space| cut + space)
        });
        let after = text[at..].char_indices().nth(AROUND);
        let to = after.map_or(text.len(), |(end, _)| {
            let space = text[at..at + end].rfind(char::is_whitespace);
            at + space.unwrap_or(end)
        });
        let words: Vec<&str> = text[from..to].split_whitespace().collect();
        let snippet = words.join(" ");
        Self { place, snippet }
    }
}
