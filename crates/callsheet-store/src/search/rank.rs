//! The best of all passages that match some words, without reading all of them.
//!
//! The index says in which tier a passage has a word, and so which score it cannot reach. It is asked tier by tier, from the
//! highest on, until no passage that is left can be among the best: the threshold algorithm on a tiered index.

use std::collections::BTreeSet;

use super::index::{self, Reach};
use super::trigram::{self, Gram, TIERS};
use super::words::Query;
use super::{Hit, HitPlace, Hits, log, snippet, text};
use crate::StoreError;
use crate::body;
use crate::db::{Row, Tx, query_in};

/// So many passages are read rather than asked for by tiers.
const FEW: usize = 500;

const COLUMNS: &str = "p.key, p.body, p.seam, p.run, p.first, p.last";

/// The prompts since an id that show a text: its fingerprint, how many they are, and the newest.
const SHOWN: &str = "select b.fingerprint, count(*), max(p.id) from part a join line l on l.key = a.line \
    join prompt p on p.line = a.line and p.key between a.first and a.last join body b on b.key = a.body \
    where a.body = $1 and l.project = $2 and p.id >= $3 and a.roles % 2 = 1 group by b.fingerprint";

const RUN: &str = "select 1 from run where key = $1 and id >= $2";

/// The passages that match best until now.
struct Best<'q> {
    project: i64,
    query: &'q Query,
    since: &'q str,
    /// How many are wanted.
    most: usize,
    seen: BTreeSet<i64>,
    /// With their scores, the best first; of the same score the newest first.
    ranked: Vec<(f64, Row)>,
}

/// Finds what holds all words of a query, the best first, in prompts and runs since an id.
pub(super) fn search(
    tx: &mut dyn Tx,
    project: i64,
    query: &Query,
    (limit, since): (usize, &str),
) -> Result<Hits, StoreError> {
    if query.is_empty() || limit == 0 {
        return Ok(Hits::default());
    }
    let mut best = Best {
        project,
        query,
        since,
        most: limit.saturating_add(1),
        seen: BTreeSet::new(),
        ranked: Vec::new(),
    };
    best.find(tx)?;
    let more = best.ranked.len() > limit;
    best.ranked.truncate(limit);
    let mut hits = Vec::new();
    for (_, row) in &best.ranked {
        hits.extend(best.hit(tx, row)?);
    }
    Ok(Hits { hits, more })
}

impl Best<'_> {
    fn find(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let reach = Reach::of(tx, self.project)?;
        let sql = format!(
            "select {COLUMNS} from passage p where p.project = $1 and p.key > $2 and p.seam is null"
        );
        let rows = tx.query(&sql, &[self.project.into(), reach.through.into()])?;
        self.read(tx, rows)?;
        let words = self.query.grams();
        let few = self.ask(tx, &words, |_| 0, FEW + 1)?;
        if few.len() <= FEW {
            return self.take(tx, few);
        }
        for tier in (0..TIERS).rev() {
            // What is in no higher tier with any word does not reach this, in one word and in all others.
            let end = trigram::end(tier);
            let others: f64 = words.iter().skip(1).map(|_| end).sum();
            if self.worst() >= end + others {
                break;
            }
            for this in 0..words.len() {
                // The others have to make up for what this one lacks.
                let needed = self.worst() - others;
                let lowest = (0..tier).find(|tier| trigram::end(*tier) > needed);
                let lowest = lowest.unwrap_or(tier);
                let tiers = |word| if word == this { tier } else { lowest };
                let found = self.ask(tx, &words, tiers, usize::MAX >> 1)?;
                self.take(tx, found)?;
            }
        }
        Ok(())
    }

    /// Returns the score that a passage has to beat.
    fn worst(&self) -> f64 {
        let last = self.ranked.get(self.most - 1);
        last.map_or(0.0, |(score, _)| *score)
    }

    /// Asks the index for passages that may have all words, each in a tier or above it.
    fn ask(
        &self,
        tx: &mut dyn Tx,
        words: &[Vec<Gram>],
        tier: impl Fn(usize) -> usize,
        most: usize,
    ) -> Result<Vec<i64>, StoreError> {
        let words = words.iter().enumerate();
        let wanted = words
            .flat_map(|(nth, grams)| trigram::wanted(self.project, grams, tier(nth)))
            .collect();
        index::find(tx, &wanted, most)
    }

    fn take(&mut self, tx: &mut dyn Tx, passages: Vec<i64>) -> Result<(), StoreError> {
        let new = passages.into_iter().filter(|key| !self.seen.contains(key));
        let rows = query_in(tx, &[], new.map(Into::into), |list| {
            format!("select {COLUMNS} from passage p where p.key in {list}")
        })?;
        self.read(tx, rows)
    }

    /// Reads passages, and keeps those that match best.
    fn read(&mut self, tx: &mut dyn Tx, rows: Vec<Row>) -> Result<(), StoreError> {
        for row in rows {
            if !self.seen.insert(row.int(0)?) {
                continue;
            }
            let Some(score) = text(tx, &row)?.and_then(|text| self.query.score(&text)) else {
                continue;
            };
            let key = row.int(0)?;
            let at = self.ranked.partition_point(|(other, there)| {
                let there = there.int(0).unwrap_or(0);
                other.total_cmp(&score).then(there.cmp(&key)).is_gt()
            });
            if at < self.most && self.is_since(tx, &row)? {
                self.ranked.insert(at, (score, row));
                self.ranked.truncate(self.most);
            }
        }
        Ok(())
    }

    fn is_since(&self, tx: &mut dyn Tx, row: &Row) -> Result<bool, StoreError> {
        let found = match row.maybe(3, Row::int)? {
            Some(run) => tx.first(RUN, &[run.into(), self.since.into()])?,
            None => self.shown(tx, row)?,
        };
        Ok(found.is_some())
    }

    fn shown(&self, tx: &mut dyn Tx, row: &Row) -> Result<Option<Row>, StoreError> {
        let values = [row.int(1)?.into(), self.project.into(), self.since.into()];
        tx.first(SHOWN, &values)
    }

    fn hit(&self, tx: &mut dyn Tx, row: &Row) -> Result<Option<Hit>, StoreError> {
        if let Some(run) = row.maybe(3, Row::int)? {
            return log::hit(tx, run, (row.int(4)?, row.int(5)?), self.query);
        }
        let Some(shown) = self.shown(tx, row)? else {
            return Ok(None);
        };
        let text = text(tx, row)?.unwrap_or_default();
        let at = self.query.find_in(&text).unwrap_or(0);
        Ok(Some(Hit {
            place: HitPlace::Prompt {
                prompt: shown.text(2)?.parse()?,
                prompts: shown.int(1)?,
                section: body::name(&shown, 0)?,
                at,
            },
            snippet: snippet(&text, at),
        }))
    }
}
