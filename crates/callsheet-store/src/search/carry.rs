//! Which prompts carried a text, exactly.
//!
//! Every short piece of a text that a prompt carries stands in a section or where sections meet, and leaves tell in which.
//! The prompts that have all pieces are few more than those that have the whole, and each of them is read.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use callsheet::SourceMap;
use callsheet::reading::Reading;
use callsheet::seal::Explained;

use super::holders::Holders;
use super::leaf::Leaf;
use super::pieces::{LEAST_CHARS, Place, look_up};
use super::spans::{Span, Spans};
use crate::db::{Row, Tx, query_in};
use crate::project::Project;
use crate::prompt::{self, COLUMNS, SealedPrompt, Texts};
use crate::{Store, StoreError};

/// So many leaves are few enough to look into each.
const FEW: usize = 512;

/// So many of them are looked into at once where there are more.
const AT_ONCE: usize = 64;

/// So many texts are read to see which prompts have all pieces.
const MOST_LOADED: usize = 1000;

/// So many keys are few enough to ask for each.
const NARROW: u64 = 512;

/// So many prompts are looked at in one go, at first and later.
const PAGE: usize = 32;
const MOST_ROWS: usize = 2048;

/// So many of the newest prompts are read to find what stands everywhere.
const NEWEST: usize = 64;

/// So many prompts are read to see whether they have a text whose pieces they have.
const MOST_READ: usize = 500;

/// The prompts that carried a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carriers {
    /// The newest of them, the newest first.
    pub prompts: Vec<Carrier>,
    /// Whether there may be more.
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
    /// Returns up to `limit` prompts that carried a text of at least three characters, the newest first.
    pub async fn carriers(
        &self,
        project: &Project,
        text: &str,
        limit: usize,
    ) -> Result<Carriers, StoreError> {
        if text.chars().count() < LEAST_CHARS {
            return Err(StoreError::refused(
                "a text that is looked for in all prompts has at least three characters",
            ));
        }
        let (project, text) = (project.key, text.to_owned());
        self.read(move |tx| {
            let mut search = Search {
                project,
                text: &text,
                limit,
                holders: Holders::new(project),
                texts: Texts::default(),
                found: Vec::new(),
                seen: BTreeMap::new(),
            };
            let more = search.run(tx)?;
            Ok(search.carriers(more))
        })
        .await
    }
}

struct Search<'a> {
    project: i64,
    text: &'a str,
    limit: usize,
    holders: Holders,
    texts: Texts,
    found: Vec<Carrier>,
    /// The prompts that were read, and whether they have the text.
    seen: BTreeMap<i64, bool>,
}

/// How a walk ended.
enum Walked {
    /// After everything.
    All,
    /// With enough prompts, the last of which has this key.
    Enough(i64),
    /// After so many prompts that it gave up.
    GaveUp,
}

impl Search<'_> {
    /// Finds prompts until there are enough; tells whether there may be more.
    fn run(&mut self, tx: &mut dyn Tx) -> Result<bool, StoreError> {
        let (mut places, all) = look_up(tx, self.text)?;
        places.sort_by_key(|place| place.leaves.len());
        let Some((rarest, others)) = places.split_first() else {
            return Ok(false);
        };
        let within = self.within(tx, others)?;
        let leaves = parsed(tx, rarest)?;
        if leaves.len() <= FEW {
            let spans = self.holders.spans(tx, rarest.piece, &leaves)?;
            let spans = within.map_or(spans.clone(), |within| within.and(&spans));
            return Ok(!matches!(self.walk(tx, &spans, MOST_READ)?, Walked::All));
        }
        if leaves.len() > all / 4 {
            let all = self.everything(tx)?;
            if let Walked::Enough(_) = self.walk(tx, &all, NEWEST)? {
                return Ok(true);
            }
        }
        let leaves = self.holders.newest_first(tx, leaves)?;
        let mut all = Spans::default();
        for some in leaves.chunks(AT_ONCE) {
            let (keys, some): (Vec<i64>, Vec<Leaf>) = some.iter().cloned().unzip();
            let most = self.seen.len() + MOST_READ;
            match self.walk(tx, &all, most)? {
                Walked::All => {}
                // Nothing that follows comes before it.
                Walked::Enough(last) if keys.iter().all(|key| *key < last) => return Ok(true),
                Walked::Enough(_) => {}
                Walked::GaveUp => return Ok(true),
            }
            let spans = self.holders.spans(tx, rarest.piece, &some)?;
            let spans = within
                .as_ref()
                .map_or(spans.clone(), |within| within.and(&spans));
            all = all.iter().chain(spans.iter()).collect();
        }
        let most = self.seen.len() + MOST_READ;
        Ok(!matches!(self.walk(tx, &all, most)?, Walked::All))
    }

    /// Returns the prompts that have all of some pieces, as far as it can be told with little work.
    fn within(
        &mut self,
        tx: &mut dyn Tx,
        places: &[Place<'_>],
    ) -> Result<Option<Spans>, StoreError> {
        let mut within: Option<Spans> = None;
        let few = |place: &&Place<'_>| place.leaves.len() <= FEW;
        for place in places.iter().take_while(few) {
            if self.holders.loaded > MOST_LOADED {
                break;
            }
            let leaves = parsed(tx, place)?;
            let spans = self.holders.spans(tx, place.piece, &leaves)?;
            let all = within.map_or(spans.clone(), |within| within.and(&spans));
            if all.is_empty() {
                return Ok(Some(all));
            }
            within = Some(all);
        }
        Ok(within)
    }

    fn carriers(mut self, more: bool) -> Carriers {
        self.found
            .sort_unstable_by_key(|carrier| Reverse(carrier.prompt.id));
        self.found.truncate(self.limit);
        Carriers {
            prompts: self.found,
            more,
        }
    }

    /// Returns all prompts of the project.
    fn everything(&self, tx: &mut dyn Tx) -> Result<Spans, StoreError> {
        let sql = "select l.key, l.last from line l where l.project = $1";
        let rows = tx.query(sql, &[self.project.into()])?;
        let spans = rows.iter().map(|row| {
            Ok(Span {
                line: row.int(0)?,
                first: 1,
                last: row.int(1)?,
            })
        });
        spans.collect()
    }

    /// Reads a prompt; returns it if it has the text.
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
        let read = read.map_err(|error| prompt::told(tx, &prompt, error.detail()))?;
        Ok(read.map(|(text, source_map)| Carrier {
            prompt,
            text,
            source_map,
        }))
    }

    /// Reads prompts, the newest first, until there are enough or so many were read.
    fn walk(&mut self, tx: &mut dyn Tx, spans: &Spans, most: usize) -> Result<Walked, StoreError> {
        let mut enough = self.limit.saturating_add(1);
        if spans.width() <= NARROW {
            let keys = spans.iter().flat_map(|span| span.first..=span.last);
            let mut rows = query_in(tx, &[], keys.map(Into::into), |list| {
                format!("select {COLUMNS}, p.line from prompt p where p.key in {list}")
            })?;
            // The first digits of an id are its time.
            rows.sort_by_cached_key(|row| Reverse(row.text(0).unwrap_or("").to_owned()));
            return self.read(tx, &rows, (spans, most), &mut enough);
        }
        let (mut before, mut page) = ("~".to_owned(), PAGE);
        loop {
            let sql = format!(
                "select {COLUMNS}, p.line from prompt p where p.project = $1 and p.id < $2 order by p.id desc limit {page}"
            );
            let rows = tx.query(&sql, &[self.project.into(), (&before).into()])?;
            let walked = self.read(tx, &rows, (spans, most), &mut enough)?;
            match rows.last() {
                Some(row) if rows.len() == page && matches!(walked, Walked::All) => {
                    row.text(0)?.clone_into(&mut before);
                }
                _ => return Ok(walked),
            }
            page = (page * 2).min(MOST_ROWS);
        }
    }

    /// Reads those of some prompts that are in the spans, as far as they have not been read; `enough` says how many are.
    fn read(
        &mut self,
        tx: &mut dyn Tx,
        rows: &[Row],
        (spans, most): (&Spans, usize),
        enough: &mut usize,
    ) -> Result<Walked, StoreError> {
        for row in rows {
            let (key, line) = (row.int(7)?, row.int(11)?);
            if !spans.has(line, key) {
                continue;
            }
            let has_text = match self.seen.get(&key) {
                Some(has_text) => *has_text,
                None if self.seen.len() >= most => return Ok(Walked::GaveUp),
                None => {
                    let carrier = self.carrier(tx, prompt::read(row)?)?;
                    let has_text = carrier.is_some();
                    self.found.extend(carrier);
                    self.seen.insert(key, has_text);
                    has_text
                }
            };
            *enough -= usize::from(has_text);
            if *enough == 0 {
                return Ok(Walked::Enough(key));
            }
        }
        Ok(Walked::All)
    }
}

/// Reads what the leaves of a place hold.
fn parsed(tx: &dyn Tx, place: &Place<'_>) -> Result<Vec<Leaf>, StoreError> {
    let leaves = place.leaves.iter();
    leaves
        .map(|packed| Leaf::parse(tx.store(), packed))
        .collect()
}
