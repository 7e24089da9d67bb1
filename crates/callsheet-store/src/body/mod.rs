//! Bodies: texts under their fingerprints, each kept once and packed.
//!
//! A body that is packed as a difference has a base that is packed by itself, so that two rows are always enough.

mod read;

use std::collections::BTreeMap;

use callsheet::Fingerprint;

pub(crate) use read::{get_all, get_key, readable};

use crate::db::{Row, Tx, Value, query_in};
use crate::{StoreError, pack};

/// Texts shorter than this are no base for others.
const LEAST_BASE: usize = 256;

const FIND: &str = "select key from body where fingerprint = $1";

const INSERT: &str = "insert into body (fingerprint, bytes, base, packed) values ($1, $2, $3, $4) \
    on conflict (fingerprint) do nothing returning key";

const SLOT: &str = "select b.bytes, b.packed, a.bytes, a.packed, a.base, b.key, b.base, s.least from slot s \
    join body b on b.key = s.body left join body a on a.key = b.base where s.project = $1 and s.name = $2";

const SET_SLOT: &str = "insert into slot (project, name, body) values ($1, $2, $3) \
    on conflict (project, name) do update set body = excluded.body, least = null";

const NOTE: &str = "update slot set least = $3 where project = $1 and name = $2";

/// What a text is compared with: the last one of its project that had the same place.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a> {
    pub(crate) project: i64,
    pub(crate) name: &'a str,
}

/// A text that others are compared with.
pub(crate) struct Base {
    pub(crate) key: i64,
    pub(crate) text: Vec<u8>,
    /// The whole text that it is kept as a difference to itself.
    pub(crate) whole: Option<i64>,
    /// How little the smallest difference to it took.
    least: Option<i64>,
}

impl Base {
    /// Tells whether a difference of so many bytes is still worth it; otherwise texts have gone other ways since.
    pub(crate) fn is_near(&self, difference: usize, alone: impl FnOnce() -> usize) -> bool {
        match self.least.and_then(|least| usize::try_from(least).ok()) {
            Some(least) => difference <= (least + least / 2).max(LEAST_BASE),
            None => difference <= alone() / 2,
        }
    }
}

impl Slot<'_> {
    fn values(self) -> [Value<'static>; 2] {
        let name = Fingerprint::of(self.name).as_bytes()[..12].to_vec();
        [self.project.into(), name.into()]
    }

    /// Returns the base of this place with its text.
    pub(crate) fn base(self, tx: &mut dyn Tx) -> Result<Option<Base>, StoreError> {
        let Some(row) = tx.first(SLOT, &self.values())? else {
            return Ok(None);
        };
        // A damaged base is left alone, and told by whoever verifies.
        let Ok(text) = unpacked(&row, 0) else {
            return Ok(None);
        };
        Ok(Some(Base {
            text,
            key: row.int(5)?,
            whole: row.maybe(6, Row::int)?,
            least: row.maybe(7, Row::int)?,
        }))
    }

    /// Notes how much a difference to the base took.
    pub(crate) fn note(self, tx: &mut dyn Tx, base: &Base, took: usize) -> Result<(), StoreError> {
        let took = i64::try_from(took).unwrap_or(i64::MAX);
        if base.least.is_none_or(|least| took < least) {
            let [project, name] = self.values();
            tx.execute(NOTE, &[project, name, took.into()])?;
        }
        Ok(())
    }

    /// Makes a body the base of this place.
    pub(crate) fn set(self, tx: &mut dyn Tx, body: i64) -> Result<(), StoreError> {
        let [project, name] = self.values();
        tx.execute(SET_SLOT, &[project, name, body.into()])?;
        Ok(())
    }
}

/// Returns the key of a body, if it is there.
pub(crate) fn find(tx: &mut dyn Tx, name: Fingerprint) -> Result<Option<i64>, StoreError> {
    let row = tx.first(FIND, &[name.as_bytes().as_slice().into()])?;
    row.map(|row| row.int(0)).transpose()
}

/// Returns the keys of those bodies that are there.
pub(crate) fn find_all(
    tx: &mut dyn Tx,
    names: &[Fingerprint],
) -> Result<BTreeMap<Fingerprint, i64>, StoreError> {
    let names = names.iter().map(|name| name.as_bytes().as_slice().into());
    let rows = query_in(tx, &[], names, |list| {
        format!("select fingerprint, key from body where fingerprint in {list}")
    })?;
    let found = rows.iter().map(|row| Ok((name(row, 0)?, row.int(1)?)));
    found.collect()
}

/// What a new text may be kept as a difference to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Likes<'a> {
    /// What stood in its place before.
    pub(crate) slot: Option<Slot<'a>>,
    /// A text that is kept already and that it holds.
    pub(crate) held: Option<(i64, &'a [u8])>,
}

/// Keeps a text that is not there, as a difference where that is smaller than packed `alone`; returns its key.
pub(crate) fn put(
    tx: &mut dyn Tx,
    name: Fingerprint,
    (text, alone): (&[u8], Vec<u8>),
    likes: Likes<'_>,
) -> Result<i64, StoreError> {
    let mut deltas = Vec::new();
    if let Some(slot) = likes.slot
        && let Some(base) = slot.base(tx)?
        && base.whole.is_none()
    {
        deltas.push((base.key, pack::against(text, &base.text)));
    }
    if let Some((key, held)) = likes.held
        && is_alone(tx, key)?
    {
        deltas.push((key, pack::against(text, held)));
    }
    // A difference that saves little is not worth a second row to read.
    let worth = |packed: &[u8]| pack::needs_base(packed) && packed.len() < alone.len() / 4 * 3;
    let delta = deltas.into_iter().filter(|(_, packed)| worth(packed));
    let (base, packed) = match delta.min_by_key(|(_, packed)| packed.len()) {
        Some((base, packed)) => (Some(base), packed),
        None => (None, alone),
    };
    let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let values = [
        name.as_bytes().as_slice().into(),
        size.into(),
        base.into(),
        packed.into(),
    ];
    let Some(row) = tx.first(INSERT, &values)? else {
        // Somebody else was faster; what they wrote is the same.
        return find(tx, name)?.ok_or_else(|| not_there(tx, name));
    };
    let key = row.int(0)?;
    if let (Some(slot), None, true) = (likes.slot, base, text.len() >= LEAST_BASE) {
        slot.set(tx, key)?;
    }
    Ok(key)
}

/// Tells whether a text is kept without the help of another.
fn is_alone(tx: &mut dyn Tx, key: i64) -> Result<bool, StoreError> {
    let sql = "select 1 from body where key = $1 and base is null";
    Ok(tx.first(sql, &[key.into()])?.is_some())
}

/// Unpacks the columns size, packed, and the size, packed and base of the base, from `at` on.
pub(crate) fn unpacked(row: &Row, at: usize) -> Result<Vec<u8>, String> {
    let told = |error: StoreError| error.to_string();
    let base = match row.maybe(at + 2, Row::int).map_err(told)? {
        Some(_) if row.maybe(at + 4, Row::int).map_err(told)?.is_some() => {
            return Err("its base has a base".to_owned());
        }
        Some(bytes) => pack::unpack(row.bytes(at + 3).map_err(told)?, bytes, &[])
            .map_err(|why| format!("its base: {why}"))?,
        None => Vec::new(),
    };
    let (bytes, packed) = (row.int(at).map_err(told)?, row.bytes(at + 1).map_err(told)?);
    pack::unpack(packed, bytes, &base).map_err(str::to_owned)
}

/// Returns the fingerprint of a text.
pub(crate) fn name(row: &Row, at: usize) -> Result<Fingerprint, StoreError> {
    let name: Result<[u8; 32], _> = row.bytes(at)?.try_into();
    name.map(Fingerprint::from_bytes)
        .map_err(|_| row.damaged("a text has a fingerprint of the wrong size"))
}

fn not_there(tx: &dyn Tx, name: Fingerprint) -> StoreError {
    StoreError::damaged(tx.store(), format!("text {name} is not there"))
}
