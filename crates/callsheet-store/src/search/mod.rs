//! Finding texts: by their words, ranked, in prompts and logs; or exactly, in prompts.
//!
//! There is one index for both, and it is the same in both databases: leaves tell by their sieves where a text or a word can
//! be, and what they lead to is read.

mod carry;
mod holders;
mod leaf;
mod logs;
mod pieces;
mod sieve;
mod spans;
mod words;

use std::cmp::Reverse;

use callsheet::Fingerprint;
use serde::Serialize;

pub use carry::{Carrier, Carriers};
pub(crate) use leaf::{Leaf, add as add_leaves, page as leaves, retain as retain_leaves, texts};
pub(crate) use logs::wrong as wrong_pieces;

use self::sieve::can_have;
use self::words::{Counts, Query, Usual};
use crate::db::{Tx, Value};
use crate::log::Stream;
use crate::project::Project;
use crate::prompt::SECTION;
use crate::{Id, Store, StoreError, body};

/// So many leaves are looked into, the newest and some of the oldest, which hold what all prompts share.
const NEWEST: usize = 250;
const OLDEST: usize = 50;

/// So many pieces of logs are looked into.
const PIECES: usize = 64;

/// So many leaves are read at once.
const AT_ONCE: usize = 32;

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
        self.write(move |tx| logs::add_all(tx, most)).await
    }

    /// Returns how many log records are not in the index yet.
    pub async fn unindexed_records(&self) -> Result<i64, StoreError> {
        self.read(logs::unindexed).await
    }
}

const CARRIED: &str = "select b.fingerprint, count(*), max(p.id) from part a join line l on l.key = a.line \
    join prompt p on p.line = a.line and p.key between a.first and a.last join body b on b.key = a.body \
    where a.body = $1 and l.project = $2 and a.roles % 2 = 1 group by b.fingerprint";

/// Where words of a query can be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Body(i64),
    Log { run: i64, start: i64 },
}

fn search(
    tx: &mut dyn Tx,
    project: i64,
    query: &Query,
    limit: usize,
) -> Result<Vec<Hit>, StoreError> {
    let mut hits = Vec::new();
    if query.is_empty() || limit == 0 {
        return Ok(hits);
    }
    let (found, usual) = find(tx, project, query)?;
    let worth = |(place, counts): (Place, Counts)| (counts.worth(&usual), place);
    let mut ranked: Vec<(f64, Place)> = found.into_iter().map(worth).collect();
    ranked.sort_by(|(one, place), (other, there)| {
        other
            .total_cmp(one)
            .then(Reverse(place).cmp(&Reverse(there)))
    });
    ranked.dedup_by_key(|(_, place)| *place);
    for (_, place) in ranked {
        let hit = match place {
            Place::Body(key) => in_prompts(tx, project, key, query)?,
            Place::Log { run, start } => logs::hit(tx, run, start, query)?,
        };
        // Some of what is found belongs to other projects.
        hits.extend(hit);
        if hits.len() == limit {
            break;
        }
    }
    Ok(hits)
}

/// Returns what holds all words of a query, and what is usual among all that there is.
fn find(
    tx: &mut dyn Tx,
    project: i64,
    query: &Query,
) -> Result<(Vec<(Place, Counts)>, Usual), StoreError> {
    let groups = query.groups();
    let mut usual = Usual {
        with: vec![0; groups.len()],
        ..Usual::default()
    };
    let mut can = |sieve: &[u8]| {
        usual.texts += 1;
        let mut all = true;
        for (groups, with) in groups.iter().zip(&mut usual.with) {
            let has = groups.iter().all(|group| can_have(sieve, *group));
            *with += usize::from(has);
            all &= has;
        }
        all
    };
    let mut leaves: Vec<Vec<u8>> = Vec::new();
    tx.each(leaf::ALL, &[], &mut |row| {
        if can(row.bytes(1)?) {
            leaves.push(row.bytes(0)?.to_vec());
        }
        Ok(())
    })?;
    let mut pieces = Vec::new();
    tx.each(logs::ALL, &[project.into()], &mut |row| {
        if can(row.bytes(2)?) && pieces.len() < PIECES {
            pieces.push((row.int(0)?, row.int(1)?));
        }
        Ok(())
    })?;
    if leaves.len() > NEWEST + OLDEST {
        leaves.drain(NEWEST..leaves.len() - OLDEST);
    }
    let mut found = Vec::new();
    for leaves in leaves.chunks(AT_ONCE) {
        let leaves = leaves.iter().map(|packed| Leaf::parse(tx.store(), packed));
        let leaves = leaves.collect::<Result<Vec<_>, _>>()?;
        let bodies = leaves.iter().flat_map(|leaf| leaf.bodies.iter().copied());
        for (body, text) in texts(tx, bodies)? {
            found.extend(
                query
                    .counts(&text)
                    .map(|counts| (Place::Body(body), counts)),
            );
        }
    }
    for (run, start) in pieces {
        let counts = query.counts(&logs::text(tx, run, start)?);
        found.extend(counts.map(|counts| (Place::Log { run, start }, counts)));
    }
    let words: usize = found.iter().map(|(_, counts)| counts.words()).sum();
    #[expect(clippy::cast_precision_loss, reason = "nobody counts so many words")]
    let (words, texts) = (words as f64, found.len().max(1) as f64);
    usual.words = words / texts;
    Ok((found, usual))
}

fn in_prompts(
    tx: &mut dyn Tx,
    project: i64,
    key: i64,
    query: &Query,
) -> Result<Option<Hit>, StoreError> {
    let values: [Value<'_>; 2] = [key.into(), project.into()];
    let Some(row) = tx.first(CARRIED, &values)? else {
        return Ok(None);
    };
    debug_assert_eq!(SECTION, 1, "the condition looks at the lowest bit");
    let text = body::get_key(tx, key)?;
    let text = String::from_utf8_lossy(&text);
    let at = query.find_in(&text).unwrap_or(0);
    Ok(Some(Hit {
        place: HitPlace::Prompt {
            prompt: row.text(2)?.parse()?,
            prompts: row.int(1)?,
            section: body::name(&row, 0)?,
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
