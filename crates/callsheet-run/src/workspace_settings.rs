//! What a project sets about the worktrees of its tasks, and the checks that are run in them.
//!
//! Only shapes are checked here. Whether a branch, a remote or a file is there is found out when it is needed.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// How long a check or the setup of a worktree may take where nobody says it, in seconds.
const TEN_MINUTES: u64 = 600;

/// What a project sets about the worktrees of its tasks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkspaceSettings {
    /// The branch that tasks start from and are merged into, instead of the one that is checked out.
    #[serde(deserialize_with = "name")]
    pub base: Option<String>,
    /// The remote that branches of tasks travel over, instead of `origin`.
    #[serde(deserialize_with = "name")]
    pub remote: Option<String>,
    /// Files and directories of the project's own checkout that a new worktree gets.
    #[serde(deserialize_with = "copied")]
    pub copy: Vec<String>,
    /// The program, with its arguments, that prepares a new worktree; no shell reads them.
    #[serde(deserialize_with = "setup")]
    pub setup: Option<Vec<String>>,
    /// How many seconds that may take.
    pub setup_timeout_s: u64,
    /// The largest [score](callsheet::scope::conflict_score) with which two tasks may run at the same time.
    #[serde(deserialize_with = "threshold")]
    pub conflict_threshold: f64,
}

impl Default for WorkspaceSettings {
    fn default() -> Self {
        Self {
            base: None,
            remote: None,
            copy: Vec::new(),
            setup: None,
            setup_timeout_s: TEN_MINUTES,
            conflict_threshold: 0.5,
        }
    }
}

/// A check that is run in the worktree of a task after an agent has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "CheckTable")]
pub struct CheckSetting {
    /// What it is called by.
    pub name: String,
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// How many seconds it may take.
    pub timeout_s: u64,
    /// Whether a task cannot be done without it.
    pub required: bool,
}

/// A check as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckTable {
    name: CheckName,
    command: Argv,
    #[serde(default = "ten_minutes")]
    timeout_s: u64,
    #[serde(default = "yes")]
    required: bool,
}

fn ten_minutes() -> u64 {
    TEN_MINUTES
}

fn yes() -> bool {
    true
}

impl From<CheckTable> for CheckSetting {
    fn from(table: CheckTable) -> Self {
        Self {
            name: table.name.0,
            command: table.command.0,
            timeout_s: table.timeout_s,
            required: table.required,
        }
    }
}

/// The name of a check: a line of text.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct CheckName(String);

impl TryFrom<String> for CheckName {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if name.trim().is_empty() {
            return Err("the name of a check is empty");
        }
        if name.contains(char::is_control) {
            return Err("the name of a check contains a control character");
        }
        Ok(Self(name))
    }
}

/// A program and its arguments.
#[derive(Deserialize)]
#[serde(try_from = "Vec<String>")]
struct Argv(Vec<String>);

impl TryFrom<Vec<String>> for Argv {
    type Error = &'static str;

    fn try_from(argv: Vec<String>) -> Result<Self, Self::Error> {
        if argv.first().is_none_or(String::is_empty) {
            return Err("the command is empty; it needs a program and its arguments");
        }
        Ok(Self(argv))
    }
}

fn setup<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    Argv::deserialize(from).map(|argv| Some(argv.0))
}

/// Reads the name of a branch or remote; git would take one that begins with `-` for an option.
fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(from)?;
    if name.is_empty() || name.starts_with('-') {
        return Err(D::Error::custom(format!("`{name}` is not a valid name")));
    }
    Ok(Some(name))
}

fn threshold<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let threshold = f64::deserialize(from)?;
    if !(0.0..=1.0).contains(&threshold) {
        let message = format!("`{threshold}` is not a threshold; use a number from 0 to 1");
        return Err(D::Error::custom(message));
    }
    Ok(threshold)
}

/// A path of the project's own checkout, below its root.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Copied(String);

impl TryFrom<String> for Copied {
    type Error = String;

    fn try_from(path: String) -> Result<Self, Self::Error> {
        let bad = |why: &str| Err(format!("cannot copy `{path}`: {why}"));
        if path.starts_with('/') {
            return bad("paths are relative to the root");
        }
        if path.split('/').any(|part| part == "..") {
            return bad("`..` would lead out of the root");
        }
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        let parts: Vec<&str> = parts.collect();
        match parts.first() {
            None => bad("it is not a file or directory below the root"),
            Some(&(".git" | ".callsheet")) => bad("every worktree has its own"),
            Some(_) => Ok(Self(parts.join("/"))),
        }
    }
}

fn copied<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let paths = Vec::<Copied>::deserialize(from)?;
    Ok(paths.into_iter().map(|path| path.0).collect())
}

#[cfg(test)]
mod tests;
