//! Proof of everything that is sealed: every fingerprint is derived again, and every row is what its seal says.

use std::collections::BTreeSet;

use callsheet::{Fingerprint, Manifest};

use super::contents::Contents;
use super::load::Texts;
use super::{COLUMNS, SealedPrompt, read};
use crate::db::{Dialect, Row, Tx};
use crate::role::BOUNDARY;
use crate::verify::Audit;
use crate::{Id, StoreError, body, pack};

/// How many rows are looked at in one go, so that memory stays flat.
const PAGE: i64 = 200;

/// Texts, with the least of their roles.
const KEYS: &str = "select b.key, (select min(a.roles) from prompt_body a where a.body = b.key) from body b \
    where b.key > $1 order by b.key limit $2";

const BODY: &str = "select b.bytes, b.packed, a.bytes, a.packed, a.base, b.fingerprint from body b \
    left join body a on a.key = b.base where b.key = $1";

const CARRIER: &str = "select max(p.id) from prompt_body a join prompt p on p.series = a.series \
    and p.key between a.first and a.last where a.body = $1";

const TEXT: &str = "select a.roles from prompt_body a join body b on b.key = a.body join prompt p on p.series = a.series \
    and p.key between a.first and a.last where b.fingerprint = $1 and p.key = $2";

const SERIES: &str = "select 1 from series l join prompt p on p.series = l.key where p.key = $1 and l.project = p.project \
    and l.recipe = p.recipe and l.last >= p.key";

const SOURCE: &str = "select 1 from prompt_source ps join source s on s.key = ps.source join prompt p on p.series = ps.series \
    and p.key between ps.first and ps.last where s.name = $1 and p.key = $2";

/// Texts that no prompt carries, whose documents are not kept with their help, and that no other text needs.
const LOOSE_TEXTS: &str = "select b.key from body b where not exists (select 1 from prompt_body a where a.body = b.key) \
    and not exists (select 1 from document d where d.base = b.key) \
    and not exists (select 1 from body o where o.base = b.key) order by b.key limit 20";

const LOOSE_SOURCES: &str = "select s.name from source s \
    where not exists (select 1 from prompt_source ps where ps.source = s.key) order by s.name limit 20";

/// The largest key that a prompt has had; keys are never used again, because spans outlive the prompts in them.
const LAST_KEY: &str = "select coalesce(max(last), 0) from series";

/// Checks all texts and all prompts.
pub(crate) fn verify(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    verify_loose(tx, audit)?;
    verify_keys(tx, audit)?;
    let damaged = verify_bodies(tx, audit)?;
    let sql = format!("select {COLUMNS} from prompt p where p.key > $1 order by p.key limit $2");
    let (mut last, mut carried) = (i64::MIN, Carried::default());
    loop {
        let rows = tx.query(&sql, &[last.into(), PAGE.into()])?;
        let Some(row) = rows.last() else { break };
        last = row.int(7)?;
        for row in &rows {
            audit.count("prompts");
            let prompt = match read(row) {
                Ok(prompt) => prompt,
                Err(error) => {
                    carried.unsure = true;
                    let id = row.text(0).unwrap_or("?");
                    let what = format!("prompt {id}");
                    let StoreError::Damaged { why, .. } = error else {
                        return Err(error);
                    };
                    let why = why.strip_prefix(&format!("{what}: ")).unwrap_or(&why);
                    audit.find(what, why);
                    continue;
                }
            };
            for why in verify_prompt(tx, &prompt, &damaged, &mut carried)? {
                audit.find(format!("prompt {}", prompt.id), why);
            }
        }
    }
    carried.compare(tx, audit)
}

/// Finds texts and names that belong to nothing.
fn verify_loose(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    for row in tx.query(LOOSE_TEXTS, &[])? {
        let what = format!("text number {}", row.int(0)?);
        audit.find(what, "nothing needs it");
    }
    for row in tx.query(LOOSE_SOURCES, &[])? {
        let what = format!("the source `{}`", row.text(0).unwrap_or("?"));
        audit.find(what, "it went into no prompt");
    }
    Ok(())
}

/// Checks that the next prompt gets a key that none has had.
fn verify_keys(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let last = tx.first(LAST_KEY, &[])?.map_or(Ok(0), |row| row.int(0))?;
    let fits = match tx.dialect() {
        Dialect::Sqlite => {
            let rows = tx.query("select name, seq from sqlite_sequence", &[])?;
            let numbers = |name: &str| -> Vec<i64> {
                let named = rows.iter().filter(|row| row.text(0) == Ok(name));
                named.filter_map(|row| row.int(1).ok()).collect()
            };
            let prompts = if last > 0 { vec![last] } else { Vec::new() };
            let passages = numbers("passage").len();
            numbers("prompt") == prompts && rows.len() == prompts.len() + passages && passages < 2
        }
        Dialect::Postgres => {
            let sql = "select pg_catalog.pg_get_serial_sequence('prompt', 'key')";
            let name = tx
                .first(sql, &[])?
                .map(|row| row.text(0).map(str::to_owned));
            let sql = format!(
                "select last_value from {}",
                name.transpose()?.unwrap_or_default()
            );
            tx.first(&sql, &[])?
                .is_some_and(|row| row.int(0).is_ok_and(|next| next >= last))
        }
    };
    if !fits {
        let detail = "a new prompt could get the key of one that was removed";
        audit.find("the keys of prompts".to_owned(), detail);
    }
    Ok(())
}

/// Texts that are not what they were.
#[derive(Default)]
struct Damaged {
    names: BTreeSet<Fingerprint>,
}

/// Checks that every text is what its fingerprint says; returns those that are not.
fn verify_bodies(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<Damaged, StoreError> {
    let (mut damaged, mut last) = (Damaged::default(), i64::MIN);
    loop {
        let keys = tx.query(KEYS, &[last.into(), PAGE.into()])?;
        if keys.is_empty() {
            return Ok(damaged);
        }
        for key in keys {
            last = key.int(0)?;
            // One at a time: a text may be large.
            let Some(row) = tx.first(BODY, &[last.into()])? else {
                continue;
            };
            // Nobody but the search knows of what is around a boundary.
            if key.maybe(1, Row::int)? != Some(BOUNDARY) {
                audit.count("texts");
            }
            if let Err((name, why)) = check_body(&row) {
                damaged.names.extend(name);
                audit.find(called(tx, last, name)?, why);
            }
        }
    }
}

/// Returns what a text is called, with a prompt that carries it.
fn called(tx: &mut dyn Tx, key: i64, name: Option<Fingerprint>) -> Result<String, StoreError> {
    let row = tx.first(CARRIER, &[key.into()])?;
    let carrier = match &row {
        Some(row) => row.maybe(0, Row::text)?,
        None => None,
    };
    let whose = carrier.map_or_else(String::new, |id| format!(" of prompt {id}"));
    let name = name.map_or_else(|| format!("number {key}"), |name| name.to_string());
    Ok(format!("text {name}{whose}"))
}

type Bad = (Option<Fingerprint>, String);

fn check_body(row: &Row) -> Result<(), Bad> {
    let name = row.bytes(5).ok().and_then(|bytes| bytes.try_into().ok());
    let name: Fingerprint = name
        .map(Fingerprint::from_bytes)
        .ok_or_else(|| (None, "it has no fingerprint".to_owned()))?;
    let text = body::unpacked(row, 0).map_err(|why| (Some(name), why))?;
    let needs_base = row.bytes(1).is_ok_and(pack::needs_base);
    if needs_base != row.maybe(2, Row::int).is_ok_and(|base| base.is_some()) {
        return Err((Some(name), "it has a base that it does not need".to_owned()));
    }
    if Fingerprint::of(&text) != name {
        return Err((Some(name), "hash mismatch".to_owned()));
    }
    Ok(())
}

/// How many links prompts have; none may be there that belongs to no prompt.
#[derive(Default)]
struct Carried {
    linked_texts: i64,
    linked_sources: i64,
    /// Whether some prompt could not be looked into.
    unsure: bool,
    texts: Texts,
}

impl Carried {
    fn compare(&self, tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
        for (table, expected) in [
            ("prompt_body", self.linked_texts),
            ("prompt_source", self.linked_sources),
        ] {
            // A span without any prompt counts, too. With a join, PostgreSQL compares all spans with all prompts.
            let sql = format!(
                "select cast(coalesce(sum(case n when 0 then 1 else n end), 0) as bigint) from (select (select count(*) \
                from prompt p where p.series = a.series and p.key between a.first and a.last) as n from {table} a) s"
            );
            let row = tx.first(&sql, &[])?;
            let found = row.map_or(Ok(0), |row| row.int(0))?;
            if found != expected && !self.unsure {
                let detail = format!("it has {found} links where prompts have {expected}");
                audit.find(format!("the table `{table}`"), detail);
            }
            // Whoever comes next would be in such a span.
            let beyond = format!(
                "select 1 from {table} a join series l on l.key = a.series where a.last > l.last limit 1"
            );
            if tx.first(&beyond, &[])?.is_some() {
                let detail = "it has a span that goes on after the last prompt";
                audit.find(format!("the table `{table}`"), detail);
            }
        }
        Ok(())
    }
}

/// Returns everything about a prompt that does not hold; texts that are damaged were reported before.
fn verify_prompt(
    tx: &mut dyn Tx,
    prompt: &SealedPrompt,
    damaged: &Damaged,
    carried: &mut Carried,
) -> Result<Vec<String>, StoreError> {
    let unsure = std::mem::replace(&mut carried.unsure, true);
    let mut seal = match carried.texts.documents(tx, prompt)? {
        Ok(seal) => seal,
        Err(why) => return Ok(vec![why]),
    };
    let parsed = match seal.parsed() {
        Ok(parsed) => parsed,
        Err(error) => return Ok(vec![error.detail().to_owned()]),
    };
    let named = parsed.named();
    if named.iter().any(|name| damaged.names.contains(name)) {
        return Ok(Vec::new());
    }
    match carried.texts.named(tx, named) {
        Ok(texts) => seal.bodies = texts,
        Err(StoreError::Damaged { why, .. }) => return Ok(vec![why]),
        Err(other) => return Err(other),
    }
    let mut faults: Vec<String> = seal
        .check_parsed(&parsed)
        .iter()
        .map(ToString::to_string)
        .collect();
    faults.extend(check_row(prompt, &parsed.manifest));
    match Contents::of(&seal, &parsed) {
        Ok(contents) => {
            carried.unsure = unsure;
            faults.extend(check_carried(tx, prompt, &contents, carried)?);
        }
        Err(error) => faults.push(error.detail().to_owned()),
    }
    Ok(faults)
}

/// Checks that the links of a prompt are there, and counts them.
fn check_carried(
    tx: &mut dyn Tx,
    prompt: &SealedPrompt,
    contents: &Contents<'_>,
    carried: &mut Carried,
) -> Result<Vec<String>, StoreError> {
    let mut faults = Vec::new();
    for (name, roles) in contents.roles() {
        carried.linked_texts += 1;
        let values = [name.as_bytes().as_slice().into(), prompt.key.into()];
        let row = tx.first(TEXT, &values)?;
        if row.map(|row| row.int(0)).transpose()? != Some(roles) {
            faults.push(format!("it is not linked to text {name}"));
        }
    }
    if tx.first(SERIES, &[prompt.key.into()])?.is_none() {
        faults.push("it is not in the series of its recipe".to_owned());
    }
    for source in &contents.sources {
        carried.linked_sources += 1;
        let values = [source.into(), prompt.key.into()];
        if tx.first(SOURCE, &values)?.is_none() {
            faults.push(format!("it is not linked to `{source}`"));
        }
    }
    Ok(faults)
}

/// Compares the columns of a prompt with its manifest.
fn check_row(prompt: &SealedPrompt, manifest: &Manifest) -> Option<String> {
    let same = prompt.id == Id::new(prompt.sealed_at, prompt.seal)
        && prompt.recipe == manifest.recipe.name
        && prompt.engine == manifest.engine
        && prompt.fingerprint == manifest.fingerprint
        && usize::try_from(prompt.bytes) == Ok(manifest.bytes)
        && prompt.tokens.map(usize::try_from).transpose() == Ok(manifest.tokens);
    (!same).then(|| "its row is not what was sealed".to_owned())
}
