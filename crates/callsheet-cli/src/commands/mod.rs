//! The commands, one file each.

pub(crate) mod cache;
pub(crate) mod completions;
pub(crate) mod compose;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod init;
pub(crate) mod inject;
pub(crate) mod pack;
pub(crate) mod package;
pub(crate) mod profile;
pub(crate) mod recipe;
pub(crate) mod schema;
pub(crate) mod state;
pub(crate) mod template;
pub(crate) mod why;
