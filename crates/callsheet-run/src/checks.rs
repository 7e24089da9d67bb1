//! Checks: commands of the project that are run in a worktree when an agent has ended.
//!
//! They run what the agent has written, so they have no more rights than the agent had: a process tree of their own with
//! a time limit, an environment without keys, and the same sandbox. What a check prints counts for nothing; its exit code
//! does.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use callsheet::task::CheckStatus;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::launch::{Launch, MARKER, Step, StopSignal, Word};
use crate::sandbox::Sandbox;
use crate::supervisor::{self, Supervised};
use crate::workspace::Ground;
use crate::{CheckSetting, RunError, asked, environment};

/// How much of what a check printed is kept in the facts of a run.
const TAIL: u64 = 8 << 10;

/// How long to wait between two looks at a check.
const LOOK: Duration = Duration::from_millis(10);

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The name of the check.
    pub name: String,
    /// Whether the task needs it.
    pub required: bool,
    /// How it ended.
    pub status: CheckStatus,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The tree that it ran on.
    pub tree: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: Option<u64>,
    /// Why it has not passed, where the exit code does not say it.
    pub reason: Option<String>,
    /// The end of what it printed.
    pub output: Option<String>,
}

impl Checked {
    /// Makes the entry of a check that has not been run.
    pub fn pending(check: &CheckSetting, reason: &str) -> Self {
        Self {
            name: check.name.clone(),
            required: check.required,
            status: CheckStatus::Pending,
            exit_code: None,
            tree: None,
            took_ms: None,
            reason: Some(reason.to_owned()),
            output: None,
        }
    }
}

/// Where checks are run.
#[derive(Clone, Copy, Debug)]
pub struct CheckContext<'a> {
    /// This program.
    pub program: &'a Path,
    /// The worktree, which this process holds.
    pub ground: &'a Ground,
    /// A private directory for what they print.
    pub folder: &'a Path,
    /// The run, which marks their processes.
    pub run: &'a str,
    /// The environment of this process.
    pub environment: &'a BTreeMap<String, String>,
    /// What they may write; nothing says that they may write anywhere.
    pub sandbox: Option<&'a Sandbox>,
}

/// Runs a check to its end; `tree` is what it runs on, and `stopped` tells whether somebody wants it to end.
pub fn run(
    check: &CheckSetting,
    context: &CheckContext<'_>,
    tree: Option<String>,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Checked, RunError> {
    let folder = private(context)?;
    let launch = launch(check, context, folder.path());
    let began = Instant::now();
    let ended = supervise(check, context, &launch, stopped)?;
    let (status, reason) = judge(&ended, check);
    Ok(Checked {
        name: check.name.clone(),
        required: check.required,
        status,
        exit_code: ended.code,
        tree,
        took_ms: u64::try_from(began.elapsed().as_millis()).ok(),
        reason,
        output: Some(printed(&launch)).filter(|text| !text.is_empty()),
    })
}

/// Runs what makes a new worktree ready, as a check is run; what it says first explains why it failed.
pub(crate) fn set_up(setup: &CheckSetting, context: &CheckContext<'_>) -> Result<(), RunError> {
    let folder = private(context)?;
    let launch = launch(setup, context, folder.path());
    let ended = supervise(setup, context, &launch, &mut || false)?;
    let (status, reason) = judge(&ended, setup);
    if status == CheckStatus::Passed {
        return Ok(());
    }
    let why = match (reason, ended.code) {
        (Some(reason), _) => format!(": {reason}"),
        (None, code) => format!(" with exit code {}", code.unwrap_or_default()),
    };
    let said = first_line(&launch);
    let said = said.map_or_else(String::new, |said| format!(": {said}"));
    let command = setup.command.join(" ");
    Err(RunError::NotNow(format!(
        "the setup of the worktree, `{command}`, failed{why}{said}"
    )))
}

fn private(context: &CheckContext<'_>) -> Result<TempDir, RunError> {
    tempfile::Builder::new()
        .prefix("check-")
        .tempdir_in(context.folder)
        .map_err(|cause| RunError::refused("cannot make a directory for a check", cause))
}

/// Starts a command, and stays until nothing of it is left.
fn supervise(
    check: &CheckSetting,
    context: &CheckContext<'_>,
    launch: &Launch,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Ended, RunError> {
    let held = context.ground.hold().share()?;
    let mut supervised = Supervised::start_with(context.program, launch, held)?;
    let ended = watch(&mut supervised, check, Instant::now(), stopped);
    if !ended.done {
        supervised.kill();
        supervisor::end_marked(context.run);
    }
    Ok(ended)
}

fn launch(check: &CheckSetting, context: &CheckContext<'_>, folder: &Path) -> Launch {
    let mut env = environment::plain(context.environment);
    env.insert(MARKER.to_owned(), context.run.to_owned());
    let temporary = folder.join("tmp");
    // A check that needs it says so itself.
    let _ = std::fs::create_dir(&temporary);
    env.insert(
        "TMPDIR".to_owned(),
        temporary.to_string_lossy().into_owned(),
    );
    let sandbox = context.sandbox.cloned().map(|mut sandbox| {
        sandbox.write.push(temporary);
        sandbox
    });
    Launch {
        argv: check.command.clone(),
        env,
        cwd: context.ground.path().to_owned(),
        stdin: None,
        stdout: folder.join("stdout"),
        stderr: folder.join("stderr"),
        journal: folder.join("journal"),
        stop: StopSignal::Terminate,
        sandbox,
    }
}

/// How the process of a check ended.
#[derive(Debug, Default)]
struct Ended {
    code: Option<i32>,
    signal: Option<i32>,
    not_spawned: Option<String>,
    timed_out: bool,
    stopped: bool,
    done: bool,
}

fn watch(
    supervised: &mut Supervised,
    check: &CheckSetting,
    began: Instant,
    stopped: &mut dyn FnMut() -> bool,
) -> Ended {
    let mut ended = Ended::default();
    let limit = Duration::from_secs(check.timeout_s);
    loop {
        // In this order: what was written before the end was seen is read after it.
        let gone = supervised.is_gone();
        for entry in supervised.entries() {
            match entry.step {
                Step::Exited { code, signal, .. } => {
                    (ended.code, ended.signal) = (code, signal);
                }
                Step::NotSpawned { why, .. } => ended.not_spawned = Some(why),
                Step::Done => ended.done = true,
                _ => {}
            }
        }
        if gone || ended.done {
            return ended;
        }
        if !ended.timed_out && !ended.stopped {
            ended.timed_out = began.elapsed() >= limit;
            ended.stopped = stopped();
            if ended.timed_out || ended.stopped {
                supervised.say(Word::Stop);
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// Decides how a check ended: it passed if it exited with 0 by itself.
fn judge(ended: &Ended, check: &CheckSetting) -> (CheckStatus, Option<String>) {
    if ended.stopped {
        let why = "it was stopped".to_owned();
        return (CheckStatus::Pending, Some(why));
    }
    if ended.timed_out {
        let why = format!("it took longer than {} s", check.timeout_s);
        return (CheckStatus::Failed, Some(why));
    }
    if let Some(why) = &ended.not_spawned {
        return (CheckStatus::Failed, Some(why.clone()));
    }
    match (ended.code, ended.signal) {
        (Some(0), _) => (CheckStatus::Passed, None),
        (Some(_), _) => (CheckStatus::Failed, None),
        (None, Some(signal)) => {
            let why = format!("it was ended by signal {signal}");
            (CheckStatus::Failed, Some(why))
        }
        (None, None) => {
            let why = "its supervisor was ended".to_owned();
            (CheckStatus::Failed, Some(why))
        }
    }
}

/// Returns the end of what a check printed: its standard output, then its standard error.
fn printed(launch: &Launch) -> String {
    let streams = [&launch.stdout, &launch.stderr].map(|path| tail(path, TAIL / 2));
    let texts = streams.into_iter().filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the first line that a command said, on its standard error if it said anything there.
fn first_line(launch: &Launch) -> Option<String> {
    [&launch.stderr, &launch.stdout]
        .into_iter()
        .find_map(|path| {
            let file = std::fs::File::open(path).ok()?;
            let mut bytes = Vec::new();
            file.take(TAIL).read_to_end(&mut bytes).ok()?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let mut lines = text.lines().map(asked::plain_line);
            lines.find(|line| !line.is_empty())
        })
}

fn tail(path: &PathBuf, most: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(most)))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exit_with_zero_passes() {
        let check = CheckSetting {
            name: "test".to_owned(),
            command: vec!["true".to_owned()],
            timeout_s: 5,
            required: true,
        };
        let ended = |code, signal| Ended {
            code,
            signal,
            ..Ended::default()
        };
        let late = Ended {
            timed_out: true,
            ..ended(Some(0), None)
        };
        let stopped = Ended {
            stopped: true,
            ..ended(Some(0), None)
        };
        let missing = Ended {
            not_spawned: Some("no program `x` in `PATH`".to_owned()),
            ..Ended::default()
        };
        let cases = [
            ended(Some(0), None),
            ended(Some(1), None),
            ended(None, Some(9)),
            ended(None, None),
            late,
            stopped,
            missing,
        ];
        let errors: Vec<String> = cases
            .iter()
            .map(|case| format!("{:?}", judge(case, &check)))
            .collect();
        insta::assert_snapshot!(errors.join("\n"), @r#"
        (Passed, None)
        (Failed, None)
        (Failed, Some("it was ended by signal 9"))
        (Failed, Some("its supervisor was ended"))
        (Failed, Some("it took longer than 5 s"))
        (Pending, Some("it was stopped"))
        (Failed, Some("no program `x` in `PATH`"))
        "#);
    }
}
