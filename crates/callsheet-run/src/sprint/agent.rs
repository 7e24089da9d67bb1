//! One agent of a sprint: briefed, run, and what was observed of it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callsheet::scope::ScopeGlobs;
use callsheet::sprint::machine::{ActionId, AgentEnded, AgentOrder, End};
use callsheet::sprint::{Phase, PreviousRun};
use callsheet_store::{BatchClaim, Run, RunKind, Wait};

use super::crew::{Brief, Briefed, Crew};
use super::driver::Stage;
use super::observed::changed_files;
use super::scope;
use super::spot::Spot;
use crate::account::Asker;
use crate::document::{Status, document};
use crate::drive::{self, Job, Live, PhaseJob, Watcher};
use crate::{Class, RunError};

/// How long an agent waits before it asks again to be started.
const BUSY: Duration = Duration::from_millis(250);

/// An agent that is to be run.
pub(super) struct Assignment<'a> {
    pub(super) stage: &'a Stage<'a>,
    pub(super) claim: BatchClaim,
    pub(super) action: ActionId,
    pub(super) order: AgentOrder,
    /// The worktree that it works in, where that is not the main checkout.
    pub(super) spot: Option<Arc<Spot<'a>>>,
    /// The paths that a merge has met conflicts in, where it is to resolve them.
    pub(super) conflicts: Vec<String>,
    /// The path of the board.
    pub(super) board: String,
    /// What it may not touch.
    pub(super) excluded: Option<ScopeGlobs>,
    /// The runs of the cycle for any of its stories, the oldest first.
    pub(super) earlier: Vec<Run>,
}

impl Assignment<'_> {
    /// Runs the agent, and returns what was observed.
    pub(super) fn run(&self, stops: &AtomicUsize) -> Result<AgentEnded, RunError> {
        let mut watcher = Watching {
            crew: self.stage.crew,
            action: self.action,
            order: &self.order,
            stops,
        };
        if let Err(error) = self.make_ready() {
            return Ok(AgentEnded::without_run(impossible(&error)));
        }
        let failed = |reason| {
            let class = Class::Request.as_str().to_owned();
            Ok(AgentEnded::without_run(End::Failed { class, reason }))
        };
        let brief = match self.brief() {
            Ok(brief) => brief,
            Err(RunError::Input(reason)) => return failed(reason),
            Err(error) => return Err(error),
        };
        let briefed = match self.stage.crew.brief(&self.order, &brief) {
            Ok(briefed) => briefed,
            // What a project has written cannot be composed: another try would not help this story, but others may go on.
            Err(RunError::Input(reason)) => return failed(reason),
            Err(RunError::Store(error)) => return Err(error.into()),
            Err(error) => return Ok(AgentEnded::without_run(impossible(&error))),
        };
        let stage = self.stage;
        if !briefed.events.is_empty() {
            let events = briefed.events.iter().cloned().map(Into::into).collect();
            stage.store.append_events(stage.project, events).wait()?;
        }
        let run = loop {
            match self.drive(&briefed, &brief.write_scope, &mut watcher) {
                Ok(run) => break run,
                Err(RunError::NotNow(why)) => {
                    if let Some(end) = self.closed(&briefed, why)? {
                        return Ok(AgentEnded::without_run(end));
                    }
                }
                Err(RunError::Store(error)) => return Err(error.into()),
                Err(error) => return Ok(AgentEnded::without_run(impossible(&error))),
            }
            // Others have all the runs that there may be at once; one of them is often the phase beside this one.
            if stops.load(Ordering::Relaxed) > 0 {
                return Ok(AgentEnded::interrupted());
            }
            std::thread::sleep(BUSY);
        };
        let mut ended = self.observed(&run)?;
        let was_cancelled = document(&run)["status"] == Status::Cancelled.as_str();
        if was_cancelled && stops.load(Ordering::Relaxed) == 0 {
            // Somebody stopped this agent and not the sprint: doing the same again for ever would not be what they want.
            ended.end = End::Failed {
                class: Class::Cancelled.as_str().to_owned(),
                reason: "somebody stopped the agent".to_owned(),
            };
        }
        Ok(ended)
    }

    /// Tells what follows from an account that cannot be used; nothing where the account is fine, or is being tried by another run.
    fn closed(&self, briefed: &Briefed, why: String) -> Result<Option<End>, RunError> {
        let stage = self.stage;
        let standing = drive::standing(stage.store, stage.project, &briefed.runner)?;
        Ok(standing.and_then(|standing| match standing.until {
            // It waits for a person, and so would the sprint.
            None => Some(End::Impossible { reason: why }),
            Some(until) if until > drive::now() => Some(End::Limited {
                class: standing.class.as_str().to_owned(),
                resets_at: Some((until + 999) / 1000),
            }),
            Some(_) => None,
        }))
    }

    /// Returns the directory that the agent works in.
    fn cwd(&self) -> &Path {
        let spot = self.spot.as_ref();
        spot.map_or(self.stage.root, |spot| spot.ground().path())
    }

    /// Makes the worktree ready, where there is one.
    fn make_ready(&self) -> Result<(), RunError> {
        match &self.spot {
            None => Ok(()),
            Some(spot) if self.order.phase == Phase::ResolveConflict => spot.begin_merge(),
            Some(spot) => spot.ready(),
        }
    }

    fn drive(
        &self,
        briefed: &Briefed,
        write_scope: &[String],
        watcher: &mut dyn Watcher,
    ) -> Result<Run, RunError> {
        let stage = self.stage;
        let spot = self.spot.as_ref();
        let sandbox = briefed.sandbox.clone().map(|given| match spot {
            Some(spot) => spot.workspace.writable(given),
            None => given,
        });
        let command = self.order.phase.command();
        let takes_system = briefed.runner.takes_system(stage.environment);
        let joined = briefed.system.as_deref().filter(|_| !takes_system);
        let prompt = match joined {
            Some(system) => format!("{system}\n\n{}", briefed.prompt),
            None => briefed.prompt.clone(),
        };
        let job = Job {
            store: stage.store,
            project: stage.project,
            home: stage.home,
            cwd: self.cwd(),
            kind: RunKind::First,
            parent: None,
            sealed: briefed.sealed,
            prompt: &prompt,
            system: briefed.system.as_deref().filter(|_| takes_system),
            runner: &briefed.runner,
            environment: stage.environment,
            program: stage.program,
            script: briefed.script.as_deref(),
            most: briefed.most,
            sandbox: sandbox.as_deref(),
            asker: Asker::Person { probe: false },
            task: None,
            phase: Some(PhaseJob {
                command,
                stories: &self.order.keys,
                attempt: self.order.attempt,
                batch: Some((&self.claim, self.action)),
                write_scope,
                ground: spot.map(|spot| spot.ground()),
            }),
        };
        drive::run(&job, watcher)
    }

    /// Returns what the prompt has to say beyond the order.
    fn brief(&self) -> Result<Brief, RunError> {
        let mut brief = Brief {
            worktree: self
                .spot
                .as_ref()
                .map(|spot| spot.ground().path().to_owned()),
            ..Brief::default()
        };
        if scope::binds(self.order.phase) {
            let (layout, keys) = (self.stage.layout, &self.order.keys);
            brief.write_scope = scope::declared(self.cwd(), layout, keys)?;
        }
        let Some(failed) = &self.order.failed_run else {
            return Ok(brief);
        };
        let run = self.stage.store.run(self.stage.project, failed).wait()?;
        let known = document(&run);
        let word = |field: &str| known[field].as_str().map(str::to_owned);
        let exit_code = known["exit_code"].as_i64();
        brief.previous = Some(PreviousRun {
            status: word("status"),
            exit_code: exit_code.and_then(|code| i32::try_from(code).ok()),
            termination: word("termination"),
            missing_marker: false,
            violations: self.violations(&run)?,
            changed_files: changed_files(&run),
        });
        Ok(brief)
    }
}

pub(super) fn impossible(error: &RunError) -> End {
    End::Impossible {
        reason: error.to_string(),
    }
}

/// Watches one agent among others.
struct Watching<'a> {
    crew: &'a dyn Crew,
    action: ActionId,
    order: &'a AgentOrder,
    stops: &'a AtomicUsize,
}

impl Watcher for Watching<'_> {
    fn live(&mut self, live: &Live<'_>) {
        self.crew.live(self.action, self.order, live);
    }

    fn stops(&mut self) -> usize {
        self.stops.load(Ordering::Relaxed)
    }

    fn note(&mut self, line: &str) {
        self.crew.note(line);
    }

    fn say(&mut self, line: &str) {
        self.crew.note(line);
    }
}

/// Returns the patterns of what no agent may touch.
pub(super) fn excluded(patterns: &[String]) -> Result<Option<ScopeGlobs>, RunError> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let globs = ScopeGlobs::new("default_exclude", patterns);
    globs
        .map(Some)
        .map_err(|error| RunError::Input(error.to_string()))
}
