//! What follows from answers other than those of agents: the context of the project, the board, the commit.

use super::action::{Action, AgentOrder, Todo};
use super::batch::{Batch, Illegal, Step};
use super::cycle::{CommitStep, Cycle, Decision, Outcome};
use super::input::{ActionId, ContextFound, Input, Merged, Verified};
use super::{Chosen, Model, Story, events};
use crate::sprint::{Phase, Status};

/// How often in a row a commit, or a merge, may turn out wrong.
const MOST_TRIES: u32 = 3;

impl Batch {
    pub(super) fn context(&mut self, found: ContextFound, step: &mut Step) {
        match found {
            ContextFound::Missing => {
                step.events
                    .push(events::context("context:create", "starting", None));
                self.generate_context(false, step);
            }
            ContextFound::Expired => {
                let task = self.generate_context(true, step);
                step.events
                    .push(events::context("context:refresh", "running", Some(task)));
                self.act(None, Todo::FreezeContext, step);
            }
            ContextFound::Fresh => {
                step.events.push(events::context_fresh());
                self.act(None, Todo::FreezeContext, step);
            }
        }
    }

    /// Goes on with what had to wait.
    pub(super) fn waited(&mut self, action: &Action, step: &mut Step) {
        if let Some(order) = self.parked.remove(&action.id) {
            if self.is_stopping() || self.is_closing {
                self.background_failed(action.id, &order, "a limit of its account", step);
            } else {
                self.act(action.cycle, Todo::Agent(order), step);
            }
            return;
        }
        // A cycle asks for the same phase again by itself.
        if action.cycle.is_none() && !self.is_stopping() {
            self.generate_context(false, step);
        }
    }

    pub(super) fn generate_context(&mut self, background: bool, step: &mut Step) -> ActionId {
        let order = AgentOrder {
            phase: Phase::ProjectContext,
            keys: Vec::new(),
            epic: String::new(),
            attempt: 1,
            model: Model::Default,
            background,
            findings: Vec::new(),
            failed_run: None,
        };
        self.act(None, Todo::Agent(order), step)
    }

    pub(super) fn frozen(&mut self, paths: (&str, &str), failed: Option<&str>, step: &mut Step) {
        let (source, destination) = paths;
        match failed {
            None => step
                .events
                .push(events::context_copied(source, destination)),
            Some(reason) => {
                step.events
                    .push(events::context_copy_failed(source, reason));
                let message = "The sprint goes on without a context of the project";
                let warning = events::batch_warning(&self.id, "context_unavailable", message);
                step.events.push(warning);
            }
        }
        self.is_running = true;
    }

    pub(super) fn selected(&mut self, epic: String, stories: &[Chosen], step: &mut Step) {
        if stories.is_empty() {
            self.is_exhausted = true;
            return;
        }
        let cycle = Cycle::begin(self.started_cycles + 1, epic, stories);
        self.start(cycle, step);
    }

    /// Takes up a cycle of an earlier batch; a story that the board tells otherwise of begins where the board says.
    pub(super) fn looked(&mut self, stories: &[Chosen], step: &mut Step) {
        if self.carried.is_empty() {
            return;
        }
        let mut cycle = self.carried.remove(0);
        cycle.number = self.started_cycles + 1;
        cycle.stories.retain_mut(|story| {
            let found = stories.iter().find(|chosen| chosen.key == story.key);
            match found {
                _ if story.outcome.is_some() => true,
                None => false,
                Some(chosen) if chosen.status == story.status => true,
                Some(chosen) => {
                    *story = Story::begin(chosen);
                    true
                }
            }
        });
        if !cycle.stories.is_empty() {
            self.start(cycle, step);
        }
    }

    fn start(&mut self, mut cycle: Cycle, step: &mut Step) {
        for story in &mut cycle.stories {
            story.unreviewable(&self.rules);
        }
        if self.rules.parallel > 1 {
            let name = || format!("{}-{}", self.id, cycle.number);
            cycle.workspace = cycle.workspace.take().or_else(|| Some(name()));
        }
        self.started_cycles += 1;
        step.events
            .push(events::cycle_start(cycle.number, &cycle.keys()));
        self.cycles.push(cycle);
    }

    pub(super) fn status_set(
        &mut self,
        cycle: Option<u32>,
        (key, to, force): (&str, Status, bool),
        (old, is_set): (&str, bool),
        step: &mut Step,
    ) {
        let batch = self.id.clone();
        let Some(cycle) = self.cycle(cycle) else {
            return;
        };
        let worked_on_it = cycle.last_keys.iter().any(|last| last == key);
        let Some(story) = cycle.story(key) else {
            return;
        };
        if is_set || old == to.as_str() {
            step.events
                .push(events::story_status(key, old, to.as_str()));
            story.status = to;
            story.meddled = false;
            story.outcome = match story.decision.take() {
                Some(Decision::Done) => Some(Outcome::Done),
                Some(Decision::Blocked(reason)) => Some(Outcome::Blocked { reason }),
                None => None,
            };
            return;
        }
        // An agent does not get its story further by writing so; what a person writes counts.
        let is_further = Status::named(old)
            .is_some_and(|found| found > story.status && found != Status::Blocked);
        let warning = if worked_on_it && is_further && !force {
            story.meddled = true;
            format!("{key} was set to `{old}` while an agent worked on it; that is taken back")
        } else {
            let word = old.to_owned();
            story.decision = None;
            story.outcome = Some(Outcome::Left { word });
            format!("{key} was set to `{old}` by somebody else; it is left alone")
        };
        step.events
            .push(events::batch_warning(&batch, "board_changed", &warning));
    }

    /// Takes in what became of the commit of a cycle.
    pub(super) fn landed(
        &mut self,
        action: &Action,
        input: Input,
        step: &mut Step,
    ) -> Result<(), Illegal> {
        let (id, warned) = (action.id, self.id.clone());
        let Some(cycle) = self.cycle(action.cycle) else {
            return Err(Illegal(format!("action {id} has another kind of answer")));
        };
        match (&action.todo, input) {
            (Todo::Baseline, Input::Baseline { head, .. }) => {
                cycle.commit = CommitStep::Baseline(head);
            }
            (Todo::VerifyCommit { keys, baseline }, Input::CommitVerified { verified, .. }) => {
                match verified {
                    Verified::Good { commit } => {
                        step.events.push(events::committed(&commit, keys));
                        cycle.commit = CommitStep::Good(commit);
                        cycle.commit_failures = 0;
                    }
                    Verified::Nothing => cycle.commit = CommitStep::Nothing,
                    Verified::Bad { problem } => {
                        cycle.commit_failures += 1;
                        let warning = events::batch_warning(&warned, "commit", &problem);
                        step.events.push(warning);
                        cycle.commit = CommitStep::Baseline(baseline.clone());
                        if cycle.commit_failures >= MOST_TRIES {
                            cycle.give_up_commit("it could not be committed");
                        }
                    }
                }
            }
            (Todo::Archive { keys }, Input::Archived { moved, failed, .. }) => {
                let files = moved.iter().map(|(from, to)| events::file_moved(from, to));
                step.events.extend(files);
                let errors = failed
                    .iter()
                    .map(|(file, why)| events::file_error(file, why));
                step.events.extend(errors);
                step.events
                    .push(events::cleanup_complete(moved.len(), keys));
                cycle.commit = CommitStep::Over(cycle.commit().map(str::to_owned));
                cycle.moved.extend(moved);
            }
            (Todo::Merge { keys }, Input::Merged { merged, .. }) => {
                step.events.extend(events::merged(keys, &merged));
                cycle.merged(merged);
            }
            _ => return Err(Illegal(format!("action {id} has another kind of answer"))),
        }
        Ok(())
    }
}

impl Cycle {
    /// Takes in how a merge went.
    fn merged(&mut self, merged: Merged) {
        let why = match merged {
            Merged::Good { commit } => {
                self.commit = CommitStep::Landed(Some(commit));
                return;
            }
            Merged::Nothing => {
                self.commit = CommitStep::Landed(self.commit().map(str::to_owned));
                return;
            }
            // It is asked for again, by this batch or by the next one.
            Merged::Interrupted => return,
            Merged::Conflict { paths } if self.conflicts + 1 < MOST_TRIES => {
                self.conflicts += 1;
                let commit = self.commit().map(str::to_owned);
                self.commit = CommitStep::Conflict { commit, paths };
                return;
            }
            Merged::Conflict { paths } => {
                format!("its merge met conflicts in {}", paths.join(", "))
            }
            Merged::ChecksFailed { checks } => {
                format!("checks failed on the merged tree: {}", checks.join(", "))
            }
        };
        self.give_up_commit(&why);
    }

    /// Takes in that its work does not get to where it belongs.
    pub(super) fn give_up_commit(&mut self, why: &str) {
        self.commit = CommitStep::Failed;
        for story in &mut self.stories {
            if story.outcome.is_none() {
                story.decision = Some(Decision::Blocked(why.to_owned()));
            }
        }
    }
}
