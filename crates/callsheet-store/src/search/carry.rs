//! Which prompts carried a text, exactly.
//!
//! Every short piece of a text that a prompt carries stands in a section or where sections meet, and leaves tell in which.
//! The prompts that have all pieces are few more than those that have the whole, and each of them is read.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use callsheet::SourceMap;

use super::leaf::{self, Bodies, Leaf};
use super::pieces::{LEAST_CHARS, Packed, Place, look_up};
use super::spans::{Span, Spans};
use crate::db::{Row, Tx, query_in};
use crate::project::Project;
use crate::prompt::{self, COLUMNS, Edge, HIDDEN, SealedPrompt, Texts};
use crate::{Store, StoreError};

/// So many leaves are few enough to look into each.
const FEW: usize = 512;

/// So many texts are little for a leaf.
const SMALL: usize = 4;

/// So many leaves are followed.
const MOST_LEAVES: usize = 4096;

/// So many leaves are looked into at once.
const AT_ONCE: usize = 32;

/// So many texts are read to see which prompts have all pieces.
const MOST_LOADED: usize = 1000;

/// So many bytes of texts are kept for the next piece.
const MOST_BYTES: usize = 32 << 20;

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
    /// Its text.
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
                bodies: Bodies::new(),
                bytes: 0,
                loaded: 0,
                texts: Texts::default(),
                found: Vec::new(),
                seen: BTreeSet::new(),
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
    /// What leaves hold, as far as it was read, and how much that is.
    bodies: Bodies<String>,
    bytes: usize,
    /// How many texts were read.
    loaded: usize,
    texts: Texts,
    found: Vec<Carrier>,
    /// The prompts that were read.
    seen: BTreeSet<i64>,
}

impl Search<'_> {
    /// Finds prompts until there are enough; tells whether there may be more.
    fn run(&mut self, tx: &mut dyn Tx) -> Result<bool, StoreError> {
        let mut places = look_up(tx, self.text)?;
        places.sort_by_key(|place| place.leaves.len());
        let Some((rarest, others)) = places.split_first() else {
            return Ok(false);
        };
        let mut within: Option<Spans> = None;
        let few = |place: &&Place<'_>| place.leaves.len() <= FEW;
        for place in others.iter().take_while(few) {
            if self.loaded > MOST_LOADED {
                break;
            }
            let spans = self.spans(tx, place.piece, &place.leaves)?;
            within = Some(within.map_or(spans.clone(), |within| within.and(&spans)));
            if within.as_ref().is_some_and(Spans::is_empty) {
                return Ok(false);
            }
        }
        if rarest.leaves.len() > FEW {
            let all = self.everything(tx)?;
            self.walk(tx, &all, NEWEST)?;
            if self.is_enough() {
                return Ok(true);
            }
        }
        let some = &rarest.leaves[..rarest.leaves.len().min(MOST_LEAVES)];
        let mut spans = self.spans(tx, rarest.piece, some)?;
        if let Some(within) = within {
            spans = spans.and(&within);
        }
        let stopped = self.walk(tx, &spans, self.seen.len() + MOST_READ)?;
        Ok(stopped || some.len() < rarest.leaves.len())
    }

    fn is_enough(&self) -> bool {
        self.found.len() > self.limit
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

    /// Returns the prompts that can have a piece, as far as these leaves tell.
    fn spans(
        &mut self,
        tx: &mut dyn Tx,
        piece: &str,
        leaves: &[Packed],
    ) -> Result<Spans, StoreError> {
        let (mut held, mut met) = (BTreeSet::new(), BTreeSet::new());
        let parsed = |packed: &Packed| Leaf::parse(tx.store(), packed);
        let parsed = leaves.iter().map(parsed).collect::<Result<Vec<_>, _>>()?;
        // Where there are many, those that hold little are taken at their word: reading a prompt tells.
        let is_told = |leaf: &Leaf| leaves.len() > FEW && leaf.bodies.len() <= SMALL;
        let (told, others): (Vec<_>, Vec<_>) = parsed.into_iter().partition(is_told);
        for leaf in told {
            held.extend(leaf.bodies);
            met.extend(leaf.edges);
        }
        for leaves in others.chunks(AT_ONCE) {
            self.load(tx, leaves)?;
            // What cannot be read may have it: whoever carries it will say that it is damaged.
            let text = |key: &i64| self.bodies.get(key).map(String::as_str);
            let has_piece = |body: &&i64| text(body).is_none_or(|text| text.contains(piece));
            for leaf in leaves {
                held.extend(leaf.bodies.iter().filter(has_piece));
                let edges = leaf.edges.iter().filter(|edge| {
                    let unread = edge.sections().any(|body| text(body).is_none());
                    unread || edge.text(text).contains(piece)
                });
                met.extend(edges.cloned());
            }
        }
        let sections = met.iter().flat_map(Edge::sections).copied();
        let all: BTreeSet<i64> = held.iter().copied().chain(sections).collect();
        let carried = self.carried(tx, &all.into_iter().collect::<Vec<_>>())?;
        let of = |body: i64| carried.get(&body).into_iter().flatten().copied();
        let mut spans: Vec<Span> = held.into_iter().flat_map(of).collect();
        for edge in met {
            let sections = edge.sections().map(|body| of(*body).collect::<Spans>());
            let all = sections.reduce(|one, other| one.and(&other));
            spans.extend(all.unwrap_or_default().iter());
        }
        Ok(spans.into_iter().collect())
    }

    /// Reads what leaves hold, as far as it has not been read before.
    fn load(&mut self, tx: &mut dyn Tx, leaves: &[Leaf]) -> Result<(), StoreError> {
        if self.bytes > MOST_BYTES {
            self.bodies.clear();
            self.bytes = 0;
        }
        let all = leaves.iter().flat_map(Leaf::all_bodies);
        let missing = all.filter(|body| !self.bodies.contains_key(body));
        let new = leaf::texts(tx, missing)?;
        self.loaded += new.len();
        self.bytes += new.values().map(String::len).sum::<usize>();
        self.bodies.extend(new);
        Ok(())
    }

    /// Returns in which prompts of the project texts are shown.
    fn carried(&self, tx: &mut dyn Tx, bodies: &[i64]) -> Result<Bodies<Vec<Span>>, StoreError> {
        let bodies = bodies.iter().map(|body| (*body).into());
        let rows = query_in(tx, &[self.project.into()], bodies, |list| {
            format!(
                "select a.body, a.line, a.first, a.last from part a join line l on l.key = a.line \
                where l.project = $1 and a.roles not in {HIDDEN} and a.body in {list}"
            )
        })?;
        let mut carried: Bodies<Vec<Span>> = Bodies::new();
        for row in rows {
            let span = Span {
                line: row.int(1)?,
                first: row.int(2)?,
                last: row.int(3)?,
            };
            carried.entry(row.int(0)?).or_default().push(span);
        }
        Ok(carried)
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
            let text = seal.text()?;
            if !text.contains(self.text) {
                return Ok(None);
            }
            Ok(Some((text, seal.source_map()?)))
        };
        let read: Result<_, callsheet::Error> = read();
        let read = read.map_err(|error| prompt::told(tx, &prompt, error.detail()))?;
        Ok(read.map(|(text, source_map)| Carrier {
            prompt,
            text,
            source_map,
        }))
    }

    /// Reads prompts, the newest first, until there are enough or so many were read; tells whether it stopped.
    fn walk(&mut self, tx: &mut dyn Tx, spans: &Spans, most: usize) -> Result<bool, StoreError> {
        if spans.width() <= NARROW {
            let keys = spans.iter().flat_map(|span| span.first..=span.last);
            let mut rows = query_in(tx, &[], keys.map(Into::into), |list| {
                format!("select {COLUMNS}, p.line from prompt p where p.key in {list}")
            })?;
            // The first digits of an id are its time.
            rows.sort_by_cached_key(|row| Reverse(row.text(0).unwrap_or("").to_owned()));
            return self.read(tx, &rows, spans, most);
        }
        let (mut before, mut page) = ("~".to_owned(), PAGE);
        loop {
            let sql = format!(
                "select {COLUMNS}, p.line from prompt p where p.project = $1 and p.id < $2 order by p.id desc limit {page}"
            );
            let rows = tx.query(&sql, &[self.project.into(), (&before).into()])?;
            if self.read(tx, &rows, spans, most)? {
                return Ok(true);
            }
            match rows.last() {
                Some(row) if rows.len() == page => row.text(0)?.clone_into(&mut before),
                _ => return Ok(false),
            }
            page = (page * 2).min(MOST_ROWS);
        }
    }

    /// Reads those of some prompts that are in the spans; tells whether it stopped before the end.
    fn read(
        &mut self,
        tx: &mut dyn Tx,
        rows: &[Row],
        spans: &Spans,
        most: usize,
    ) -> Result<bool, StoreError> {
        for row in rows {
            let (key, line) = (row.int(7)?, row.int(11)?);
            if !spans.has(line, key) || !self.seen.insert(key) {
                continue;
            }
            let carrier = self.carrier(tx, prompt::read(row)?)?;
            self.found.extend(carrier);
            if self.is_enough() || self.seen.len() >= most {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
