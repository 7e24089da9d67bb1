//! Runs agent CLIs as processes, and observes what they do.
//!
//! Deciding is pure: an [`Adapter`] turns an order into a launch plan and lines of output into events, without touching
//! anything. Doing is the rest: files, processes, the clock.

pub mod adapter;
mod asked;
mod error;
mod event;
pub mod git;
pub mod launch;
pub mod observe;
mod runner;
mod verdict;

pub use adapter::{Adapter, Order, Plan, Reader, Sheet};
pub use asked::{Bounds, ask};
pub use error::RunError;
pub use event::{AgentEvent, Usage};
pub use git::Git;
pub use observe::{CommandSetting, ProjectObserver};
pub use runner::{Isolate, Limits, Permissions, PromptBy, Runner};
pub use verdict::{Class, Consequence, Ending, Outcome, Verdict};
