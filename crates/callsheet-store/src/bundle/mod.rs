//! Bundles: sealed prompts and finished runs in one file that needs no store, to be handed to somebody else or kept for years.
//!
//! A bundle is a tar archive compressed with zstd. The same contents give the same bytes. What comes in is hostile until
//! it is proven: a bundle is taken as a whole or not at all. Prompts are held in memory; logs and events of runs are
//! only ever passed through.
//!
//! | entry | content |
//! |---|---|
//! | `bundle.json` | the index: prompts with their ids, times and fingerprints; always the first entry |
//! | `prompts/ID/prompt` | the exact bytes that were handed over |
//! | `prompts/ID/manifest.json`, `source-map.json`, `layout.json`, `inputs.json` | the documents of the seal |
//! | `bodies/HEX` | a text, under the digits of its BLAKE3 |
//! | `runs/ID/run.json` | a run, with its task and its annotations |
//! | `runs/ID/events.ndjson`, `log.ndjson` | its events, and the records of its log, a line each |

mod document;
mod export;
mod import;
mod lines;
mod read;
mod redact;
mod run_context;
mod write;

use std::collections::BTreeSet;

use callsheet::redact::Redactor;
use callsheet::{Fingerprint, Seal};
use serde::{Deserialize, Serialize};

use self::redact::Cleaner;
use crate::project::Project;
use crate::wait::Wait;
use crate::{Id, Store, StoreError};

pub use document::RunDocument;
pub use import::Imported;
pub use run_context::{AnnotationDocument, TaskDocument};

/// The name and version of the shape of a bundle without runs.
const SCHEMA: &str = "callsheet.bundle/1";

/// The name and version of the shape of a bundle with runs.
const SCHEMA_RUNS: &str = "callsheet.bundle/2";

/// The name and version of the shape of a bundle with runs that have a task or annotations.
const SCHEMA_TASKS: &str = "callsheet.bundle/3";

/// The event of a run that was imported.
const IMPORTED: &str = "run:imported";

/// The first bytes of every bundle: those of zstd.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The name of the index.
const INDEX: &str = "bundle.json";

/// Sealed prompts and runs, out of any store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bundle {
    /// Whether secrets were taken out when it was made.
    pub redacted: bool,
    /// The prompts, in the order of their ids.
    pub prompts: Vec<Bundled>,
    /// The runs, in the order of their ids; the prompt of each is among the prompts.
    pub runs: Vec<BundledRun>,
}

/// A run in a bundle. Its events and its log stay where they are: in the store, or in the file of the bundle.
#[derive(Clone, Debug)]
pub struct BundledRun {
    /// The run.
    pub run: RunDocument,
    /// What happened to it.
    pub events: LinesDigest,
    /// What it said.
    pub log: LinesDigest,
}

/// What is known of lines that are not held in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinesDigest {
    /// The fingerprint of all of them.
    pub fingerprint: Fingerprint,
    /// How many there are.
    pub lines: u64,
    /// How many bytes they have.
    pub bytes: u64,
}

impl PartialEq for BundledRun {
    fn eq(&self, other: &Self) -> bool {
        let same = self.run.text() == other.run.text();
        same && self.events == other.events && self.log == other.log
    }
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    runs: Vec<RunEntry>,
}

/// A run in the index, with the fingerprints of its three files.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunEntry {
    id: Id,
    run: Fingerprint,
    events: Fingerprint,
    log: Fingerprint,
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

    /// Returns the name and version of its shape: the oldest that can say what is in it.
    fn schema(&self) -> &'static str {
        if self.runs.iter().any(|bundled| bundled.run.is_about_task()) {
            SCHEMA_TASKS
        } else if self.runs.is_empty() {
            SCHEMA
        } else {
            SCHEMA_RUNS
        }
    }

    /// Puts prompts and runs in order, each once; a parent that is not in the bundle is not named.
    pub fn arrange(&mut self) {
        self.prompts.sort_by_key(|prompt| prompt.id);
        self.prompts.dedup_by_key(|prompt| prompt.id);
        self.runs.sort_by_key(|bundled| bundled.run.id);
        self.runs.dedup_by_key(|bundled| bundled.run.id);
        let ids: BTreeSet<Id> = self.runs.iter().map(|bundled| bundled.run.id).collect();
        for bundled in &mut self.runs {
            bundled.run.parent = bundled.run.parent.filter(|parent| ids.contains(parent));
        }
    }
}

impl Store {
    /// Reads a finished run through, for a bundle; its secrets are taken out where a redactor is given, and the path of
    /// the project in any case.
    ///
    /// It blocks, and holds a few megabytes at a time. [`Bundle::write_from`] reads it once more, with the same redactor.
    pub fn bundled_run(
        &self,
        project: &Project,
        run: Id,
        redactor: Option<&Redactor>,
    ) -> Result<BundledRun, StoreError> {
        let found = {
            let project = project.clone();
            self.read(move |tx| export::find(tx, &project, run))
                .wait()?
        };
        let run = found.ok_or_else(|| StoreError::unknown("run", run.as_str()))?;
        let cleaner = Cleaner::new(redactor.cloned(), project.paths.clone());
        export::measured(&mut &*self, run, &cleaner)
    }
}
