//! The sandbox around an agent: Landlock, by which a process and everything that it starts can write below named paths only.
//!
//! Reading, the network, signals and running programs stay as they are. Nothing here asks for more rights than a user has, and
//! a process that is restricted stays so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible as _, LandlockStatus, PathBeneath, PathFd,
    RestrictSelf, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
};
use serde::{Deserialize, Serialize};

use crate::RunError;
use crate::runner::auto_or_bool;

#[cfg(test)]
mod tests;

/// The rights that every kernel with Landlock knows.
const LEAST: ABI = ABI::V1;

/// The newest rights that are asked for: with those before it, all that change files. An older kernel has fewer.
const MOST: ABI = ABI::V5;

/// The first version of the kernel's interface that keeps files from being truncated, too.
pub const WHOLE_ABI: u32 = 3;

/// Devices that programs write to without changing anything, terminals, and the shared memory of POSIX.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// What an agent in the sandbox may write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Files, and directories with everything below them. Paths that do not exist are skipped.
    pub write: Vec<PathBuf>,
}

/// When agents are put into the sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// In worktrees, where the kernel has Landlock.
    #[default]
    Auto,
    /// Always; a kernel without Landlock starts no agent.
    Yes,
    /// Never.
    No,
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        auto_or_bool(deserializer).map(|word| match word {
            None => Self::Auto,
            Some(true) => Self::Yes,
            Some(false) => Self::No,
        })
    }
}

/// Where an agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkingDirectory {
    /// In the folder of the project itself.
    Project,
    /// In a worktree of its own.
    Worktree,
}

/// What the kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// No Landlock, or one that is switched off.
    None,
    /// Landlock.
    Landlock {
        /// The version of its interface.
        abi: u32,
    },
}

/// Returns what the kernel has, by asking it. Nothing is restricted.
pub fn support() -> Support {
    // Without a flag to set, this asks for the version and does nothing else.
    let asked = RestrictSelf::default().no_new_privs(false).apply();
    asked.map_or(Support::None, |asked| of_status(asked.landlock))
}

fn of_status(status: LandlockStatus) -> Support {
    match status {
        LandlockStatus::Available {
            effective_abi,
            kernel_abi,
        } => {
            let newer = kernel_abi.and_then(|abi| u32::try_from(abi).ok());
            let abi = newer.unwrap_or(effective_abi as u32);
            Support::Landlock { abi }
        }
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => Support::None,
    }
}

/// Decides whether an agent is put into the sandbox.
pub fn decide(mode: Mode, directory: WorkingDirectory, support: Support) -> Result<bool, RunError> {
    match (mode, directory, support) {
        (Mode::No, _, _) | (Mode::Auto, WorkingDirectory::Project, _) => Ok(false),
        (Mode::Yes, _, Support::None) => Err(RunError::NotNow(NO_LANDLOCK.to_owned())),
        (Mode::Yes, _, Support::Landlock { .. }) => Ok(true),
        (Mode::Auto, WorkingDirectory::Worktree, support) => Ok(support != Support::None),
    }
}

/// What stands in the way where there is no Landlock.
const NO_LANDLOCK: &str = "the kernel has no Landlock, which the sandbox needs";

/// A restriction that is in force.
#[derive(Debug)]
pub(crate) struct Restricted {
    /// The version of the kernel's interface.
    pub(crate) abi: u32,
    /// What may be written, devices left out.
    pub(crate) write: Vec<PathBuf>,
}

/// Restricts this thread and every process that it starts from here on, for good.
///
/// An error means that nothing, or not enough, is restricted: whoever asked must not start anything.
pub(crate) fn restrict(sandbox: &Sandbox) -> Result<Restricted, String> {
    let refused =
        |error: RulesetError| format!("the agent cannot be put into the sandbox: {error}");
    if support() == Support::None {
        return Err(NO_LANDLOCK.to_owned());
    }
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(LEAST))
        .and_then(|rules| {
            rules
                .set_compatibility(CompatLevel::BestEffort)
                .handle_access(AccessFs::from_write(MOST))
        })
        .and_then(Ruleset::create)
        .map_err(refused)?;
    for device in DEVICES {
        if let Some(rule) = rule(Path::new(device)) {
            rules = rules.add_rule(rule).map_err(refused)?;
        }
    }
    let mut write = Vec::new();
    for path in &sandbox.write {
        if let Some(rule) = rule(path) {
            rules = rules.add_rule(rule).map_err(refused)?;
            write.push(path.clone());
        }
    }
    let status = rules.restrict_self().map_err(refused)?;
    match of_status(status.landlock) {
        Support::Landlock { abi } => Ok(Restricted { abi, write }),
        Support::None => Err(NO_LANDLOCK.to_owned()),
    }
}

/// Returns what lets a path be written; nothing where it cannot be opened, which an agent could not do either.
fn rule(path: &Path) -> Option<PathBeneath<PathFd>> {
    let opened = PathFd::new(path).ok().filter(|_| path.is_absolute())?;
    let all: BitFlags<AccessFs> = AccessFs::from_write(MOST);
    let rights = if path.is_dir() {
        all
    } else {
        all & AccessFs::from_file(MOST)
    };
    Some(PathBeneath::new(opened, rights))
}

/// Returns the absolute path that a setting means in the environment of an agent: `~` is its home directory, and `${NAME}` or
/// `${NAME:-PATH}` at the beginning is what that variable holds, else that path. There is none where a variable is missing.
pub(crate) fn expand(path: &Path, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let whole = match path.to_str() {
        Some(text) => variable(text, env)?,
        None => path.to_owned(),
    };
    whole.is_absolute().then_some(whole)
}

fn variable(text: &str, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let Some((named, rest)) = text
        .strip_prefix("${")
        .and_then(|text| text.split_once('}'))
    else {
        return home(text, env);
    };
    let (name, default) = match named.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (named, None),
    };
    let set = env.get(name).filter(|value| !value.is_empty());
    let mut start = match set {
        Some(value) => PathBuf::from(value),
        None => home(default?, env)?,
    }
    .into_os_string();
    start.push(rest);
    Some(start.into())
}

fn home(text: &str, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let home = || env.get("HOME").map(PathBuf::from);
    match text.split_once('/') {
        None if text == "~" => home(),
        Some(("~", rest)) => Some(home()?.join(rest)),
        _ => Some(PathBuf::from(text)),
    }
}

/// Returns what `git commit` on one branch in a linked worktree writes, and makes the directories of the branch where they are
/// not there yet.
///
/// `common` is the repository's own directory, `worktree_git` that of the worktree below it. A branch that is not in a directory
/// of its own, such as `main`, gets none: with it, every other branch could be written.
pub fn git_paths(common: &Path, worktree_git: &Path, branch: &str) -> Vec<PathBuf> {
    let mut paths = vec![common.join("objects"), worktree_git.to_owned()];
    let group = Path::new(branch)
        .parent()
        .filter(|group| !group.as_os_str().is_empty());
    for kind in ["refs/heads", "logs/refs/heads"] {
        let Some(group) = group else { continue };
        let directory = common.join(kind).join(group);
        // One that cannot be made is skipped by the sandbox, and git says what it misses.
        let _ = std::fs::create_dir_all(&directory);
        paths.push(directory);
    }
    paths
}
