//! Finding texts: by their words, ranked, in prompts and logs; or exactly, in prompts.
//!
//! What two databases call a word is made the same by giving them words only. What is found exactly needs no words: leaves
//! tell where to look.

mod carry;
mod index;
mod leaf;
mod signature;
mod spans;
mod words;

use callsheet::Fingerprint;
use serde::Serialize;

pub use carry::{Carrier, Carriers};
pub(crate) use index::{add_words, holds, remove_words, starts};
pub(crate) use leaf::{
    Leaf, Meeting, add as add_leaves, page as leaves, retain as retain_leaves, texts,
};

use self::index::CHUNK;
use self::words::Query;
use crate::db::{Dialect, Row, Tx, Value};
use crate::log::Stream;
use crate::project::Project;
use crate::prompt::SECTION;
use crate::{Id, Store, StoreError, body};

/// How many characters stand around what was found.
const AROUND: usize = 60;

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
    /// Finds sections and log records that hold all words of a text, the best first.
    pub async fn search(
        &self,
        project: &Project,
        text: &str,
        limit: usize,
    ) -> Result<Vec<Hit>, StoreError> {
        let (key, query) = (project.key, Query::parse(text));
        self.read(move |tx| search(tx, key, &query, limit)).await
    }

    /// Puts up to `most` bytes of logs into the index; returns how many records are left.
    pub async fn index_logs(&self, most: usize) -> Result<i64, StoreError> {
        self.write(move |tx| index::add_logs(tx, most)).await
    }

    /// Returns how many log records are not in the index yet.
    pub async fn unindexed_records(&self) -> Result<i64, StoreError> {
        self.read(index::unindexed).await
    }
}

const CARRIED: &str = "select b.fingerprint, count(*), max(p.id) from part a join line l on l.key = a.line \
    join prompt p on p.line = a.line and p.key between a.first and a.last join body b on b.key = a.body \
    where a.body = $1 and l.project = $2 and a.roles % 2 = 1 group by b.fingerprint";

fn search(
    tx: &mut dyn Tx,
    project: i64,
    query: &Query,
    limit: usize,
) -> Result<Vec<Hit>, StoreError> {
    let Some(words) = query.sql(tx.dialect()) else {
        return Ok(Vec::new());
    };
    let sql = match tx.dialect() {
        Dialect::Sqlite => {
            "select c.body, c.run, c.start from chunk_words w join chunk c on c.key = w.rowid \
            where w.words match $1 order by w.rank, c.key desc limit $2 offset $3"
        }
        Dialect::Postgres => {
            "select c.body, c.run, c.start from chunk c where c.words @@ $1::text::tsquery \
            order by ts_rank_cd(c.words, $1::text::tsquery) desc, c.key desc limit $2 offset $3"
        }
    };
    let mut hits = Vec::new();
    let (page, mut offset) = (i64::try_from(limit.max(20)).unwrap_or(i64::MAX), 0);
    // Some of what is found belongs to other projects, or to the same text.
    loop {
        let values = [words.as_str().into(), page.into(), offset.into()];
        let rows = tx.query(sql, &values)?;
        for row in &rows {
            let hit = match row.maybe(0, Row::int)? {
                Some(body) => in_prompts(tx, project, body, row.int(2)?, query)?,
                None => index::in_log(tx, project, row.int(1)?, row.int(2)?, query)?,
            };
            if let Some(hit) = hit.filter(|hit| !is_known(&hits, hit)) {
                hits.push(hit);
            }
            if hits.len() == limit {
                return Ok(hits);
            }
        }
        if i64::try_from(rows.len()) != Ok(page) {
            return Ok(hits);
        }
        offset += page;
    }
}

/// Tells whether another piece of the same text was found before.
fn is_known(hits: &[Hit], hit: &Hit) -> bool {
    let section = |place: &HitPlace| match place {
        HitPlace::Prompt { section, .. } => Some(*section),
        HitPlace::Log { .. } => None,
    };
    let new = section(&hit.place);
    new.is_some() && hits.iter().any(|known| section(&known.place) == new)
}

fn in_prompts(
    tx: &mut dyn Tx,
    project: i64,
    key: i64,
    start: i64,
    query: &Query,
) -> Result<Option<Hit>, StoreError> {
    let values: [Value<'_>; 2] = [key.into(), project.into()];
    let Some(row) = tx.first(CARRIED, &values)? else {
        return Ok(None);
    };
    debug_assert_eq!(SECTION, 1, "the condition looks at the lowest bit");
    let text = body::get_key(tx, key)?;
    let text = String::from_utf8_lossy(&text);
    let start = text.floor_char_boundary(usize::try_from(start).unwrap_or(0));
    let end = text.ceil_char_boundary((start + CHUNK).min(text.len()));
    let at = start + query.first_in(&text[start..end]);
    let section: Result<[u8; 32], _> = row.bytes(0)?.try_into();
    let section = section.map_err(|_| row.damaged("a text has a fingerprint of the wrong size"))?;
    Ok(Some(Hit {
        place: HitPlace::Prompt {
            prompt: row.text(2)?.parse()?,
            prompts: row.int(1)?,
            section: Fingerprint::from_bytes(section),
            at,
        },
        snippet: snippet(&text, at),
    }))
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
