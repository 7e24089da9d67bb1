//! The driver of a batch: does what the machine says, and puts what happened on record before anything follows from it.
//!
//! Agents run in threads of their own; everything else is done here, one after the other. A process that is killed leaves a
//! journal, and whoever comes next goes on from there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

use callsheet::sprint::machine::{
    Action, ActionId, AgentEnded, AgentOrder, Batch, Input, StopPolicy, Todo,
};
use callsheet_store::{BatchClaim, NewEvent, Progress, Project, Run, Store, Wait};
use serde_json::Value;

use super::agent::{Assignment, excluded};
use super::crew::Crew;
use super::errand::Errand;
use super::files::clear_left;
use super::spot::Spot;
use super::wait::Waiting;
use super::{BoardFile, Layout, SprintSettings};
use crate::{CheckSetting, RunError, WorkspaceSettings};

/// How long a claim on a batch lasts without a heartbeat.
pub(super) const LEASE: Duration = Duration::from_secs(30);

/// How long an answer is waited for before something else is looked at.
const TICK: Duration = Duration::from_millis(200);

/// How often the claim is renewed.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How often the store is asked whether somebody wants the batch to stop.
const STOP_LOOK: Duration = Duration::from_millis(500);

/// Where a sprint takes place.
pub struct Stage<'a> {
    /// Where everything is kept.
    pub store: &'a Store,
    /// The project.
    pub project: &'a Project,
    /// The root of the project.
    pub root: &'a Path,
    /// The directory of what the program keeps for the project.
    pub home: &'a Path,
    /// What the project sets about its sprints.
    pub settings: &'a SprintSettings,
    /// Where the files of the sprint are.
    pub layout: &'a Layout,
    /// What no agent may touch.
    pub exclude: &'a [String],
    /// What the project sets of its worktrees.
    pub workspace: &'a WorkspaceSettings,
    /// The checks of the project, which decide about merges.
    pub checks: &'a [CheckSetting],
    /// The environment of this process.
    pub environment: &'a BTreeMap<String, String>,
    /// This program.
    pub program: &'a Path,
    /// The program around it.
    pub crew: &'a dyn Crew,
}

/// A batch in the hands of this process.
pub(super) struct Driver<'a> {
    pub(super) stage: &'a Stage<'a>,
    pub(super) claim: BatchClaim,
    pub(super) batch: Batch,
    /// The number of the last entry of the journal.
    pub(super) seq: i64,
    pub(super) board: BoardFile,
    /// What is to be done, the oldest first.
    pub(super) todo: VecDeque<Action>,
    /// What was begun by a process that is gone.
    inherited: BTreeSet<ActionId>,
    /// How often each agent, and each wait, was asked to stop.
    running: BTreeMap<ActionId, Arc<AtomicUsize>>,
    /// The worktrees of cycles that have one, by the number of the cycle.
    pub(super) spots: BTreeMap<u32, Arc<Spot<'a>>>,
    asked: Option<StopPolicy>,
    beaten: Instant,
    looked: Instant,
}

/// What a thread of an agent comes back with.
type Answer = Result<Input, RunError>;

impl<'a> Driver<'a> {
    pub(super) fn new(
        stage: &'a Stage<'a>,
        claim: BatchClaim,
        batch: Batch,
        seq: i64,
    ) -> Result<Self, RunError> {
        let driver = Self {
            board: BoardFile::find(stage.root, stage.settings, stage.layout)?,
            todo: batch.open().cloned().collect(),
            inherited: batch.open().map(|action| action.id).collect(),
            running: BTreeMap::new(),
            spots: BTreeMap::new(),
            asked: None,
            beaten: Instant::now(),
            looked: Instant::now(),
            stage,
            claim,
            batch,
            seq,
        };
        clear_left(stage.root, stage.home, driver.files())?;
        Ok(driver)
    }

    /// Drives the batch to its end.
    pub(super) fn drive(mut self) -> Result<Batch, RunError> {
        let (sender, answers) = channel();
        std::thread::scope(|scope| {
            let driven = self.go(scope, &sender, &answers);
            if driven.is_err() {
                // Agents must not outlive whoever puts them on record.
                for stops in self.running.values() {
                    stops.store(2, Ordering::Relaxed);
                }
            }
            driven
        })?;
        Ok(self.batch)
    }

    fn go<'s>(
        &mut self,
        scope: &'s Scope<'s, '_>,
        sender: &Sender<Answer>,
        answers: &Receiver<Answer>,
    ) -> Result<(), RunError>
    where
        'a: 's,
    {
        while self.batch.status().is_none() {
            if let Some(action) = self.todo.pop_front() {
                if let Some(input) = self.act(&action, scope, sender)? {
                    self.feed(input)?;
                }
                continue;
            }
            match answers.recv_timeout(TICK) {
                Ok(answer) => {
                    let input = answer?;
                    if let Some(action) = input.action() {
                        self.running.remove(&action);
                    }
                    self.feed(input)?;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            self.look()?;
        }
        Ok(())
    }

    /// Renews the claim, and looks whether the batch is to stop.
    fn look(&mut self) -> Result<(), RunError> {
        // A batch that has just ended is nobody's any more.
        if self.batch.status().is_some() {
            return Ok(());
        }
        let stage = self.stage;
        if self.beaten.elapsed() >= HEARTBEAT {
            self.beaten = Instant::now();
            if !stage.store.heartbeat_batch(&self.claim, LEASE).wait()? {
                let id = self.claim.batch.id;
                let why = format!("batch `{id}` was taken over by another process");
                return Err(RunError::NotNow(why));
            }
        }
        if self.looked.elapsed() >= STOP_LOOK {
            self.looked = Instant::now();
            let asked = stage.store.batch_stop(&self.claim).wait()?;
            if let Some(policy) = asked.map(|stop| policy(&stop.policy)) {
                self.stop(policy)?;
            }
        }
        match stage.crew.stops() {
            0 => Ok(()),
            1 => self.stop(stage.settings.stop),
            _ => self.stop(StopPolicy::Cancel),
        }
    }

    fn stop(&mut self, policy: StopPolicy) -> Result<(), RunError> {
        let is_news = match self.asked {
            None => true,
            Some(asked) => asked != policy && policy == StopPolicy::Cancel,
        };
        if is_news && self.batch.status().is_none() {
            self.asked = Some(policy);
            self.feed(Input::Stopped { policy })?;
        }
        Ok(())
    }

    /// Puts an input on record, with everything that follows from it.
    pub(super) fn feed(&mut self, input: Input) -> Result<(), RunError> {
        let run = match &input {
            Input::AgentEnded { ended, .. } => ended.run.as_deref().and_then(|id| id.parse().ok()),
            _ => None,
        };
        let entry = serde_json::to_value(&input)
            .map_err(|error| RunError::Input(format!("an entry of the journal: {error}")))?;
        let (batch, step) = (self.batch.clone().step(input)).map_err(|illegal| {
            RunError::Input(format!("the journal of the batch: {}", illegal.0))
        })?;
        let events = step.events.into_iter().map(|event| NewEvent {
            run: run.filter(|_| event.kind == "command:end"),
            event,
        });
        let progress = Progress {
            entries: vec![entry],
            events: events.collect(),
        };
        let (store, events) = (self.stage.store, progress.events.clone());
        let recorded = match batch.status() {
            Some(status) => store
                .end_batch(&self.claim, self.seq, status, progress)
                .wait()?,
            None => store.record(&self.claim, self.seq, progress).wait()?,
        };
        self.seq = recorded.seq;
        self.batch = batch;
        self.todo.extend(step.actions);
        let events: Vec<_> = events.into_iter().map(|new| new.event).collect();
        self.stage.crew.recorded(&self.batch, &events);
        if let Some(stop) = recorded.stop {
            self.stop(policy(&stop.policy))?;
        }
        Ok(())
    }

    /// Does an action, or begins it; what takes long answers later.
    fn act<'s>(
        &mut self,
        action: &Action,
        scope: &'s Scope<'s, '_>,
        sender: &Sender<Answer>,
    ) -> Result<Option<Input>, RunError>
    where
        'a: 's,
    {
        match &action.todo {
            Todo::Agent(order) => {
                let assignment = self.assign(action, order)?;
                if let Some(known) = self.known(&assignment)? {
                    return Ok(Some(known));
                }
                if self.batch.is_stopping() {
                    let ended = AgentEnded::interrupted();
                    return Ok(Some(Input::AgentEnded {
                        action: action.id,
                        ended,
                    }));
                }
                let stops = self.begin(action.id);
                start(scope, sender, move || {
                    let (action, ended) = (assignment.action, assignment.run(&stops));
                    ended.map(|ended| Input::AgentEnded { action, ended })
                });
                Ok(None)
            }
            Todo::Wait { resets_at, nth } => {
                let stops = self.begin(action.id);
                let waiting = Waiting {
                    stage: self.stage,
                    action: action.id,
                    resets_at: *resets_at,
                    nth: *nth,
                };
                start(scope, sender, move || {
                    let (action, waited) = (waiting.action, waiting.wait(&stops));
                    waited.map(|()| Input::Waited { action })
                });
                Ok(None)
            }
            Todo::Cancel { action } => {
                if let Some(stops) = self.running.get(action) {
                    stops.fetch_add(1, Ordering::Relaxed);
                }
                Ok(None)
            }
            Todo::Archive { .. } => {
                let done = self.hand(action)?;
                self.leave(action.cycle)?;
                Ok(Some(done))
            }
            todo if Errand::is(todo) => {
                let Some(spot) = self.spot(action.cycle)? else {
                    return self.hand(action).map(Some);
                };
                let errand = self.errand(spot, action)?;
                let stops = self.begin(action.id);
                start(scope, sender, move || errand.run(&stops));
                Ok(None)
            }
            _ => self.hand(action).map(Some),
        }
    }

    fn begin(&mut self, action: ActionId) -> Arc<AtomicUsize> {
        let stops = Arc::new(AtomicUsize::new(0));
        self.running.insert(action, Arc::clone(&stops));
        stops
    }

    fn assign(&mut self, action: &Action, order: &AgentOrder) -> Result<Assignment<'a>, RunError> {
        let spot = self.spot(action.cycle)?;
        let cycle = action.cycle.and_then(|number| self.batch.running(number));
        let earlier = self.runs_of(action.cycle, &order.keys)?;
        Ok(Assignment {
            stage: self.stage,
            claim: self.claim.clone(),
            action: action.id,
            order: order.clone(),
            conflicts: cycle.map_or_else(Vec::new, |cycle| cycle.conflicts().to_vec()),
            board: self.board.path().to_owned(),
            excluded: excluded(self.stage.exclude)?,
            earlier,
            spot,
        })
    }

    /// Returns what is known of an agent that a process which is gone has run.
    fn known(&self, assignment: &Assignment<'_>) -> Result<Option<Input>, RunError> {
        if !self.inherited.contains(&assignment.action) {
            return Ok(None);
        }
        let (stage, batch) = (self.stage, self.claim.batch.id);
        let runs = stage.store.runs_of_batch(stage.project, batch).wait()?;
        let action = i64::try_from(assignment.action).unwrap_or(i64::MAX);
        let run = runs
            .iter()
            .rev()
            .find(|run| run.batch == Some((batch, action)));
        let Some(run) = run else {
            return Ok(None);
        };
        Ok(Some(Input::AgentEnded {
            action: assignment.action,
            ended: assignment.observed(run)?,
        }))
    }

    /// Returns the runs of a cycle for any of these stories, the oldest first.
    fn runs_of(&self, cycle: Option<u32>, keys: &[String]) -> Result<Vec<Run>, RunError> {
        let cycle = cycle.and_then(|number| self.batch.running(number));
        let runs = cycle
            .into_iter()
            .flat_map(callsheet::sprint::machine::Cycle::runs);
        let mine = runs.filter(|(stories, _)| stories.iter().any(|key| keys.contains(key)));
        mine.map(|(_, run)| Ok(self.stage.store.run(self.stage.project, run).wait()?))
            .collect()
    }
}

/// Does something in a thread of its own, which sends its answer.
fn start<'s>(
    scope: &'s Scope<'s, '_>,
    sender: &Sender<Answer>,
    work: impl FnOnce() -> Answer + Send + 's,
) {
    let sender = sender.clone();
    scope.spawn(move || {
        // Nobody listens any more where the driver has failed.
        let _ = sender.send(work());
    });
}

fn policy(word: &str) -> StopPolicy {
    serde_json::from_value(Value::from(word)).unwrap_or_default()
}
