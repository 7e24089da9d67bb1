//! Writing a seal: its texts, its documents, what it carries and what went into it.

use callsheet::manifest::Manifest;
use callsheet::seal::Parsed;
use callsheet::{Event, Fingerprint, Seal};
use serde_json::json;

use super::contents::Contents;
use super::links::Links;
use super::series::Series;
use super::{SealedPrompt, documents, load, texts};
use crate::db::Tx;
use crate::project::Project;
use crate::{Id, StoreError, event, locks, mark};

/// The event of a new prompt.
pub(crate) const SEALED: &str = "prompt:sealed";

const KNOWN: &str = "select p.id from prompt p where p.project = $1 and p.seal = $2";

const TAKEN: &str = "select 1 from prompt p where p.project = $1 and p.id = $2";

const INSERT: &str = "insert into prompt (id, project, sealed_at, recipe, engine, fingerprint, bytes, tokens, seal, mark, series) \
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning key";

/// When a prompt was sealed.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// Now, or a moment later if another prompt has that id.
    Now,
    /// Then, and at no other time.
    At(i64),
}

/// Seals a prompt, whose documents are parsed; returns it, and whether it is new.
pub(crate) fn put(
    tx: &mut dyn Tx,
    project: &Project,
    (seal, parsed): (&Seal, &Parsed),
    when: When,
) -> Result<(SealedPrompt, bool), StoreError> {
    locks::sealing(tx, project)?;
    let whole = seal.fingerprint();
    let known = [project.key.into(), whole.as_bytes().as_slice().into()];
    if let Some(row) = tx.first(KNOWN, &known)? {
        let prompt = super::find(tx, project, row.text(0)?)?;
        return Ok((prompt, false));
    }
    let contents = Contents::of(seal, parsed).map_err(|error| {
        StoreError::refused(format!("the seal is not in order: {}", error.detail()))
    })?;
    let keys = texts::put(tx, project, &contents)?;
    let series = Series::of(tx, project, &contents.manifest.recipe.name)?;
    let at = free_time(tx, project, whole, when)?;
    let prompt = insert(tx, project, series, contents.manifest, (whole, at))?;
    documents::put(tx, project, &prompt, &seal.documents)?;
    let links = Links {
        series,
        prompt: prompt.key,
        contents: &contents,
        keys: &keys,
    };
    links.put(tx, project)?;
    read_again(tx, project, (&prompt, &contents))?;
    let facts = [
        ("id", json!(prompt.id)),
        ("recipe", json!(prompt.recipe)),
        ("seal", json!(prompt.seal)),
    ];
    let message = format!("prompt {} is sealed", prompt.id);
    let event = Event::new(SEALED, facts, message);
    event::append(tx, project, &[event.into()])?;
    Ok((prompt, true))
}

/// Reads what was stored, and refuses to go on unless it is what was sealed.
fn read_again(
    tx: &mut dyn Tx,
    project: &Project,
    (prompt, contents): (&SealedPrompt, &Contents<'_>),
) -> Result<(), StoreError> {
    if super::find(tx, project, prompt.id.as_str())? != *prompt {
        return Err(super::damaged_prompt(
            tx,
            prompt,
            "the store does not keep its row as it is",
        ));
    }
    load::documents(tx, prompt)?;
    texts::read_again(tx, contents)
}

/// Returns a time at which no other prompt has the id.
fn free_time(
    tx: &mut dyn Tx,
    project: &Project,
    whole: Fingerprint,
    when: When,
) -> Result<i64, StoreError> {
    let (mut at, movable) = match when {
        When::Now => (tx.now()?, true),
        When::At(at) => (at, false),
    };
    loop {
        let id = Id::new(at, whole);
        let taken = tx.first(TAKEN, &[project.key.into(), id.as_str().into()])?;
        match (taken, movable) {
            (None, _) => return Ok(at),
            (Some(_), true) => at += 1,
            (Some(_), false) => {
                let why = format!("another prompt has the id `{id}` already");
                return Err(StoreError::refused(why));
            }
        }
    }
}

fn insert(
    tx: &mut dyn Tx,
    project: &Project,
    series: Series,
    manifest: &Manifest,
    (whole, at): (Fingerprint, i64),
) -> Result<SealedPrompt, StoreError> {
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let mut prompt = SealedPrompt {
        id: Id::new(at, whole),
        sealed_at: at,
        recipe: manifest.recipe.name.clone(),
        engine: manifest.engine.to_string(),
        fingerprint: manifest.fingerprint,
        bytes: number(manifest.bytes),
        tokens: manifest.tokens.map(number),
        key: 0,
        seal: whole,
    };
    let mut values = prompt.values(project.key);
    values.push(mark::of("prompt", &values).into());
    values.push(series.key.into());
    let row = tx.first(INSERT, &values)?;
    let missing = || StoreError::damaged(tx.store(), "a new row has no key");
    prompt.key = row.ok_or_else(missing)?.int(0)?;
    Ok(prompt)
}
