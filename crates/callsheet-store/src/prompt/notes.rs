//! Notes: what a new prompt carries, what went into it, and what of it can be found.

use std::collections::BTreeMap;

use super::contents::Contents;
use super::line::{Line, Noted};
use crate::body::Keys;
use crate::db::{Row, Tx, Value, groups, query_in};
use crate::project::Project;
use crate::role::{BOUNDARY, FRAME, SECTION};
use crate::{StoreError, passage};

/// How many rows one statement is about.
const ROWS: usize = 100;

/// A new prompt of a line, of which notes are taken.
pub(super) struct Notes<'a> {
    pub(super) line: Line,
    pub(super) prompt: i64,
    pub(super) contents: &'a Contents<'a>,
    pub(super) keys: &'a Keys,
}

impl Notes<'_> {
    /// Notes everything.
    pub(super) fn put(&self, tx: &mut dyn Tx, project: &Project) -> Result<(), StoreError> {
        self.put_parts(tx)?;
        self.put_sources(tx)?;
        self.line.go_on(tx, self.prompt)?;
        for (roles, ranked) in [(SECTION | FRAME, 1), (BOUNDARY, 0)] {
            let texts = self.contents.texts.iter();
            let texts = texts.filter(|(_, part)| part.roles & roles != 0);
            let keys: Vec<i64> = texts
                .filter_map(|(name, _)| self.keys.get(name).copied())
                .collect();
            passage::note(tx, project.key, &keys, ranked)?;
        }
        Ok(())
    }

    /// Notes the texts.
    fn put_parts(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let mut by_roles: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for (name, part) in &self.contents.texts {
            let key = self.keys.get(name);
            by_roles.entry(part.roles).or_default().extend(key);
        }
        for (roles, keys) in by_roles {
            let noted = Noted::Part(roles);
            let begun = self.line.extend(tx, self.prompt, noted, &keys)?;
            self.line.begin(tx, self.prompt, noted, &begun)?;
        }
        Ok(())
    }

    fn put_sources(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let names: Vec<&String> = self.contents.sources.iter().collect();
        let mut known = source_keys(tx, &names)?;
        let mut new: Vec<&String> = names
            .into_iter()
            .filter(|name| !known.contains_key(*name))
            .collect();
        for names in new.chunks(ROWS) {
            let sql = format!(
                "insert into source (name) values {} on conflict (name) do nothing returning name, key",
                groups(names.len(), 1)
            );
            let values: Vec<Value<'_>> = names.iter().map(|name| (*name).into()).collect();
            known.extend(keys(&tx.query(&sql, &values)?)?);
        }
        // Somebody else may have added some in the meantime.
        new.retain(|name| !known.contains_key(*name));
        known.extend(source_keys(tx, &new)?);
        let keys: Vec<i64> = known.into_values().collect();
        let begun = self.line.extend(tx, self.prompt, Noted::Source, &keys)?;
        self.line.begin(tx, self.prompt, Noted::Source, &begun)
    }
}

/// Returns the keys of sources that are known.
fn source_keys(tx: &mut dyn Tx, names: &[&String]) -> Result<BTreeMap<String, i64>, StoreError> {
    let names = names.iter().map(|name| (*name).into());
    let rows = query_in(tx, &[], names, |list| {
        format!("select name, key from source where name in {list}")
    })?;
    keys(&rows)
}

/// Reads names and keys.
fn keys(rows: &[Row]) -> Result<BTreeMap<String, i64>, StoreError> {
    let key = |row: &Row| Ok((row.text(0)?.to_owned(), row.int(1)?));
    rows.iter().map(key).collect()
}
