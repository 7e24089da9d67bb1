//! Which files belong to the sprint itself, and which of them a worktree gets and gives back.
//!
//! The board, the context and the artifacts may be tracked, untracked or ignored. A worktree has the tracked ones by itself.
//! The others are copied when it is made, and what agents wrote is copied back when the work has landed. No file of a
//! person is overwritten: where both sides changed one, both are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use callsheet::{Error, Fingerprint, Root};
use serde::{Deserialize, Serialize};

use super::archive::free_name;
use super::board_file::{BOARD_LOCK, PATIENCE};
use super::context::write;
use super::{Crew, Layout};
use crate::below::{Below, is_left};
use crate::git::values;
use crate::workspace::{GIVEN, Ground};
use crate::{RunError, lock};

/// The most bytes of an artifact.
const LIMIT: u64 = 16 << 20;

/// The files of a sprint, relative to the root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Files<'a> {
    pub(super) layout: &'a Layout,
    pub(super) board: &'a str,
}

impl<'a> Files<'a> {
    /// Returns the files that only a sprint writes: those in the main checkout count.
    pub(super) fn own(&self) -> [&'a str; 3] {
        let layout = self.layout;
        [
            self.board,
            &layout.project_context,
            &layout.sprint_project_context,
        ]
    }

    /// Tells whether a path is the board, the context or an artifact.
    pub(super) fn has(&self, path: &str) -> bool {
        let layout = self.layout;
        let directories = [
            &layout.implementation_artifacts,
            &layout.planning_artifacts,
            &layout.archived_artifacts,
        ];
        self.own().contains(&path)
            || (directories.iter()).any(|directory| is_below(path, directory))
    }

    /// Returns the artifacts that are there.
    fn artifacts(&self, root: &Path) -> BTreeSet<String> {
        let layout = self.layout;
        let mut found = BTreeSet::new();
        for directory in [&layout.implementation_artifacts, &layout.planning_artifacts] {
            found.extend(below(root, directory));
        }
        found.retain(|path| !is_below(path, &layout.archived_artifacts));
        found
    }
}

fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the regular files below a directory, relative to the root; links are not followed.
fn below(root: &Path, directory: &str) -> Vec<String> {
    let opened = Root::open(root).ok();
    let start = opened.and_then(|root| root.confine(directory).ok());
    // A project whose artifacts are everywhere has them in git.
    let Some(start) = start.filter(|start| start != root && start.is_dir()) else {
        return Vec::new();
    };
    let mut open = vec![(start, directory.trim_end_matches('/').to_owned())];
    let mut found = Vec::new();
    while let Some((folder, path)) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                continue;
            };
            let path = format!("{path}/{name}");
            if kind.is_dir() && name != ".git" {
                open.push((entry.path(), path));
            } else if kind.is_file() && !is_left(&name) {
                found.push(path);
            }
        }
    }
    found
}

/// What a worktree was given, by path, so that a change of an agent can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Given {
    files: BTreeMap<String, String>,
}

impl Given {
    /// Returns what a worktree was given since it was made.
    pub(super) fn of(ground: &Ground) -> Option<Self> {
        let text = std::fs::read_to_string(ground.note(GIVEN)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns the paths of the files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.keys()
    }

    /// Tells whether a file is as it was given.
    pub(super) fn is_same(&self, path: &str, bytes: &[u8]) -> bool {
        self.files.get(path) == Some(&Fingerprint::of(bytes).to_string())
    }
}

/// Gives a new worktree what the main checkout has and git has not.
pub(super) fn give(root: &Path, ground: &Ground, files: Files<'_>) -> Result<(), RunError> {
    if Given::of(ground).is_some() {
        return Ok(());
    }
    let (from, to) = (open(root)?, open(ground.path())?);
    let mut given = Given::default();
    let mut paths = files.artifacts(root);
    paths.extend(files.own().map(str::to_owned));
    for path in paths {
        let Ok(bytes) = from.read(&path) else {
            continue;
        };
        if to.read(&path).is_ok_and(|there| there == bytes) {
            continue;
        }
        clear(&to, &path);
        write(&to, &path, &bytes)
            .map_err(|why| RunError::NotNow(format!("cannot copy `{path}`: {why}")))?;
        let print = Fingerprint::of(&bytes).to_string();
        given.files.insert(path, print);
    }
    let text = serde_json::to_string(&given).unwrap_or_default();
    callsheet_store::write_private(&ground.note(GIVEN), text)
        .map_err(|cause| RunError::refused("cannot note what the worktree was given", cause))
}

/// Removes what somebody left beside the files of the sprint who was killed while writing them: a commit could take it along.
pub(super) fn clear_left(root: &Path, home: &Path, files: Files<'_>) -> Result<(), RunError> {
    // Nobody is about to rename one of them.
    let _lock = lock::wait(&home.join(BOARD_LOCK), PATIENCE)?;
    let root = open(root)?;
    for path in files.own() {
        clear(&root, path);
    }
    Ok(())
}

/// Removes what somebody left who was killed while writing here; nobody else is writing.
fn clear(root: &Root, path: &str) {
    let above = path.rsplit_once('/').map_or(".", |(above, _)| above);
    let Ok(directory) = Below::open(root, above) else {
        return;
    };
    let left = root.list_where(above, is_left);
    for name in left.map_or_else(|_| Vec::new(), |listing| listing.names) {
        let _ = directory.remove(&name);
    }
}

/// Brings artifacts that agents wrote and git does not have from a worktree to the main checkout.
pub(super) fn bring(
    root: &Path,
    ground: &Ground,
    files: Files<'_>,
    crew: &dyn Crew,
) -> Result<(), RunError> {
    let given = Given::of(ground).unwrap_or_default();
    let listed = ground.git(&["ls-tree", "-r", "-z", "--name-only", "HEAD"])?;
    let tracked = values(&listed).into_iter();
    let tracked: BTreeSet<String> = tracked
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let (from, to) = (open(ground.path())?, open(root)?);
    let mut paths = files.artifacts(ground.path());
    paths.retain(|path| !tracked.contains(path) && !files.own().contains(&path.as_str()));
    for path in paths {
        let bytes = match from.read(&path) {
            Ok(bytes) => bytes,
            Err(refusal) => {
                let why = refusal.reason.sentence();
                crew.note(&format!("`{path}` stays in the worktree: {why}"));
                continue;
            }
        };
        if given.is_same(&path, &bytes) {
            continue;
        }
        let failed = |why| RunError::NotNow(format!("cannot copy `{path}`: {why}"));
        match to.read(&path) {
            Ok(there) if there == bytes => {}
            Ok(there) if !given.is_same(&path, &there) => {
                let free = beside(&to, &path).map_err(failed)?;
                write(&to, &free, &bytes).map_err(failed)?;
                let note = format!("`{path}` was changed here, too; the other one is `{free}`");
                crew.note(&note);
            }
            _ => write(&to, &path, &bytes).map_err(failed)?,
        }
    }
    Ok(())
}

/// Returns a path in the same directory that nothing has.
fn beside(root: &Root, path: &str) -> Result<String, String> {
    let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
    let directory = Below::make(root, above).map_err(|why| why.to_string())?;
    Ok(format!("{above}/{}", free_name(&directory, name)))
}

/// Opens a directory for artifacts.
pub(super) fn open(root: &Path) -> Result<Root, RunError> {
    let opened = Root::open(root).map_err(|error: Error| RunError::Input(error.to_string()))?;
    Ok(opened.with_max_file_bytes(LIMIT))
}
