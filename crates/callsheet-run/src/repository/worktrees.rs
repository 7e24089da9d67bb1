//! Worktrees of a repository: which there are, a new one, and one that goes.
//!
//! Only the worktree that is asked for is touched. One that is gone from the disk keeps its registration, unless it is in
//! the way: it may lie on a drive that is not there at the moment.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{FILES, QUICK, Repository, RepositoryLock};
use crate::RunError;
use crate::git::values;

/// How git marks a worktree that it is about to make; one that was killed leaves the mark.
const INITIALIZING: &str = "initializing";

/// Settings that a worktree of a task has by itself.
const PLAIN: [&str; 3] = [
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "index.sparse",
];

/// A worktree that a repository knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// Where it is, or was.
    pub path: PathBuf,
    /// The branch that is checked out, without `refs/heads/`; nothing where HEAD is detached.
    pub branch: Option<String>,
    /// Why it is locked, if it is.
    pub locked: Option<String>,
    /// Its git directory, which is in the repository and not in the worktree.
    pub git_dir: PathBuf,
}

impl Worktree {
    /// Tells whether the directory is there.
    pub fn is_there(&self) -> bool {
        self.path.is_dir()
    }

    /// Returns a git in this worktree, whatever its own files say about the repository.
    pub fn command(&self, repository: &Repository, args: &[&str]) -> Command {
        let mut command = repository.command(args);
        command.current_dir(&self.path);
        command.env("GIT_DIR", &self.git_dir);
        command.env("GIT_COMMON_DIR", repository.common_dir());
        command.env("GIT_WORK_TREE", &self.path);
        command
    }

    /// Tells whether the worktree has no settings of its own but those of a sparse checkout.
    pub fn is_plain(&self, repository: &Repository) -> Result<bool, RunError> {
        repository.is_plain(&self.git_dir)
    }
}

/// A worktree to make.
#[derive(Clone, Copy, Debug)]
pub struct NewWorktree<'a> {
    /// Where it will be.
    pub path: &'a Path,
    /// The branch that is checked out in it, without `refs/heads/`.
    pub branch: &'a str,
    /// The commit at which the branch begins, where there is no such branch.
    pub start: &'a str,
    /// Whether files are written; without them the worktree is empty, and so is its index.
    pub files: bool,
}

impl Repository {
    /// Returns the worktrees, the main one first.
    pub fn worktrees(&self) -> Result<Vec<Worktree>, RunError> {
        let list = self.run(&["worktree", "list", "--porcelain", "-z"])?;
        let git_dirs = self.git_dirs();
        let mut found: Vec<Worktree> = Vec::new();
        for field in list.split(|&byte| byte == 0) {
            let (key, value) = match field.iter().position(|&byte| byte == b' ') {
                Some(at) => (&field[..at], &field[at + 1..]),
                None => (field, &[][..]),
            };
            let text = || String::from_utf8_lossy(value).into_owned();
            match (key, found.last_mut()) {
                (b"worktree", _) => {
                    let path = PathBuf::from(OsString::from_vec(value.to_vec()));
                    let main = found.is_empty().then(|| self.common_dir.clone());
                    let linked = git_dirs.iter().find(|(known, _)| same(known, &path));
                    let git_dir = main.or_else(|| linked.map(|(_, git_dir)| git_dir.clone()));
                    found.push(Worktree {
                        git_dir: git_dir.unwrap_or_default(),
                        path,
                        branch: None,
                        locked: None,
                    });
                }
                (b"branch", Some(last)) => {
                    last.branch = text().strip_prefix("refs/heads/").map(str::to_owned);
                }
                (b"locked", Some(last)) => last.locked = Some(text()),
                _ => {}
            }
        }
        // One that went meanwhile.
        found.retain(|worktree| !worktree.git_dir.as_os_str().is_empty());
        Ok(found)
    }

    /// Tells whether a worktree with that git directory has no settings of its own but those of a sparse checkout.
    pub(crate) fn is_plain(&self, git_dir: &Path) -> Result<bool, RunError> {
        let own = git_dir.join("config.worktree");
        if !own.exists() {
            return Ok(true);
        }
        let mut args: Vec<OsString> = ["config", "--null", "--name-only", "--list", "--file"]
            .map(OsString::from)
            .into();
        args.push(own.into());
        let keys = values(&self.run(&args)?);
        Ok(keys
            .iter()
            .all(|key| PLAIN.iter().any(|plain| key == plain)))
    }

    /// Returns the worktree at a path, if the repository knows one there.
    pub fn worktree(&self, path: &Path) -> Result<Option<Worktree>, RunError> {
        let mut known = self.worktrees()?.into_iter();
        Ok(known.find(|worktree| same(&worktree.path, path)))
    }

    /// Returns where linked worktrees are and where their git directories are, as the repository has noted it.
    fn git_dirs(&self) -> Vec<(PathBuf, PathBuf)> {
        let noted = fs::read_dir(self.common_dir.join("worktrees"));
        let noted = noted.into_iter().flatten().flatten();
        let place = |git_dir: PathBuf| {
            let mut text = fs::read(git_dir.join("gitdir")).ok()?;
            while text.last() == Some(&b'\n') {
                text.pop();
            }
            // Newer versions of git can note a path from here.
            let file = git_dir.join(OsString::from_vec(text));
            Some((file.parent()?.to_owned(), git_dir))
        };
        noted.filter_map(|entry| place(entry.path())).collect()
    }
}

impl RepositoryLock<'_> {
    /// Makes a worktree on its branch, which is made too where there is none.
    pub fn add_worktree(&self, new: &NewWorktree<'_>) -> Result<(), RunError> {
        self.make_way(new)?;
        let exists = self.rev(&format!("refs/heads/{}", new.branch))?.is_some();
        let mut args = vec!["worktree", "add", "--quiet"];
        args.extend((!new.files).then_some("--no-checkout"));
        if !exists {
            args.extend(["--no-track", "-b", new.branch]);
        }
        let mut command = self.command(&args);
        command.arg("--").arg(new.path);
        command.arg(if exists { new.branch } else { new.start });
        self.change(command, FILES)?;
        Ok(())
    }

    /// Removes a worktree with all that is in it, or its registration where the directory is gone; its branch stays.
    ///
    /// Nothing is looked at first: what is not committed is lost. A worktree that is locked is refused.
    pub fn remove_worktree(&self, path: &Path) -> Result<(), RunError> {
        let mut command = self.command(&["worktree", "remove", "--force", "--"]);
        command.arg(path);
        self.change(command, FILES)?;
        Ok(())
    }

    /// Clears away what a killed git or a deleted directory left, and refuses what is in the way for good reason.
    fn make_way(&self, new: &NewWorktree<'_>) -> Result<(), RunError> {
        self.check_name(new.branch)?;
        for known in self.worktrees()? {
            let is_here = same(&known.path, new.path);
            let is_half = known.locked.as_deref() == Some(INITIALIZING);
            if is_here && is_half {
                self.clear_half(&known)?;
            } else if is_here && known.is_there() {
                let path = known.path.display();
                return Err(RunError::Input(format!("`{path}` is already a worktree")));
            } else if known.branch.as_deref() == Some(new.branch) && known.is_there() {
                let (branch, path) = (new.branch, known.path.display());
                return Err(RunError::Input(format!(
                    "branch `{branch}` is checked out in `{path}`; switch that worktree to another branch"
                )));
            } else if is_here || known.branch.as_deref() == Some(new.branch) {
                self.remove_worktree(&known.path)?;
            }
        }
        Ok(())
    }

    /// Removes a worktree that a killed git had begun to make; nobody has worked in it.
    fn clear_half(&self, half: &Worktree) -> Result<(), RunError> {
        if half.is_there() {
            let refused = |cause| {
                RunError::refused(format!("cannot remove `{}`", half.path.display()), cause)
            };
            fs::remove_dir_all(&half.path).map_err(refused)?;
        }
        let mut command = self.command(&["worktree", "remove", "--force", "--force", "--"]);
        command.arg(&half.path);
        self.change(command, QUICK)?;
        Ok(())
    }

    /// Refuses a name that is not one of a branch, and one that a shorter branch is in the way of.
    fn check_name(&self, branch: &str) -> Result<(), RunError> {
        if self
            .one(&["check-ref-format", "--branch", branch])?
            .as_deref()
            != Some(branch)
        {
            return Err(RunError::Input(format!(
                "`{branch}` is not a name for a branch"
            )));
        }
        for (at, _) in branch.match_indices('/') {
            let shorter = &branch[..at];
            if self.rev(&format!("refs/heads/{shorter}"))?.is_some() {
                return Err(RunError::Input(format!(
                    "branch `{shorter}` is in the way of `{branch}`: git cannot have both; rename `{shorter}`"
                )));
            }
        }
        Ok(())
    }
}

/// Tells whether two paths name the same place, also where it is gone and only what is above it is left.
fn same(left: &Path, right: &Path) -> bool {
    left == right || real(left) == real(right)
}

/// Returns the path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => real(above).join(name),
        _ => path.to_owned(),
    })
}
