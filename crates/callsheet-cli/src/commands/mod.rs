//! The commands, one file each.

pub(crate) mod adapter;
pub(crate) mod cache;
pub(crate) mod completions;
pub(crate) mod compose;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod gc;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod inject;
pub(crate) mod pack;
pub(crate) mod package;
pub(crate) mod profile;
pub(crate) mod prompts;
pub(crate) mod recipe;
pub(crate) mod replay;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod state;
pub(crate) mod template;
pub(crate) mod verify;
pub(crate) mod why;
