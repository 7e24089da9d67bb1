//! Delta bases: which text a new one of a project is packed against, by the place in prompts that both have.

use std::collections::BTreeMap;

use callsheet::Fingerprint;

use super::unpacked;
use crate::StoreError;
use crate::db::{Row, Tx, Value, groups, query_in};

/// How many rows one statement is about.
const ROWS: usize = 200;

const NOTE: &str = "update delta_base set least = $3 where project = $1 and name = $2";

/// The delta bases of a project.
#[derive(Clone, Copy)]
pub(crate) struct DeltaBases {
    pub(crate) project: i64,
}

/// A delta of no more bytes is always worth it.
const SMALL: usize = 256;

/// The name of a base: a hash of the place, so that it is short.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BaseName([u8; 12]);

impl BaseName {
    /// Returns the name of the base for a place.
    pub(crate) fn of(place: &str) -> Self {
        let mut name = [0; 12];
        name.copy_from_slice(&Fingerprint::of(place).as_bytes()[..12]);
        Self(name)
    }

    fn value(&self) -> Value<'_> {
        self.0.as_slice().into()
    }
}

/// A text that others are packed against.
pub(crate) struct Base {
    pub(crate) key: i64,
    pub(crate) text: Vec<u8>,
    /// The base that it is a delta against itself.
    pub(crate) whole: Option<i64>,
    /// The size of the smallest delta against it.
    least: Option<i64>,
}

impl Base {
    /// Tells whether a delta of so many bytes is still worth it; otherwise texts have gone other ways since.
    pub(crate) fn is_near(&self, delta: usize, alone: impl FnOnce() -> usize) -> bool {
        match self.least.and_then(|least| usize::try_from(least).ok()) {
            Some(least) => delta <= (least + least / 2).max(SMALL),
            None => delta <= alone() / 2,
        }
    }
}

impl DeltaBases {
    /// Returns the bases that there are, with their texts.
    pub(crate) fn bases(
        self,
        tx: &mut dyn Tx,
        names: &[BaseName],
    ) -> Result<BTreeMap<BaseName, Base>, StoreError> {
        let list = names.iter().map(BaseName::value);
        let rows = query_in(tx, &[self.project.into()], list, |list| {
            format!(
                "select b.bytes, b.packed, a.bytes, a.packed, a.base, b.key, b.base, s.least, s.name from delta_base s \
                join body b on b.key = s.body left join body a on a.key = b.base where s.project = $1 and s.name in {list}"
            )
        })?;
        let mut bases = BTreeMap::new();
        for row in rows {
            // A damaged base is left alone, and reported by `verify`.
            let (Ok(text), Ok(name)) = (unpacked(&row, 0), row.bytes(8)?.try_into()) else {
                continue;
            };
            let base = Base {
                text,
                key: row.int(5)?,
                whole: row.maybe(6, Row::int)?,
                least: row.maybe(7, Row::int)?,
            };
            bases.insert(BaseName(name), base);
        }
        Ok(bases)
    }

    /// Notes the size of a delta against a base.
    pub(crate) fn note(
        self,
        tx: &mut dyn Tx,
        (name, base): (BaseName, &Base),
        delta: usize,
    ) -> Result<(), StoreError> {
        let delta = i64::try_from(delta).unwrap_or(i64::MAX);
        if base.least.is_none_or(|least| delta < least) {
            tx.execute(NOTE, &[self.project.into(), name.value(), delta.into()])?;
        }
        Ok(())
    }

    /// Makes bodies the bases of what comes next.
    pub(crate) fn set(
        self,
        tx: &mut dyn Tx,
        bodies: &BTreeMap<BaseName, i64>,
    ) -> Result<(), StoreError> {
        let bodies: Vec<(&BaseName, &i64)> = bodies.iter().collect();
        for rows in bodies.chunks(ROWS) {
            let sql = format!(
                "insert into delta_base (project, name, body) values {} \
                on conflict (project, name) do update set body = excluded.body, least = null",
                groups(rows.len(), 3)
            );
            let rows = rows.iter().copied();
            let values =
                rows.flat_map(|(name, body)| [self.project.into(), name.value(), (*body).into()]);
            let values: Vec<Value<'_>> = values.collect();
            tx.execute(&sql, &values)?;
        }
        Ok(())
    }
}
