//! One linked worktree: where it is, which branch is its own, and what git does there.
//!
//! The git directory is always named outright: an agent can change or remove the file `.git` of its worktree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use callsheet::scope::ScopeGlobs;

use super::{WORKTREES, Wanted};
use crate::asked::{ask_with, file_of};
use crate::repository::{Identity, Repository, RepositoryLock, name_of};
use crate::{Bounds, RunError};

/// What git may spend on one step; it may have to write every file of a large repository.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_mins(10),
    bytes: 256 << 20,
};

/// Returns the branch of a task.
pub fn branch_of(task: &str) -> String {
    format!("callsheet/task-{task}")
}

/// Returns the ref that keeps what a run came to.
pub fn result_ref(run: &str) -> String {
    format!("refs/callsheet/runs/{run}")
}

/// Returns a path of the bytes that git prints.
pub(crate) fn os_path(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// The worktree of a task, whether it is there or not.
#[derive(Clone, Debug)]
pub struct Ground {
    path: PathBuf,
    branch: String,
    /// The git directory of the worktree, inside that of the repository.
    admin: PathBuf,
    /// The directory of what the program keeps for the project.
    home: PathBuf,
    repository: Repository,
}

impl Ground {
    /// Names the worktree of a task; `root` is the main checkout.
    pub fn of(root: &Path, home: &Path, task: &str) -> Result<Self, RunError> {
        let repository = Repository::open(root)?;
        let name = format!("task-{task}");
        let path = home.join(WORKTREES).join(&name);
        Ok(Self {
            admin: repository.common_dir().join("worktrees").join(&name),
            branch: branch_of(task),
            home: home.to_owned(),
            repository,
            path,
        })
    }

    /// Takes the main checkout itself as the place of work.
    pub fn in_place(root: &Path, home: &Path) -> Result<Self, RunError> {
        let repository = Repository::open(root)?;
        Ok(Self {
            path: repository.top().to_owned(),
            admin: repository.git_dir().to_owned(),
            branch: repository.current_branch()?.unwrap_or_default(),
            home: home.to_owned(),
            repository,
        })
    }

    /// Returns the directory of the files.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the git directory.
    pub fn admin(&self) -> &Path {
        &self.admin
    }

    /// Returns the repository that it belongs to.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the branch that belongs to the task.
    pub fn own_branch(&self) -> &str {
        &self.branch
    }

    pub(crate) fn own_ref(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Returns the directory of what the program keeps for the project.
    pub fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Tells whether there is anything to look at.
    pub fn is_there(&self) -> bool {
        // The sandbox keeps an agent from removing the directory itself, but not what is in it.
        let has_files =
            std::fs::read_dir(&self.path).is_ok_and(|mut entries| entries.next().is_some());
        has_files && self.admin.join("HEAD").is_file()
    }

    /// Tells this making of the worktree from all others.
    pub(super) fn stamp(&self) -> String {
        std::fs::metadata(&self.path).map_or_else(
            |_| String::new(),
            |found| format!("{} {}\n", found.dev(), found.ino()),
        )
    }

    /// Runs git in the worktree.
    pub(crate) fn git<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, RunError> {
        self.run(None, args, Stdio::null())
    }

    /// Runs git in the worktree with another index.
    pub(crate) fn git_on<S: AsRef<OsStr>>(
        &self,
        index: &Path,
        args: &[S],
    ) -> Result<Vec<u8>, RunError> {
        self.run(Some(index), args, Stdio::null())
    }

    /// Runs git in the worktree with something to read.
    pub(crate) fn git_fed<S: AsRef<OsStr>>(
        &self,
        index: Option<&Path>,
        args: &[S],
        input: &[u8],
    ) -> Result<Vec<u8>, RunError> {
        self.run(index, args, file_of(input)?)
    }

    fn run<S: AsRef<OsStr>>(
        &self,
        index: Option<&Path>,
        args: &[S],
        input: impl Into<Stdio>,
    ) -> Result<Vec<u8>, RunError> {
        // A git in a repository that the agent made inside of its own would do as that repository says.
        let set = ["-c", "diff.ignoreSubmodules=dirty"].map(OsStr::new);
        let all: Vec<&OsStr> = set
            .into_iter()
            .chain(args.iter().map(AsRef::as_ref))
            .collect();
        let mut command = self.repository.command(&all);
        // A worktree that is gone still has its branch.
        if self.path.is_dir() {
            command.current_dir(&self.path);
            command.env("GIT_WORK_TREE", &self.path);
        }
        command.env("GIT_DIR", &self.admin);
        command.env("GIT_COMMON_DIR", self.repository.common_dir());
        command.envs(index.map(|index| ("GIT_INDEX_FILE", index)));
        ask_with(command, input, &name_of(args), BOUNDS, false)
    }

    /// Returns the object that a name means, if there is one.
    pub(crate) fn rev(&self, name: &str) -> Result<Option<String>, RunError> {
        if !self.admin.join("HEAD").is_file() {
            return self.repository.rev(name);
        }
        match self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", name]) {
            Ok(said) => Ok(Some(String::from_utf8_lossy(&said).trim_end().to_owned())),
            Err(RunError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the branch that is checked out.
    pub(crate) fn branch(&self) -> Option<String> {
        let head = std::fs::read_to_string(self.admin.join("HEAD")).ok()?;
        let name = head.trim_end().strip_prefix("ref: refs/heads/")?;
        Some(name.to_owned())
    }

    /// Makes a commit of a tree; no ref holds it yet.
    pub(crate) fn snapshot(
        &self,
        tree: &str,
        parent: &str,
        message: &str,
    ) -> Result<String, RunError> {
        let identity = Identity::callsheet();
        self.repository
            .commit_tree(tree, &[parent], message, &identity)
    }

    /// Keeps a commit under the name of a run.
    pub(crate) fn keep(&self, run: &str, commit: &str) -> Result<(), RunError> {
        let locked = self.repository.lock(&self.home)?;
        locked.update_ref(&result_ref(run), commit, None)
    }

    /// Takes settings away that an agent gave its worktree: git would run the programs that they name.
    pub(crate) fn disarm(&self) -> Result<(), RunError> {
        // The settings of the main checkout are the user's own.
        if self.admin == self.repository.common_dir() {
            return Ok(());
        }
        match self.repository.worktree(&self.path)? {
            Some(known) if !known.is_plain(&self.repository)? => {
                super::move_aside(&self.admin.join("config.worktree")).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Removes what a git that was killed left behind; nobody else works here.
    pub(super) fn heal(&self) -> Result<(), RunError> {
        let refused = |cause| RunError::refused("cannot heal the worktree", cause);
        for lock in ["index.lock", "HEAD.lock"] {
            match std::fs::remove_file(self.admin.join(lock)) {
                Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                    return Err(refused(cause));
                }
                _ => {}
            }
        }
        // git holds such a lock while it makes a worktree, so this one was never finished.
        let locked = self.admin.join("locked");
        if locked.exists() || (self.admin.exists() && !self.admin.join("index").exists()) {
            std::fs::remove_dir_all(&self.admin).map_err(refused)?;
        }
        Ok(())
    }

    /// Puts a worktree that is there back on its branch, with its files as they are.
    pub(super) fn reuse(&self, locked: &RepositoryLock<'_>, base: &str) -> Result<(), RunError> {
        let refused = |cause| RunError::refused("cannot repair the worktree", cause);
        let file = self.path.join(".git");
        let right = format!("gitdir: {}\n", self.admin.display());
        if std::fs::read_to_string(&file).ok().as_deref() != Some(right.as_str()) {
            super::move_aside(&file)?;
            std::fs::write(&file, right).map_err(refused)?;
        }
        let back = format!("{}\n", file.display());
        std::fs::write(self.admin.join("gitdir"), back).map_err(refused)?;
        if self.rev(&self.own_ref())?.is_none() {
            let start = self.repository.rev(&format!("refs/heads/{base}"))?;
            let start =
                start.ok_or_else(|| RunError::Input(format!("there is no branch `{base}`")))?;
            locked.update_ref(&self.own_ref(), &start, None)?;
        }
        if self.branch().as_deref() != Some(self.own_branch()) {
            self.git(&["symbolic-ref", "HEAD", &self.own_ref()])?;
            self.git(&["reset", "--quiet", "--mixed"])?;
        }
        Ok(())
    }

    /// Takes over what the newest run left on another machine, where this worktree shows what an older run left here.
    ///
    /// Files that no run left stay as they are: somebody may be at work on them.
    pub(super) fn catch_up(&self, wanted: &Wanted<'_>) -> Result<(), RunError> {
        let Some(newest) = wanted.restore else {
            return Ok(());
        };
        let tree = |commit: &str| self.rev(&format!("{commit}^{{tree}}"));
        let Some(wished) = tree(newest)? else {
            return Ok(());
        };
        let folder = tempfile::tempdir()
            .map_err(|cause| RunError::refused("cannot make a temporary directory", cause))?;
        let shown = crate::tasks::facts::tree_now(self, folder.path())?;
        if shown == wished {
            return Ok(());
        }
        for run in wanted.runs {
            if tree(&result_ref(run))?.as_deref() == Some(shown.as_str()) {
                self.git(&["read-tree", "--reset", "-u", newest])?;
                self.git(&["reset", "--quiet", "--mixed", "HEAD"])?;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Writes the files of a new worktree, with those of the run before where there was one.
    pub(super) fn fill(&self, restore: Option<&str>, exclude: &ScopeGlobs) -> Result<(), RunError> {
        let restore = restore.map(|commit| self.rev(&format!("{commit}^{{commit}}")));
        let restore = restore.transpose()?.flatten();
        self.git(&["read-tree", restore.as_deref().unwrap_or("HEAD")])?;
        super::apply::exclude(self, exclude)?;
        self.git(&["checkout-index", "--all", "--index", "--quiet"])?;
        if restore.is_some() {
            self.git(&["reset", "--quiet", "--mixed", "HEAD"])?;
        }
        Ok(())
    }
}
