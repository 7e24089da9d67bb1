//! What endpoints and pages both show: gathered once, from the store and from the project as it is now.

pub(crate) mod batch;
pub(crate) mod project;
pub(crate) mod run;
pub(crate) mod sprint;
pub(crate) mod story;
pub(crate) mod task;
