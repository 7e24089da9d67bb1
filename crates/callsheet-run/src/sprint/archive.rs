//! Files of finished stories, moved to the archive. Nothing there is overwritten.

use std::path::Path;

use callsheet::story::Match;
use callsheet::{Error, Root};

use super::{BoardFile, Layout};
use crate::RunError;
use crate::below::{Below, Unwritten};

/// What was moved, from where to where, and what could not be moved, and why.
#[derive(Debug, Default)]
pub struct Archived {
    /// The files that were moved: from and to.
    pub moved: Vec<(String, String)>,
    /// The files that could not be moved, and why.
    pub failed: Vec<(String, String)>,
}

/// Moves the files of stories from the directory of story files to the archive.
///
/// A file that names a longer key of the board belongs to that story: `4-5-1-login.md` is not a file of `4-5`.
pub fn archive(
    root: &Path,
    board: &BoardFile,
    layout: &Layout,
    keys: &[String],
) -> Result<Archived, RunError> {
    let input_error = |error: Error| RunError::Input(error.to_string());
    let opened = Root::open(root).map_err(input_error)?;
    let mine = Match::new(keys, false);
    let others: Vec<String> = board
        .read()?
        .stories()
        .map(|story| story.key.clone())
        .filter(|key| !keys.contains(key) && mine.hits(key))
        .collect();
    let others = Match::new(&others, false);
    let board_name = board
        .path()
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_owned();
    let from = &layout.implementation_artifacts;
    let listing = opened.list_where(from, |name| {
        mine.hits(name) && !others.hits(name) && name != board_name
    });
    let mut names = listing.map_or_else(|_| Vec::new(), |listing| listing.names);
    names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
    let mut archived = Archived::default();
    if names.is_empty() {
        return Ok(archived);
    }
    let places = Below::open(&opened, from).map_err(Unwritten::from);
    let places = places
        .and_then(|from| Ok((from, Below::make(&opened, &layout.archived_artifacts)?)))
        .map_err(|why| why.to_string());
    for name in names {
        let path = format!("{from}/{name}");
        let moved = places
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|(from, to)| {
                let free = free_name(to, &name);
                let renamed = from.rename(&name, to, &free);
                renamed.map(|()| free).map_err(|cause| cause.to_string())
            });
        match moved {
            Ok(free) => {
                let to = format!("{}/{free}", layout.archived_artifacts);
                archived.moved.push((path, to));
            }
            Err(why) => archived.failed.push((path, why)),
        }
    }
    Ok(archived)
}

/// Returns a name that nothing in a directory has.
pub(super) fn free_name(directory: &Below, name: &str) -> String {
    let is_free = |name: &str| !directory.has(name);
    if is_free(name) {
        return name.to_owned();
    }
    let (stem, end) = match name.rsplit_once('.') {
        Some((stem, end)) if !stem.is_empty() => (stem, format!(".{end}")),
        _ => (name, String::new()),
    };
    let mut number = 2_u32;
    loop {
        let next = format!("{stem}-{number}{end}");
        if is_free(&next) {
            return next;
        }
        number += 1;
    }
}
