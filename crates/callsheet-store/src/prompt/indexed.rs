//! Proof of the index: every leaf has the signature of what it holds, and everything that prompts show is in it.

use std::collections::BTreeSet;

use callsheet::Fingerprint;

use super::{FRAME, SECTION, edge};
use crate::StoreError;
use crate::db::{Row, Tx};
use crate::search::{self, Leaf};
use crate::verify::Audit;

const ROLES: &str = "select distinct roles from part where body = $1";

const CHUNKS: &str = "select start from chunk where body = $1 order by start";

/// What the leaves of the index hold.
#[derive(Default)]
pub(super) struct Index {
    bodies: BTreeSet<i64>,
    /// The names of edges.
    pub(super) edges: BTreeSet<Vec<u8>>,
}

impl Index {
    /// Checks that every leaf has the signature of what it holds.
    pub(super) fn verify(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<Self, StoreError> {
        let (mut index, mut last) = (Self::default(), 0);
        loop {
            let rows = search::leaves(tx, last)?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                last = row.int(0)?;
                match index.check(tx, &row) {
                    Ok(true) => {}
                    Ok(false) => {
                        let what = format!("leaf {last} of the index");
                        audit.find(what, "it does not hold what it should");
                    }
                    // A text that is damaged is told with the texts.
                    Err(StoreError::Damaged { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        for row in tx.query("select name from edge", &[])? {
            if !index.edges.contains(row.bytes(0)?) {
                audit.find("an edge of the index".to_owned(), "no leaf holds it");
            }
        }
        Ok(index)
    }

    fn check(&mut self, tx: &mut dyn Tx, row: &Row) -> Result<bool, StoreError> {
        let Ok(leaf) = Leaf::parse(tx.store(), row.bytes(1)?) else {
            return Ok(false);
        };
        self.bodies.extend(&leaf.bodies);
        let texts = search::texts(tx, leaf.all_bodies())?;
        for meeting in &leaf.meetings {
            let name =
                |side: Option<i64>| side.and_then(|key| texts.get(&key)).map(Fingerprint::of);
            let (left, right) = (name(meeting.left), name(meeting.right));
            self.edges
                .insert(edge::name(left, right, &meeting.text(&texts)));
        }
        let there = leaf.all_bodies().all(|body| texts.contains_key(&body));
        Ok(there && leaf.signature(&texts) == row.bytes(2)?)
    }

    /// Tells whether a text is in the index if, and only if, prompts show it.
    pub(super) fn has(&self, tx: &mut dyn Tx, key: i64, text: &str) -> Result<bool, StoreError> {
        let mut roles = 0;
        for row in tx.query(ROLES, &[key.into()])? {
            roles |= row.int(0)?;
        }
        if self.bodies.contains(&key) != (roles & (SECTION | FRAME) != 0) {
            return Ok(false);
        }
        let rows = tx.query(CHUNKS, &[key.into()])?;
        if roles & SECTION == 0 {
            return Ok(rows.is_empty());
        }
        let found = rows.iter().map(|row| row.int(0));
        let found = found.collect::<Result<Vec<_>, _>>()?;
        let starts = search::starts(text).into_iter();
        let starts = starts.map(|start| i64::try_from(start).unwrap_or(i64::MAX));
        Ok(starts.eq(found) && search::holds(tx, key, text)?)
    }
}
