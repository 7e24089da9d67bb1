//! Which prompts carried a text, exactly: what the index offers is composed and read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use callsheet::SourceMap;
use callsheet::reading::Reading;
use callsheet::seal::Explained;

use crate::db::Tx;
use crate::project::Project;
use crate::prompt::{self, COLUMNS, SealedPrompt, Texts};
use crate::search;
use crate::{Id, Store, StoreError, id};

/// The shortest text that is looked for: the index knows texts by groups of so many characters.
const LEAST_CHARS: usize = 3;

/// The prompts that carried a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carriers {
    /// The newest of them, the newest first.
    pub prompts: Vec<Carrier>,
    /// Whether there are more.
    pub more: bool,
}

/// A prompt that carried a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Carrier {
    /// The prompt.
    pub prompt: SealedPrompt,
    /// The bytes that were handed over.
    pub text: String,
    /// Where each byte of it came from.
    pub source_map: SourceMap,
}

impl Store {
    /// Returns up to `limit` prompts that carried a text of at least three characters, the newest first; only those since a
    /// time, where one is given.
    pub async fn carriers(
        &self,
        project: &Project,
        text: &str,
        limit: usize,
        since: Option<i64>,
    ) -> Result<Carriers, StoreError> {
        if text.chars().count() < LEAST_CHARS {
            return Err(StoreError::refused(
                "a text that is looked for in all prompts has at least three characters",
            ));
        }
        let (project, text) = (project.key, text.to_owned());
        let since = since.map(id::lowest).unwrap_or_default();
        self.read(move |tx| {
            let mut proof = Proof {
                project,
                text: &text,
                since: &since,
                most: limit.saturating_add(1),
                texts: Texts::default(),
                seen: BTreeSet::new(),
                found: BTreeMap::new(),
                oldest: None,
            };
            let least = least_key(tx, project, &since)?;
            search::candidates(tx, project, &text, least, |tx, keys| proof.take(tx, keys))?;
            Ok(proof.carriers(limit))
        })
        .await
    }
}

/// The sum keeps PostgreSQL from walking through its primary key to find the least.
const LEAST: &str = "select coalesce(min(key + 0), 9223372036854775807) from prompt where project = $1 and id >= $2";

/// Returns the least key of the prompts of a project from an id on: one that was imported may have been stored later than newer ones.
pub(crate) fn least_key(tx: &mut dyn Tx, project: i64, from: &str) -> Result<i64, StoreError> {
    if from.is_empty() {
        return Ok(0);
    }
    let row = tx.first(LEAST, &[project.into(), from.into()])?;
    row.map_or(Ok(i64::MAX), |row| row.int(0))
}

/// Reads prompts to see whether they carry a text.
struct Proof<'a> {
    project: i64,
    text: &'a str,
    since: &'a str,
    /// How many are wanted.
    most: usize,
    texts: Texts,
    /// The keys of the prompts that were read.
    seen: BTreeSet<i64>,
    /// Those that carry it, the newest first.
    found: BTreeMap<Reverse<Id>, Carrier>,
    /// The oldest of them that is wanted, and the least key from it on.
    oldest: Option<(Id, i64)>,
}

impl Proof<'_> {
    /// Reads prompts of a series; tells whether prompts that are older than all of them can still be wanted.
    fn take(
        &mut self,
        tx: &mut dyn Tx,
        [series, first, last]: [i64; 3],
    ) -> Result<bool, StoreError> {
        if self.is_enough(tx, last)? {
            return Ok(false);
        }
        let sql = format!(
            "select {COLUMNS} from prompt p where p.series = $1 and p.key >= $2 and p.key < $3 and p.id >= $4 \
            order by p.key desc limit {}",
            self.most.min(100)
        );
        let mut before = last.saturating_add(1);
        loop {
            let values = [
                series.into(),
                first.into(),
                before.into(),
                self.since.into(),
            ];
            let rows = tx.query(&sql, &values)?;
            if rows.is_empty() {
                return Ok(true);
            }
            for row in rows {
                before = row.int(7)?;
                if self.is_enough(tx, before)? {
                    return Ok(true);
                }
                if self.seen.insert(before) {
                    let carrier = self.carrier(tx, prompt::read(&row)?)?;
                    let carrier = carrier.map(|one| (Reverse(one.prompt.id), one));
                    self.found.extend(carrier);
                }
            }
        }
    }

    /// Tells whether no prompt with a key up to this one can be among the newest.
    fn is_enough(&mut self, tx: &mut dyn Tx, key: i64) -> Result<bool, StoreError> {
        let Some((&Reverse(id), _)) = self.found.iter().nth(self.most - 1) else {
            return Ok(false);
        };
        let least = match self.oldest {
            Some((same, least)) if same == id => least,
            _ => least_key(tx, self.project, id.as_str())?,
        };
        self.oldest = Some((id, least));
        Ok(key < least)
    }

    /// Returns a prompt if it has the text.
    fn carrier(
        &mut self,
        tx: &mut dyn Tx,
        prompt: SealedPrompt,
    ) -> Result<Option<Carrier>, StoreError> {
        let seal = self.texts.sealed(tx, &prompt)?;
        let read = || {
            let Explained {
                text, source_map, ..
            } = seal.explained()?;
            let carried = text.contains(self.text) || Reading::of(&text).text().contains(self.text);
            Ok(carried.then_some((text, source_map)))
        };
        let read: Result<_, callsheet::Error> = read();
        let read = read.map_err(|error| prompt::damaged_prompt(tx, &prompt, error.detail()))?;
        Ok(read.map(|(text, source_map)| Carrier {
            prompt,
            text,
            source_map,
        }))
    }

    fn carriers(self, limit: usize) -> Carriers {
        let more = self.found.len() > limit;
        let prompts = self.found.into_values().take(limit).collect();
        Carriers { prompts, more }
    }
}
