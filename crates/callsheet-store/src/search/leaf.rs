//! Leaves: what a prompt brought that no prompt before it had, with a sieve of all of it.
//!
//! Every piece of a prompt stands in a text, or at an edge, of some leaf. Reading the sieves of all leaves tells where
//! to look; what is shared by all prompts is in one leaf, so there are about as many as there are prompts.

use std::collections::{BTreeMap, BTreeSet};

use super::sieve::Groups;
use super::words::spaced;
use crate::db::{Row, Tx};
use crate::prompt::Edge;
use crate::{StoreError, body};

/// So many bytes of text make a leaf, unless one text alone has more.
const MOST_BYTES: usize = 64 * 1024;

/// All leaves, the newest first.
pub(super) const ALL: &str = "select holders, sieve from leaf order by key desc";

const PAGE: &str = "select key, holders, sieve from leaf where key > $1 order by key limit 100";

const INSERT: &str = "insert into leaf (holders, sieve) values ($1, $2)";

const UPDATE: &str = "update leaf set holders = $2, sieve = $3 where key = $1";

/// What a leaf holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// Texts of prompts.
    pub(crate) bodies: Vec<i64>,
    /// Where they meet.
    pub(crate) edges: Vec<Edge<i64>>,
}

/// Texts by their keys.
pub(crate) type Bodies<T> = BTreeMap<i64, T>;

impl Leaf {
    /// Returns the sieve of everything it holds, and of its words.
    pub(crate) fn sieve<T: AsRef<str>>(&self, bodies: &Bodies<T>) -> Vec<u8> {
        let mut groups = Groups::default();
        for body in self.bodies.iter().filter_map(|body| bodies.get(body)) {
            groups.add(body.as_ref());
            groups.add_long(body.as_ref());
            groups.add(&spaced(body.as_ref()));
        }
        for edge in &self.edges {
            let text = edge.text(|key| bodies.get(key).map(AsRef::as_ref));
            groups.add(&text);
            groups.add_long(&text);
        }
        groups.sieve()
    }

    /// Returns every text that it is about.
    pub(crate) fn all_bodies(&self) -> impl Iterator<Item = i64> {
        let sides = self.edges.iter().flat_map(Edge::sections).copied();
        self.bodies.iter().copied().chain(sides)
    }

    fn packed(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.bodies.len() as u64);
        for body in &self.bodies {
            put(&mut out, body.unsigned_abs());
        }
        for edge in &self.edges {
            for side in [edge.left, edge.right] {
                put(&mut out, side.unwrap_or(0).unsigned_abs());
            }
            put(&mut out, edge.beyond.len() as u64);
            for body in &edge.beyond {
                put(&mut out, body.unsigned_abs());
            }
            put(&mut out, edge.between.len() as u64);
            out.extend_from_slice(edge.between.as_bytes());
        }
        out
    }

    /// Reads what a leaf of a store holds.
    pub(crate) fn parse(store: &str, packed: &[u8]) -> Result<Self, StoreError> {
        let unreadable = || StoreError::damaged(store, "a leaf of the index cannot be read");
        Self::unpack(packed).ok_or_else(unreadable)
    }

    fn unpack(mut packed: &[u8]) -> Option<Self> {
        let mut leaf = Self {
            bodies: take_keys(&mut packed)?,
            edges: Vec::new(),
        };
        while !packed.is_empty() {
            let mut side = || -> Option<Option<i64>> {
                let key = i64::try_from(take(&mut packed)?).ok()?;
                Some((key > 0).then_some(key))
            };
            let (left, right) = (side()?, side()?);
            let beyond = take_keys(&mut packed)?;
            let size = usize::try_from(take(&mut packed)?).ok()?;
            let (between, rest) = packed.split_at_checked(size)?;
            packed = rest;
            leaf.edges.push(Edge {
                left,
                right,
                beyond,
                between: String::from_utf8(between.to_vec()).ok()?,
            });
        }
        Some(leaf)
    }
}

/// Writes a number in groups of seven bits, the lowest first.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_keys(bytes: &mut &[u8]) -> Option<Vec<i64>> {
    let count = take(bytes)?;
    let key = |_| i64::try_from(take(bytes)?).ok();
    (0..count).map(key).collect()
}

/// Puts texts and edges into the index, in as many leaves as they need.
pub(crate) fn add<T: AsRef<str>>(
    tx: &mut dyn Tx,
    new: &[i64],
    edges: Vec<Edge<i64>>,
    bodies: &Bodies<T>,
) -> Result<(), StoreError> {
    let mut leaf = Leaf::default();
    let mut bytes = 0;
    for &body in new {
        let size = bodies.get(&body).map_or(0, |text| text.as_ref().len());
        if bytes > 0 && bytes + size > MOST_BYTES {
            insert(tx, &std::mem::take(&mut leaf), bodies)?;
            bytes = 0;
        }
        bytes += size;
        leaf.bodies.push(body);
    }
    leaf.edges = edges;
    insert(tx, &leaf, bodies)
}

fn insert<T: AsRef<str>>(
    tx: &mut dyn Tx,
    leaf: &Leaf,
    bodies: &Bodies<T>,
) -> Result<(), StoreError> {
    if *leaf != Leaf::default() {
        let values = [leaf.packed().into(), leaf.sieve(bodies).into()];
        tx.execute(INSERT, &values)?;
    }
    Ok(())
}

/// Returns some leaves with their keys and sieves, those after a key.
pub(crate) fn page(tx: &mut dyn Tx, after: i64) -> Result<Vec<Row>, StoreError> {
    tx.query(PAGE, &[after.into()])
}

/// Drops what is no longer there from all leaves; returns the edges that were dropped.
pub(crate) fn retain(
    tx: &mut dyn Tx,
    is_there: impl Fn(i64) -> bool,
) -> Result<Vec<Edge<i64>>, StoreError> {
    let (mut dropped, mut last) = (Vec::new(), 0);
    loop {
        let rows = page(tx, last)?;
        if rows.is_empty() {
            return Ok(dropped);
        }
        for row in rows {
            last = row.int(0)?;
            let before = Leaf::parse(tx.store(), row.bytes(1)?)?;
            let is_whole = |edge: &Edge<i64>| edge.sections().all(|body| is_there(*body));
            let bodies = before.bodies.iter().copied();
            let leaf = Leaf {
                bodies: bodies.filter(|body| is_there(*body)).collect(),
                edges: before
                    .edges
                    .iter()
                    .filter(|edge| is_whole(edge))
                    .cloned()
                    .collect(),
            };
            if leaf == Leaf::default() {
                tx.execute("delete from leaf where key = $1", &[last.into()])?;
            } else if leaf != before {
                let bodies = texts(tx, leaf.all_bodies())?;
                let values = [
                    last.into(),
                    leaf.packed().into(),
                    leaf.sieve(&bodies).into(),
                ];
                tx.execute(UPDATE, &values)?;
            }
            dropped.extend(before.edges.into_iter().filter(|edge| !is_whole(edge)));
        }
    }
}

/// Returns texts by their keys, as far as they can be read.
pub(crate) fn texts(
    tx: &mut dyn Tx,
    keys: impl Iterator<Item = i64>,
) -> Result<Bodies<String>, StoreError> {
    let keys: Vec<i64> = keys.collect::<BTreeSet<_>>().into_iter().collect();
    let texts = body::readable(tx, &keys)?.into_iter();
    let text = |bytes: Vec<u8>| match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    Ok(texts.map(|(key, bytes)| (key, text(bytes))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_leaf_holds_comes_back() {
        let edge = |left, right, beyond: &[i64], between: &str| Edge {
            left,
            right,
            beyond: beyond.to_vec(),
            between: between.to_owned(),
        };
        let leaf = Leaf {
            bodies: vec![1, 127, 128, i64::MAX],
            edges: vec![
                edge(None, Some(300), &[], ""),
                edge(Some(5), None, &[7, 1000], &"é\n".repeat(90)),
            ],
        };
        let packed = leaf.packed();
        assert_eq!(Leaf::unpack(&packed), Some(leaf));
        assert_eq!(Leaf::unpack(&[0]), Some(Leaf::default()));
        for end in 0..packed.len() {
            assert_ne!(
                Leaf::unpack(&packed[..end]).map(|leaf| leaf.edges.len()),
                Some(2)
            );
        }
        assert_eq!(Leaf::unpack(&[0xff; 12]), None, "a number has an end");
    }
}
