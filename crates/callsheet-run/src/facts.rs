//! What git says of a work tree before and after an agent: the only record of changes that is no claim.
//!
//! The files are put into a tree of an index and an object folder of the run's own, so that nothing in the repository
//! changes, and a work tree that was dirty from the start is told from one that the agent changed.

use std::path::Path;
use std::time::Duration;

use crate::git::copy_index;
use crate::{Bounds, Git};

/// What git may spend on one answer; it reads every file that has changed.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_mins(1),
    bytes: 64 << 20,
};

/// What was there before an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    pub(crate) branch: Option<String>,
    pub(crate) head: Option<String>,
    pub(crate) tree: Option<String>,
}

/// What is there after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct After {
    pub(crate) head: Option<String>,
    pub(crate) dirty: Option<bool>,
    pub(crate) changed_files: Option<Vec<String>>,
}

/// Looks at a work tree before an agent; a folder that is not one has nothing to tell.
pub(crate) fn before(cwd: &Path, folder: &Path) -> Before {
    let Ok(git) = Git::open(cwd) else {
        return Before::default();
    };
    Before {
        branch: line(&git, &["symbolic-ref", "--quiet", "--short", "HEAD"]),
        head: head(&git),
        tree: tree(&git, folder),
    }
}

/// Looks at it again; `start` is the tree that was there before.
pub(crate) fn after(cwd: &Path, folder: &Path, start: Option<&str>) -> After {
    let Ok(git) = Git::open(cwd) else {
        return After::default();
    };
    let status = git.run(&["status", "--porcelain=v2", "-z"], BOUNDS).ok();
    After {
        head: head(&git),
        dirty: status.map(|status| !status.is_empty()),
        changed_files: start.and_then(|start| changed(&git, folder, start, &tree(&git, folder)?)),
    }
}

fn head(git: &Git) -> Option<String> {
    line(git, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
}

fn line(git: &Git, args: &[&str]) -> Option<String> {
    let said = String::from_utf8(git.run(args, BOUNDS).ok()?).ok()?;
    Some(said.trim_end_matches('\n').to_owned()).filter(|line| !line.is_empty())
}

/// Returns the tree that the files of a work tree make, those that git ignores left out.
fn tree(git: &Git, folder: &Path) -> Option<String> {
    let index = line(git, &GIT_PATH_OF_INDEX)?;
    std::fs::create_dir_all(folder.join("objects")).ok()?;
    // Where nothing was ever added there is no index, and everything is new.
    let _ = copy_index(Path::new(&index), &folder.join("index"));
    let own = own(git, folder)?;
    own.run(&["add", "--all"], BOUNDS).ok()?;
    line(&own, &["write-tree"])
}

fn changed(git: &Git, folder: &Path, start: &str, end: &str) -> Option<Vec<String>> {
    let args = [
        "diff-tree",
        "-r",
        "-z",
        "--no-renames",
        "--name-only",
        start,
        end,
    ];
    let said = own(git, folder)?.run(&args, BOUNDS).ok()?;
    let names = said
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    Some(
        names
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect(),
    )
}

/// Returns a git that writes to the folder of the run and nowhere else.
fn own(git: &Git, folder: &Path) -> Option<Git> {
    let objects = line(git, &GIT_PATH_OF_OBJECTS)?;
    Some(
        git.clone()
            .with_env("GIT_INDEX_FILE", folder.join("index"))
            .with_env("GIT_OBJECT_DIRECTORY", folder.join("objects"))
            .with_env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects),
    )
}

const GIT_PATH_OF_INDEX: [&str; 4] = ["rev-parse", "--path-format=absolute", "--git-path", "index"];

const GIT_PATH_OF_OBJECTS: [&str; 4] = [
    "rev-parse",
    "--path-format=absolute",
    "--git-path",
    "objects",
];
