//! Links from a new prompt to its texts and sources, and the passages that can be found in it.

use std::collections::BTreeMap;

use super::contents::Contents;
use super::series::{Link, Series};
use crate::body::Keys;
use crate::db::{Row, Tx, Value, groups, query_in};
use crate::project::Project;
use crate::role::{BOUNDARY, FRAME, SECTION};
use crate::{StoreError, passage};

/// How many rows one statement is about.
const ROWS: usize = 100;

/// A new prompt of a series, and what it is linked to.
pub(super) struct Links<'a> {
    pub(super) series: Series,
    pub(super) prompt: i64,
    pub(super) contents: &'a Contents<'a>,
    pub(super) keys: &'a Keys,
}

impl Links<'_> {
    /// Writes all links and passages.
    pub(super) fn put(&self, tx: &mut dyn Tx, project: &Project) -> Result<(), StoreError> {
        self.put_texts(tx)?;
        self.put_sources(tx)?;
        self.series.go_on(tx, self.prompt)?;
        for (roles, ranked) in [(SECTION | FRAME, 1), (BOUNDARY, 0)] {
            let texts = self.contents.texts.iter();
            let texts = texts.filter(|(_, carried)| carried.roles & roles != 0);
            let keys: Vec<i64> = texts
                .filter_map(|(name, _)| self.keys.get(name).copied())
                .collect();
            passage::note(tx, project.key, &keys, ranked)?;
        }
        Ok(())
    }

    /// Links the texts.
    fn put_texts(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let mut by_roles: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for (name, carried) in &self.contents.texts {
            let key = self.keys.get(name);
            by_roles.entry(carried.roles).or_default().extend(key);
        }
        for (roles, keys) in by_roles {
            let link = Link::Text(roles);
            let begun = self.series.extend(tx, self.prompt, link, &keys)?;
            self.series.begin(tx, self.prompt, link, &begun)?;
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
        let begun = self.series.extend(tx, self.prompt, Link::Source, &keys)?;
        self.series.begin(tx, self.prompt, Link::Source, &begun)
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
