//! Tasks of a project: what they ask for, and what follows from their runs.

mod base;
mod body;
mod chain;
mod document;
mod gather;
mod status;
mod violations;

pub use base::base;
pub use body::TaskBody;
pub use document::{SCHEMA, document};
pub use status::{Merged, TaskRun, TaskState, Unmerged, status, statuses};
