//! Ids: short, sortable by time, and found by a unique prefix.
//!
//! An id says when a thing was made and nothing else; equal contents do not make equal ids.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher as _;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use callsheet::Fingerprint;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::StoreError;
use crate::db::{Row, Tx};

/// How many characters an id has.
const LENGTH: usize = 14;

/// How many of them are the time.
const TIME: usize = 9;

/// The latest time that an id can tell, in the year 3084. Whatever is made later has an id of this time.
const LATEST: i64 = (1 << 45) - 1;

/// The digits of Crockford's base 32, which leaves out the letters that look like others.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// How many candidates an ambiguous prefix names.
const CANDIDATES: usize = 5;

/// How many ids are tried before giving up; a second is hardly ever needed.
const TRIES: usize = 16;

/// The name of a prompt, a run or a task: 14 digits and lower-case letters, of which the first nine are the time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id([u8; LENGTH]);

impl Id {
    /// Makes the id of a thing that was made at a time, in milliseconds since 1970; the rest comes from a fingerprint.
    pub fn new(at: i64, suffix_of: Fingerprint) -> Self {
        let mut digits = [b'0'; LENGTH];
        let (time, suffix) = digits.split_at_mut(TIME);
        write(time, timestamp(at));
        let [a, b, c, d, ..] = *suffix_of.as_bytes();
        write(suffix, u64::from(u32::from_be_bytes([a, b, c, d])));
        Self(digits)
    }

    /// Returns the text form.
    pub fn as_str(&self) -> &str {
        // Every byte is one of `DIGITS`.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Tells whether a thing that was made at this time can have the id.
    pub(crate) fn is_of(&self, at: i64) -> bool {
        u64::try_from(self.at()) == Ok(timestamp(at))
    }

    /// Returns when the thing was made, in milliseconds since 1970, as far as an id can tell.
    pub fn at(&self) -> i64 {
        let time = self.0[..TIME].iter().fold(0, |sum, byte| {
            let digit = DIGITS.iter().position(|digit| digit == byte).unwrap_or(0);
            sum * 32 + digit as u64
        });
        i64::try_from(time).unwrap_or(i64::MAX)
    }
}

/// Returns the time that an id tells of something that was made at a time: ids sort by time, however late it is.
fn timestamp(at: i64) -> u64 {
    u64::try_from(at.min(LATEST)).unwrap_or(0)
}

/// Returns the text that sorts before all ids of a time and after all ids before it.
pub(crate) fn lowest(at: i64) -> String {
    let mut digits = [b'0'; TIME];
    write(&mut digits, timestamp(at));
    String::from_utf8_lossy(&digits).into_owned()
}

/// Writes the lowest bits of a number, the highest digit first.
fn write(digits: &mut [u8], mut number: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(number % 32) as usize];
        number /= 32;
    }
}

/// Returns the lower-case form of a text that an id could begin with.
fn prefix(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let fits = (1..=LENGTH).contains(&lower.len()) && lower.bytes().all(|b| DIGITS.contains(&b));
    fits.then_some(lower)
}

impl FromStr for Id {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        prefix(text)
            .and_then(|lower| lower.into_bytes().try_into().ok())
            .map(Self)
            .ok_or_else(|| StoreError::unknown("id", text))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// Gives a new thing an id that no other one has; `insert` returns nothing where an id is taken.
pub(crate) fn fresh<T>(
    tx: &mut dyn Tx,
    what: &str,
    at: i64,
    mut insert: impl FnMut(&mut dyn Tx, Id) -> Result<Option<T>, StoreError>,
) -> Result<(Id, T), StoreError> {
    for _ in 0..TRIES {
        let id = Id::new(at, random());
        if let Some(inserted) = insert(tx, id)? {
            return Ok((id, inserted));
        }
    }
    let why = format!("has no id left for a {what}");
    Err(StoreError::unavailable(tx.store(), why))
}

/// Returns a fingerprint that no other call gives, in this process or another.
fn random() -> Fingerprint {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let state = RandomState::new();
    let words = [state.hash_one(count), state.hash_one(!count), count];
    Fingerprint::of(words.map(u64::to_le_bytes).concat())
}

/// Returns a number between a half and one that others do not draw at the same time.
#[cfg(feature = "postgres")]
pub(crate) fn fraction() -> f64 {
    let [byte, ..] = *random().as_bytes();
    0.5 + f64::from(byte) / 512.0
}

/// Finds the one row whose id is, or begins with, what a user wrote.
///
/// The statement takes the range of ids as `$1` (included) and `$2` (excluded), gives the id as its first column, and
/// is limited to some rows more than one. An exact id never is ambiguous: all ids have the same length.
pub(crate) fn find(
    tx: &mut dyn Tx,
    what: &'static str,
    name: &str,
    sql: &str,
) -> Result<Row, StoreError> {
    let Some(from) = prefix(name) else {
        return Err(StoreError::unknown(what, name));
    };
    // `~` sorts after every digit.
    let to = format!("{from}~");
    let mut rows = tx.query(sql, &[from.into(), to.into()])?;
    match rows.len() {
        0 => Err(StoreError::unknown(what, name)),
        1 => Ok(rows.remove(0)),
        _ => Err(StoreError::Unknown {
            what,
            name: name.to_owned(),
            candidates: rows
                .iter()
                .take(CANDIDATES)
                .map(|row| row.text(0).map(str::to_owned))
                .collect::<Result<_, _>>()?,
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_text_form_is_stable() {
        let id = Id::new(1_700_000_000_000, Fingerprint::of("x"));
        assert_eq!(id.to_string(), "1hf7yat00efp05");
        assert_eq!(id.to_string().to_uppercase().parse::<Id>().unwrap(), id);
        for bad in ["", "1hf7yat00", "1hf7yat00efp0u", "1hf7yat00efp050", "ä"] {
            assert_eq!(
                bad.parse::<Id>().unwrap_err().to_string(),
                format!("no id `{bad}`")
            );
        }
    }

    proptest! {
        #[test]
        fn ids_sort_by_time(a in 0..1_i64 << 45, b in 0..1_i64 << 45, late: i64, seed: u64) {
            let id = |at: i64| Id::new(at, Fingerprint::of(seed.to_le_bytes()));
            prop_assert_eq!(id(a).at(), a);
            prop_assert_eq!(id(a).cmp(&id(b)), a.cmp(&b));
            prop_assert_eq!(id(a).as_str().cmp(id(b).as_str()), a.cmp(&b));
            // No id can hold the times after the year 3084, but none of them becomes an early one.
            let late = late.max(LATEST);
            prop_assert!(id(late) >= id(a) && id(late).is_of(late));
            prop_assert!(lowest(late).as_str() <= id(late).as_str());
        }
    }
}
