//! The best of all passages that match some words, without reading all of them.
//!
//! The index says in which tier a passage has a word, and so an upper bound of its score. It is asked tier by tier, from the
//! highest on, until no passage that is left can be among the best: the threshold algorithm.

use std::collections::BTreeSet;

use super::trigram::{self, TIERS};
use super::words::Query;
use super::{FEW, Hit, HitPlace, index};
use crate::db::{Row, Tx};
use crate::passage::{self, BATCH, COLUMNS};
use crate::{StoreError, body};

/// The prompts since an id that show a text: its fingerprint, how many they are, and the newest.
const SHOWN: &str = "select b.fingerprint, count(*), max(p.id) from prompt_body a join series l on l.key = a.series \
    join prompt p on p.series = a.series and p.key between a.first and a.last join body b on b.key = a.body \
    where a.body = $1 and p.id >= $2 and l.project = $3 and a.roles % 2 = 1 group by b.fingerprint";

const RUN: &str = "select id from run where key = $1 and id >= $2";

/// The passages that match best until now.
pub(super) struct Best<'q> {
    pub(super) project: i64,
    pub(super) query: &'q Query,
    /// The least id of prompts and runs.
    pub(super) since: &'q str,
    /// How many are wanted.
    pub(super) most: usize,
    pub(super) seen: BTreeSet<i64>,
    /// With their scores and keys, the best first; of the same score the newest first.
    pub(super) hits: Vec<(f64, i64, Hit)>,
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
            let highest: f64 = vec![trigram::score(tier); words].into_iter().sum();
            if self.is_enough(highest, i64::MAX) {
                break;
            }
            // The other words have to make up for what one lacks.
            let worst = self.hits.get(self.most - 1).map_or(0.0, |hit| hit.0);
            let enough =
                |lowest: &usize| highest - trigram::score(tier) + trigram::score(*lowest) >= worst;
            let lowest = (1..tier).find(enough).unwrap_or(tier);
            for this in 0..words {
                let mut tiers = vec![lowest; words];
                tiers[this] = tier;
                self.read_on(tx, &tiers, highest)?;
                if lowest == tier {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads passages that may have each word in its tier or above, more and more of them, until what is left has at most the
    /// highest score that there can be and is older than what was found.
    fn read_on(
        &mut self,
        tx: &mut dyn Tx,
        tiers: &[usize],
        highest: f64,
    ) -> Result<(), StoreError> {
        let (mut next, mut most) = (Some(i64::MAX), FEW);
        while let Some(before) = next
            && !self.is_enough(highest, before)
        {
            next = self.read(tx, tiers, (before, most))?;
            most *= 2;
        }
        Ok(())
    }

    /// Tells whether no passage with this score and a lower key can be among the best.
    fn is_enough(&self, score: f64, before: i64) -> bool {
        let worst = self.hits.get(self.most - 1);
        worst.is_some_and(|(worst, key, _)| {
            let order = worst.total_cmp(&score).then(key.cmp(&before));
            order.is_ge()
        })
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
        let terms: Vec<_> = terms.collect();
        let newest = format!("and p.ranked = 1 and t.rowid < {before} order by t.rowid desc");
        let mut rows = index::select(tx, self.project, [COLUMNS, "", &newest], (&terms, most))?;
        let last = rows.last().filter(|_| rows.len() == most);
        let last = last.map(|row| row.int(0)).transpose()?;
        rows.retain(|row| row.int(0).is_ok_and(|key| self.seen.insert(key)));
        for rows in rows.chunks(BATCH) {
            let texts = passage::texts(tx, rows)?;
            for row in rows {
                if let Some(text) = texts.get(&row.int(0)?) {
                    self.weigh(tx, row, text)?;
                }
            }
        }
        Ok(last)
    }

    /// Keeps a passage if it is among the best.
    fn weigh(&mut self, tx: &mut dyn Tx, row: &Row, text: &str) -> Result<(), StoreError> {
        let Some(score) = self.query.score(text) else {
            return Ok(());
        };
        let key = row.int(0)?;
        let before = |hit: &(f64, i64, Hit)| hit.0.total_cmp(&score).then(hit.1.cmp(&key)).is_gt();
        let at = self.hits.partition_point(before);
        if at < self.most
            && let Some(hit) = self.hit(tx, row, text)?
        {
            self.hits.insert(at, (score, key, hit));
            self.hits.truncate(self.most);
        }
        Ok(())
    }

    /// Returns where a passage has the first of the words, if prompts or runs that are new enough have it.
    fn hit(&self, tx: &mut dyn Tx, row: &Row, text: &str) -> Result<Option<Hit>, StoreError> {
        let (body, run) = (row.maybe(2, Row::int)?, row.maybe(4, Row::int)?);
        let values = [body.or(run).into(), self.since.into(), self.project.into()];
        if run.is_none() {
            let Some(shown) = tx.first(SHOWN, &values)? else {
                return Ok(None);
            };
            let at = self.query.find_in(text).unwrap_or(0);
            let place = HitPlace::Prompt {
                prompt: shown.text(2)?.parse()?,
                prompts: shown.int(1)?,
                section: body::name(&shown, 0)?,
                at,
            };
            return Ok(Some(Hit::new(place, text, at)));
        }
        let Some(run) = tx.first(RUN, &values[..2])? else {
            return Ok(None);
        };
        let run = run.text(0)?.parse()?;
        let mut records = passage::records(tx, row)?.into_iter();
        Ok(records.find_map(|(seq, stream, text)| {
            let at = self.query.find_in(&text)?;
            Some(Hit::new(HitPlace::Log { run, seq, stream }, &text, at))
        }))
    }
}
