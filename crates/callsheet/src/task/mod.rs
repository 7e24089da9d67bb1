//! Tasks: what their status is, given what was observed of their runs.
//!
//! A status is derived and never stored. Nothing here looks at a disk, a clock or what an agent says of itself: facts go
//! in, and what they mean comes out.

mod annotated;
mod checks;
mod clash;
mod depend;
mod proof;
mod status;

pub use annotated::{CHECK, MERGE, VIOLATION, annotated};
pub use checks::{CheckFact, CheckStatus, Dod, dod};
pub use clash::{Clash, clash};
pub use depend::cycle;
pub use proof::proof;
pub use status::{
    Approval, Derived, RunFacts, RunOutcome, TaskFacts, TaskReason, TaskStatus, derive,
};
