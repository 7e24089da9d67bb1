//! Reading a seal back, and proving that it is the one that was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet::seal::DOCUMENTS;
use callsheet::{Fingerprint, Manifest, Seal, SourceMap};
use serde::de::IgnoredAny;

use super::SealedPrompt;
use super::unit::Bases;
use crate::db::Tx;
use crate::{StoreError, body};

/// Returns what was sealed with a prompt, after proving it.
pub(crate) fn load(tx: &mut dyn Tx, prompt: &SealedPrompt) -> Result<Seal, StoreError> {
    let mut seal = documents(tx, prompt, &mut Bases::default())?;
    let named = seal.named();
    for name in named.map_err(|error| told(tx, prompt, error.detail()))? {
        let text = body::get(tx, name)?;
        seal.bodies.insert(name, Arc::from(text));
    }
    Ok(seal)
}

/// Returns the manifest of a prompt.
pub(crate) fn manifest(tx: &mut dyn Tx, prompt: &SealedPrompt) -> Result<Manifest, StoreError> {
    let seal = documents(tx, prompt, &mut Bases::default())?;
    seal.manifest()
        .map_err(|error| told(tx, prompt, error.detail()))
}

/// Puts texts of prompts together; what several of them carry is read once.
#[derive(Default)]
pub(crate) struct Texts {
    bases: Bases,
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
        let seal = self.sealed(tx, prompt)?;
        seal.text()
            .map_err(|error| told(tx, prompt, error.detail()))
    }

    /// Returns the text of a prompt, and where each byte of it came from.
    pub(crate) fn mapped(
        &mut self,
        tx: &mut dyn Tx,
        prompt: &SealedPrompt,
    ) -> Result<(String, SourceMap), StoreError> {
        let seal = self.sealed(tx, prompt)?;
        let both = seal.text().and_then(|text| Ok((text, seal.source_map()?)));
        both.map_err(|error| told(tx, prompt, error.detail()))
    }

    /// Returns the documents of a prompt and the texts of its sections.
    fn sealed(&mut self, tx: &mut dyn Tx, prompt: &SealedPrompt) -> Result<Seal, StoreError> {
        let mut seal = documents(tx, prompt, &mut self.bases)?;
        let manifest = seal.manifest();
        let manifest = manifest.map_err(|error| told(tx, prompt, error.detail()))?;
        for section in &manifest.sections {
            let name = section.fingerprint;
            let text = match self.bodies.get(&name) {
                Some(text) => Arc::clone(text),
                None => self.read(tx, name)?,
            };
            seal.bodies.insert(name, text);
        }
        Ok(seal)
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

/// Returns a seal without its texts.
fn documents(
    tx: &mut dyn Tx,
    prompt: &SealedPrompt,
    bases: &mut Bases,
) -> Result<Seal, StoreError> {
    proven(tx, prompt, bases)?.map_err(|why| told(tx, prompt, &why))
}

fn told(tx: &dyn Tx, prompt: &SealedPrompt, why: &str) -> StoreError {
    StoreError::damaged(format!("{}: prompt {}", tx.store(), prompt.id), why)
}

/// Returns a seal without its texts after proving that its documents are the sealed ones, or says why they are not.
pub(super) fn proven(
    tx: &mut dyn Tx,
    prompt: &SealedPrompt,
    bases: &mut Bases,
) -> Result<Result<Seal, String>, StoreError> {
    let documents = match bases.documents(tx, prompt)? {
        Ok(documents) => documents,
        Err(why) => return Ok(Err(why)),
    };
    let seal = Seal {
        documents,
        bodies: BTreeMap::new(),
    };
    if seal.fingerprint() == prompt.seal {
        return Ok(Ok(seal));
    }
    let malformed = DOCUMENTS.iter().zip(&seal.documents);
    let malformed = malformed.filter_map(|(name, document)| {
        let error = serde_json::from_str::<IgnoredAny>(document).err()?;
        Some(format!("{name}: it is no JSON: {error}"))
    });
    let other = "its documents are not what was sealed".to_owned();
    Ok(Err(malformed.into_iter().next().unwrap_or(other)))
}
