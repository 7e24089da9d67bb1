//! Composes the exact prompt that a coding agent gets, and explains every byte of it.

mod builder;
mod compose;
mod error;
mod event;
mod fingerprint;
pub mod inputs;
pub mod manifest;
pub mod omission;
pub mod prepare;
pub mod recipe;
mod schema;
mod section;
pub mod source;
pub mod source_map;
pub mod story;
pub mod template;
pub mod text;
pub mod tokens;
pub mod trace;
pub mod workflow;

pub use builder::{FileMemory, MemorySource, ProjectContext, PromptBuilder, RuleSource, packaged};
pub use compose::{Budget, Composition, Inputs, Options, Prompt, assemble, compose};
pub use error::{Error, ErrorKind, Place};
pub use event::Event;
pub use fingerprint::Fingerprint;
pub use inputs::Root;
pub use manifest::Manifest;
pub use omission::{Omission, Reason};
pub use recipe::Recipe;
pub use schema::Schema;
pub use section::{Priority, Role, Section, Trust, Volatility};
pub use source_map::SourceMap;
