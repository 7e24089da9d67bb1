//! What follows from the end of an agent.

use super::action::{Action, AgentOrder, Model, Todo};
use super::batch::{Batch, BatchStatus, Step};
use super::cycle::{CommitStep, Cycle, Decision};
use super::events;
use super::input::{ActionId, AgentEnded, End, Heard, PhaseRecord, Spec, Spent};
use super::rules::Rules;
use crate::sprint::Phase;

/// The last review of a chain in the background.
const LAST_OF_CHAIN: u32 = 3;

/// How often in a row a provider is waited for that says nothing of when it will be back.
const MOST_WAITS: u32 = 10;

impl Batch {
    pub(super) fn agent_ended(
        &mut self,
        action: &Action,
        order: &AgentOrder,
        ended: AgentEnded,
        step: &mut Step,
    ) {
        step.events.push(events::command_end(order, &ended));
        self.spend(order, ended.spent, action.cycle, step);
        if let (Some(run), Some(cycle)) = (&ended.run, self.cycle(action.cycle)) {
            cycle.runs.push((order.keys.clone(), run.clone()));
        }
        if order.background {
            self.background_ended(action, order, &ended, step);
        } else if order.phase == Phase::ProjectContext {
            self.context_made(action, &ended, step);
        } else {
            self.phase_ended(action, order, &ended, step);
        }
        self.records.push(PhaseRecord {
            cycle: action.cycle,
            phase: order.phase,
            keys: order.keys.clone(),
            attempt: order.attempt,
            background: order.background,
            ended,
        });
    }

    /// Counts what an agent cost; a budget that is used up ends a story or the batch.
    fn spend(&mut self, order: &AgentOrder, spent: Spent, cycle: Option<u32>, step: &mut Step) {
        self.spent.add(spent);
        let over = self.rules.batch_budget.exceeded(self.spent);
        if let Some(why) = over.filter(|_| self.fatal.is_none()) {
            let message = format!("The budget of the batch is used up: {why}");
            let warning = events::batch_warning(&self.id, "budget", &message);
            step.events.push(warning);
            self.fatal = Some((BatchStatus::Stopped, message));
        }
        let (share, budget) = (spent.share(order.keys.len()), self.rules.story_budget);
        let Some(cycle) = self.cycle(cycle) else {
            return;
        };
        for story in &mut cycle.stories {
            if !order.keys.contains(&story.key) {
                continue;
            }
            story.spent.add(share);
            if let Some(why) = budget.exceeded(story.spent).filter(|_| story.is_active()) {
                let why = format!("its budget is used up: {why}");
                story.decision = Some(Decision::Blocked(why));
            }
        }
    }

    fn context_made(&mut self, action: &Action, ended: &AgentEnded, step: &mut Step) {
        let next = match &ended.end {
            End::Completed => {
                let made = events::context("context:create", "complete", None);
                step.events.push(made);
                Some(Todo::FreezeContext)
            }
            End::Failed { reason, .. } => {
                self.context_failures += 1;
                if self.context_failures < self.rules.max_failures {
                    self.generate_context(false, step);
                    None
                } else {
                    step.events.push(events::context_error(action.id, reason));
                    Some(Todo::FreezeContext)
                }
            }
            End::Limited { class, resets_at } => {
                self.context_waits += 1;
                let wait = Waiting {
                    cycle: None,
                    nth: self.context_waits,
                };
                self.wait(wait, class, *resets_at, step);
                None
            }
            End::Impossible { reason } => {
                self.fatal = Some((BatchStatus::Error, reason.clone()));
                None
            }
            End::Interrupted => {
                // After a stop, the next batch looks again.
                if !self.is_stopping() {
                    self.generate_context(false, step);
                }
                None
            }
        };
        if let Some(todo) = next {
            self.act(None, todo, step);
        }
    }

    fn background_ended(
        &mut self,
        action: &Action,
        order: &AgentOrder,
        ended: &AgentEnded,
        step: &mut Step,
    ) {
        let id = action.id;
        match &ended.end {
            End::Completed => self.background_waits = 0,
            // It was cut off with the process that ran it, and nobody stopped it.
            End::Interrupted if !self.is_stopping() => {
                self.act(action.cycle, Todo::Agent(order.clone()), step);
                return;
            }
            End::Limited { class, resets_at }
                if !self.is_stopping() && self.background_waits < MOST_WAITS =>
            {
                self.background_waits += 1;
                let nth = self.background_waits;
                let resets_at = *resets_at;
                step.events
                    .push(events::usage_limit(&self.id, class, resets_at));
                let wait = self.act(action.cycle, Todo::Wait { resets_at, nth }, step);
                self.parked.insert(wait, order.clone());
                return;
            }
            end => {
                self.background_failed(id, order, &end.why(), step);
                return;
            }
        }
        if order.phase == Phase::ProjectContext {
            self.is_context_new = true;
            let done = events::context("context:complete", "complete", Some(id));
            step.events.push(done);
            return;
        }
        let kind = order.task_id();
        step.events.push(events::background_complete(id, &kind));
        let is_bad = ended.heard.critical;
        if is_bad && order.attempt < LAST_OF_CHAIN && !self.is_stopping() {
            self.chain(action.cycle, order, order.attempt + 1, step);
        } else if is_bad {
            let keys = order.keys.join(", ");
            let message = format!("Reviews still find critical issues in {keys}");
            let warning = events::batch_warning(&self.id, "critical_issues", &message);
            step.events.push(warning);
        }
    }

    /// Tells that something in the background came to nothing; nobody waits for it.
    pub(super) fn background_failed(
        &mut self,
        id: ActionId,
        order: &AgentOrder,
        why: &str,
        step: &mut Step,
    ) {
        step.events.push(if order.phase == Phase::ProjectContext {
            events::context_error(id, why)
        } else {
            events::background_error(id, &order.task_id(), why)
        });
    }

    /// Reviews once more in the background.
    fn chain(&mut self, cycle: Option<u32>, order: &AgentOrder, attempt: u32, step: &mut Step) {
        let next = AgentOrder {
            attempt,
            model: Model::Review,
            background: true,
            failed_run: None,
            ..order.clone()
        };
        self.act(cycle, Todo::Agent(next), step);
    }

    fn phase_ended(
        &mut self,
        action: &Action,
        order: &AgentOrder,
        ended: &AgentEnded,
        step: &mut Step,
    ) {
        let rules = self.rules.clone();
        let Some(cycle) = self.cycle(action.cycle) else {
            return;
        };
        cycle.last_keys.clone_from(&order.keys);
        match &ended.end {
            End::Completed if ended.violations.is_empty() => {
                cycle.waits = 0;
                cycle.failed_runs.remove(&order.phase);
                cycle.succeeded(order, &ended.heard, &rules);
                let is_review = matches!(order.phase, Phase::StoryReview | Phase::TechSpecReview);
                if is_review && ended.heard.critical && !self.is_stopping() {
                    self.chain(action.cycle, order, order.attempt + 1, step);
                }
            }
            End::Completed => {
                let paths = ended.violations.join(", ");
                let why = format!("it changed what it may not: {paths}");
                cycle.failed(order, ended, &why, &rules);
                let message = format!("{}: {why}", order.keys.join(", "));
                let warning = events::batch_warning(&self.id, "scope", &message);
                step.events.push(warning);
            }
            End::Failed { reason, .. } => cycle.failed(order, ended, reason, &rules),
            End::Limited { class, resets_at } => {
                cycle.waits += 1;
                let wait = Waiting {
                    cycle: action.cycle,
                    nth: cycle.waits,
                };
                self.wait(wait, class, *resets_at, step);
            }
            // The same phase is asked for again, by this batch or by the next one.
            End::Interrupted => {}
            End::Impossible { reason } => {
                self.fatal = Some((BatchStatus::Error, reason.clone()));
            }
        }
    }

    fn wait(&mut self, wait: Waiting, class: &str, resets_at: Option<i64>, step: &mut Step) {
        if resets_at.is_none() && wait.nth > MOST_WAITS {
            let why = format!("the provider did not come back ({class})");
            self.fatal = Some((BatchStatus::Error, why));
            return;
        }
        step.events
            .push(events::usage_limit(&self.id, class, resets_at));
        if !self.is_stopping() {
            let nth = wait.nth;
            self.act(wait.cycle, Todo::Wait { resets_at, nth }, step);
        }
    }
}

/// Who waits, and for how many times in a row.
#[derive(Clone, Copy)]
struct Waiting {
    cycle: Option<u32>,
    nth: u32,
}

impl End {
    /// Returns why an agent did not complete.
    fn why(&self) -> String {
        match self {
            Self::Completed => String::new(),
            Self::Failed { reason, .. } | Self::Impossible { reason } => reason.clone(),
            Self::Limited { class, .. } => format!("a limit of its account ({class})"),
            Self::Interrupted => "it was interrupted".to_owned(),
        }
    }
}

impl Spent {
    /// Returns what one of several stories is charged with.
    fn share(self, stories: usize) -> Self {
        let count = u64::try_from(stories).unwrap_or(1).max(1);
        let parts = u32::try_from(stories).unwrap_or(1).max(1);
        Self {
            tokens: self.tokens / count,
            cost_usd: self.cost_usd / f64::from(parts),
            wall_ms: self.wall_ms / count,
        }
    }
}

impl Cycle {
    /// Takes in the result of a phase.
    fn succeeded(&mut self, order: &AgentOrder, heard: &Heard, rules: &Rules) {
        match order.phase {
            Phase::Commit => {
                if let CommitStep::Baseline(head) = &self.commit {
                    self.commit = CommitStep::Made(head.clone());
                }
                return;
            }
            Phase::ResolveConflict => {
                if let CommitStep::Conflict { commit, .. } = &self.commit {
                    let commit = commit.clone();
                    self.commit = commit.map_or(CommitStep::Nothing, CommitStep::Good);
                    self.commit_failures = 0;
                }
                return;
            }
            _ => {}
        }
        for key in &order.keys {
            let Some(story) = self.story(key).filter(|story| story.outcome.is_none()) else {
                continue;
            };
            let is_incomplete = order.phase == Phase::DevStory && heard.complete == Some(false);
            if !is_incomplete {
                story.failures.remove(&order.phase);
            }
            match order.phase {
                Phase::CreateStory => {
                    story.created = true;
                    let is_needed = heard.tech_spec.get(key).copied().unwrap_or(true);
                    story.spec = if is_needed {
                        Spec::Required
                    } else {
                        Spec::Skip
                    };
                }
                Phase::Discovery => story.discovered = true,
                Phase::StoryReview => story.reviewed = true,
                Phase::TechSpec => story.spec = Spec::Written,
                Phase::TechSpecReview => story.spec = Spec::Ready,
                Phase::DevStory if heard.blocked => {
                    let why = "its developer says that a person is needed".to_owned();
                    story.decision.get_or_insert(Decision::Blocked(why));
                }
                Phase::DevStory if is_incomplete => {
                    let why = "its developer says that it is not complete";
                    story.failed(order.phase, why, rules);
                }
                Phase::DevStory => {
                    story.developed = true;
                    story.unreviewable(rules);
                }
                Phase::CodeReview if story.is_active() => story.reviewed_code(heard, rules),
                _ => {}
            }
        }
    }

    /// Takes in that an agent failed.
    fn failed(&mut self, order: &AgentOrder, ended: &AgentEnded, why: &str, rules: &Rules) {
        if let Some(run) = &ended.run {
            self.failed_runs.insert(order.phase, run.clone());
        }
        if matches!(order.phase, Phase::Commit | Phase::ResolveConflict) {
            self.commit_failures += 1;
            if self.commit_failures >= rules.max_failures {
                let what = match order.phase {
                    Phase::Commit => "it could not be committed",
                    _ => "the conflicts of its merge were not resolved",
                };
                self.give_up_commit(&format!("{what}: {why}"));
            }
            return;
        }
        for key in &order.keys {
            if let Some(story) = self.story(key) {
                story.failed(order.phase, why, rules);
            }
        }
    }
}

impl super::Story {
    fn failed(&mut self, phase: Phase, why: &str, rules: &Rules) {
        let failures = self.failures.entry(phase).or_default();
        *failures += 1;
        let failures = *failures;
        if failures >= rules.max_failures && self.is_active() {
            let why = format!("an agent failed {failures} times in a row: {why}");
            self.decision = Some(Decision::Blocked(why));
        }
    }
}
