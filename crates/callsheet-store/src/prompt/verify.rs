//! Proof of everything that is sealed: every fingerprint is derived again, and every row is what its seal says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callsheet::{Fingerprint, Seal};

use super::load::documents;
use super::seal::Contents;
use super::{COLUMNS, EDGE, SECTION, SealedPrompt, read};
use crate::db::{Row, Tx};
use crate::verify::Audit;
use crate::{Id, StoreError, body, search};

const BODIES: &str = "select b.bytes, b.packed, a.bytes, a.packed, a.base, b.fingerprint, b.key from body b \
    left join body a on a.key = b.base order by b.key";

const CARRIER: &str =
    "select max(p.id) from part a join prompt p on p.key = a.prompt where a.body = $1";

const ROLES: &str = "select max(roles), min(roles) from part where body = $1";

const CHUNKS: &str = "select start from chunk where body = $1 order by start";

const PARTS: &str =
    "select a.prompt, b.fingerprint, a.roles from part a join body b on b.key = a.body";

const SOURCES: &str =
    "select ps.prompt, s.name from prompt_source ps join source s on s.key = ps.source";

/// Checks all texts and all prompts.
pub(crate) fn verify(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let damaged = verify_bodies(tx, audit)?;
    let carried = Carried::read(tx)?;
    let mut prompts = Vec::new();
    let sql = format!("select {COLUMNS} from prompt p order by p.key");
    tx.each(&sql, &[], &mut |row| {
        match read(&row) {
            Ok(prompt) => prompts.push(prompt),
            Err(error) => audit.find("a prompt".to_owned(), error.to_string()),
        }
        Ok(())
    })?;
    for prompt in prompts {
        audit.count("prompts");
        for why in verify_prompt(tx, &prompt, &damaged, &carried)? {
            audit.find(format!("prompt {}", prompt.id), why);
        }
    }
    Ok(())
}

/// Checks that every text is what its fingerprint says and is in the index; returns those that are not.
fn verify_bodies(
    tx: &mut dyn Tx,
    audit: &mut Audit<'_>,
) -> Result<BTreeSet<Fingerprint>, StoreError> {
    let mut damaged = BTreeSet::new();
    let mut bad = Vec::new();
    let mut whole = Vec::new();
    tx.each(BODIES, &[], &mut |row| {
        let key = row.int(6)?;
        audit.count("texts");
        match check_body(&row) {
            Ok(starts) => whole.push((key, starts)),
            Err((name, why)) => {
                damaged.extend(name);
                bad.push((key, name, why));
            }
        }
        Ok(())
    })?;
    for (key, name, why) in bad {
        let carrier = tx.first(CARRIER, &[key.into()])?;
        let carrier = carrier.map_or(Ok(None), |row| {
            row.maybe(0, Row::text).map(|id| id.map(str::to_owned))
        })?;
        let whose = carrier.map_or_else(String::new, |id| format!(" of prompt {id}"));
        let name = name.map_or_else(|| format!("number {key}"), |name| name.to_string());
        audit.find(format!("text {name}{whose}"), why);
    }
    for (key, expected) in whole {
        if !is_indexed(tx, key, &expected)? {
            let what = format!("the index of text number {key}");
            audit.find(what, "it does not hold what it should");
        }
    }
    Ok(damaged)
}

type Bad = (Option<Fingerprint>, String);

fn check_body(row: &Row) -> Result<Vec<i64>, Bad> {
    let name = row.bytes(5).ok().and_then(|bytes| bytes.try_into().ok());
    let name: Fingerprint = name
        .map(Fingerprint::from_bytes)
        .ok_or_else(|| (None, "it has no fingerprint".to_owned()))?;
    let text = body::unpacked(row, 0).map_err(|why| (Some(name), why))?;
    if Fingerprint::of(&text) != name {
        return Err((Some(name), "its fingerprint is another".to_owned()));
    }
    let text = String::from_utf8_lossy(&text);
    let starts = search::starts(&text).into_iter();
    Ok(starts
        .map(|start| i64::try_from(start).unwrap_or(i64::MAX))
        .collect())
}

/// Tells whether a text is in the index if, and only if, prompts show it.
fn is_indexed(tx: &mut dyn Tx, key: i64, expected: &[i64]) -> Result<bool, StoreError> {
    let rows = tx.query(CHUNKS, &[key.into()])?;
    let found = rows.iter().map(|row| row.int(0));
    let found = found.collect::<Result<Vec<_>, _>>()?;
    let roles = tx.query(ROLES, &[key.into()])?;
    let shown = roles.iter().any(|row| {
        let roles = [row.int(0), row.int(1)].into_iter().flatten();
        roles.fold(0, |all, one| all | one) & (SECTION | EDGE) != 0
    });
    Ok(if shown {
        found == expected
    } else {
        found.is_empty() || found == expected
    })
}

/// What the tables say that prompts carry.
struct Carried {
    parts: BTreeMap<i64, BTreeMap<Fingerprint, i64>>,
    sources: BTreeMap<i64, BTreeSet<String>>,
}

impl Carried {
    fn read(tx: &mut dyn Tx) -> Result<Self, StoreError> {
        let (mut parts, mut sources) = (BTreeMap::new(), BTreeMap::new());
        tx.each(PARTS, &[], &mut |row| {
            let name: Result<[u8; 32], _> = row.bytes(1)?.try_into();
            let name =
                name.map_err(|_| row.damaged("a text has a fingerprint of the wrong size"))?;
            let of: &mut BTreeMap<_, _> = parts.entry(row.int(0)?).or_default();
            of.insert(Fingerprint::from_bytes(name), row.int(2)?);
            Ok(())
        })?;
        tx.each(SOURCES, &[], &mut |row| {
            let of: &mut BTreeSet<String> = sources.entry(row.int(0)?).or_default();
            of.insert(row.text(1)?.to_owned());
            Ok(())
        })?;
        Ok(Self { parts, sources })
    }
}

/// Returns everything about a prompt that does not hold; texts that are damaged were told before.
fn verify_prompt(
    tx: &mut dyn Tx,
    prompt: &SealedPrompt,
    damaged: &BTreeSet<Fingerprint>,
    carried: &Carried,
) -> Result<Vec<String>, StoreError> {
    let documents = match documents(tx, prompt)? {
        Ok(documents) => documents,
        Err(why) => return Ok(vec![why]),
    };
    let mut seal = Seal {
        documents,
        bodies: BTreeMap::new(),
    };
    if seal.fingerprint() != prompt.seal {
        return Ok(vec!["its documents are not what was sealed".to_owned()]);
    }
    let named = match seal.named() {
        Ok(named) => named,
        Err(error) => return Ok(vec![error.detail().to_owned()]),
    };
    if named.iter().any(|name| damaged.contains(name)) {
        return Ok(Vec::new());
    }
    for name in named {
        match body::get(tx, name) {
            Ok(text) => seal.bodies.insert(name, Arc::from(text)),
            Err(StoreError::Damaged { why, .. }) => return Ok(vec![why]),
            Err(other) => return Err(other),
        };
    }
    let mut faults: Vec<String> = seal.check().iter().map(ToString::to_string).collect();
    faults.extend(check_row(prompt, &seal));
    match Contents::of(&seal) {
        Ok(contents) => {
            if carried.parts.get(&prompt.key) != Some(&contents.roles()) {
                faults.push("the list of its texts is not what was sealed".to_owned());
            }
            let sources = carried.sources.get(&prompt.key);
            if sources.unwrap_or(&BTreeSet::new()) != &contents.sources {
                faults.push("the list of its sources is not what was sealed".to_owned());
            }
        }
        Err(error) => faults.push(error.detail().to_owned()),
    }
    Ok(faults)
}

/// Compares the columns of a prompt with its manifest.
fn check_row(prompt: &SealedPrompt, seal: &Seal) -> Option<String> {
    let manifest = seal.manifest().ok()?;
    let same = prompt.id == Id::new(prompt.sealed_at, prompt.seal)
        && prompt.recipe == manifest.recipe.name
        && prompt.engine == manifest.engine
        && prompt.fingerprint == manifest.fingerprint
        && usize::try_from(prompt.bytes) == Ok(manifest.bytes)
        && prompt.tokens.map(usize::try_from).transpose() == Ok(manifest.tokens);
    (!same).then(|| "its row is not what was sealed".to_owned())
}
