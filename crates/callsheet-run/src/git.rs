//! git as a witness: what it says of a repository, the same for everybody, and nothing of the repository is run.
//!
//! A repository is hostile input. Its configuration can name programs (hooks, monitors, filters, drivers, transports):
//! all of them are switched off. Nothing of the user's configuration or environment is read, so that two people who look
//! at the same repository see the same, and nothing in the repository is written.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::asked::{ask_with, file_of};
use crate::{Bounds, RunError, ask};

/// How long git may take.
pub const TIME: Duration = Duration::from_secs(10);

/// How much git may say about itself.
const FACTS: Bounds = Bounds {
    time: TIME,
    bytes: 16 * 1024 * 1024,
};

/// Settings that win over those of the repository.
const SETTINGS: [(&str, &str); 14] = [
    ("color.ui", "false"),
    // The same hashes however many objects there are.
    ("core.abbrev", "12"),
    ("core.attributesFile", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    // Names that are text are shown as they are; control characters are quoted in any case.
    ("core.quotePath", "false"),
    ("core.splitIndex", "false"),
    ("diff.context", "3"),
    ("diff.ignoreSubmodules", "dirty"),
    ("diff.interHunkContext", "0"),
    ("gc.auto", "0"),
    ("log.showSignature", "false"),
    ("submodule.recurse", "false"),
];

/// What keeps a diff the same whatever the repository sets, and keeps its drivers from running.
const DIFF: [&str; 12] = [
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--relative",
    "--diff-algorithm=myers",
    "--submodule=short",
    // The state of a submodule is told by a git that would read the configuration of that submodule.
    "--ignore-submodules=dirty",
    "-O/dev/null",
    "--ws-error-highlight=none",
];

/// Makes a folder a repository, with all that is in it as the first commit.
pub fn begin(folder: &Path) -> Result<(), RunError> {
    alone(folder, &["init", "--quiet", "--initial-branch=main"])?;
    alone(folder, &["add", "--all"])?;
    alone(
        folder,
        &["commit", "--quiet", "--no-gpg-sign", "--message=Start"],
    )
}

/// Sets what commits in a repository need, whatever its user has set: a name, and neither signatures nor hooks.
pub fn identify(folder: &Path, name: &str, email: &str) -> Result<(), RunError> {
    for (key, value) in [
        ("user.name", name),
        ("user.email", email),
        ("commit.gpgSign", "false"),
        ("core.hooksPath", "/dev/null"),
    ] {
        alone(folder, &["config", "--local", key, value])?;
    }
    Ok(())
}

/// Runs git in a folder, with nothing of the user's configuration or environment in force.
fn alone(folder: &Path, args: &[&str]) -> Result<(), RunError> {
    let identity = [
        "-c",
        "user.name=callsheet",
        "-c",
        "user.email=callsheet@localhost",
    ];
    let mut command = Command::new("git");
    command.current_dir(folder).env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.envs([
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ]);
    command.args(identity).args(args);
    ask(command, "git", FACTS, false).map(drop)
}

/// git, asked about the repository that a folder lies in.
#[derive(Clone, Debug)]
pub struct Git {
    root: PathBuf,
    top: PathBuf,
    settings: Vec<(OsString, OsString)>,
    env: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Finds the repository that a folder lies in.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, RunError> {
        let root = root.into();
        let mut above = root.ancestors();
        let Some(top) = above.find(|folder| folder.join(".git").exists()) else {
            return Err(RunError::Input("not a git repository".to_owned()));
        };
        let settings = SETTINGS.iter();
        let settings = settings.map(|(key, value)| (key.into(), value.into()));
        let mut git = Self {
            top: top.to_owned(),
            settings: settings.collect(),
            env: Vec::new(),
            root,
        };
        git.trust()?;
        git.switch_filters_off()?;
        Ok(git)
    }

    /// Sets a variable for every answer that follows.
    #[must_use]
    pub(crate) fn with_env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Returns the top folder of the work tree.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Runs git in the folder and returns what it printed.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S], bounds: Bounds) -> Result<Vec<u8>, RunError> {
        self.run_on(None, args, bounds)
    }

    /// Runs git in the folder with bytes to read.
    pub(crate) fn run_with<S: AsRef<OsStr>>(
        &self,
        input: &[u8],
        args: &[S],
        bounds: Bounds,
    ) -> Result<Vec<u8>, RunError> {
        let mut command = self.command();
        command.args(args);
        let what = args.first().map_or(OsStr::new(""), AsRef::as_ref);
        let what = format!("git {}", what.display());
        ask_with(command, file_of(input)?, &what, bounds, false)
    }

    /// Returns a git that writes its objects into a folder of its own, and merges without any program.
    ///
    /// A file that asks for a merge driver of the configuration is a conflict.
    pub(crate) fn apart(&self, objects: &Path) -> Result<Self, RunError> {
        let known = [
            "rev-parse",
            "--path-format=absolute",
            "--git-path",
            "objects",
        ];
        let known = line(self.run(&known, FACTS)?);
        let mut apart = self.clone();
        let drivers = ["config", "--null", "--name-only", "--get-regexp"];
        let drivers = [&drivers[..], &["^merge\\..*\\.driver$"]].concat();
        let drivers = unless_failed(self.run(&drivers, FACTS))?;
        for key in values(&drivers.unwrap_or_default()) {
            apart.settings.push((key, "false".into()));
        }
        Ok(apart
            .with_env("GIT_OBJECT_DIRECTORY", objects)
            .with_env("GIT_ALTERNATE_OBJECT_DIRECTORIES", known))
    }

    fn run_on<S: AsRef<OsStr>>(
        &self,
        index: Option<&Path>,
        args: &[S],
        bounds: Bounds,
    ) -> Result<Vec<u8>, RunError> {
        let mut command = self.command();
        command.args(args);
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        let what = args.first().map_or(OsStr::new(""), AsRef::as_ref);
        ask(command, &format!("git {}", what.display()), bounds, false)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.root).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs([
            ("GIT_ALLOW_PROTOCOL", ""),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("HOME", "/nonexistent"),
            ("LC_ALL", "C"),
        ]);
        // A repository can name any folder as its work tree.
        command.env("GIT_WORK_TREE", &self.top);
        command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (number, (key, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.args(["--no-pager", "--literal-pathspecs"]);
        command
    }

    /// Takes over which foreign repositories the user trusts, where this is one; git refuses it otherwise.
    fn trust(&mut self) -> Result<(), RunError> {
        let owner = fs::metadata(self.top.join(".git")).map(|found| found.uid());
        let foreign = owner.is_ok_and(|owner| owner != rustix::process::geteuid().as_raw());
        if !foreign {
            return Ok(());
        }
        let mut command = Command::new("git");
        command.current_dir("/").env_clear();
        let passed = ["PATH", "HOME", "XDG_CONFIG_HOME"];
        let passed = passed.map(|name| std::env::var_os(name).map(|value| (name, value)));
        command.envs(passed.into_iter().flatten());
        command.args(["config", "--null", "--get-all", "safe.directory"]);
        let trusted = unless_failed(ask(command, "git config", FACTS, false))?;
        for folder in values(&trusted.unwrap_or_default()) {
            self.settings.push(("safe.directory".into(), folder));
        }
        Ok(())
    }

    /// Files pass through the programs of `filter.NAME` when git compares them.
    fn switch_filters_off(&mut self) -> Result<(), RunError> {
        let args = [
            "config",
            "--null",
            "--name-only",
            "--get-regexp",
            "^filter\\.",
        ];
        let keys = unless_failed(self.run(&args, FACTS))?;
        for key in values(&keys.unwrap_or_default()) {
            let off = match key.as_encoded_bytes() {
                key if key.ends_with(b".required") => "false",
                _ => "",
            };
            self.settings.push((key, off.into()));
        }
        Ok(())
    }

    /// Returns what `git status` prints.
    pub fn status(&self, bounds: Bounds) -> Result<Vec<u8>, RunError> {
        let args = [
            "status",
            "--long",
            "--no-column",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
        ];
        self.run(&args, bounds)
    }

    /// Returns the newest commits, the beginning of the hash and the subject of each.
    pub fn log(
        &self,
        count: u32,
        range: Option<&str>,
        bounds: Bounds,
    ) -> Result<Vec<u8>, RunError> {
        let count = format!("--max-count={count}");
        let args = [
            "log",
            &count,
            "--no-color",
            "--no-decorate",
            "--no-mailmap",
            "--encoding=UTF-8",
            "--format=%h %s",
            range.unwrap_or("HEAD"),
            "--",
        ];
        self.run(&args, bounds)
    }

    /// Returns the diff that the arguments ask for, below the folder.
    pub fn diff<S: AsRef<OsStr>>(&self, args: &[S], bounds: Bounds) -> Result<Vec<u8>, RunError> {
        self.diff_on(None, args, bounds)
    }

    fn diff_on<S: AsRef<OsStr>>(
        &self,
        index: Option<&Path>,
        args: &[S],
        bounds: Bounds,
    ) -> Result<Vec<u8>, RunError> {
        let args = args.iter().map(AsRef::as_ref);
        let all: Vec<&OsStr> = DIFF.iter().map(OsStr::new).chain(args).collect();
        self.run_on(index, &all, bounds)
    }

    /// Returns the diff from the last commit to the work tree, with files that git does not know as new ones.
    pub fn diff_worktree(&self, args: &[&str], bounds: Bounds) -> Result<Vec<u8>, RunError> {
        let base = self.base()?;
        let args: Vec<&str> = args.iter().copied().chain([base.as_str(), "--"]).collect();
        let unknown = self.unknown_files()?;
        if unknown.is_empty() {
            return self.diff(&args, bounds);
        }
        let refused = |cause| RunError::refused("cannot make a temporary index", cause);
        let place = tempfile::tempdir().map_err(refused)?;
        let (index, list) = (place.path().join("index"), place.path().join("list"));
        let known = self.run(&["rev-parse", "--git-path", "index"], FACTS)?;
        let known = self.root.join(line(known));
        if known.exists() {
            copy_index(&known, &index).map_err(refused)?;
        }
        fs::write(&list, unknown).map_err(refused)?;
        let mut from = OsString::from("--pathspec-from-file=");
        from.push(&list);
        let add = ["add", "--intent-to-add", "--pathspec-file-nul"];
        let add: Vec<&OsStr> = add.iter().map(OsStr::new).chain([&*from]).collect();
        self.run_on(Some(&index), &add, FACTS)?;
        self.diff_on(Some(&index), &args, bounds)
    }

    /// Returns what a first commit or the next one is compared with: the last commit, or the empty tree.
    pub fn base(&self) -> Result<String, RunError> {
        let head = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        if unless_failed(self.run(&head, FACTS))?.is_some() {
            return Ok("HEAD".to_owned());
        }
        let empty = self.run(&["hash-object", "-t", "tree", "/dev/null"], FACTS)?;
        Ok(line(empty).to_string_lossy().into_owned())
    }

    /// Returns the files that git neither knows nor ignores, each with a NUL behind it; repositories in it are not files.
    fn unknown_files(&self) -> Result<Vec<u8>, RunError> {
        let args = ["ls-files", "--others", "--exclude-standard", "-z"];
        let names = self.run(&args, FACTS)?;
        let names = names.split_inclusive(|&byte| byte == 0);
        Ok(names
            .filter(|name| !name.ends_with(b"/\0"))
            .flatten()
            .copied()
            .collect())
    }
}

/// Copies an index with its time, by which git tells files that changed in the same moment.
pub(crate) fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let time = fs::metadata(from)?.modified()?;
    fs::File::options().write(true).open(to)?.set_modified(time)
}

/// An exit code means "nothing found" where git is asked for what may not be there.
pub(crate) fn unless_failed(
    answer: Result<Vec<u8>, RunError>,
) -> Result<Option<Vec<u8>>, RunError> {
    match answer {
        Ok(bytes) => Ok(Some(bytes)),
        Err(RunError::Failed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns values that have a NUL behind them.
pub(crate) fn values(bytes: &[u8]) -> Vec<OsString> {
    let values = bytes
        .split(|&byte| byte == 0)
        .filter(|value| !value.is_empty());
    values
        .map(|value| OsString::from_vec(value.to_vec()))
        .collect()
}

/// Returns a single line of output.
pub(crate) fn line(mut bytes: Vec<u8>) -> OsString {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests;
