//! The best of all passages that match some words, without reading all of them.
//!
//! The index says in which tier a passage has a word, and so an upper bound of its score. It is asked tier by tier, from the
//! highest on, until no passage that is left can be among the best: the threshold algorithm.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::index;
use super::trigram::{self, SAMPLES, TIERS};
use super::words::Query;
use crate::db::{Row, Tx};
use crate::hits::{Hit, HitPlace};
use crate::passage::{self, BATCH, COLUMNS};
use crate::{StoreError, body};

/// So few passages are read rather than asked about once more: it takes some milliseconds.
const FEW: usize = 100;

/// So many of the newest passages are looked into first.
const NEWEST: i64 = 256;

/// What so many of the newest have is common: going through all that have it takes longer than to ask for the best.
const COMMON: usize = 16;

/// The prompts since an id that show a text: the newest, how many they are, and the fingerprint of the text.
const SHOWN: &str = "select max(p.id), count(*), b.fingerprint from prompt_body a join series l on l.key = a.series \
    join prompt p on p.series = a.series and p.key between a.first and a.last join body b on b.key = a.body \
    where a.body = $1 and p.id >= $2 and l.project = $3 and a.roles % 2 = 1 group by b.fingerprint";

const RUN: &str = "select id from run where key = $1 and id >= $2 and project = $3";

/// Returns up to `most` texts with all words of a query, the best first; those of prompts and runs from an id and a key on.
pub(crate) fn best(
    tx: &mut dyn Tx,
    project: i64,
    text: &str,
    (since, least): (&str, i64),
    most: usize,
) -> Result<Vec<Hit>, StoreError> {
    let Some(query) = Query::parse(text) else {
        return Ok(Vec::new());
    };
    let mut best = Best {
        project,
        query: &query,
        since,
        most,
        least,
        seen: BTreeSet::new(),
        hits: BTreeMap::new(),
    };
    best.find(tx)?;
    Ok(best.hits.into_values().rev().collect())
}

/// The passages that match best until now.
struct Best<'q> {
    project: i64,
    query: &'q Query,
    /// The least id of prompts and runs.
    since: &'q str,
    /// The least key of these prompts.
    least: i64,
    /// How many are wanted.
    most: usize,
    /// The keys of all that were read.
    seen: BTreeSet<i64>,
    /// By their scores and keys: of the same score, the newest is the best.
    hits: BTreeMap<(usize, i64), Hit>,
}

impl Best<'_> {
    /// Finds what holds all words of the query.
    fn find(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        self.read(tx, 0..0, 0..i64::MAX, usize::MAX)?;
        let before = self.seen.len();
        let newest = index::state(tx, self.project)?.0 - NEWEST;
        self.read(tx, 1..1, newest..i64::MAX, usize::MAX)?;
        let is_common = self.seen.len() >= before + COMMON;
        if !is_common && self.read(tx, 1..1, 0..i64::MAX, FEW)?.is_none() {
            return Ok(());
        }
        for tier in (1..=TIERS).rev() {
            // What has no word in a higher tier has no better score than this.
            let words = self.query.phrases.len();
            let highest = words * tier;
            let (mut next, mut most) = (Some(i64::MAX), FEW);
            while let Some(before) = next
                && self.worst() < (highest, before)
            {
                // An older one has to be better. The other words have to make up for what one lacks.
                let (score, key) = self.worst();
                let lowest = score + usize::from(before <= key) + tier;
                let lowest = lowest.saturating_sub(highest).clamp(1, tier);
                let lowest = if words == 1 { tier } else { lowest };
                next = self.read(tx, lowest..tier, 0..before, most)?;
                most *= 4;
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

    /// Reads the newest `most` passages of a range that may have each word in the first tier or above, and one of them in the second,
    /// and keeps the best; in tier 0, those that are not in the index yet. Returns the last of them if there may be more.
    fn read(
        &mut self,
        tx: &mut dyn Tx,
        tiers: Range<usize>,
        keys: Range<i64>,
        most: usize,
    ) -> Result<Option<i64>, StoreError> {
        let (project, phrases) = (self.project, &self.query.phrases);
        let mut lists = Vec::new();
        for phrase in phrases.iter().filter(|_| tiers.start > 0) {
            let most = SAMPLES / phrases.len();
            lists.extend(trigram::of_phrase(project, phrase, tiers.start, most));
        }
        if !tiers.is_empty() {
            let top = |phrase: &String| trigram::of_phrase(project, phrase, tiers.end, 1).pop();
            lists.push(phrases.iter().filter_map(top).flatten().collect());
        }
        let sql = format!(
            "select {COLUMNS} from t cross join passage p where p.key = t.rowid and p.project = $1 and p.ranked = 1 \
            and ({0} = 0 or p.body is null or (select max(a.last) from prompt_body a where a.body = p.body) >= {0}) \
            order by t.rowid desc limit {1}",
            self.least,
            i64::try_from(most).unwrap_or(i64::MAX)
        );
        let mut rows = index::select(tx, project, &lists, keys, &sql)?;
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
