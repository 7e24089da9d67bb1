//! What Callsheet keeps: sealed prompts, runs, events, logs and settings, in SQLite or PostgreSQL.
//!
//! This crate is SQL and nothing but SQL. It starts no process and speaks to nobody but the database. Every noun is one
//! module, written once for both databases.

mod body;
mod bundle;
mod claim;
mod db;
mod error;
mod event;
mod follow;
mod gc;
mod id;
mod location;
mod log;
mod mark;
mod pack;
mod project;
mod prompt;
mod run;
mod search;
mod setting;
mod store;
mod verify;
mod wait;

pub use bundle::{Bundle, Bundled};
pub use claim::Claim;
pub use error::StoreError;
pub use event::{NewEvent, StoredEvent};
pub use follow::Follower;
pub use gc::{Collected, Keep};
pub use id::Id;
pub use location::{Location, Server};
pub use log::{LARGEST_RECORD, Record, StoredRecord, Stream};
pub use project::Project;
pub use prompt::{PromptFilter, SealedPrompt};
pub use run::{NewRun, Run, RunKind, RunPage, RunState};
pub use search::{Carriers, Hit, HitPlace};
pub use store::{Access, Options, Store};
pub use verify::{Finding, Verified};
pub use wait::block_on;
