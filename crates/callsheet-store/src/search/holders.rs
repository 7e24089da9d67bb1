//! Holders: what of a leaf has a piece of a text, and in which prompts of a project it stands.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::leaf::{self, Bodies, Leaf};
use super::spans::{Span, Spans};
use crate::StoreError;
use crate::db::{Tx, query_in};
use crate::prompt::{Edge, HIDDEN};

/// So many leaves are looked into at once.
const AT_ONCE: usize = 32;

/// So many bytes of texts are kept for the next piece.
const MOST_BYTES: usize = 32 << 20;

/// Looks into leaves for a project.
pub(super) struct Holders {
    project: i64,
    /// What leaves hold, as far as it was read, and how much that is.
    bodies: Bodies<String>,
    bytes: usize,
    /// How many texts were read.
    pub(super) loaded: usize,
}

impl Holders {
    pub(super) fn new(project: i64) -> Self {
        Self {
            project,
            bodies: Bodies::new(),
            bytes: 0,
            loaded: 0,
        }
    }

    /// Returns the prompts that can have a piece, as far as these leaves tell.
    pub(super) fn spans(
        &mut self,
        tx: &mut dyn Tx,
        piece: &str,
        leaves: &[Leaf],
    ) -> Result<Spans, StoreError> {
        let (mut held, mut met) = (BTreeSet::new(), BTreeSet::new());
        for leaves in leaves.chunks(AT_ONCE) {
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
        let carried = self.carried(tx, held.iter().copied().chain(sections).collect())?;
        let of = |body: i64| carried.get(&body).into_iter().flatten().copied();
        let mut spans: Vec<Span> = held.into_iter().flat_map(of).collect();
        for edge in met {
            let sections = edge.sections().map(|body| of(*body).collect::<Spans>());
            let all = sections.reduce(|one, other| one.and(&other));
            spans.extend(all.unwrap_or_default().iter());
        }
        Ok(spans.into_iter().collect())
    }

    /// Returns leaves in the order of the newest prompt that can have something of them, with its key.
    pub(super) fn newest_first(
        &self,
        tx: &mut dyn Tx,
        leaves: Vec<Leaf>,
    ) -> Result<Vec<(i64, Leaf)>, StoreError> {
        let all = leaves.iter().flat_map(Leaf::all_bodies).collect();
        let carried = self.carried(tx, all)?;
        let last = |body: &i64| carried.get(body)?.iter().map(|span| span.last).max();
        let newest = |leaf: &Leaf| {
            let edges = leaf.edges.iter();
            let edges = edges.filter_map(|edge| edge.sections().map(last).min().flatten());
            leaf.bodies.iter().filter_map(last).chain(edges).max()
        };
        let mut newest_first: Vec<(i64, Leaf)> = leaves
            .into_iter()
            .filter_map(|leaf| newest(&leaf).map(|key| (key, leaf)))
            .collect();
        newest_first.sort_by_key(|(key, _)| Reverse(*key));
        Ok(newest_first)
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
    fn carried(
        &self,
        tx: &mut dyn Tx,
        bodies: BTreeSet<i64>,
    ) -> Result<Bodies<Vec<Span>>, StoreError> {
        let bodies = bodies.into_iter().map(Into::into);
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
}
