//! Leaves: what a prompt brought that no prompt before it had, with a signature of all of it.
//!
//! Every piece of a prompt stands in a text, or at an edge, of some leaf. Reading the signatures of all leaves tells where
//! to look; what is shared by all prompts is in one leaf, so there are about as many as there are prompts.

use std::collections::{BTreeMap, BTreeSet};

use super::signature::Groups;
use super::words::spaced;
use crate::db::{Row, Tx};
use crate::prompt::REACH;
use crate::{StoreError, body};

/// So many bytes of text make a leaf, unless one text alone has more.
const MOST_BYTES: usize = 64 * 1024;

/// All leaves, the newest first.
pub(super) const ALL: &str = "select holders, signature from leaf order by key desc";

const PAGE: &str = "select key, holders, signature from leaf where key > $1 order by key limit 100";

const INSERT: &str = "insert into leaf (holders, signature) values ($1, $2)";

const UPDATE: &str = "update leaf set holders = $2, signature = $3 where key = $1";

/// Where two texts meet in a prompt, or one of them begins or ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Meeting {
    /// The text before it.
    pub(crate) left: Option<i64>,
    /// The text after it.
    pub(crate) right: Option<i64>,
    /// What stands between them; a text that is too short to reach over is here as a whole.
    pub(crate) between: String,
}

/// What a leaf holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// Texts of prompts.
    pub(crate) bodies: Vec<i64>,
    /// Where they meet.
    pub(crate) meetings: Vec<Meeting>,
}

/// Texts by their keys.
pub(crate) type Bodies<T> = BTreeMap<i64, T>;

impl Meeting {
    /// Returns what stands there, with a little of both texts.
    pub(crate) fn text<T: AsRef<str>>(&self, bodies: &Bodies<T>) -> String {
        let body = |key: Option<i64>| key.and_then(|key| bodies.get(&key)).map(AsRef::as_ref);
        let (left, right) = (body(self.left), body(self.right));
        [
            left.and_then(tail).unwrap_or_default(),
            &self.between,
            right.and_then(head).unwrap_or_default(),
        ]
        .concat()
    }

    /// Returns the texts that meet.
    pub(crate) fn sides(&self) -> impl Iterator<Item = i64> {
        self.left.into_iter().chain(self.right)
    }
}

/// Returns the end of a text, if it is long enough to have one.
pub(crate) fn tail(text: &str) -> Option<&str> {
    let from = text.len().checked_sub(REACH)?;
    Some(&text[text.floor_char_boundary(from)..])
}

/// Returns the beginning of a text, if it is long enough to have one.
pub(crate) fn head(text: &str) -> Option<&str> {
    (text.len() >= REACH).then(|| &text[..text.ceil_char_boundary(REACH)])
}

impl Leaf {
    /// Returns the signature of everything it holds, and of its words.
    pub(crate) fn signature<T: AsRef<str>>(&self, bodies: &Bodies<T>) -> Vec<u8> {
        let mut groups = Groups::default();
        for body in self.bodies.iter().filter_map(|body| bodies.get(body)) {
            groups.add(body.as_ref());
            groups.add(&spaced(body.as_ref()));
        }
        for meeting in &self.meetings {
            groups.add(&meeting.text(bodies));
        }
        groups.signature()
    }

    /// Returns every text that it is about.
    pub(crate) fn all_bodies(&self) -> impl Iterator<Item = i64> {
        let sides = self.meetings.iter().flat_map(Meeting::sides);
        self.bodies.iter().copied().chain(sides)
    }

    fn packed(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.bodies.len() as u64);
        for body in &self.bodies {
            put(&mut out, body.unsigned_abs());
        }
        for meeting in &self.meetings {
            for side in [meeting.left, meeting.right] {
                put(&mut out, side.unwrap_or(0).unsigned_abs());
            }
            put(&mut out, meeting.between.len() as u64);
            out.extend_from_slice(meeting.between.as_bytes());
        }
        out
    }

    /// Reads what a leaf of a store holds.
    pub(crate) fn parse(store: &str, packed: &[u8]) -> Result<Self, StoreError> {
        let unreadable = || StoreError::damaged(store, "a leaf of the index cannot be read");
        Self::unpack(packed).ok_or_else(unreadable)
    }

    fn unpack(mut packed: &[u8]) -> Option<Self> {
        let mut leaf = Self::default();
        for _ in 0..take(&mut packed)? {
            leaf.bodies.push(i64::try_from(take(&mut packed)?).ok()?);
        }
        while !packed.is_empty() {
            let mut side = || -> Option<Option<i64>> {
                let key = i64::try_from(take(&mut packed)?).ok()?;
                Some((key > 0).then_some(key))
            };
            let (left, right) = (side()?, side()?);
            let size = usize::try_from(take(&mut packed)?).ok()?;
            let (between, rest) = packed.split_at_checked(size)?;
            packed = rest;
            leaf.meetings.push(Meeting {
                left,
                right,
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

/// Puts texts and meetings into the index, in as many leaves as they need.
pub(crate) fn add<T: AsRef<str>>(
    tx: &mut dyn Tx,
    new: &[i64],
    meetings: Vec<Meeting>,
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
    leaf.meetings = meetings;
    insert(tx, &leaf, bodies)
}

fn insert<T: AsRef<str>>(
    tx: &mut dyn Tx,
    leaf: &Leaf,
    bodies: &Bodies<T>,
) -> Result<(), StoreError> {
    if *leaf != Leaf::default() {
        let values = [leaf.packed().into(), leaf.signature(bodies).into()];
        tx.execute(INSERT, &values)?;
    }
    Ok(())
}

/// Returns some leaves with their keys and signatures, those after a key.
pub(crate) fn page(tx: &mut dyn Tx, after: i64) -> Result<Vec<Row>, StoreError> {
    tx.query(PAGE, &[after.into()])
}

/// Drops what is no longer there from all leaves.
pub(crate) fn retain(tx: &mut dyn Tx, is_there: impl Fn(i64) -> bool) -> Result<(), StoreError> {
    let mut last = 0;
    loop {
        let rows = page(tx, last)?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in rows {
            last = row.int(0)?;
            let mut leaf = Leaf::parse(tx.store(), row.bytes(1)?)?;
            let before = leaf.clone();
            leaf.bodies.retain(|body| is_there(*body));
            leaf.meetings
                .retain(|meeting| meeting.sides().all(&is_there));
            if leaf == Leaf::default() {
                tx.execute("delete from leaf where key = $1", &[last.into()])?;
            } else if leaf != before {
                let bodies = texts(tx, leaf.all_bodies())?;
                let values = [
                    last.into(),
                    leaf.packed().into(),
                    leaf.signature(&bodies).into(),
                ];
                tx.execute(UPDATE, &values)?;
            }
        }
    }
}

/// Returns texts by their keys.
pub(crate) fn texts(
    tx: &mut dyn Tx,
    keys: impl Iterator<Item = i64>,
) -> Result<Bodies<String>, StoreError> {
    let keys: Vec<i64> = keys.collect::<BTreeSet<_>>().into_iter().collect();
    let texts = body::get_keys(tx, &keys)?.into_iter();
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
        let meeting = |left, right, between: &str| Meeting {
            left,
            right,
            between: between.to_owned(),
        };
        let leaf = Leaf {
            bodies: vec![1, 127, 128, i64::MAX],
            meetings: vec![
                meeting(None, Some(300), ""),
                meeting(Some(5), None, &"é\n".repeat(90)),
            ],
        };
        let packed = leaf.packed();
        assert_eq!(Leaf::unpack(&packed), Some(leaf));
        assert_eq!(Leaf::unpack(&[0]), Some(Leaf::default()));
        for end in 0..packed.len() {
            assert_ne!(
                Leaf::unpack(&packed[..end]).map(|leaf| leaf.meetings.len()),
                Some(2)
            );
        }
        assert_eq!(Leaf::unpack(&[0xff; 12]), None, "a number has an end");
    }

    #[test]
    fn a_meeting_has_a_little_of_both_sides() {
        let bodies = Bodies::from([
            (1, "x".repeat(REACH - 1)),
            (2, format!("{}é{}", "a".repeat(9), "b".repeat(REACH - 1))),
            (3, format!("{}é{}", "c".repeat(REACH - 1), "d".repeat(9))),
        ]);
        let text = |left, right| {
            let between = "|".to_owned();
            Meeting {
                left,
                right,
                between,
            }
            .text(&bodies)
        };
        let (b, c) = ("b".repeat(REACH - 1), "c".repeat(REACH - 1));
        assert_eq!(text(Some(2), Some(3)), format!("é{b}|{c}é"));
        assert_eq!(
            text(Some(1), None),
            "|",
            "what is too short is between them as a whole"
        );
        assert_eq!(text(None, Some(9)), "|");
    }
}
