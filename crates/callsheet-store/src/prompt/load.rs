//! Reading a seal back, and proving that it is the one that was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet::seal::DOCUMENTS;
use callsheet::{Fingerprint, Manifest, Seal, SourceMap};

use super::SealedPrompt;
use crate::db::{Row, Tx};
use crate::{StoreError, body, pack};

const READ_DOCUMENTS: &str = "select d.key % 4, d.bytes, d.packed, b.bytes, b.packed, b.base from document d \
    join body b on b.key = d.base where d.key between $1 * 4 and $1 * 4 + 3 order by d.key";

const READ_DOCUMENT: &str = "select d.key % 4, d.bytes, d.packed, b.bytes, b.packed, b.base from document d \
    join body b on b.key = d.base where d.key = $1 * 4 + $2";

/// Returns what was sealed with a prompt, after proving it.
pub(crate) fn load(tx: &mut dyn Tx, prompt: &SealedPrompt) -> Result<Seal, StoreError> {
    let place = format!("{}: prompt {}", tx.store(), prompt.id);
    let damaged = |why: String| StoreError::damaged(&place, why);
    let documents = documents(tx, prompt)?.map_err(damaged)?;
    let mut seal = Seal {
        documents,
        bodies: BTreeMap::new(),
    };
    if seal.fingerprint() != prompt.seal {
        return Err(damaged("its documents are not what was sealed".to_owned()));
    }
    let named = seal.named();
    let named = named.map_err(|error| damaged(error.detail().to_owned()))?;
    for name in named {
        let text = body::get(tx, name)?;
        seal.bodies.insert(name, Arc::from(text));
    }
    Ok(seal)
}

/// Puts texts of prompts together; what several of them carry is read once.
#[derive(Default)]
pub(crate) struct Texts {
    bodies: BTreeMap<Fingerprint, Arc<[u8]>>,
    bytes: usize,
}

/// So many bytes are kept for the next prompt.
const MOST_BYTES: usize = 64 << 20;

impl Texts {
    /// Returns the text of a prompt.
    pub(crate) fn of(
        &mut self,
        tx: &mut dyn Tx,
        prompt: &SealedPrompt,
    ) -> Result<String, StoreError> {
        let mut seal = some_documents(tx, prompt, &[MANIFEST, LAYOUT])?;
        let damaged = |error: callsheet::Error| told(tx, prompt, error.detail());
        let manifest = seal.manifest().map_err(damaged)?;
        for section in &manifest.sections {
            let name = section.fingerprint;
            let text = match self.bodies.get(&name) {
                Some(text) => Arc::clone(text),
                None => self.read(tx, name)?,
            };
            seal.bodies.insert(name, text);
        }
        seal.text()
            .map_err(|error| told(tx, prompt, error.detail()))
    }

    fn read(&mut self, tx: &mut dyn Tx, name: Fingerprint) -> Result<Arc<[u8]>, StoreError> {
        let text: Arc<[u8]> = body::get(tx, name)?.into();
        if self.bytes > MOST_BYTES {
            *self = Self::default();
        }
        self.bytes += text.len();
        self.bodies.insert(name, Arc::clone(&text));
        Ok(text)
    }
}

/// Returns the manifest of a prompt.
pub(crate) fn manifest(tx: &mut dyn Tx, prompt: &SealedPrompt) -> Result<Manifest, StoreError> {
    let seal = some_documents(tx, prompt, &[MANIFEST])?;
    seal.manifest()
        .map_err(|error| told(tx, prompt, error.detail()))
}

/// Returns where each byte of the text of a prompt came from.
pub(crate) fn source_map(tx: &mut dyn Tx, prompt: &SealedPrompt) -> Result<SourceMap, StoreError> {
    let seal = some_documents(tx, prompt, &[MAP])?;
    seal.source_map()
        .map_err(|error| told(tx, prompt, error.detail()))
}

const MANIFEST: usize = 0;
const MAP: usize = 1;
const LAYOUT: usize = 2;

/// Returns a seal of which only some documents are there.
fn some_documents(
    tx: &mut dyn Tx,
    prompt: &SealedPrompt,
    wanted: &[usize],
) -> Result<Seal, StoreError> {
    let mut documents = <[String; 4]>::default();
    for &kind in wanted {
        let number = i64::try_from(kind).unwrap_or(i64::MAX);
        let row = tx.first(READ_DOCUMENT, &[prompt.key.into(), number.into()])?;
        let read = row
            .as_ref()
            .map_or_else(|| Err("it is not there".to_owned()), unpacked);
        documents[kind] = read.map_err(|why| {
            let why = format!("{}: {why}", DOCUMENTS[kind]);
            told(tx, prompt, &why)
        })?;
    }
    Ok(Seal {
        documents,
        bodies: BTreeMap::new(),
    })
}

fn told(tx: &dyn Tx, prompt: &SealedPrompt, why: &str) -> StoreError {
    StoreError::damaged(format!("{}: prompt {}", tx.store(), prompt.id), why)
}

/// Returns the documents of a prompt, or which of them is not in order.
pub(super) fn documents(
    tx: &mut dyn Tx,
    prompt: &SealedPrompt,
) -> Result<Result<[String; 4], String>, StoreError> {
    let rows = tx.query(READ_DOCUMENTS, &[prompt.key.into()])?;
    let mut documents = <[String; 4]>::default();
    for ((kind, name), document) in (0..).zip(DOCUMENTS).zip(&mut documents) {
        let of_kind = |row: &&Row| row.int(0) == Ok(kind);
        let read = match rows.iter().find(of_kind) {
            Some(row) => unpacked(row),
            None => Err("it is not there".to_owned()),
        };
        match read {
            Ok(text) => *document = text,
            Err(why) => return Ok(Err(format!("{name}: {why}"))),
        }
    }
    Ok(Ok(documents))
}

fn unpacked(row: &Row) -> Result<String, String> {
    let told = |error: StoreError| error.to_string();
    if row.maybe(5, Row::int).map_err(told)?.is_some() {
        return Err("its base has a base".to_owned());
    }
    let (size, packed) = (row.int(3).map_err(told)?, row.bytes(4).map_err(told)?);
    let base = pack::unpack(packed, size, &[]).map_err(|why| format!("its base: {why}"))?;
    let (size, packed) = (row.int(1).map_err(told)?, row.bytes(2).map_err(told)?);
    let bytes = pack::unpack(packed, size, &base)?;
    String::from_utf8(bytes).map_err(|_| "it is no UTF-8".to_owned())
}
