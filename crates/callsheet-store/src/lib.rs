//! What Callsheet keeps: sealed prompts, tasks, runs, batches, events, logs and settings, in SQLite or PostgreSQL.
//!
//! This crate is SQL and nothing but SQL. It starts no process and speaks to nobody but the database. Every noun is one
//! module, written once for both databases.
//!
//! [`Store::open`] blocks. Everything else can be awaited, on any async runtime, or waited for with [`Wait`]: threads of the
//! store own the connections, and no runtime is needed. A change is acknowledged when it is on the disk.
//!
//! ```
//! use callsheet::Event;
//! use callsheet_store::{Access, Location, Store, Wait};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let place = Location::Sqlite(folder.path().join(".callsheet/callsheet.db"));
//! let store = Store::open(&place, Access::Write)?;
//! let project = store.project("demo").wait()?;
//!
//! let event = Event::new("note:written", [("page", 7.into())], "a note was written");
//! let seqs = store.append_events(&project, vec![event.into()]).wait()?;
//! assert_eq!(seqs, [1]);
//!
//! // A follower reads what is stored, then waits for what comes.
//! let mut follower = store.follow(&project, 0)?;
//! let events = follower.next().wait()?;
//! assert_eq!(events[0].event.message(), "a note was written");
//!
//! let verified = store.verify(|finding| panic!("{finding:?}")).wait()?;
//! assert_eq!(verified.checked["events"], 1);
//! # Ok(())
//! # }
//! ```

mod annotation;
mod batch;
mod body;
mod branch;
mod bundle;
mod carriers;
mod chain;
mod claim;
mod db;
mod error;
mod event;
mod folder;
mod follow;
mod gc;
mod hits;
mod id;
mod location;
mod locks;
mod log;
mod mark;
mod pack;
mod passage;
mod project;
mod prompt;
mod role;
mod run;
mod search;
mod setting;
mod store;
mod task;
mod verify;
mod wait;

pub use annotation::Annotation;
pub use batch::{
    Batch, BatchClaim, BatchPage, BatchState, BatchStatus, BatchStop, Batches, JournalEntry,
    Progress, Recorded,
};
pub use branch::Branch;
pub use bundle::{
    AnnotationDocument, Bundle, Bundled, BundledRun, Imported, LinesDigest, RunDocument,
    TaskDocument,
};
pub use carriers::{Carrier, Carriers};
pub use chain::Head;
pub use claim::Claim;
pub use error::StoreError;
pub use event::{NewEvent, StoredEvent};
pub use folder::{make_folder, write_private};
pub use follow::Follower;
pub use gc::{Collected, Keep};
pub use hits::{Hit, HitPlace, Hits};
pub use id::Id;
pub use location::Location;
#[cfg(feature = "postgres")]
pub use location::Server;
pub use log::{LARGEST_RECORD, Output, Record, StoredRecord, Stream};
pub use project::Project;
pub use prompt::{PromptFilter, SealedPrompt};
pub use run::{EventFilter, EventPages, NewRun, Run, RunFilter, RunKind, RunPage, RunState};
pub use search::Unindexed;
pub use store::{Access, Options, Store};
pub use task::{NewTask, Task};
pub use verify::{Finding, Verified};
pub use wait::Wait;
