//! A batch: how it begins, which cycles run, and how it ends.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::action::{Action, AgentOrder, Todo};
use super::cycle::{CommitStep, Cycle, Outcome};
use super::events;
use super::input::{ActionId, Input, PhaseRecord, Spent};
use super::rules::{Rules, StopPolicy};
use crate::Event;
use crate::sprint::Status;

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    /// All its cycles are over.
    Completed,
    /// Nothing is left to run.
    AllDone,
    /// Somebody stopped it, or its budget is used up.
    Stopped,
    /// It could not go on.
    Error,
}

impl BatchStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Completed, Self::AllDone, Self::Stopped, Self::Error];

    /// Returns the word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::AllDone => "all_done",
            Self::Stopped => "stopped",
            Self::Error => "error",
        }
    }
}

/// An input that does not fit the batch. It changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Illegal(pub String);

/// What follows from an input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// What is to be done now.
    pub actions: Vec<Action>,
    /// What happened, to be stored with the input.
    pub events: Vec<Event>,
}

/// The state of a batch.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each of them is so or not, in any combination"
)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub(super) id: String,
    pub(super) rules: Rules,
    next_action: ActionId,
    pub(super) pending: BTreeMap<ActionId, Action>,
    /// The cycles that run.
    pub(super) cycles: Vec<Cycle>,
    /// The cycles that are over.
    ended_cycles: Vec<Cycle>,
    /// What an earlier batch left.
    pub(super) carried: Vec<Cycle>,
    pub(super) started_cycles: u32,
    cycles_completed: u32,
    /// Whether stories may be chosen.
    pub(super) is_running: bool,
    /// Whether the last choice found nothing.
    pub(super) is_exhausted: bool,
    /// Whether there is a newer context of the project than the frozen one.
    pub(super) is_context_new: bool,
    pub(super) context_failures: u32,
    pub(super) context_waits: u32,
    /// What runs in the background and met a limit, by the number of its wait.
    pub(super) parked: BTreeMap<ActionId, AgentOrder>,
    /// How often in a row something in the background met a limit.
    pub(super) background_waits: u32,
    /// Whether nothing is left but what waits in the background.
    pub(super) is_closing: bool,
    stop: Option<StopPolicy>,
    pub(super) fatal: Option<(BatchStatus, String)>,
    pub(super) spent: Spent,
    status: Option<BatchStatus>,
    pub(super) records: Vec<PhaseRecord>,
}

impl Batch {
    /// Takes in what happened, and says what is to be done.
    pub fn step(mut self, input: Input) -> Result<(Self, Step), Illegal> {
        let mut step = Step::default();
        self.take(input, &mut step)?;
        self.go_on(&mut step);
        Ok((self, step))
    }

    /// Returns the actions that are not answered yet, the oldest first.
    pub fn open(&self) -> impl Iterator<Item = &Action> {
        self.pending.values()
    }

    /// Returns how it ended.
    pub fn status(&self) -> Option<BatchStatus> {
        self.status
    }

    /// Returns why it could not go on.
    pub fn failure(&self) -> Option<&str> {
        self.fatal.as_ref().map(|(_, why)| why.as_str())
    }

    /// Tells whether it ends as soon as nothing runs any more.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_some() || self.fatal.is_some()
    }

    /// Returns how many cycles are over.
    pub fn cycles_completed(&self) -> u32 {
        self.cycles_completed
    }

    /// Returns what holds for it.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the cycles that are not over: those that run, or that a stop has left.
    pub fn open_cycles(&self) -> impl Iterator<Item = &Cycle> {
        self.cycles.iter().chain(&self.carried)
    }

    /// Returns the cycle of that number, if it runs.
    pub fn running(&self, number: u32) -> Option<&Cycle> {
        self.cycles.iter().find(|cycle| cycle.number == number)
    }

    /// Returns the cycles that run.
    pub fn running_cycles(&self) -> &[Cycle] {
        &self.cycles
    }

    /// Returns the cycles that are over.
    pub fn ended_cycles(&self) -> &[Cycle] {
        &self.ended_cycles
    }

    /// Returns what agents did, in the order in which they ended.
    pub fn records(&self) -> &[PhaseRecord] {
        &self.records
    }

    /// Returns what its agents cost.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// Tells whether every story that it took is done, or belongs to somebody else now who says so.
    pub fn is_fine(&self) -> bool {
        let is_done = |outcome: &Option<Outcome>| match outcome {
            Some(Outcome::Done) => true,
            Some(Outcome::Left { word }) => word == Status::Done.as_str(),
            Some(Outcome::Blocked { .. }) | None => false,
        };
        let mut cycles = self.ended_cycles.iter().chain(self.open_cycles());
        cycles.all(|cycle| {
            let mut stories = cycle.stories.iter();
            cycle.commit != CommitStep::Failed && stories.all(|story| is_done(&story.outcome))
        })
    }

    fn take(&mut self, input: Input, step: &mut Step) -> Result<(), Illegal> {
        if self.status.is_some() {
            return Err(Illegal("the batch is over".to_owned()));
        }
        let action = match input.action() {
            None => return self.begin_or_stop(input, step),
            Some(id) => self.pending.remove(&id).ok_or_else(|| {
                Illegal(format!("there is no action {id} that waits for an answer"))
            })?,
        };
        let told = step.events.len();
        self.answered(&action, input, step)?;
        self.tell_cycle(action.cycle, &mut step.events[told..]);
        Ok(())
    }

    /// Says in events which cycle they are about, where several run at once.
    fn tell_cycle(&self, cycle: Option<u32>, told: &mut [Event]) {
        if let (Some(cycle), true) = (cycle, self.rules.parallel > 1) {
            for event in told {
                events::of_cycle(event, cycle);
            }
        }
    }

    fn answered(&mut self, action: &Action, input: Input, step: &mut Step) -> Result<(), Illegal> {
        match (&action.todo, input) {
            (Todo::Agent(order), Input::AgentEnded { ended, .. }) => {
                let order = order.clone();
                self.agent_ended(action, &order, ended, step);
            }
            (_, Input::Refused { reason, .. }) => {
                self.fatal.get_or_insert((BatchStatus::Error, reason));
            }
            (Todo::CheckContext, Input::Context { found, .. }) => self.context(found, step),
            (
                Todo::FreezeContext,
                Input::Frozen {
                    source,
                    destination,
                    failed,
                    ..
                },
            ) => self.frozen((&source, &destination), failed.as_deref(), step),
            (Todo::Select { .. }, Input::Selected { epic, stories, .. }) => {
                self.selected(epic, &stories, step);
            }
            (Todo::Look { .. }, Input::Selected { stories, .. }) => self.looked(&stories, step),
            (Todo::SetStatus { key, to, force, .. }, Input::StatusSet { old, is_set, .. }) => {
                let set = (key.as_str(), *to, *force);
                self.status_set(action.cycle, set, (&old, is_set), step);
            }
            (Todo::Wait { .. }, Input::Waited { .. }) => self.waited(action, step),
            (_, input) => return self.landed(action, input, step),
        }
        Ok(())
    }

    fn begin_or_stop(&mut self, input: Input, step: &mut Step) -> Result<(), Illegal> {
        match input {
            Input::Started {
                batch,
                rules,
                carried,
            } if self.id.is_empty() => {
                step.events
                    .push(events::batch_start(&batch, rules.max_cycles));
                self.id = batch;
                self.rules = rules;
                self.carried = carried;
                self.act(None, Todo::CheckContext, step);
                Ok(())
            }
            Input::Stopped { policy } if !self.id.is_empty() => {
                // A second stop may be stricter, and never milder.
                if self.stop != Some(StopPolicy::Cancel) {
                    self.stop = Some(policy);
                }
                self.cancel(self.stop == Some(StopPolicy::Cancel), step);
                Ok(())
            }
            _ => Err(Illegal("the batch has begun, or has not".to_owned())),
        }
    }

    /// Ends what nothing waits for, and everything else where that is asked for.
    fn cancel(&mut self, all: bool, step: &mut Step) {
        let is_cut = |action: &&Action| match &action.todo {
            Todo::Agent(order) => all || order.background,
            Todo::Merge { .. } => all,
            Todo::Wait { .. } => true,
            _ => false,
        };
        let cut = self.pending.values().filter(is_cut);
        let cut: Vec<(Option<u32>, ActionId)> =
            cut.map(|action| (action.cycle, action.id)).collect();
        for (cycle, action) in cut {
            let todo = Todo::Cancel { action };
            step.actions.push(self.number(cycle, todo));
        }
    }

    pub(super) fn cycle(&mut self, number: Option<u32>) -> Option<&mut Cycle> {
        let cycles = self.cycles.iter_mut();
        cycles
            .into_iter()
            .find(|cycle| Some(cycle.number) == number)
    }

    fn number(&mut self, cycle: Option<u32>, todo: Todo) -> Action {
        self.next_action += 1;
        Action {
            id: self.next_action,
            cycle,
            todo,
        }
    }

    /// Asks for something to be done.
    pub(super) fn act(&mut self, cycle: Option<u32>, todo: Todo, step: &mut Step) -> ActionId {
        if let Todo::Agent(order) = &todo {
            let model = self.rules.review_model.as_deref();
            let mut started = events::command_start(order, model);
            self.tell_cycle(cycle, std::slice::from_mut(&mut started));
            step.events.push(started);
        }
        let action = self.number(cycle, todo);
        let id = action.id;
        self.pending.insert(id, action.clone());
        step.actions.push(action);
        id
    }

    /// Tells whether something runs that a cycle, or the whole batch, waits for.
    fn waits_for(&self, cycle: Option<u32>) -> bool {
        let is_awaited = |action: &Action| match &action.todo {
            Todo::Agent(order) => !order.background,
            _ => !self.parked.contains_key(&action.id),
        };
        let mut pending = self.pending.values();
        pending.any(|action| action.cycle == cycle && is_awaited(action))
    }

    /// Tells whether an agent of a cycle runs, in the background or not.
    fn has_agents(&self, cycle: u32) -> bool {
        let mut pending = self.pending.values();
        pending.any(|action| action.cycle == Some(cycle) && matches!(action.todo, Todo::Agent(_)))
    }

    /// Asks for everything that can be done now, or ends the batch.
    fn go_on(&mut self, step: &mut Step) {
        if self.is_stopping() {
            if self.fatal.is_some() {
                self.cut_once(step);
            }
            if self.pending.is_empty() {
                self.end(step);
            }
            return;
        }
        if !self.is_running {
            return;
        }
        let mut index = 0;
        while let Some(cycle) = self.cycles.get(index) {
            let number = cycle.number;
            if self.waits_for(Some(number)) {
                index += 1;
                continue;
            }
            let next = cycle.next(&self.rules);
            let is_merge = matches!(next.first(), Some(Todo::Merge { .. }));
            if next.is_empty() {
                self.end_cycle(index, step);
                // A later cycle may have waited for this one.
                index = 0;
                continue;
            }
            // Merges are made in the order in which cycles began, and never below an agent that is still at work.
            if !is_merge || (index == 0 && !self.has_agents(number)) {
                for todo in next {
                    self.act(Some(number), todo, step);
                }
            }
            index += 1;
        }
        self.fill(step);
    }

    /// Asks once for everything to be ended that still runs.
    fn cut_once(&mut self, step: &mut Step) {
        if self.stop.is_none() {
            self.stop = Some(StopPolicy::Cancel);
            self.cancel(true, step);
        }
    }

    /// Begins further cycles, or ends the batch where there are none.
    fn fill(&mut self, step: &mut Step) {
        if self.waits_for(None) {
            return;
        }
        let is_last = self
            .rules
            .max_cycles
            .is_some_and(|most| self.started_cycles >= most);
        let may_start = !is_last && (!self.is_exhausted || !self.carried.is_empty());
        let has_room = self.cycles.len() < usize::try_from(self.rules.parallel).unwrap_or(1);
        if may_start && has_room {
            let todo = if self.is_context_new {
                self.is_context_new = false;
                Todo::FreezeContext
            } else if let Some(cycle) = self.carried.first() {
                Todo::Look { keys: cycle.keys() }
            } else {
                Todo::Select {
                    busy: self.cycles.iter().flat_map(Cycle::keys).collect(),
                    epics: self.cycles.iter().map(|cycle| cycle.epic.clone()).collect(),
                }
            };
            self.act(None, todo, step);
        } else if self.cycles.is_empty() && self.pending.is_empty() {
            self.end(step);
        } else if self.cycles.is_empty() {
            self.close(step);
        }
    }

    /// Ends waits that only something in the background has: a batch does not last for hours because of them.
    fn close(&mut self, step: &mut Step) {
        let is_parked = |id| self.parked.contains_key(id);
        if self.is_closing || !self.pending.keys().all(is_parked) {
            return;
        }
        self.is_closing = true;
        let waits: Vec<ActionId> = self.parked.keys().copied().collect();
        for action in waits {
            let cancel = self.number(None, Todo::Cancel { action });
            step.actions.push(cancel);
        }
    }

    fn end_cycle(&mut self, index: usize, step: &mut Step) {
        let cycle = self.cycles.remove(index);
        self.cycles_completed += 1;
        // Another cycle may have made room for stories of its epic.
        self.is_exhausted = false;
        step.events
            .push(events::cycle_end(cycle.number, &cycle.done()));
        self.ended_cycles.push(cycle);
    }

    fn end(&mut self, step: &mut Step) {
        let status = match &self.fatal {
            Some((status, why)) => {
                if *status == BatchStatus::Error {
                    step.events.push(events::error("batch", why));
                }
                *status
            }
            None if self.stop.is_some() => BatchStatus::Stopped,
            None if self.is_exhausted => BatchStatus::AllDone,
            None => BatchStatus::Completed,
        };
        self.status = Some(status);
        let end = events::batch_end(&self.id, self.cycles_completed, status.as_str());
        step.events.push(end);
    }
}
