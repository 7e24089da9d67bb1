//! The best of all passages that match some words, without reading all of them.
//!
//! The index says in which tier a passage has a word, and so an upper bound of its score. It is asked tier by tier, from the
//! highest on, until no passage that is left can be among the best: the threshold algorithm.

use std::collections::BTreeSet;

use super::trigram::{self, TIERS};
use super::words::Query;
use super::{FEW, Hit, HitPlace, index};
use crate::db::{Row, Tx};
use crate::passage::{self, COLUMNS};
use crate::{StoreError, body};

const RANKED: index::Select = [COLUMNS, "", "and p.ranked = 1"];

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
        self.read(tx, &[], usize::MAX)?;
        let words = self.query.trigrams();
        if self.read(tx, &vec![1; words.len()], FEW)? < FEW {
            return Ok(());
        }
        for tier in (1..=TIERS).rev() {
            // What has no word in a higher tier does not reach this, in one word and in all others.
            let others: f64 = words.iter().skip(1).map(|_| trigram::bound(tier)).sum();
            let worst = self.hits.get(self.most - 1).map_or(0.0, |hit| hit.0);
            if worst >= others + trigram::bound(tier) {
                break;
            }
            // The others have to make up for what this one lacks.
            let enough = |lowest: &usize| trigram::bound(*lowest) > worst - others;
            let lowest = (1..tier).find(enough).unwrap_or(tier);
            for this in 0..words.len() {
                let mut tiers = vec![lowest; words.len()];
                tiers[this] = tier;
                self.read(tx, &tiers, usize::MAX)?;
            }
        }
        Ok(())
    }

    /// Reads up to `most` passages that may have each word in its tier or above, and keeps the best; without tiers, reads those
    /// that are not in the index yet. Returns how many there were.
    fn read(&mut self, tx: &mut dyn Tx, tiers: &[usize], most: usize) -> Result<usize, StoreError> {
        let words = self.query.trigrams().into_iter().zip(tiers);
        let terms = words.flat_map(|(word, tier)| trigram::wanted(self.project, &word, *tier));
        let rows = index::select(tx, self.project, RANKED, (&terms.collect::<Vec<_>>(), most))?;
        for row in &rows {
            let key = row.int(0)?;
            if !self.seen.insert(key) {
                continue;
            }
            let text = passage::text(tx, row)?.unwrap_or_default();
            let Some(score) = self.query.score(&text) else {
                continue;
            };
            let before =
                |hit: &(f64, i64, Hit)| hit.0.total_cmp(&score).then(hit.1.cmp(&key)).is_gt();
            let at = self.hits.partition_point(before);
            if at < self.most
                && let Some(hit) = self.hit(tx, row, &text)?
            {
                self.hits.insert(at, (score, key, hit));
                self.hits.truncate(self.most);
            }
        }
        Ok(rows.len())
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
