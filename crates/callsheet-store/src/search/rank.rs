//! The best of all passages that match some words, without reading all of them.
//!
//! The index says in which tier a passage has a word, and so an upper bound of its score. It is asked tier by tier, from the
//! highest on, until no passage that is left can be among the best: the threshold algorithm.

use std::collections::{BTreeMap, BTreeSet};

use super::trigram::{self, TIERS};
use super::words::Query;
use super::{Hit, HitPlace, index};
use crate::db::{Row, Tx};
use crate::passage::{self, BATCH, COLUMNS};
use crate::{StoreError, body};

/// So few passages are read rather than asked about once more: it takes some milliseconds.
const FEW: usize = 100;

/// The prompts since an id that show a text: the newest, how many they are, and the fingerprint of the text.
const SHOWN: &str = "select max(p.id), count(*), b.fingerprint from prompt_body a join series l on l.key = a.series \
    join prompt p on p.series = a.series and p.key between a.first and a.last join body b on b.key = a.body \
    where a.body = $1 and p.id >= $2 and l.project = $3 and a.roles % 2 = 1 group by b.fingerprint";

const RUN: &str = "select id from run where key = $1 and id >= $2 and project = $3";

/// The passages that match best until now.
pub(super) struct Best<'q> {
    pub(super) project: i64,
    pub(super) query: &'q Query,
    /// The least id of prompts and runs.
    pub(super) since: &'q str,
    /// How many are wanted.
    pub(super) most: usize,
    /// The keys of all that were read.
    pub(super) seen: BTreeSet<i64>,
    /// By their scores and keys: of the same score, the newest is the best.
    pub(super) hits: BTreeMap<(usize, i64), Hit>,
}

impl Best<'_> {
    /// Finds what holds all words of the query.
    pub(super) fn find(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        self.read(tx, &[], (i64::MAX, usize::MAX))?;
        let words = self.query.trigrams().len();
        if self.read(tx, &vec![1; words], (i64::MAX, FEW))?.is_none() {
            return Ok(());
        }
        for tier in (1..=TIERS).rev() {
            // What has no word in a higher tier has no better score than this.
            let highest = words * tier;
            for word in 0..words {
                // The other words have to make up for what one lacks.
                let lowest = (self.worst().0 + tier).saturating_sub(highest);
                let mut tiers = vec![lowest.clamp(1, tier); words];
                tiers[word] = tier;
                let (mut next, mut most) = (Some(i64::MAX), FEW);
                while let Some(before) = next
                    && self.worst() < (highest, before)
                {
                    next = self.read(tx, &tiers, (before, most))?;
                    most *= 2;
                }
            }
        }
        Ok(())
    }

    /// Returns score and key of the worst that is wanted; what is not better than that is not among the best.
    fn worst(&self) -> (usize, i64) {
        let worst = self.hits.first_key_value();
        let worst = worst.filter(|_| self.hits.len() == self.most);
        worst.map_or((0, i64::MIN), |(worst, _)| *worst)
    }

    /// Reads the newest `most` passages before one that may have each word in its tier or above, and keeps the best; without
    /// tiers, reads those that are not in the index yet. Returns the last of them if there may be more.
    fn read(
        &mut self,
        tx: &mut dyn Tx,
        tiers: &[usize],
        (before, most): (i64, usize),
    ) -> Result<Option<i64>, StoreError> {
        let words = self.query.trigrams().into_iter().zip(tiers);
        let terms = words.flat_map(|(word, tier)| trigram::wanted(self.project, &word, *tier));
        let sql = format!(
            "select {COLUMNS} from t cross join passage p where p.key = t.rowid and p.project = $1 and p.ranked = 1 \
            and t.rowid < {before} order by t.rowid desc limit {}",
            i64::try_from(most).unwrap_or(i64::MAX)
        );
        let mut rows = index::select(tx, self.project, &terms.collect::<Vec<_>>(), &sql)?;
        let last = rows.get(most - 1).map(|row| row.int(0)).transpose()?;
        rows.retain(|row| row.int(0).is_ok_and(|key| self.seen.insert(key)));
        for rows in rows.chunks(BATCH) {
            for (row, text) in rows.iter().zip(passage::texts(tx, rows)?) {
                self.keep(tx, row, &text.unwrap_or_default())?;
            }
        }
        Ok(last)
    }

    /// Keeps a passage if it is among the best.
    fn keep(&mut self, tx: &mut dyn Tx, row: &Row, text: &str) -> Result<(), StoreError> {
        let key = row.int(0)?;
        if let Some(score) = self.query.score(text)
            && (score, key) > self.worst()
            && let Some(hit) = self.hit(tx, row, text)?
        {
            self.hits.insert((score, key), hit);
            if self.hits.len() > self.most {
                self.hits.pop_first();
            }
        }
        Ok(())
    }

    /// Returns where a passage has the first of the words, if prompts or runs that are new enough have it.
    fn hit(&self, tx: &mut dyn Tx, row: &Row, text: &str) -> Result<Option<Hit>, StoreError> {
        let (body, run) = (row.maybe(2, Row::int)?, row.maybe(4, Row::int)?);
        let values = [body.or(run).into(), self.since.into(), self.project.into()];
        let sql = if run.is_some() { RUN } else { SHOWN };
        let Some(newest) = tx.first(sql, &values)? else {
            return Ok(None);
        };
        if run.is_none() {
            let at = self.query.find_in(text).unwrap_or(0);
            let place = HitPlace::Prompt {
                prompt: newest.text(0)?.parse()?,
                prompts: newest.int(1)?,
                section: body::name(&newest, 2)?,
                at,
            };
            return Ok(Some(Hit::new(place, text, at)));
        }
        let run = newest.text(0)?.parse()?;
        for (seq, stream, text) in passage::records(tx, row)? {
            if let Some(at) = self.query.find_in(&text) {
                let place = HitPlace::Log { run, seq, stream };
                return Ok(Some(Hit::new(place, &text, at)));
            }
        }
        Ok(None)
    }
}
