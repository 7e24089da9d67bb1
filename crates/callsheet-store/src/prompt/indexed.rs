//! Proof of the index: every leaf has the sieve of what it holds, and everything that prompts show is in it.

use std::collections::BTreeSet;

use callsheet::Fingerprint;

use super::HIDDEN;
use crate::StoreError;
use crate::db::{Row, Tx};
use crate::search::{self, Leaf};
use crate::verify::Audit;

const WRONG: &str = "it does not hold what it should";

/// What the leaves of the index hold.
#[derive(Default)]
pub(super) struct Index {
    bodies: BTreeSet<i64>,
    /// The names of edges.
    pub(super) edges: BTreeSet<Vec<u8>>,
}

impl Index {
    /// Checks that every leaf has the sieve of what it holds, and that leaves hold exactly what prompts show, each text
    /// once.
    ///
    /// Texts that are damaged were told before.
    pub(super) fn verify(
        tx: &mut dyn Tx,
        audit: &mut Audit<'_>,
        damaged: &BTreeSet<i64>,
    ) -> Result<Self, StoreError> {
        let (mut index, mut last) = (Self::default(), 0);
        loop {
            let rows = search::leaves(tx, last)?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                last = row.int(0)?;
                if !index.check(tx, &row, damaged)? {
                    let what = format!("leaf {last} of the index");
                    audit.find(what, WRONG);
                }
            }
        }
        for row in tx.query("select name from edge", &[])? {
            if !index.edges.contains(row.bytes(0)?) {
                audit.find("an edge of the index".to_owned(), "no leaf holds it");
            }
        }
        let sql = format!("select distinct body from part where roles not in {HIDDEN}");
        let mut shown = BTreeSet::new();
        for row in tx.query(&sql, &[])? {
            shown.insert(row.int(0)?);
        }
        for body in shown.symmetric_difference(&index.bodies) {
            audit.find(format!("the index of text number {body}"), WRONG);
        }
        Ok(index)
    }

    fn check(
        &mut self,
        tx: &mut dyn Tx,
        row: &Row,
        damaged: &BTreeSet<i64>,
    ) -> Result<bool, StoreError> {
        let Ok(leaf) = Leaf::parse(tx.store(), row.bytes(1)?) else {
            return Ok(false);
        };
        let once = leaf.bodies.iter().all(|body| self.bodies.insert(*body));
        let is_whole = leaf.all_bodies().all(|body| !damaged.contains(&body));
        let whole = leaf.all_bodies().filter(|body| !damaged.contains(body));
        let texts = search::texts(tx, whole)?;
        for edge in &leaf.edges {
            let named = edge.map(|key| texts.get(key).map(Fingerprint::of));
            self.edges.insert(named.name());
        }
        let there = leaf.all_bodies().all(|body| texts.contains_key(&body));
        Ok(!is_whole || once && there && leaf.sieve(&texts) == row.bytes(2)?)
    }
}
