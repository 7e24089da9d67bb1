//! Runs agent CLIs as processes, and observes what they do.
//!
//! Deciding is pure: an [`Adapter`] turns an order into a launch plan and lines of output into events, without touching
//! anything. Doing is the rest: files, processes, the clock.

pub mod account;
pub mod adapter;
mod ambient;
mod asked;
pub mod below;
pub mod checks;
pub mod document;
pub mod drive;
mod environment;
mod error;
mod event;
mod facts;
pub mod git;
mod interrupt;
pub mod launch;
mod lock;
pub mod merge;
pub mod merged;
pub mod observe;
#[cfg(feature = "otel")]
pub mod otel;
mod placeholder;
pub mod play;
pub mod repository;
mod resolve;
mod runner;
pub mod sandbox;
pub mod sprint;
pub mod supervisor;
pub mod tasks;
pub mod travel;
mod verdict;
mod version;
pub mod workspace;
mod workspace_settings;

pub use adapter::{Adapter, Order, Plan, Reader, Sheet};
pub use asked::{Bounds, ask};
pub use error::RunError;
pub use event::{AgentEvent, Usage};
pub use git::Git;
pub use interrupt::Interrupts;
pub use observe::{CommandSetting, ProjectObserver};
pub use repository::{Identity, NewWorktree, Repository, RepositoryLock, Worktree};
pub use resolve::{Resolved, Runners, find_program};
pub use runner::{Isolate, Limits, Permissions, PromptBy, Runner, SomeLimits};
pub use verdict::{Class, Consequence, Ending, Outcome, Verdict};
pub use version::{ask_version, warning as version_warning};
pub use workspace_settings::{CheckSetting, WorkspaceSettings};
