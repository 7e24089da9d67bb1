//! One linked worktree: where it is, which branch is its own, and what git does there.
//!
//! The git directory is always named outright: an agent can change or remove the file `.git` of its worktree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callsheet::scope::ScopeGlobs;

use super::hold::Hold;
use super::{Shown, WORKTREES, Wanted};
use crate::asked::ask_with;
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

/// Returns the branch of a cycle of a sprint.
pub fn cycle_branch(cycle: &str) -> String {
    format!("callsheet/sprint-{cycle}")
}

/// Returns the ref that keeps what a run came to.
pub fn result_ref(run: &str) -> String {
    format!("refs/callsheet/runs/{run}")
}

/// Returns the ref that keeps what checks made of files.
pub(crate) fn checks_ref(name: &str) -> String {
    format!("refs/callsheet/checks/{name}")
}

/// Returns a path of the bytes that git prints.
pub(crate) fn os_path(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// How many bytes of paths go to one git.
const ARGUMENTS: usize = 64 << 10;

/// The name of the main checkout among the places of work.
pub(super) const IN_PLACE: &str = "in-place";

/// What git says of a worktree that it is about to make.
const INITIALIZING: &str = "initializing";

/// The worktree of a task, whether it is there or not.
#[derive(Clone, Debug)]
pub struct Ground {
    name: String,
    path: PathBuf,
    branch: String,
    /// The git directory of the worktree, inside that of the repository.
    admin: PathBuf,
    /// The directory of what the program keeps for the project.
    home: PathBuf,
    repository: Repository,
    hold: Arc<Hold>,
}

impl Ground {
    /// Takes the worktree of a task; `root` is the main checkout.
    pub(super) fn of(root: &Path, home: &Path, task: &str) -> Result<Self, RunError> {
        let busy = format!("another process works on task `{task}`");
        Self::named(root, home, format!("task-{task}"), &busy)
    }

    /// Takes the worktree of a cycle of a sprint.
    pub(super) fn of_cycle(root: &Path, home: &Path, cycle: &str) -> Result<Self, RunError> {
        let busy = format!("another process works on cycle `{cycle}` of a sprint");
        Self::named(root, home, format!("sprint-{cycle}"), &busy)
    }

    fn named(root: &Path, home: &Path, name: String, busy: &str) -> Result<Self, RunError> {
        let repository = Repository::open(root)?;
        let folder = home.join(WORKTREES);
        Ok(Self {
            path: folder.join(&name),
            admin: repository.common_dir().join("worktrees").join(&name),
            branch: format!("callsheet/{name}"),
            home: home.to_owned(),
            hold: Arc::new(Hold::take(&folder, &name, busy)?),
            repository,
            name,
        })
    }

    /// Takes the main checkout itself as the place of work.
    pub(super) fn in_place(root: &Path, home: &Path) -> Result<Self, RunError> {
        let repository = Repository::open(root)?;
        let busy = "another process works in the main checkout";
        Ok(Self {
            name: IN_PLACE.to_owned(),
            path: repository.top().to_owned(),
            admin: repository.git_dir().to_owned(),
            branch: repository.current_branch()?.unwrap_or_default(),
            home: home.to_owned(),
            hold: Arc::new(Hold::take(&home.join(WORKTREES), IN_PLACE, busy)?),
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

    /// Returns the repository as it is seen from here.
    pub(crate) fn here(&self) -> Repository {
        self.repository.at(&self.path, &self.admin)
    }

    pub(crate) fn own_ref(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Returns the directory of what the program keeps for the project.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns what the place is called among all of them.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Tells whether this is the main checkout, which belongs to a person.
    pub(crate) fn is_main(&self) -> bool {
        self.name == IN_PLACE
    }

    /// Returns the lock that keeps everybody else away.
    pub(crate) fn hold(&self) -> &Hold {
        &self.hold
    }

    /// Returns the path of a file about the place, beside it.
    pub(crate) fn note(&self, what: &str) -> PathBuf {
        self.home
            .join(WORKTREES)
            .join(format!("{}.{what}", self.name))
    }

    /// Removes the notes about a worktree that is gone: that it is set up, and what it was given.
    pub(crate) fn forget(&self) -> Result<(), RunError> {
        for what in [super::READY, super::GIVEN] {
            match std::fs::remove_file(self.note(what)) {
                Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                    return Err(RunError::refused("cannot forget a worktree", cause));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Tells whether there is anything to look at.
    pub fn is_there(&self) -> bool {
        // The sandbox keeps an agent from removing the directory itself, but not what is in it.
        let has_files =
            std::fs::read_dir(&self.path).is_ok_and(|mut entries| entries.next().is_some());
        has_files && self.admin.join("HEAD").is_file()
    }

    /// Runs git in the worktree.
    pub(crate) fn git<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, RunError> {
        self.run(None, args)
    }

    /// Runs git in the worktree with another index.
    pub(crate) fn git_on<S: AsRef<OsStr>>(
        &self,
        index: &Path,
        args: &[S],
    ) -> Result<Vec<u8>, RunError> {
        self.run(Some(index), args)
    }

    /// Runs git in the worktree for any number of paths.
    pub(crate) fn git_for(
        &self,
        index: Option<&Path>,
        args: &[&str],
        paths: &[&[u8]],
    ) -> Result<(), RunError> {
        let mut rest = paths;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fit = rest.iter().take_while(|path| {
                bytes += path.len() + 1;
                bytes <= ARGUMENTS
            });
            let (now, later) = rest.split_at(fit.count().max(1));
            let args = args.iter().map(OsStr::new).chain([OsStr::new("--")]);
            let args: Vec<&OsStr> = args.chain(now.iter().map(|path| os_path(path))).collect();
            self.run(index, &args)?;
            rest = later;
        }
        Ok(())
    }

    /// Runs a git that holds the workspace, too: should this process be killed, nobody comes in between.
    fn run<S: AsRef<OsStr>>(&self, index: Option<&Path>, args: &[S]) -> Result<Vec<u8>, RunError> {
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
        ask_with(command, self.hold.share()?, &name_of(args), BOUNDS, false)
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

    /// Keeps what checks made of the files of a run.
    pub(crate) fn keep_checks(&self, run: &str, commit: &str) -> Result<(), RunError> {
        let locked = self.repository.lock(&self.home)?;
        locked.update_ref(&checks_ref(run), commit, None)
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
        // Whatever the agent made of the file that says where the worktree is.
        if !self.repository.is_plain(&self.admin)? {
            super::move_aside(&self.admin.join("config.worktree"))?;
        }
        Ok(())
    }

    /// Removes what a git that was killed left behind; nobody else works here.
    pub(super) fn heal(&self) -> Result<(), RunError> {
        // The main checkout is a person's own, and so is its git directory.
        if self.is_main() {
            return Ok(());
        }
        let refused = |cause| RunError::refused("cannot heal the worktree", cause);
        for lock in ["index.lock", "HEAD.lock"] {
            match std::fs::remove_file(self.admin.join(lock)) {
                Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                    return Err(refused(cause));
                }
                _ => {}
            }
        }
        // git holds such a lock while it makes a worktree, so this one was never finished; others are a person's own.
        let locked = std::fs::read_to_string(self.admin.join("locked"));
        let is_half = locked.is_ok_and(|why| ["", INITIALIZING].contains(&why.trim_end()));
        if is_half || (self.admin.exists() && !self.admin.join("index").exists()) {
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
        let left = wanted.runs.iter().map(|run| tree(&result_ref(run)));
        let mut left: Vec<Option<String>> = left.collect::<Result<_, _>>()?;
        left.retain(|tree| tree.as_ref().is_some_and(|tree| *tree != wished));
        // Looking at the files is what takes long.
        if left.is_empty() {
            return Ok(());
        }
        let shown = crate::tasks::facts::tree_now(self, self.hold.scratch()?.path())?;
        if left.contains(&Some(shown)) && self.builds_on_head(newest) {
            Shown::show(self, newest, newest)?.back()?;
        }
        Ok(())
    }

    /// Tells whether a tree would not be lost with the files: it is checked out, or a run has left it.
    pub(crate) fn is_kept(&self, tree: &str) -> Result<bool, RunError> {
        if self.rev("HEAD^{tree}")?.as_deref() == Some(tree) {
            return Ok(true);
        }
        let listed = self.git(&["for-each-ref", "--format=%(tree)", &result_ref("")])?;
        Ok(listed
            .split(|byte| *byte == b'\n')
            .any(|one| one == tree.as_bytes()))
    }

    /// Returns what a branch that is not there starts from: what the newest run came to, so that nothing of it is lost and
    /// nothing of the base is taken back, else the base.
    pub(super) fn start(&self, wanted: &Wanted<'_>) -> Result<String, RunError> {
        let left = wanted.restore.map(|commit| self.repository.rev(commit));
        let left = left.transpose()?.flatten();
        if let Some(left) = left {
            return Ok(left);
        }
        // A tag may have the same name.
        let base = self
            .repository
            .rev(&format!("refs/heads/{}", wanted.base))?;
        base.ok_or_else(|| {
            RunError::Input(format!(
                "branch `{}` has no commit to start from",
                wanted.base
            ))
        })
    }

    /// Tells whether a commit has all that is checked out; the files of any other one would take something back.
    fn builds_on_head(&self, commit: &str) -> bool {
        self.git(&["merge-base", "--is-ancestor", "HEAD", commit])
            .is_ok()
    }

    /// Writes the files of a new worktree, with those of the run before where there was one.
    pub(super) fn fill(&self, restore: Option<&str>, exclude: &ScopeGlobs) -> Result<(), RunError> {
        let restore = restore.map(|commit| self.rev(&format!("{commit}^{{commit}}")));
        let restore = restore.transpose()?.flatten();
        let restore = restore.filter(|commit| self.builds_on_head(commit));
        self.git(&["read-tree", restore.as_deref().unwrap_or("HEAD")])?;
        super::apply::exclude(self, exclude)?;
        // A git that was killed may have left the beginning of a file.
        self.git(&["checkout-index", "--all", "--force", "--index", "--quiet"])?;
        if restore.is_some() {
            self.git(&["reset", "--quiet", "--mixed", "HEAD"])?;
            // What differs from the commit of the branch is known anew.
            super::apply::exclude(self, exclude)?;
        }
        Ok(())
    }
}
