//! Notes: what a new prompt carries and what went into it, and what of that is new to the index.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::contents::Contents;
use super::edge::Edge;
use super::line::{Line, Noted};
use super::{FRAME, HIDDEN, SECTION};
use crate::StoreError;
use crate::body::Keys;
use crate::db::{Tx, Value, groups, query_in};
use crate::search;

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
    /// Notes everything, and puts what is new into the index.
    pub(super) fn put(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let fresh = self.put_parts(tx)?;
        self.put_sources(tx)?;
        self.line.go_on(tx, self.prompt)?;
        let edges = self.new_edges(tx, &fresh)?;
        search::add_leaves(tx, &fresh, edges, &self.texts())
    }

    /// Returns the texts that are shown, by their keys.
    fn texts(&self) -> BTreeMap<i64, Cow<'_, str>> {
        let parts = self.contents.texts.iter();
        let shown = parts.filter(|(_, part)| part.roles & (SECTION | FRAME) != 0);
        let keyed = shown.filter_map(|(name, part)| {
            let text = String::from_utf8_lossy(&part.text);
            self.keys.get(name).map(|key| (*key, text))
        });
        keyed.collect()
    }

    /// Notes the texts; returns those that no prompt has shown until now.
    fn put_parts(&self, tx: &mut dyn Tx) -> Result<Vec<i64>, StoreError> {
        let mut by_roles: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for (name, part) in &self.contents.texts {
            let key = self.keys.get(name);
            by_roles.entry(part.roles).or_default().extend(key);
        }
        let mut fresh = Vec::new();
        for (roles, keys) in by_roles {
            let noted = Noted::Part(roles);
            let begun = self.line.extend(tx, self.prompt, noted, &keys)?;
            if roles & (SECTION | FRAME) != 0 {
                let shown = shown(tx, &begun)?;
                fresh.extend(begun.iter().copied().filter(|body| !shown.contains(body)));
            }
            self.line.begin(tx, self.prompt, noted, &begun)?;
        }
        Ok(fresh)
    }

    fn put_sources(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let names: Vec<&String> = self.contents.sources.iter().collect();
        let mut known = source_keys(tx, &names)?;
        let new: Vec<&String> = names
            .into_iter()
            .filter(|name| !known.contains_key(*name))
            .collect();
        for names in new.chunks(ROWS) {
            let sql = format!(
                "insert into source (name) values {} on conflict (name) do nothing",
                groups(names.len(), 1)
            );
            let values: Vec<Value<'_>> = names.iter().map(|name| (*name).into()).collect();
            tx.execute(&sql, &values)?;
        }
        known.extend(source_keys(tx, &new)?);
        let keys: Vec<i64> = known.into_values().collect();
        let begun = self.line.extend(tx, self.prompt, Noted::Source, &keys)?;
        self.line.begin(tx, self.prompt, Noted::Source, &begun)
    }

    /// Returns the edges of the prompt that are in no leaf yet.
    fn new_edges(&self, tx: &mut dyn Tx, fresh: &[i64]) -> Result<Vec<Edge<i64>>, StoreError> {
        let fresh: BTreeSet<i64> = fresh.iter().copied().collect();
        let (mut new, mut others) = (Vec::new(), Vec::new());
        for edge in &self.contents.edges {
            let keyed = edge.map(|name| self.keys.get(name).copied());
            if keyed.sections().any(|body| fresh.contains(body)) {
                new.push(keyed);
            } else {
                others.push((edge.name(), keyed));
            }
        }
        let names: Vec<&[u8]> = others.iter().map(|(name, _)| name.as_slice()).collect();
        let known = known_edges(tx, &names)?;
        others.retain(|(name, _)| !known.contains(name));
        for rows in others.chunks(ROWS) {
            let values: Vec<Value<'_>> = rows.iter().map(|(name, _)| name.clone().into()).collect();
            let sql = format!("insert into edge (name) values {}", groups(rows.len(), 1));
            tx.execute(&sql, &values)?;
        }
        new.extend(others.into_iter().map(|(_, edge)| edge));
        Ok(new)
    }
}

/// Returns which texts prompts have shown until now.
fn shown(tx: &mut dyn Tx, bodies: &[i64]) -> Result<BTreeSet<i64>, StoreError> {
    let bodies = bodies.iter().map(|body| (*body).into());
    let rows = query_in(tx, &[], bodies, |list| {
        format!("select distinct body from part where roles not in {HIDDEN} and body in {list}")
    })?;
    rows.iter().map(|row| row.int(0)).collect()
}

/// Returns the keys of sources that are known.
fn source_keys(tx: &mut dyn Tx, names: &[&String]) -> Result<BTreeMap<String, i64>, StoreError> {
    let names = names.iter().map(|name| (*name).into());
    let rows = query_in(tx, &[], names, |list| {
        format!("select name, key from source where name in {list}")
    })?;
    let known = rows
        .iter()
        .map(|row| Ok((row.text(0)?.to_owned(), row.int(1)?)));
    known.collect()
}

/// Returns which edges are in some leaf.
fn known_edges(tx: &mut dyn Tx, names: &[&[u8]]) -> Result<BTreeSet<Vec<u8>>, StoreError> {
    let names = names.iter().map(|name| (*name).into());
    let rows = query_in(tx, &[], names, |list| {
        format!("select name from edge where name in {list}")
    })?;
    rows.iter().map(|row| Ok(row.bytes(0)?.to_vec())).collect()
}
