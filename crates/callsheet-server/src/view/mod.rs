//! What endpoints and pages both show: gathered once, from the store and from the project as it is now.

pub(crate) mod accounts;
pub(crate) mod attempt;
pub(crate) mod attention;
pub(crate) mod batch;
pub(crate) mod changes;
pub(crate) mod compare;
pub(crate) mod decided;
pub(crate) mod ladder;
pub(crate) mod line;
pub(crate) mod name;
pub(crate) mod place;
pub(crate) mod project;
pub(crate) mod prompt;
pub(crate) mod proof;
pub(crate) mod reel;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod script;
pub(crate) mod show;
pub(crate) mod spent;
pub(crate) mod sprint;
pub(crate) mod story;
pub(crate) mod stream;
pub(crate) mod takes;
pub(crate) mod task;
pub(crate) mod whence;
