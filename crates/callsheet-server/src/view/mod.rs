//! What endpoints and pages both show: gathered once, from the store and from the project as it is now.

pub(crate) mod attempt;
pub(crate) mod changes;
pub(crate) mod compare;
pub(crate) mod ladder;
pub(crate) mod place;
pub(crate) mod prompt;
pub(crate) mod proof;
pub(crate) mod reel;
pub(crate) mod script;
pub(crate) mod show;
pub(crate) mod stream;
pub(crate) mod takes;
pub(crate) mod whence;
