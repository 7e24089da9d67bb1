//! Finding texts: by their words, ranked, in prompts and logs; or exactly, in prompts.
//!
//! The inverted index of the database offers passages by their trigrams. Whatever it offers is proven on the text.

mod exact;
pub(crate) mod index;
mod log;
mod rank;
mod trigram;
mod words;

use callsheet::Fingerprint;
use serde::Serialize;

pub(crate) use exact::{Candidate, candidates};
pub(crate) use index::Reach;
pub(crate) use log::behind as records_behind;

use self::words::Query;
use crate::db::{Row, Tx};
use crate::log::Stream;
use crate::project::Project;
use crate::{Id, Store, StoreError, body, id};

/// How many characters stand around what was found.
const AROUND: usize = 60;

/// The shortest text that is looked for exactly.
pub(crate) const LEAST_CHARS: usize = 3;

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
        let (key, query) = (project.key, Query::parse(text));
        let since = since.map(id::lowest).unwrap_or_default();
        self.read(move |tx| rank::search(tx, key, &query, (limit, &since)))
            .await
    }
}

/// Returns the text of a passage with the columns key, body, seam, run, first and last, if it can be read.
fn text(tx: &mut dyn Tx, row: &Row) -> Result<Option<String>, StoreError> {
    if let Some(seam) = row.maybe(2, Row::text)? {
        return Ok(Some(seam.to_owned()));
    }
    if let Some(run) = row.maybe(3, Row::int)? {
        return log::text(tx, run, (row.int(4)?, row.int(5)?)).map(Some);
    }
    let text = body::readable(tx, &[row.int(1)?])?.into_values().next();
    Ok(text.map(|text| without_nul(&String::from_utf8_lossy(&text))))
}

/// Returns a text as seams have it, in which nothing is NUL.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Returns what stands around a place, in one line.
fn snippet(text: &str, at: usize) -> String {
    let before = text[..at].char_indices().rev().nth(AROUND / 3);
    // Words that would be cut are left out.
    let from = before.map_or(0, |(cut, _)| {
        let space = text[cut..at].find(char::is_whitespace);
        space.map_or(at, |space| cut + space)
    });
    let after = text[at..].char_indices().nth(AROUND);
    let to = after.map_or(text.len(), |(end, _)| {
        let cut = at + end;
        let space = text[at..cut].rfind(char::is_whitespace);
        space.map_or(cut, |space| at + space)
    });
    let words: Vec<&str> = text[from..to].split_whitespace().collect();
    words.join(" ")
}
