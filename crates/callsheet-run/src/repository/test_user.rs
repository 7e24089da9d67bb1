//! A user with a repository, for tests: real git, and a home directory that is nobody's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::Repository;
use super::environment::Variables;

/// A user named Ada, a project with a repository, and whatever else is put beside it.
pub(crate) struct User {
    place: PathBuf,
    /// Removed with the user, unless another process made it.
    _made: Option<TempDir>,
}

impl User {
    /// Makes the user and an empty repository on `main`.
    pub(crate) fn new() -> Self {
        let made = tempfile::tempdir().unwrap();
        let user = Self {
            place: made.path().canonicalize().unwrap(),
            _made: Some(made),
        };
        fs::create_dir_all(user.path("home")).unwrap();
        fs::create_dir_all(user.home()).unwrap();
        user.git(&["init", "--quiet", "--initial-branch=main"]);
        user.git(&["config", "--global", "user.name", "Ada"]);
        user.git(&["config", "--global", "user.email", "ada@example.com"]);
        fs::write(user.top().join(".git/info/exclude"), ".callsheet/\n").unwrap();
        user
    }

    /// Returns the user that another process made there.
    pub(crate) fn at(place: PathBuf) -> Self {
        Self { place, _made: None }
    }

    /// Makes them with a first commit of `a.txt`.
    pub(crate) fn with_commit() -> Self {
        let user = Self::new();
        user.commit("a.txt", "one\n");
        user
    }

    /// Returns a path beside the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// Returns the top of the project.
    pub(crate) fn top(&self) -> PathBuf {
        self.path("project")
    }

    /// Returns the `.callsheet` of the project.
    pub(crate) fn home(&self) -> PathBuf {
        self.top().join(".callsheet")
    }

    /// Returns the environment in which the user works.
    pub(crate) fn env(&self) -> Variables {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let home = self.path("home").into_os_string();
        [
            ("PATH", path),
            ("HOME", home),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ]
        .map(|(name, value)| (name.into(), value))
        .into()
    }

    /// Opens the repository.
    pub(crate) fn open(&self) -> Repository {
        Repository::open_with(&self.top(), &self.env()).unwrap()
    }

    /// Runs git in the project as the user would, and returns what it printed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.top(), args)
    }

    /// Runs git in a directory as the user would.
    pub(crate) fn git_in(&self, at: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command
            .args(args)
            .current_dir(at)
            .env_clear()
            .envs(self.env());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {said}");
        String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.top().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a program that appends its name to `ran` and copies its input to its output.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let ran = self.path("ran");
        let script = format!("#!/bin/sh\necho {name} >> {}\ncat\n", ran.display());
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Returns the programs that ran, a line each.
    pub(crate) fn ran(&self) -> String {
        fs::read_to_string(self.path("ran")).unwrap_or_default()
    }

    /// Writes a file, commits everything, and returns the commit.
    pub(crate) fn commit(&self, path: &str, text: &str) -> String {
        self.write(path, text);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", &format!("Change {path}")]);
        self.rev("HEAD")
    }

    /// Returns the hash of a name.
    pub(crate) fn rev(&self, name: &str) -> String {
        self.git(&["rev-parse", "--verify", name])
    }
}
