//! Bundles: sealed prompts in one file that needs no store, to be handed to somebody else or kept for years.
//!
//! A bundle is a tar archive compressed with zstd. The same prompts give the same bytes. What comes in is hostile until
//! it is proven: a bundle is taken as a whole or not at all.
//!
//! | entry | content |
//! |---|---|
//! | `bundle.json` | the index: prompts with their ids, times and fingerprints; always the first entry |
//! | `prompts/ID/prompt` | the exact bytes that were handed over |
//! | `prompts/ID/manifest.json`, `source-map.json`, `layout.json`, `inputs.json` | the documents of the seal |
//! | `bodies/HEX` | a text, under the digits of its BLAKE3 |

mod read;
mod write;

use callsheet::{Fingerprint, Seal};
use serde::{Deserialize, Serialize};

use crate::project::Project;
use crate::prompt::{self, SealedPrompt, When};
use crate::{Id, Store, StoreError};

/// The name and version of the shape of a bundle.
const SCHEMA: &str = "callsheet.bundle/1";

/// The first bytes of every bundle: those of zstd.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The name of the index.
const INDEX: &str = "bundle.json";

/// Sealed prompts, out of any store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bundle {
    /// Whether secrets were taken out when it was made.
    pub redacted: bool,
    /// The prompts, in the order of their ids.
    pub prompts: Vec<Bundled>,
}

/// A prompt in a bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundled {
    /// Its id.
    pub id: Id,
    /// When it was sealed, in milliseconds since 1970.
    pub sealed_at: i64,
    /// Everything that was sealed with it.
    pub seal: Seal,
}

/// The index as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    schema: String,
    redacted: bool,
    prompts: Vec<Entry>,
}

/// A prompt in the index.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    sealed_at: i64,
    /// The fingerprint of the exact bytes.
    fingerprint: Fingerprint,
    /// The fingerprint of all documents together.
    seal: Fingerprint,
}

impl Bundled {
    /// Puts a seal under the id that its time and its contents give it.
    pub fn new(sealed_at: i64, seal: Seal) -> Self {
        let id = Id::new(sealed_at, seal.fingerprint());
        Self {
            id,
            sealed_at,
            seal,
        }
    }
}

impl Bundle {
    /// Tells whether bytes begin like a bundle.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }
}

impl Store {
    /// Takes in all prompts of a bundle, or none; returns each with whether it is new.
    pub async fn import(
        &self,
        project: &Project,
        bundle: Bundle,
    ) -> Result<Vec<(SealedPrompt, bool)>, StoreError> {
        let project = project.clone();
        self.write(move |tx| {
            let prompts = bundle.prompts.iter();
            prompts
                .map(|bundled| {
                    prompt::put(tx, &project, &bundled.seal, When::At(bundled.sealed_at))
                })
                .collect()
        })
        .await
    }
}
