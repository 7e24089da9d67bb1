//! git that writes: worktrees, refs and commits of the user's repository.
//!
//! [`Git`](crate::Git) is a witness and trusts nothing. This one acts for the user, in the user's own repository, with the
//! user's own configuration and environment, as `git` at a prompt would; git itself refuses a repository that belongs to
//! somebody else. Still it runs no hook, asks nobody, opens no editor, and collects no garbage while agents work. Filters and
//! line endings stay in force: files of a worktree have to be those that the user's git would write.
//!
//! An agent can rewrite what its worktree says of itself: the file `.git`, the common directory, settings of its own. A git
//! in another worktree than the one that was opened is told by variables where everything is, and [`Worktree::is_plain`]
//! tells whether a worktree has settings beyond those of a sparse checkout.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::asked::{ask_with, file_of};
use crate::git::{line, unless_failed};
use crate::{Bounds, RunError, lock};

pub(crate) mod environment;
mod worktrees;

pub use worktrees::{NewWorktree, Worktree};

use environment::Variables;

/// What git may spend on an answer or on a ref.
pub(crate) const QUICK: Bounds = Bounds {
    time: Duration::from_mins(1),
    bytes: 64 << 20,
};

/// What git may spend on files of a worktree, which a filter may have to fetch.
pub(crate) const FILES: Bounds = Bounds {
    time: Duration::from_mins(10),
    bytes: 64 << 20,
};

/// How long somebody else may hold the repository.
const PATIENCE: Duration = Duration::from_mins(1);

/// A repository of the user, and the work tree that it was opened at.
#[derive(Clone, Debug)]
pub struct Repository {
    top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    env: Variables,
}

/// Who makes a commit, and whether they sign what they make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The email address.
    pub email: String,
    /// Whether the commit is signed, with the key and the program of the user's configuration.
    pub sign: bool,
}

impl Identity {
    /// Returns the identity of commits that nobody made by hand; they are not signed.
    pub fn callsheet() -> Self {
        Self {
            name: "callsheet".to_owned(),
            email: "callsheet@localhost".to_owned(),
            sign: false,
        }
    }
}

impl Repository {
    /// Opens the repository whose work tree has its top here.
    pub fn open(top: &Path) -> Result<Self, RunError> {
        Self::open_with(top, &std::env::vars_os().collect())
    }

    /// Returns the same repository as it is seen from a worktree, whatever the files there say about it.
    pub(crate) fn at(&self, top: &Path, git_dir: &Path) -> Self {
        let mut env = self.env.clone();
        for (name, value) in [
            ("GIT_DIR", git_dir),
            ("GIT_COMMON_DIR", &self.common_dir),
            ("GIT_WORK_TREE", top),
        ] {
            env.insert(name.into(), value.into());
        }
        Self {
            top: top.to_owned(),
            git_dir: git_dir.to_owned(),
            common_dir: self.common_dir.clone(),
            env,
        }
    }

    /// Opens it with another environment than the one of this process.
    pub(crate) fn open_with(top: &Path, here: &Variables) -> Result<Self, RunError> {
        let mut repository = Self {
            top: canonical(top)?,
            git_dir: PathBuf::new(),
            common_dir: PathBuf::new(),
            env: environment::of(here),
        };
        if !repository
            .top
            .ancestors()
            .any(|above| above.join(".git").exists())
        {
            return Err(RunError::Input("not a git repository".to_owned()));
        }
        let [top, git_dir, common_dir] = repository.paths()?;
        if canonical(&top)? != repository.top {
            let (given, top) = (repository.top.display(), top.display());
            return Err(RunError::Input(format!(
                "`{given}` is not the top of its git repository, which is `{top}`"
            )));
        }
        (repository.git_dir, repository.common_dir) = (git_dir, common_dir);
        Ok(repository)
    }

    /// Returns the top of the work tree, its git directory, and the one that all worktrees share.
    fn paths(&self) -> Result<[PathBuf; 3], RunError> {
        let kinds = ["--show-toplevel", "--git-dir", "--git-common-dir"];
        let ask = |kinds: &[&str]| {
            let asked = [&["rev-parse", "--path-format=absolute"], kinds].concat();
            self.run(&asked).map(line)
        };
        let said = ask(&kinds)?;
        let lines = said.as_encoded_bytes().split(|byte| *byte == b'\n');
        let lines = lines.map(|line| PathBuf::from(OsStr::from_bytes(line)));
        let lines: Vec<PathBuf> = lines.collect();
        if let Ok(paths) = lines.try_into() {
            return Ok(paths);
        }
        // A path can have a line break in it.
        let [top, git_dir, common_dir] = kinds.map(|kind| ask(&[kind]).map(PathBuf::from));
        Ok([top?, git_dir?, common_dir?])
    }

    /// Returns the top of the work tree.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Returns the git directory of the work tree.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the git directory that all worktrees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Waits until nobody else on this machine changes what the worktrees share; `home` is the `.callsheet` of the project.
    ///
    /// The lock is released when it is dropped. It is not taken twice by one process.
    pub fn lock(&self, home: &Path) -> Result<RepositoryLock<'_>, RunError> {
        self.lock_within(home, PATIENCE)
    }

    fn lock_within(&self, home: &Path, patience: Duration) -> Result<RepositoryLock<'_>, RunError> {
        let file = lock::wait(&home.join("repository.lock"), patience)?;
        Ok(RepositoryLock {
            repository: self,
            file,
        })
    }

    /// Runs git at the top of the work tree and returns what it printed.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, RunError> {
        let command = self.command(args);
        ask_with(command, Stdio::null(), &name_of(args), QUICK, false)
    }

    /// Returns a git at the top of the work tree, not yet started.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.top).env_clear().envs(&self.env);
        command
            .args(["--no-pager", "--literal-pathspecs"])
            .args(args);
        command
    }

    /// Returns the commit that a name means, if there is such a thing.
    pub fn rev(&self, name: &str) -> Result<Option<String>, RunError> {
        if name.starts_with('-') {
            return Ok(None);
        }
        let name = format!("{name}^{{commit}}");
        self.one(&["rev-parse", "--verify", "--quiet", &name])
    }

    /// Returns the branch that is checked out at the top; nothing where HEAD is detached.
    pub fn current_branch(&self) -> Result<Option<String>, RunError> {
        let head = self.one(&["symbolic-ref", "--quiet", "HEAD"])?;
        Ok(head.and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned())))
    }

    /// Returns who the user is by their configuration, or callsheet where it says nothing.
    pub fn identity(&self) -> Result<Identity, RunError> {
        let answer = self.one(&["var", "GIT_COMMITTER_IDENT"]);
        let Some((name, email)) = answer?.as_deref().and_then(name_and_email) else {
            return Ok(Identity::callsheet());
        };
        let sign = self.one(&["config", "--type=bool", "--get", "commit.gpgSign"])?;
        Ok(Identity {
            name,
            email,
            sign: sign.as_deref() == Some("true"),
        })
    }

    /// Writes a commit and returns its hash; no ref is changed.
    pub fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
        identity: &Identity,
    ) -> Result<String, RunError> {
        let mut args = vec!["commit-tree", tree, "-F", "-"];
        args.extend(identity.sign.then_some("-S"));
        args.extend(parents.iter().flat_map(|parent| ["-p", parent]));
        let mut command = self.command(&args);
        for (name, value) in [("NAME", &identity.name), ("EMAIL", &identity.email)] {
            command.env(format!("GIT_AUTHOR_{name}"), value);
            command.env(format!("GIT_COMMITTER_{name}"), value);
        }
        let input = file_of(message.as_bytes())?;
        let what = if identity.sign {
            "git commit-tree -S"
        } else {
            "git commit-tree"
        };
        let made = ask_with(command, input, what, QUICK, false)?;
        Ok(line(made).to_string_lossy().into_owned())
    }

    /// Returns one line, or nothing where git says by its exit code that there is none.
    pub(crate) fn one(&self, args: &[&str]) -> Result<Option<String>, RunError> {
        let said = unless_failed(self.run(args))?;
        let said = said.map(|said| line(said).to_string_lossy().into_owned());
        Ok(said.filter(|said| !said.is_empty()))
    }
}

/// A repository that nobody else on this machine changes as long as this is there.
///
/// Every git that it starts holds the lock as well: should this process be killed, the lock is free when that git is done.
#[derive(Debug)]
pub struct RepositoryLock<'a> {
    repository: &'a Repository,
    file: File,
}

impl Deref for RepositoryLock<'_> {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        self.repository
    }
}

impl Drop for RepositoryLock<'_> {
    fn drop(&mut self) {
        // What a git left behind may still hold the file; whoever waits does not wait for that.
        let _ = self.file.unlock();
    }
}

impl RepositoryLock<'_> {
    /// Runs a git that changes the repository, made by [`Repository::command`] or [`Worktree::command`].
    pub fn change(&self, command: Command, bounds: Bounds) -> Result<Vec<u8>, RunError> {
        let args: Vec<&OsStr> = command.get_args().skip(2).collect();
        let what = name_of(&args);
        let held = self.file.try_clone();
        let held =
            held.map_err(|cause| RunError::refused(format!("cannot run `{what}`"), cause))?;
        ask_with(command, held, &what, bounds, false)
    }

    /// Sets a ref to a commit; with `old`, only if it is at that commit, and zeros mean that it is not there.
    pub fn update_ref(&self, name: &str, new: &str, old: Option<&str>) -> Result<(), RunError> {
        let args = ["update-ref", "--no-deref", "-m", "callsheet", name, new];
        let args: Vec<&str> = args.into_iter().chain(old).collect();
        self.change(self.command(&args), QUICK)?;
        Ok(())
    }

    /// Deletes a ref if it is at that commit.
    pub fn delete_ref(&self, name: &str, old: &str) -> Result<(), RunError> {
        let args = [
            "update-ref",
            "--no-deref",
            "-m",
            "callsheet",
            "-d",
            name,
            old,
        ];
        self.change(self.command(&args), QUICK)?;
        Ok(())
    }
}

/// Returns how a user would name a command of git.
pub(crate) fn name_of<S: AsRef<OsStr>>(args: &[S]) -> String {
    let mut words = args.iter().map(AsRef::as_ref);
    let first = words.find(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let second = words
        .next()
        .filter(|_| first == Some(OsStr::new("worktree")));
    let words = [first, second].into_iter().flatten();
    words.fold("git".to_owned(), |all, word| {
        format!("{all} {}", word.display())
    })
}

fn canonical(path: &Path) -> Result<PathBuf, RunError> {
    let refused = |cause| RunError::refused(format!("cannot read `{}`", path.display()), cause);
    fs::canonicalize(path).map_err(refused)
}

/// Takes `Name <email> seconds zone` apart.
fn name_and_email(ident: &str) -> Option<(String, String)> {
    let (name, rest) = ident.split_once(" <")?;
    let (email, _) = rest.split_once('>')?;
    let found = !name.trim().is_empty() && !email.trim().is_empty();
    found.then(|| (name.to_owned(), email.to_owned()))
}

#[cfg(test)]
pub(crate) mod test_user;
#[cfg(test)]
mod tests;
