//! Reading a seal back, and proving that it is the one that was written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callsheet::seal::DOCUMENTS;
use callsheet::{Fingerprint, Manifest, Seal};
use serde::de::IgnoredAny;

use super::SealedPrompt;
use super::documents::UnpackedBases;
use crate::db::Tx;
use crate::{StoreError, body};

/// Returns what was sealed with a prompt, after proving it.
pub(crate) fn load(tx: &mut dyn Tx, prompt: &SealedPrompt) -> Result<Seal, StoreError> {
    let mut seal = documents(tx, prompt)?;
    let named = seal.named();
    let named = named.map_err(|error| damaged_prompt(tx, prompt, error.detail()))?;
    let named: Vec<Fingerprint> = named.into_iter().collect();
    let texts = body::get_all(tx, &named)?.into_iter();
    seal.bodies = texts.map(|(name, text)| (name, text.into())).collect();
    Ok(seal)
}

/// Returns the manifest of a prompt.
pub(crate) fn manifest(tx: &mut dyn Tx, prompt: &SealedPrompt) -> Result<Manifest, StoreError> {
    let seal = documents(tx, prompt)?;
    seal.manifest()
        .map_err(|error| damaged_prompt(tx, prompt, error.detail()))
}

/// Puts texts of prompts together; what several of them carry is read once.
#[derive(Default)]
pub(crate) struct Texts {
    bases: UnpackedBases,
    bodies: BTreeMap<Fingerprint, Arc<[u8]>>,
    bytes: usize,
}

/// So many bytes are kept for the next prompt.
const MOST_BYTES: usize = 64 << 20;

impl Texts {
    /// Returns the documents of a prompt and the texts of its sections.
    pub(crate) fn sealed(
        &mut self,
        tx: &mut dyn Tx,
        prompt: &SealedPrompt,
    ) -> Result<Seal, StoreError> {
        let mut seal =
            proven(tx, prompt, &mut self.bases)?.map_err(|why| damaged_prompt(tx, prompt, &why))?;
        let manifest = seal.manifest();
        let manifest = manifest.map_err(|error| damaged_prompt(tx, prompt, error.detail()))?;
        let sections = manifest.sections.iter().map(|section| section.fingerprint);
        seal.bodies = self.named(tx, sections.collect())?;
        Ok(seal)
    }

    /// Returns the documents of a prompt, or what of them is not in order.
    pub(super) fn documents(
        &mut self,
        tx: &mut dyn Tx,
        prompt: &SealedPrompt,
    ) -> Result<Result<Seal, String>, StoreError> {
        proven(tx, prompt, &mut self.bases)
    }

    /// Returns texts by their names.
    pub(super) fn named(
        &mut self,
        tx: &mut dyn Tx,
        names: BTreeSet<Fingerprint>,
    ) -> Result<BTreeMap<Fingerprint, Arc<[u8]>>, StoreError> {
        if self.bytes > MOST_BYTES {
            *self = Self::default();
        }
        let missing = names.iter().filter(|name| !self.bodies.contains_key(name));
        let missing: Vec<Fingerprint> = missing.copied().collect();
        for (name, text) in body::get_all(tx, &missing)? {
            self.bytes += text.len();
            self.bodies.insert(name, text.into());
        }
        let found = names.into_iter().filter_map(|name| {
            let text = self.bodies.get(&name)?;
            Some((name, Arc::clone(text)))
        });
        Ok(found.collect())
    }
}

/// Returns a seal without its texts, after proving that its documents are the sealed ones.
pub(super) fn documents(tx: &mut dyn Tx, prompt: &SealedPrompt) -> Result<Seal, StoreError> {
    proven(tx, prompt, &mut UnpackedBases::default())?
        .map_err(|why| damaged_prompt(tx, prompt, &why))
}

/// Makes the error of a prompt that is not in order.
pub(crate) fn damaged_prompt(tx: &dyn Tx, prompt: &SealedPrompt, why: &str) -> StoreError {
    StoreError::damaged(format!("{}: prompt {}", tx.store(), prompt.id), why)
}

/// Returns a seal without its texts after proving that its documents are the sealed ones, or says why they are not.
fn proven(
    tx: &mut dyn Tx,
    prompt: &SealedPrompt,
    bases: &mut UnpackedBases,
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
        Some(format!("{name}: it is not JSON: {error}"))
    });
    let other = "its documents are not what was sealed".to_owned();
    Ok(Err(malformed.into_iter().next().unwrap_or(other)))
}
