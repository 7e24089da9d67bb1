//! `[sandbox]` in `callsheet.toml`: when an agent is put into the sandbox, and what it may write there.

use std::path::{Path, PathBuf};

use callsheet_run::sandbox::{Mode, WorkingDirectory, decide, support};
use serde::Deserialize;

use crate::failure::Failure;
use crate::project::Project;

/// The caches of package managers and compilers: without them, a build would fetch everything again, or fail.
const CACHES: [&str; 9] = [
    "${XDG_CACHE_HOME:-~/.cache}",
    "${CARGO_HOME:-~/.cargo}/registry",
    "${CARGO_HOME:-~/.cargo}/git",
    "${CARGO_HOME:-~/.cargo}/.package-cache",
    "~/.npm",
    "${GOPATH:-~/go}/pkg",
    "~/.gradle/caches",
    "~/.m2/repository",
    "~/.local/share/pnpm/store",
];

/// What helps where the kernel has no Landlock.
pub(crate) const WAYS_OUT: [&str; 2] = [
    "Linux 5.13 and later has it, unless the boot parameter `lsm=` leaves it out",
    "`mode = \"auto\"` in `[sandbox]` of callsheet.toml runs agents without it",
];

/// What a project sets of the sandbox.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// When an agent is put into it.
    pub(crate) mode: Mode,
    /// What an agent may write beside what every one may.
    write: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            write: CACHES.map(str::to_owned).into(),
        }
    }
}

impl Settings {
    /// Returns what an agent may write beside what every one may; relative paths are relative to the root.
    fn paths(&self, root: &Path) -> Vec<PathBuf> {
        let rooted = |path: &String| {
            if path.starts_with(['~', '$']) {
                PathBuf::from(path)
            } else {
                root.join(path)
            }
        };
        self.write.iter().map(rooted).collect()
    }
}

/// Returns what an agent may write beside what every one may, if it is to be in the sandbox.
pub(crate) fn of(
    project: &Project,
    directory: WorkingDirectory,
) -> Result<Option<Vec<PathBuf>>, Failure> {
    let settings = &project.settings.sandbox;
    let is_on = decide(settings.mode, directory, support()).map_err(|error| {
        let hint = |failure: Failure, way: &&str| failure.hint(*way);
        WAYS_OUT.iter().fold(Failure::from(error), hint)
    })?;
    Ok(is_on.then(|| settings.paths(project.root())))
}
