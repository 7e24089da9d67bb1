//! Writing a seal: its texts, its documents, what it carries and what went into it.

use std::collections::{BTreeMap, BTreeSet};

use callsheet::manifest::Manifest;
use callsheet::seal::{DOCUMENTS, SealedInputs};
use callsheet::{Event, Fingerprint, Seal};
use serde_json::json;

use super::edge::{self, Edge};
use super::{FRAME, INPUT, SECTION, SealedPrompt, TOOL};
use crate::body::{self, Likes, Slot};
use crate::db::{Dialect, Tx, Value, groups};
use crate::project::Project;
use crate::{Id, StoreError, event, mark, pack, search};

/// The event of a new prompt.
pub(crate) const SEALED: &str = "prompt:sealed";

/// How many rows are inserted by one statement.
const CHUNK: usize = 100;

/// Held while sealing, shared; whoever collects what is no longer used holds it alone.
pub(crate) const LOCK: &str = "select pg_advisory_xact_lock_shared(7227201901)";

const KNOWN: &str = "select p.id from prompt p where p.project = $1 and p.seal = $2";

const TAKEN: &str = "select 1 from prompt p where p.project = $1 and p.id = $2";

const INSERT: &str = "insert into prompt (id, project, sealed_at, recipe, engine, fingerprint, bytes, tokens, seal, mark) \
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning key";

const DOCUMENT: &str =
    "insert into document (key, base, bytes, packed) values ($1 * 4 + $2, $3, $4, $5)";

const PART: &str = "insert into part (body, prompt, roles) values ";

const HAS_EDGE: &str = "select 1 from edge where name = $1";

const EDGE: &str = "insert into edge (key, name, left_body, right_body) values ($1, $2, $3, $4)";

const SOURCE: &str = "insert into source (name) values ($1) on conflict (name) do nothing";

const PROMPT_SOURCE: &str =
    "insert into prompt_source (source, prompt) select key, $2 from source where name = $1";

/// When a prompt was sealed.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// Now, or a moment later if another prompt has that id.
    Now,
    /// Then, and at no other time.
    At(i64),
}

/// Seals a prompt; returns it, and whether it is new.
pub(crate) fn put(
    tx: &mut dyn Tx,
    project: &Project,
    seal: &Seal,
    when: When,
) -> Result<(SealedPrompt, bool), StoreError> {
    if tx.dialect() == Dialect::Postgres {
        tx.query(LOCK, &[])?;
    }
    let whole = seal.fingerprint();
    let known = [project.key.into(), whole.as_bytes().as_slice().into()];
    if let Some(row) = tx.first(KNOWN, &known)? {
        let prompt = super::find(tx, project, row.text(0)?)?;
        return Ok((prompt, false));
    }
    let contents = Contents::of(seal).map_err(|error| {
        StoreError::refused(format!("the seal is not in order: {}", error.detail()))
    })?;
    let at = free_time(tx, project, whole, when)?;
    let prompt = insert(tx, project, &contents.manifest, whole, at)?;
    for ((kind, name), text) in (0..).zip(DOCUMENTS).zip(&seal.documents) {
        let slot = Slot {
            project: project.key,
            name: &format!("{}/{name}", prompt.recipe),
        };
        put_document(tx, (prompt.key, kind), slot, text)?;
    }
    contents.put_parts(tx, project, prompt.key)?;
    for source in &contents.sources {
        tx.execute(SOURCE, &[source.into()])?;
        tx.execute(PROMPT_SOURCE, &[source.into(), prompt.key.into()])?;
    }
    let facts = [("id", json!(prompt.id)), ("recipe", json!(prompt.recipe))];
    let message = format!("prompt {} is sealed", prompt.id);
    let told = Event::new(SEALED, facts, message);
    event::append(tx, project, &[told.into()])?;
    Ok((prompt, true))
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
    manifest: &Manifest,
    whole: Fingerprint,
    at: i64,
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
    let row = tx.first(INSERT, &values)?;
    let missing = || StoreError::damaged(tx.store(), "a new row has no key");
    prompt.key = row.ok_or_else(missing)?.int(0)?;
    Ok(prompt)
}

/// Keeps a document as what differs from one like it; one that resembles none becomes the base of those to come.
fn put_document(
    tx: &mut dyn Tx,
    (prompt, kind): (i64, i64),
    slot: Slot<'_>,
    text: &str,
) -> Result<(), StoreError> {
    let packed = |base: &[u8]| pack::against(text.as_bytes(), base);
    let alone = pack::alone(text.as_bytes()).len();
    let like = slot.base(tx)?.map(|base| (packed(&base.text), base));
    let (base, packed) = match like {
        Some((packed, base)) if base.is_near(packed.len(), alone) => {
            slot.note(tx, &base, packed.len())?;
            (base.key, packed)
        }
        _ => {
            let name = Fingerprint::of(text);
            let (base, _) = body::put(tx, name, text.as_bytes(), Likes::default())?;
            slot.set(tx, base)?;
            let like = body::get_key(tx, base)?;
            (base, packed(&like))
        }
    };
    let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let values = [
        prompt.into(),
        kind.into(),
        base.into(),
        size.into(),
        packed.into(),
    ];
    tx.execute(DOCUMENT, &values)?;
    Ok(())
}

/// What a seal holds, by what it is in the prompt.
pub(super) struct Contents {
    manifest: Manifest,
    texts: BTreeMap<Fingerprint, Part>,
    /// The input document.
    input: Fingerprint,
    /// What stands where its sections meet.
    pub(super) edges: Vec<Edge>,
    /// The names of everything that went in.
    pub(super) sources: BTreeSet<String>,
}

/// A text and what it is.
struct Part {
    text: Vec<u8>,
    roles: i64,
    /// What it is compared with.
    place: Option<String>,
}

impl Contents {
    pub(super) fn of(seal: &Seal) -> Result<Self, callsheet::Error> {
        let (manifest, inputs) = (seal.manifest()?, seal.inputs()?);
        let mut contents = Self {
            texts: BTreeMap::new(),
            input: inputs.input_name(),
            edges: Vec::new(),
            sources: sources(seal, &inputs)?,
            manifest,
        };
        let recipe = contents.manifest.recipe.name.clone();
        for (_, path, body) in inputs.readings.files() {
            contents.add(seal, body, INPUT, Some(format!("file/{path}")));
        }
        for body in inputs.named() {
            contents.add(seal, body, INPUT, None);
        }
        let place = format!("{recipe}/input");
        contents.add(seal, inputs.input_name(), INPUT, Some(place));
        for tool in contents.manifest.tools.clone() {
            contents.add(seal, tool, TOOL, None);
        }
        for section in contents.manifest.sections.clone() {
            let place = format!("{recipe}/{}", section.label());
            contents.add(seal, section.fingerprint, SECTION, Some(place));
        }
        let text = seal.text()?;
        contents.edges = edge::edges(&text, &contents.manifest.sections);
        if contents.manifest.sections.is_empty() && !text.is_empty() {
            let part = Part {
                roles: FRAME,
                place: None,
                text: text.into_bytes(),
            };
            let name = Fingerprint::of(&part.text);
            let known = contents.texts.entry(name).or_insert(part);
            known.roles |= FRAME;
        }
        Ok(contents)
    }

    fn add(&mut self, seal: &Seal, name: Fingerprint, role: i64, place: Option<String>) {
        if let Some(text) = seal.bodies.get(&name) {
            let part = self.texts.entry(name).or_insert_with(|| Part {
                text: text.to_vec(),
                roles: 0,
                place: None,
            });
            part.roles |= role;
            part.place = place.or(part.place.take());
        }
    }

    /// Returns what a prompt carries, and as what.
    pub(super) fn roles(&self) -> BTreeMap<Fingerprint, i64> {
        let texts = self.texts.iter();
        texts.map(|(name, part)| (*name, part.roles)).collect()
    }

    /// Returns the longest section that came from the input.
    fn longest(&self, keys: &BTreeMap<Fingerprint, i64>) -> Option<(i64, &[u8])> {
        let sections = self.manifest.sections.iter();
        let given = sections.filter(|section| section.source.starts_with("input:"));
        let longest = given.max_by_key(|section| section.bytes)?;
        let part = self.texts.get(&longest.fingerprint)?;
        Some((*keys.get(&longest.fingerprint)?, &part.text))
    }

    fn put_parts(&self, tx: &mut dyn Tx, project: &Project, prompt: i64) -> Result<(), StoreError> {
        let mut rows: Vec<[Value<'_>; 3]> = Vec::with_capacity(self.texts.len());
        let mut keys: BTreeMap<Fingerprint, i64> = BTreeMap::new();
        // The input comes last: it often holds what has become a section.
        let (input, others): (Vec<_>, Vec<_>) = self
            .texts
            .iter()
            .partition(|(name, _)| **name == self.input);
        for (name, part) in others.into_iter().chain(input) {
            let held = (*name == self.input).then(|| self.longest(&keys)).flatten();
            let slot = part.place.as_ref().map(|place| Slot {
                project: project.key,
                name: place,
            });
            let (key, _) = body::put(tx, *name, &part.text, Likes { slot, held })?;
            keys.insert(*name, key);
            if part.roles & (SECTION | FRAME) != 0 {
                search::add_body(tx, key, &part.text, part.roles & SECTION != 0)?;
            }
            rows.push([key.into(), prompt.into(), part.roles.into()]);
        }
        for rows in rows.chunks(CHUNK) {
            tx.execute(&format!("{PART}{}", groups(rows.len(), 3)), &rows.concat())?;
        }
        for edge in &self.edges {
            let side = |side: &Option<Fingerprint>| side.and_then(|name| keys.get(&name).copied());
            let (left, right) = (side(&edge.left), side(&edge.right));
            // Most are known: their sections have met before.
            if tx.first(HAS_EDGE, &[edge.name().into()])?.is_some() {
                continue;
            }
            let key = search::add_edge(tx, &edge.text)?;
            let values = [key.into(), edge.name().into(), left.into(), right.into()];
            tx.execute(EDGE, &values)?;
        }
        Ok(())
    }
}

/// Returns the names of everything that went into a prompt: what its bytes came from, and every file that was read.
fn sources(seal: &Seal, inputs: &SealedInputs) -> Result<BTreeSet<String>, callsheet::Error> {
    let map = seal.source_map()?;
    let mapped = map.spans.iter().map(|span| span.source.clone());
    let sections = seal.manifest()?.sections;
    let named = sections.into_iter().map(|section| section.source);
    let read = inputs
        .files()
        .into_iter()
        .map(|path| format!("file:{path}"));
    let all = mapped.chain(named).chain(read);
    let all = all.filter(|name| name.starts_with("file:") || name.starts_with("template:"));
    // The character NUL cannot be stored in a name.
    Ok(all.map(|name| name.replace('\0', "\u{fffd}")).collect())
}
