//! Runs agent CLIs as processes, and observes what they do.
//!
//! Deciding is pure: an [`Adapter`] turns an order into a launch plan and lines of output into events, without touching
//! anything. Doing is the rest: files, processes, the clock.

pub mod adapter;
mod error;
mod event;
pub mod launch;
pub mod play;
mod runner;
pub mod supervisor;
mod verdict;

pub use adapter::{Adapter, Order, Plan, Reader, Sheet};
pub use error::RunError;
pub use event::{AgentEvent, Usage};
pub use runner::{Isolate, Limits, Permissions, PromptBy, Runner, SomeLimits};
pub use verdict::{Class, Consequence, Ending, Outcome, Verdict};
