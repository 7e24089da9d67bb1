//! Bodies: texts under their fingerprints, each kept once and packed.
//!
//! A body that is packed as a delta has a base that is packed by itself, so that two rows are always enough.

mod base;
mod read;

use std::collections::BTreeMap;

use callsheet::Fingerprint;

pub(crate) use base::{Base, BaseName, DeltaBases};
pub(crate) use read::{get_all, get_key, read_again, readable};

use crate::db::{Row, Tx, Value, groups, query_in};
use crate::{StoreError, pack};

/// The keys of bodies, by their names.
pub(crate) type Keys = BTreeMap<Fingerprint, i64>;

const FIND: &str = "select key from body where fingerprint = $1";

/// Returns the key of a body, if it is there.
pub(crate) fn find(tx: &mut dyn Tx, name: Fingerprint) -> Result<Option<i64>, StoreError> {
    let row = tx.first(FIND, &[name.as_bytes().as_slice().into()])?;
    row.map(|row| row.int(0)).transpose()
}

/// Returns the keys of those bodies that are there.
pub(crate) fn find_all(tx: &mut dyn Tx, names: &[Fingerprint]) -> Result<Keys, StoreError> {
    let names = names.iter().map(|name| name.as_bytes().as_slice().into());
    let rows = query_in(tx, &[], names, |list| {
        format!("select fingerprint, key from body where fingerprint in {list}")
    })?;
    keys(&rows)
}

fn keys(rows: &[Row]) -> Result<Keys, StoreError> {
    let keys = rows.iter().map(|row| Ok((name(row, 0)?, row.int(1)?)));
    keys.collect()
}

/// A text that is to be kept, packed.
pub(crate) struct NewBody {
    name: Fingerprint,
    bytes: usize,
    base: Option<i64>,
    packed: Vec<u8>,
}

impl NewBody {
    /// Packs a text against the one of some bases that gives the smallest delta, or keeps it packed `alone`.
    pub(crate) fn new<'b>(
        name: Fingerprint,
        text: &[u8],
        alone: Vec<u8>,
        bases: impl IntoIterator<Item = (i64, &'b [u8])>,
    ) -> Self {
        // A delta that saves little is not worth a second row to read.
        let worth = |packed: &[u8]| pack::needs_base(packed) && packed.len() < alone.len() / 4 * 3;
        let deltas = bases
            .into_iter()
            .map(|(base, other)| (base, pack::against(text, other)))
            .filter(|(_, packed)| worth(packed));
        let (base, packed) = match deltas.min_by_key(|(_, packed)| packed.len()) {
            Some((base, packed)) => (Some(base), packed),
            None => (None, alone),
        };
        Self {
            name,
            bytes: text.len(),
            base,
            packed,
        }
    }

    /// Returns its name where others can be packed against it.
    pub(crate) fn as_base(&self) -> Option<Fingerprint> {
        (self.base.is_none() && self.bytes >= pack::LEAST).then_some(self.name)
    }

    fn values(&self) -> [Value<'_>; 4] {
        [
            self.name.as_bytes().as_slice().into(),
            i64::try_from(self.bytes).unwrap_or(i64::MAX).into(),
            self.base.into(),
            self.packed.as_slice().into(),
        ]
    }
}

/// Keeps texts that are not there; returns their keys.
///
/// They come in the order of their names: others who keep the same ones at the same time wait for us, and not we for them.
pub(crate) fn insert(tx: &mut dyn Tx, texts: &[NewBody]) -> Result<Keys, StoreError> {
    let names: Vec<Fingerprint> = texts.iter().map(|text| text.name).collect();
    if names.is_empty() {
        return Ok(Keys::new());
    }
    let sql = format!(
        "insert into body (fingerprint, bytes, base, packed) values {} \
        on conflict (fingerprint) do nothing returning fingerprint, key",
        groups(names.len(), 4)
    );
    let values = texts.iter().flat_map(NewBody::values);
    let mut keys = keys(&tx.query(&sql, &values.collect::<Vec<_>>())?)?;
    if keys.len() < names.len() {
        // Somebody else was faster; what they wrote is the same.
        keys.extend(find_all(tx, &names)?);
    }
    match names.iter().find(|name| !keys.contains_key(name)) {
        Some(name) => Err(not_there(tx, *name)),
        None => Ok(keys),
    }
}

/// Tells whether a text is kept without the help of another.
pub(crate) fn is_alone(tx: &mut dyn Tx, key: i64) -> Result<bool, StoreError> {
    let sql = "select 1 from body where key = $1 and base is null";
    Ok(tx.first(sql, &[key.into()])?.is_some())
}

/// Unpacks the columns size, packed, and the size, packed and base of the base, from `at` on.
pub(crate) fn unpacked(row: &Row, at: usize) -> Result<Vec<u8>, String> {
    let text_of = |error: StoreError| error.to_string();
    let base = match row.maybe(at + 2, Row::int).map_err(text_of)? {
        Some(_) if row.maybe(at + 4, Row::int).map_err(text_of)?.is_some() => {
            return Err("its base has a base".to_owned());
        }
        Some(bytes) => pack::unpack(row.bytes(at + 3).map_err(text_of)?, bytes, &[])
            .map_err(|why| format!("its base: {why}"))?,
        None => Vec::new(),
    };
    let (bytes, packed) = (
        row.int(at).map_err(text_of)?,
        row.bytes(at + 1).map_err(text_of)?,
    );
    pack::unpack(packed, bytes, &base).map_err(str::to_owned)
}

/// Returns the fingerprint of a text.
pub(crate) fn name(row: &Row, at: usize) -> Result<Fingerprint, StoreError> {
    let name: Result<[u8; 32], _> = row.bytes(at)?.try_into();
    name.map(Fingerprint::from_bytes)
        .map_err(|_| row.damaged("a text has a fingerprint of the wrong size"))
}

/// Makes the error of a text that is not there.
pub(crate) fn not_there(tx: &dyn Tx, name: Fingerprint) -> StoreError {
    StoreError::damaged(tx.store(), format!("text {name} is not there"))
}
