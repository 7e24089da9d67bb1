//! Tasks: what they ask for, what is agreed before a run, what was observed after it, and what follows from that.
//!
//! Facts come from git, from exit codes and from the scope that was frozen at the start. What an agent says of itself is
//! a claim: it is in the log and counts for nothing.

mod base;
mod body;
mod chain;
pub(crate) mod conclude;
mod document;
pub(crate) mod facts;
mod gather;
mod judge;
mod landing;
mod rerun;
mod status;
mod terms;
pub(crate) mod tidy;
mod view;
mod violations;

pub use base::base;
pub use body::TaskBody;
pub use document::{SCHEMA, document};
pub(crate) use facts::park;
pub use landing::Landing;
pub use rerun::{Rerun, Waiting};
pub use status::{Merged, TaskRun, TaskState, Unmerged, status, statuses};
pub(crate) use terms::beside;
pub use terms::{Meeting, Terms, meetings};
pub use view::{DiffStat, View};
