//! Reading bodies, many at once; a base that several of them have is unpacked once.

use std::collections::{BTreeMap, BTreeSet};

use callsheet::Fingerprint;

use super::not_there;
use crate::db::{Row, Tx, Value, query_in};
use crate::{StoreError, pack};

/// Returns texts, each of which is what its fingerprint says.
pub(crate) fn get_all(
    tx: &mut dyn Tx,
    names: &[Fingerprint],
) -> Result<BTreeMap<Fingerprint, Vec<u8>>, StoreError> {
    let mut texts = BTreeMap::new();
    let values = names.iter().map(|name| name.as_bytes().as_slice().into());
    for (row, text) in read(tx, "fingerprint", values)? {
        let name = super::name(&row, 1)?;
        let text = text.map_err(|why| row.damaged(format!("text {name}: {why}")))?;
        if Fingerprint::of(&text) != name {
            return Err(row.damaged(format!("text {name}: hash mismatch")));
        }
        texts.insert(name, text);
    }
    match names.iter().find(|name| !texts.contains_key(name)) {
        Some(name) => Err(not_there(tx, *name)),
        None => Ok(texts),
    }
}

/// Fails unless texts are kept as `kept` has them.
pub(crate) fn read_again<'t>(
    tx: &mut dyn Tx,
    names: &[Fingerprint],
    kept: impl Fn(&Fingerprint) -> Option<&'t [u8]>,
) -> Result<(), StoreError> {
    let mut found = BTreeSet::new();
    let values = names.iter().map(|name| name.as_bytes().as_slice().into());
    for (row, text) in read(tx, "fingerprint", values)? {
        let name = super::name(&row, 1)?;
        let text = text.map_err(|why| row.damaged(format!("text {name}: {why}")))?;
        if kept(&name) != Some(&text) {
            return Err(row.damaged(format!("text {name}: it is not what was sealed")));
        }
        found.insert(name);
    }
    match names.iter().find(|name| !found.contains(name)) {
        Some(name) => Err(not_there(tx, *name)),
        None => Ok(()),
    }
}

/// Returns a text by its key, as it is.
pub(crate) fn get_key(tx: &mut dyn Tx, key: i64) -> Result<Vec<u8>, StoreError> {
    let called = format!("text number {key}");
    match read(tx, "key", std::iter::once(key.into()))?.pop() {
        Some((row, text)) => text.map_err(|why| row.damaged(format!("{called}: {why}"))),
        None => Err(StoreError::damaged(
            tx.store(),
            format!("{called} is not there"),
        )),
    }
}

/// Returns those of some texts that can be read, by their keys, as they are; whoever verifies tells the others.
pub(crate) fn readable(
    tx: &mut dyn Tx,
    keys: &[i64],
) -> Result<BTreeMap<i64, Vec<u8>>, StoreError> {
    let texts = read(tx, "key", keys.iter().map(|key| (*key).into()))?;
    let mut readable = BTreeMap::new();
    for (row, text) in texts {
        if let Ok(text) = text {
            readable.insert(row.int(0)?, text);
        }
    }
    Ok(readable)
}

/// What comes of unpacking a text.
type Unpacked = Result<Vec<u8>, String>;

/// Reads rows that have one of these values in a column, with their texts.
fn read<'v>(
    tx: &mut dyn Tx,
    column: &str,
    values: impl Iterator<Item = Value<'v>>,
) -> Result<Vec<(Row, Unpacked)>, StoreError> {
    let rows = rows(tx, column, values)?;
    let of = rows.iter().map(|row| row.maybe(4, Row::int));
    let keys = of.collect::<Result<BTreeSet<_>, _>>()?;
    let mut bases: BTreeMap<i64, Unpacked> = BTreeMap::new();
    for row in self::rows(tx, "key", keys.into_iter().flatten().map(Into::into))? {
        let base = match row.maybe(4, Row::int)? {
            Some(_) => Err("its base has a base".to_owned()),
            None => unpacked(&row, &[]).map_err(|why| format!("its base: {why}")),
        };
        bases.insert(row.int(0)?, base);
    }
    let text = |row: Row| {
        let text = match row.maybe(4, Row::int)? {
            None => unpacked(&row, &[]),
            Some(key) => match bases.get(&key) {
                Some(Ok(base)) => unpacked(&row, base),
                Some(Err(why)) => Err(why.clone()),
                None => Err("its base is not there".to_owned()),
            },
        };
        Ok((row, text))
    };
    rows.into_iter().map(text).collect()
}

fn rows<'v>(
    tx: &mut dyn Tx,
    column: &str,
    wanted: impl Iterator<Item = Value<'v>>,
) -> Result<Vec<Row>, StoreError> {
    query_in(tx, &[], wanted, |list| {
        format!("select key, fingerprint, bytes, packed, base from body where {column} in {list}")
    })
}

fn unpacked(row: &Row, base: &[u8]) -> Unpacked {
    let text_of = |error: StoreError| error.to_string();
    let (bytes, packed) = (row.int(2).map_err(text_of)?, row.bytes(3).map_err(text_of)?);
    pack::unpack(packed, bytes, base).map_err(str::to_owned)
}
