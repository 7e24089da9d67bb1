//! The observer of a project: asks git, runs the commands that the project names, and turns what went wrong into reasons.
//!
//! Deciding what is asked is the library's business; nothing here looks at a prompt.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use callsheet::observe::{Change, ChangedPath, Observer, Question};
use callsheet::omission::{Reason, Refusal};
use serde::Deserialize;

use crate::git::{self, Git};
use crate::{Bounds, RunError, ask};

/// A command that recipes of a project may ask for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "CommandTable")]
pub struct CommandSetting {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// What it may spend.
    pub bounds: Bounds,
}

/// A command as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandTable {
    command: Vec<String>,
    #[serde(default = "ten")]
    timeout_s: u64,
    #[serde(default = "one_mebibyte")]
    max_bytes: u64,
}

fn ten() -> u64 {
    10
}

fn one_mebibyte() -> u64 {
    1024 * 1024
}

impl TryFrom<CommandTable> for CommandSetting {
    type Error = &'static str;

    fn try_from(table: CommandTable) -> Result<Self, Self::Error> {
        if table.command.first().is_none_or(String::is_empty) {
            return Err("`command` is empty; it needs a program and its arguments");
        }
        Ok(Self {
            command: table.command,
            bounds: Bounds {
                time: Duration::from_secs(table.timeout_s),
                bytes: table.max_bytes,
            },
        })
    }
}

/// Looks at the repository of a project and runs its commands.
#[derive(Debug)]
pub struct ProjectObserver {
    root: PathBuf,
    commands: BTreeMap<String, CommandSetting>,
    git: OnceLock<Result<Git, Refusal>>,
}

impl ProjectObserver {
    /// Makes the observer of the project in a folder, with the commands that it names.
    pub fn new(root: impl Into<PathBuf>, commands: BTreeMap<String, CommandSetting>) -> Self {
        Self {
            root: root.into(),
            commands,
            git: OnceLock::new(),
        }
    }

    fn git(&self) -> Result<&Git, Refusal> {
        let git = self
            .git
            .get_or_init(|| Git::open(&self.root).map_err(refusal));
        git.as_ref().map_err(Clone::clone)
    }

    fn diff(&self, of: &Change, args: &[&str], bounds: Bounds) -> Result<Vec<u8>, Refusal> {
        let git = self.git()?;
        let diff = match of {
            Change::Worktree => git.diff_worktree(args, bounds),
            Change::Staged => git.base().and_then(|base| {
                let args = [args, &["--cached", &base, "--"]].concat();
                git.diff(&args, bounds)
            }),
            Change::Range(range) => git.diff(&[args, &[range, "--"]].concat(), bounds),
        };
        diff.map_err(refusal)
    }

    fn command(&self, name: &str, any_exit: bool) -> Result<Vec<u8>, Refusal> {
        let unknown = || Refusal::new(Reason::Unavailable).because("no command of that name");
        let setting = self.commands.get(name).ok_or_else(unknown)?;
        let (program, args) = setting.command.split_first().ok_or_else(unknown)?;
        // A path is relative to the root, as the command itself is.
        let program = match Path::new(program) {
            path if path.components().count() > 1 => self.root.join(path),
            path => path.to_owned(),
        };
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.root).env_clear();
        let passed = ["PATH", "HOME"].map(|name| std::env::var_os(name).map(|value| (name, value)));
        command
            .envs(passed.into_iter().flatten())
            .env("LC_ALL", "C");
        ask(command, name, setting.bounds, any_exit).map_err(refusal)
    }
}

impl Observer for ProjectObserver {
    fn observe(&self, question: &Question, most: u64) -> Result<Vec<u8>, Refusal> {
        let bounds = Bounds {
            time: git::TIME,
            bytes: most,
        };
        match question {
            Question::GitStatus => self.git()?.status(bounds).map_err(refusal),
            Question::GitLog { count, range } => {
                let log = self.git()?.log(*count, range.as_deref(), bounds);
                log.map_err(refusal)
            }
            Question::GitDiff { of } => self.diff(of, &["--find-renames"], bounds),
            Question::ChangedPaths { of } => {
                let raw = self.diff(of, &["--raw", "-z", "--no-renames"], bounds)?;
                // Texts and switches only: serialising them cannot fail.
                Ok(serde_json::to_vec(&changed_paths(&raw)).unwrap_or_default())
            }
            Question::GitFile { of, path } => {
                let revision = match of {
                    Change::Range(range) => Change::end(range),
                    Change::Staged => "",
                    Change::Worktree => "HEAD",
                };
                let blob = format!("{revision}:./{path}");
                let file = self.git()?.run(&["cat-file", "blob", &blob], bounds);
                file.map_err(refusal)
            }
            Question::Command { name, any_exit } => self.command(name, *any_exit),
            _ => Err(Refusal::new(Reason::Unavailable).because("nobody knows how to ask for it")),
        }
    }

    fn commands(&self) -> Vec<String> {
        self.commands.keys().cloned().collect()
    }
}

/// Reads what `git diff --raw -z` prints: `:MODE MODE HASH HASH STATUS`, NUL, path, NUL.
fn changed_paths(raw: &[u8]) -> Vec<ChangedPath> {
    let mut fields = raw.split(|&byte| byte == 0);
    let mut paths: Vec<ChangedPath> = Vec::new();
    while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
        let mode = facts.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
        let path = ChangedPath {
            path: String::from_utf8_lossy(path).into_owned(),
            file: mode.starts_with(b"100"),
            odd_name: std::str::from_utf8(path).is_err(),
        };
        // A path in a conflict is listed twice.
        match paths.last_mut().filter(|last| last.path == path.path) {
            Some(last) => last.file |= path.file,
            None => paths.push(path),
        }
    }
    paths
}

/// Returns the reason behind an error, without anything that differs between machines.
fn refusal(error: RunError) -> Refusal {
    let unavailable = Refusal::new(Reason::Unavailable);
    match error {
        RunError::Failed { code, said, .. } => {
            let code = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            let said = if said.is_empty() {
                said
            } else {
                format!(": {said}")
            };
            Refusal::new(Reason::Failed).because(code + &said)
        }
        RunError::TimedOut { after, .. } => {
            let detail = format!("it has {} s", after.as_secs_f64());
            Refusal::new(Reason::TimedOut).because(detail)
        }
        RunError::TooMuch { most, .. } => {
            let detail = format!("more than {most} bytes");
            Refusal::new(Reason::TooMuchOutput).because(detail)
        }
        RunError::Refused { cause, .. } if cause.kind() == io::ErrorKind::NotFound => {
            unavailable.because("there is no such program")
        }
        other => unavailable.because(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
