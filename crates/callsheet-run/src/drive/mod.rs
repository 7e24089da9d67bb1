//! Driving a run: from a sealed prompt to the facts of what an agent did with it.
//!
//! Every step is in the store before anybody sees it, and the folder of the run has the evidence: whoever comes after a
//! process that was killed can settle the run.

mod admit;
mod clocks;
mod end;
mod folder;
mod ingest;
mod keeper;
mod logged;
mod settle;
mod spoken;
mod start;
mod steps;
mod tail;
mod watch;
mod worker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callsheet::Event;
use callsheet_store::{BatchClaim, Claim, Id, Project, Run, RunKind, Store};
use serde_json::Value;

pub(crate) use admit::standing;
pub use admit::{Able, claim_next, closed_until};
pub use clocks::Expired;
pub use ingest::Seen;
pub(crate) use keeper::while_kept;
pub use settle::{is_settled, settle};
pub use spoken::spoken;
pub(crate) use start::now;
pub(crate) use worker::{Alive, Worker};

use crate::account::Asker;
use crate::checks::Checked;
use crate::tasks::Terms;
use crate::workspace::Ground;
use crate::{Resolved, RunError};

/// How long a claim lasts without a heartbeat.
const LEASE: Duration = Duration::from_secs(30);

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Where the run is kept.
    pub store: &'a Store,
    /// The project that it belongs to.
    pub project: &'a Project,
    /// The folder of what the program keeps for the project.
    pub home: &'a Path,
    /// The folder that the agent works in.
    pub cwd: &'a Path,
    /// How the run comes to be.
    pub kind: RunKind,
    /// The run before it.
    pub parent: Option<Id>,
    /// The sealed prompt.
    pub sealed: Id,
    /// The prompt, byte by byte.
    pub prompt: &'a str,
    /// The text for the system prompt, byte by byte.
    pub system: Option<&'a str>,
    /// Who runs it.
    pub runner: &'a Resolved,
    /// The environment of this process.
    pub environment: &'a BTreeMap<String, String>,
    /// This program.
    pub program: &'a Path,
    /// What the adapters `scripted` and `replay` play.
    pub script: Option<&'a Path>,
    /// How many runs the project, and the account, may have at once.
    pub most: Most,
    /// What else the agent may write, in the sandbox: paths, where `~` is its home directory and `${NAME}` or `${NAME:-PATH}` a
    /// variable of it. Its own directory, what is private to the run and the state of its CLI come by themselves. Without it there
    /// is not a sandbox.
    pub sandbox: Option<&'a [PathBuf]>,
    /// Who asks for the run.
    pub asker: Asker,
    /// The task that the run is for.
    pub task: Option<TaskJob<'a>>,
    /// The phase of a sprint that the run is.
    pub phase: Option<PhaseJob<'a>>,
}

/// The phase of a sprint that a run is.
#[derive(Clone, Copy, Debug)]
pub struct PhaseJob<'a> {
    /// The name of its command, which the agent has as `CALLSHEET_PHASE`.
    pub command: &'a str,
    /// The keys of its stories, which the agent has as `CALLSHEET_STORIES`.
    pub stories: &'a [String],
    /// Which attempt it is, from 1, which the agent has as `CALLSHEET_ATTEMPT`.
    pub attempt: u32,
    /// The batch that it belongs to, and the number of the action there.
    pub batch: Option<(&'a BatchClaim, u64)>,
    /// What its stories may write; nothing says that they may write anywhere.
    pub write_scope: &'a [String],
    /// The worktree that the agent works in, where that is not the main checkout.
    pub ground: Option<&'a Ground>,
}

impl<'a> Job<'a> {
    /// Returns the worktree that the agent works in, where that is not the main checkout.
    fn ground(&self) -> Option<&'a Ground> {
        let phase = || self.phase.and_then(|phase| phase.ground);
        self.task.map(|task| task.ground).or_else(phase)
    }
}

/// The task that a run is for.
#[derive(Clone, Copy, Debug)]
pub struct TaskJob<'a> {
    /// The task.
    pub id: Id,
    /// What was agreed.
    pub terms: &'a Terms,
    /// The worktree that the agent works in, which is ready.
    pub ground: &'a Ground,
    /// From which conflict score on a run does not start beside another one.
    pub conflict_threshold: f64,
}

/// How many runs there may be at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Most {
    /// Of the project.
    pub project: Option<usize>,
    /// Of the account.
    pub account: Option<usize>,
}

/// What is known of a run while it lasts; all of it is stored.
#[derive(Clone, Debug)]
pub struct Live<'a> {
    /// The run.
    pub run: Id,
    /// How long it has lasted.
    pub elapsed: Duration,
    /// What its events add up to.
    pub seen: &'a Seen,
    /// What was stored since the last call.
    pub news: &'a [Event],
    /// Whether the run is being stopped.
    pub stopping: bool,
}

/// What somebody who watches a run may do.
pub trait Watcher {
    /// Is called when something was stored, and a few times a second in between.
    fn live(&mut self, live: &Live<'_>);

    /// Returns how often the run was asked to stop: once politely, twice at once.
    fn stops(&mut self) -> usize;

    /// Is told what a person should know before the agent starts.
    fn note(&mut self, line: &str);

    /// Is told of a step that takes its time, such as a check.
    fn say(&mut self, line: &str);
}

/// What somebody who watches checks may do.
pub(crate) trait CheckWatcher {
    /// Is told that a check begins.
    fn begins(&mut self, name: &str);

    /// Is told how a check ended.
    fn ended(&mut self, checked: &Checked);

    /// Tells whether the checks have to stop.
    fn is_stopped(&mut self) -> bool;
}

/// Returns what is asked for with a run, as it is stored.
pub fn request(runner: &Resolved, terms: Option<&Terms>) -> Value {
    start::request(runner, terms)
}

/// Starts a run of an agent and returns it when it has finished.
pub fn run(job: &Job<'_>, watcher: &mut dyn Watcher) -> Result<Run, RunError> {
    let ready = start::look(job)?;
    let (claim, note) = start::admitted(job)?;
    if let Some(note) = note {
        watcher.note(&note);
    }
    drive(job, &claim, ready, watcher)
}

/// Runs an agent for a run that this process has claimed, and returns it when it has finished.
pub fn run_claimed(
    job: &Job<'_>,
    claim: &Claim,
    watcher: &mut dyn Watcher,
) -> Result<Run, RunError> {
    let run_store = RunStore::of(job);
    match start::look(job) {
        Ok(ready) => drive(job, claim, ready, watcher),
        Err(error) => {
            end::give_up(&run_store, claim, &error);
            Err(error)
        }
    }
}

/// Does some work for a claimed run while its lease is renewed.
pub fn keep<T>(store: &Store, claim: &Claim, work: impl FnOnce() -> T) -> T {
    while_kept(store, claim, |_| work())
}

/// Finishes a claimed run whose agent cannot be started.
pub fn refuse(run_store: &RunStore<'_>, claim: &Claim, error: &RunError) {
    end::give_up(run_store, claim, error);
}

/// Finishes a claimed run that is stopped before its agent is started.
pub fn cancel(run_store: &RunStore<'_>, claim: &Claim) -> Result<(), RunError> {
    end::cancel(run_store, claim)
}

/// Where runs are kept.
#[derive(Clone, Copy, Debug)]
pub struct RunStore<'a> {
    /// The store.
    pub store: &'a Store,
    /// The project.
    pub project: &'a Project,
    /// The folder of what the program keeps for the project.
    pub home: &'a Path,
}

impl<'a> RunStore<'a> {
    fn of(job: &Job<'a>) -> Self {
        Self {
            store: job.store,
            project: job.project,
            home: job.home,
        }
    }
}

fn drive(
    job: &Job<'_>,
    claim: &Claim,
    ready: start::Ready,
    watcher: &mut dyn Watcher,
) -> Result<Run, RunError> {
    // Looking at a large repository takes its time.
    let started = while_kept(job.store, claim, |_| {
        start::prepare(job, claim.clone(), ready, watcher)
    });
    // Without an agent there is nothing to settle by; what one left behind, whoever comes next can look at.
    let started = started.inspect_err(|error| {
        // A store that was out of reach says nothing about the runner.
        if !matches!(error, RunError::Store(_)) {
            end::give_up(&RunStore::of(job), claim, error);
        }
    })?;
    let ended = watch::watch(job, started, watcher).inspect_err(|error| {
        if matches!(error, RunError::Refused { .. }) {
            end::give_up(&RunStore::of(job), claim, error);
        }
    })?;
    let scene = end::Scene {
        store: job.store,
        project: job.project,
        home: job.home,
        cwd: job.cwd,
        account: &job.runner.account,
        runner: &job.runner.name,
        bench: Some((job.program, job.environment)),
        ground: job.task.map(|task| task.ground),
    };
    end::end(&scene, ended, watcher)
}
