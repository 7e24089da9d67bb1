//! One agent of a sprint: briefed, run, and what was observed of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callsheet::scope::ScopeGlobs;
use callsheet::sprint::machine::{ActionId, AgentEnded, AgentOrder, End, Heard, Spent};
use callsheet::sprint::{Markers, Phase, PreviousRun};
use callsheet_store::{BatchClaim, Run, RunKind, block_on};
use serde_json::Value;

use super::commit;
use super::crew::{Brief, Briefed, Crew};
use super::driver::Stage;
use super::files::Files;
use super::scope::{self, Bounds};
use super::spot::Spot;
use crate::account::Asker;
use crate::document::{Status, document};
use crate::drive::{self, Job, Live, PhaseJob, Watcher};
use crate::repository::Repository;
use crate::{Class, Consequence, RunError};

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

/// What agents have changed and may not, and where it can be seen as it was.
#[derive(Debug, Default)]
struct Touched {
    paths: BTreeSet<String>,
    /// The commit that was checked out before the first of them.
    head: Option<String>,
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
            block_on(stage.store.append_events(stage.project, events))?;
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
        let run = block_on(self.stage.store.run(self.stage.project, failed))?;
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

    /// Returns what was observed of a run that is over.
    pub(super) fn observed(&self, run: &Run) -> Result<AgentEnded, RunError> {
        let end = self.resolved(end_of(run));
        let heard = if end == End::Completed {
            let said = drive::spoken(self.stage.store, run)?;
            Heard::from(&Markers::parse(self.order.phase, &said, &self.order.keys))
        } else {
            Heard::default()
        };
        Ok(AgentEnded {
            run: Some(run.id.to_string()),
            end,
            heard,
            violations: self.violations(run)?,
            spent: spent(run),
        })
    }

    /// Commits a merge that was to be resolved; an agent that has not done so has failed.
    fn resolved(&self, end: End) -> End {
        let Some(spot) = &self.spot else {
            return end;
        };
        if end != End::Completed || self.order.phase != Phase::ResolveConflict {
            return end;
        }
        match spot.end_merge(&self.conflicts, &self.order.keys) {
            Ok(Ok(())) => end,
            Ok(Err(reason)) => End::Failed {
                class: Class::Incomplete.as_str().to_owned(),
                reason,
            },
            Err(error) => impossible(&error),
        }
    }

    /// Returns what was changed and may not be. What an earlier agent did counts until it is as it was before.
    fn violations(&self, run: &Run) -> Result<Vec<String>, RunError> {
        let touched = self.touched()?;
        let mut violations = match (self.repository()?, &touched.head) {
            (Some(repository), Some(head)) if !touched.paths.is_empty() => {
                let differing = commit::differing(&repository, head)?;
                touched.paths.intersection(&differing).cloned().collect()
            }
            _ => touched.paths.clone(),
        };
        let mine = self.beyond(run)?.into_iter();
        violations.extend(mine.filter(|path| !touched.paths.contains(path)));
        Ok(violations.into_iter().collect())
    }

    /// Returns what agents before it have changed and may not.
    fn touched(&self) -> Result<Touched, RunError> {
        let mut touched = Touched::default();
        for run in &self.earlier {
            let paths = self.beyond(run)?;
            if !paths.is_empty() && touched.paths.is_empty() {
                touched.head = document(run)["start_head"].as_str().map(str::to_owned);
            }
            touched.paths.extend(paths);
        }
        Ok(touched)
    }

    /// Returns the paths that a run changed beyond what was agreed when it was started, whatever it made of the file of its
    /// story.
    fn beyond(&self, run: &Run) -> Result<Vec<String>, RunError> {
        let request = run.request.as_ref();
        let agreed = request.and_then(|request| request["write_scope"].as_array());
        let agreed = agreed.into_iter().flatten().filter_map(Value::as_str);
        let bounds = Bounds {
            scope: &agreed.map(str::to_owned).collect::<Vec<_>>(),
            excluded: self.excluded.as_ref(),
            files: Files {
                layout: self.stage.layout,
                board: &self.board,
            },
            prefix: &commit::prefix(self.stage.root),
        };
        bounds.beyond(&changed_files(run))
    }

    fn repository(&self) -> Result<Option<Repository>, RunError> {
        match (&self.spot, commit::top(self.stage.root)) {
            (Some(spot), _) => Ok(Some(spot.ground().here())),
            (None, Some(top)) => Repository::open(&top).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// Returns the files that an agent has changed.
pub(super) fn changed_files(run: &Run) -> Vec<String> {
    let outcome = run.outcome.as_ref();
    let paths = outcome.and_then(|outcome| outcome["changed_files"].as_array());
    let paths = paths.into_iter().flatten().filter_map(Value::as_str);
    paths.map(str::to_owned).collect()
}

fn impossible(error: &RunError) -> End {
    End::Impossible {
        reason: error.to_string(),
    }
}

/// Tells how a finished run counts for a sprint.
fn end_of(run: &Run) -> End {
    let known = document(run);
    let word = |field: &str| known[field].as_str().unwrap_or_default().to_owned();
    let class = serde_json::from_value::<Class>(known["class"].clone()).ok();
    let status = serde_json::from_value::<Status>(known["status"].clone()).ok();
    if status == Some(Status::Completed) {
        return End::Completed;
    }
    let class_word = class.map_or("unknown", Class::as_str).to_owned();
    let reason = match word("reason") {
        reason if reason.is_empty() => format!("the agent failed ({class_word})"),
        reason => reason,
    };
    let is_lost = known["settled"] == Value::Bool(true);
    match class.map(Class::consequence) {
        _ if status == Some(Status::Cancelled) => End::Interrupted,
        Some(Consequence::Park) => End::Limited {
            class: class_word,
            resets_at: known["resets_at"].as_i64(),
        },
        Some(Consequence::StopAccount) => End::Impossible { reason },
        Some(Consequence::Pause) if class == Some(Class::Network) => End::Limited {
            class: class_word,
            resets_at: None,
        },
        Some(Consequence::Pause) => End::Impossible { reason },
        // It was cut off with the process that ran it.
        _ if is_lost && class == Some(Class::Incomplete) => End::Interrupted,
        _ => End::Failed {
            class: class_word,
            reason,
        },
    }
}

fn spent(run: &Run) -> Spent {
    let outcome = run.outcome.as_ref();
    let usage = outcome.map(|outcome| &outcome["usage"]);
    let tokens = |field: &str| usage.and_then(|usage| usage[field].as_u64()).unwrap_or(0);
    let wall = match (run.started_at, run.finished_at) {
        (Some(start), Some(end)) => u64::try_from(end - start).unwrap_or(0),
        _ => 0,
    };
    Spent {
        tokens: tokens("input_tokens") + tokens("output_tokens"),
        cost_usd: usage
            .and_then(|usage| usage["cost_usd"].as_f64())
            .unwrap_or(0.0),
        wall_ms: wall,
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
