//! What git says of a work tree before and after an agent: the only record of changes that is no claim.
//!
//! The files are put into a tree of an index and an object folder of the run's own, so that nothing in the repository
//! changes, and a work tree that was dirty from the start is told from one that the agent changed.

use std::path::Path;
use std::time::Duration;

use crate::git::Git;

/// How long git may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);

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
    let git = Git::at(cwd);
    let Some(tree) = tree(&git, folder) else {
        return Before::default();
    };
    Before {
        branch: line(&git, &["symbolic-ref", "--quiet", "--short", "HEAD"]),
        head: head(&git),
        tree: Some(tree),
    }
}

/// Looks at it again; `start` is the tree that was there before.
pub(crate) fn after(cwd: &Path, folder: &Path, start: Option<&str>) -> After {
    let Some(start) = start else {
        return After::default();
    };
    let git = Git::at(cwd);
    After {
        head: head(&git),
        dirty: git
            .ask(&["status", "--porcelain=v2", "-z"], PATIENCE)
            .map(|status| !status.is_empty()),
        changed_files: tree(&git, folder).and_then(|end| changed(&git, folder, start, &end)),
    }
}

fn head(git: &Git) -> Option<String> {
    line(git, &["rev-parse", "--verify", "--quiet", "HEAD"])
}

fn line(git: &Git, args: &[&str]) -> Option<String> {
    let said = String::from_utf8(git.ask(args, PATIENCE)?).ok()?;
    Some(said.trim_end_matches('\n').to_owned()).filter(|line| !line.is_empty())
}

/// Returns the tree that the files of a work tree make, those that git ignores left out.
fn tree(git: &Git, folder: &Path) -> Option<String> {
    let top = line(git, &["rev-parse", "--show-toplevel"])?;
    let path = |name: &str| line(git, &["rev-parse", "--path-format=absolute", "--git-path", name]);
    let (index, objects) = (folder.join("index"), folder.join("objects"));
    std::fs::create_dir_all(&objects).ok()?;
    // Without an index of its own yet, everything is new.
    let _ = std::fs::copy(path("index")?, &index);
    let own = own(git, folder, &path("objects")?).in_folder(Path::new(&top));
    own.ask(&["add", "--all", "."], PATIENCE)?;
    line(&own, &["write-tree"])
}

fn changed(git: &Git, folder: &Path, start: &str, end: &str) -> Option<Vec<String>> {
    let objects = line(git, &["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
    let args = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", start, end];
    let said = own(git, folder, &objects).ask(&args, PATIENCE)?;
    let names = said.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Some(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// Returns a git that writes to the folder of the run and nowhere else.
fn own(git: &Git, folder: &Path, objects: &str) -> Git {
    git.clone()
        .with_env("GIT_INDEX_FILE", folder.join("index"))
        .with_env("GIT_OBJECT_DIRECTORY", folder.join("objects"))
        .with_env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)
}
