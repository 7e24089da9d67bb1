//! Batches: what each came to, and what each of its stories went through.

use std::collections::BTreeMap;

use callsheet::document;
use callsheet::sprint::Status;
use callsheet::sprint::machine::{Batch as State, Cycle, End, Input, Outcome, Story, Todo};
use callsheet_run::sprint::is_running;
use callsheet_store::{
    Batch, BatchPage, BatchStatus, JournalEntry, Project, Run, Store, StoreError, StoredEvent, Wait,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::site::Site;

/// How many events a client of the WebSocket gets when it connects.
const NEWEST: usize = 50;

/// How many events are read at once while looking for those.
const PAGE: i64 = 500;

/// How many events are looked at for those: older ones are on the pages.
const FAR: i64 = 20_000;

/// What the kinds of events of a sprint begin with.
const KINDS: [&str; 9] = [
    "batch:",
    "cycle:",
    "command:",
    "story:",
    "context:",
    "injection:",
    "cleanup:",
    "background:",
    "error",
];

/// A batch, as lists show it. Times are milliseconds since 1970.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct BatchRow {
    /// Its id.
    pub(crate) id: String,
    /// When it began.
    pub(crate) started_at: i64,
    /// When it was over.
    pub(crate) ended_at: Option<i64>,
    /// How many cycles it may have; nothing for all.
    pub(crate) max_cycles: Option<u32>,
    /// How many cycles are over.
    pub(crate) cycles_completed: u32,
    /// `running`, `completed`, `stopped` or `error`.
    pub(crate) status: &'static str,
    /// How it ended or whether anybody is still at it: `running`, `interrupted`, `completed`, `all_done`, `stopped` or `error`.
    pub(crate) state: &'static str,
    /// How many stories it took.
    pub(crate) story_count: usize,
    /// How long it took in seconds, where it is over.
    pub(crate) duration_seconds: Option<i64>,
}

/// A batch with everything that happened in it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct BatchDetail {
    pub(crate) batch: BatchRow,
    /// Its stories, in the order of their cycles.
    pub(crate) stories: Vec<StoryRow>,
    pub(crate) stats: BatchStats,
}

/// A story in a batch. Times are milliseconds since 1970.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct StoryRow {
    /// Its number within the batch, from 1.
    pub(crate) id: usize,
    /// Its key on the board.
    pub(crate) story_key: String,
    /// Its epic.
    pub(crate) epic_id: String,
    /// The cycle of it.
    pub(crate) cycle: u32,
    /// `in-progress`, `done`, `blocked` or `skipped`.
    pub(crate) status: &'static str,
    /// Why it is blocked, or who took it away.
    pub(crate) reason: Option<String>,
    /// When its cycle took it.
    pub(crate) started_at: i64,
    /// When it was decided.
    pub(crate) ended_at: Option<i64>,
    /// How long it took in seconds, where it is decided.
    pub(crate) duration_seconds: Option<i64>,
    /// How many agents worked on it.
    pub(crate) command_count: usize,
    /// Tokens in and out.
    pub(crate) tokens: u64,
    /// What its agents cost, in US dollars.
    pub(crate) cost_usd: f64,
    /// The agents that worked on it.
    pub(crate) commands: Vec<CommandRow>,
}

/// An agent at work on a story. Times are milliseconds since 1970.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CommandRow {
    /// The number of its action within the batch.
    pub(crate) id: u64,
    /// The command, such as `sprint-dev-story`.
    pub(crate) command: &'static str,
    /// What the log calls it, such as `code-review-2`.
    pub(crate) task_id: String,
    /// `running`, `completed`, `failed`, `limited`, `interrupted` or `impossible`.
    pub(crate) status: &'static str,
    /// When its agent began.
    pub(crate) started_at: i64,
    /// When it was over.
    pub(crate) ended_at: Option<i64>,
    /// Its phase, such as `dev-story`.
    pub(crate) phase: &'static str,
    /// The attempt.
    pub(crate) attempt: u32,
    /// Whether nothing waits for it.
    pub(crate) background: bool,
    /// Its run.
    pub(crate) run: Option<String>,
    /// The worst severity that a review named.
    pub(crate) severity: Option<&'static str>,
    #[serde(skip)]
    keys: Vec<String>,
    #[serde(skip)]
    cycle: Option<u32>,
}

/// A batch in numbers.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct BatchStats {
    pub(crate) story_count: usize,
    /// How many agents worked for it.
    pub(crate) command_count: usize,
    pub(crate) cycles_completed: u32,
    /// How many cycles it may have; nothing for all.
    pub(crate) max_cycles: Option<u32>,
    pub(crate) duration_seconds: Option<i64>,
    pub(crate) stories_done: usize,
    /// Those that a person has to look at.
    pub(crate) stories_failed: usize,
    pub(crate) stories_in_progress: usize,
    /// Tokens in and out.
    pub(crate) tokens: u64,
    /// What its agents cost, in US dollars.
    pub(crate) cost_usd: f64,
}

/// What the journal of a batch says, with the times at which it says so.
pub(crate) struct History {
    pub(crate) batch: Batch,
    pub(crate) state: State,
    commands: Vec<CommandRow>,
    /// When each story was taken and decided, by cycle and key.
    stories: BTreeMap<(u32, String), (i64, Option<i64>)>,
}

impl History {
    /// Reads the journal of a batch. This blocks.
    pub(crate) fn read(store: &Store, project: &Project, batch: Batch) -> Result<Self, ApiError> {
        let runs = store.runs_of_batch(project, batch.id).wait()?;
        let mut history = Self {
            batch,
            state: State::default(),
            commands: Vec::new(),
            stories: BTreeMap::new(),
        };
        for entry in store.journal(project, history.batch.id, 0).wait()? {
            history.take(entry)?;
        }
        for run in &runs {
            history.date(run);
        }
        Ok(history)
    }

    /// Takes in an entry, and notes what is new by it.
    fn take(&mut self, entry: JournalEntry) -> Result<(), ApiError> {
        let (id, seq, at) = (self.batch.id, entry.seq, entry.at);
        let bad = |why: String| {
            ApiError::internal(format!("entry {seq} of batch `{id}` cannot be read: {why}"))
        };
        let input: Input = document::typed(entry.entry).map_err(|error| bad(error.to_string()))?;
        if let Input::AgentEnded { action, ended } = &input
            && let Some(command) = self.commands.iter_mut().find(|one| one.id == *action)
        {
            command.ended_at = Some(at);
            command.run.clone_from(&ended.run);
            command.status = word_of(&ended.end);
            let is_review = command.phase.ends_with("review");
            command.severity = is_review.then(|| ended.heard.severity.as_str());
        }
        let state = std::mem::take(&mut self.state);
        self.state = state.step(input).map_err(|illegal| bad(illegal.0))?.0;
        for action in self.state.open() {
            let Todo::Agent(order) = &action.todo else {
                continue;
            };
            if self.commands.iter().any(|one| one.id == action.id) {
                continue;
            }
            self.commands.push(CommandRow {
                id: action.id,
                command: order.phase.command(),
                task_id: order.task_id(),
                status: "running",
                started_at: at,
                ended_at: None,
                phase: order.phase.as_str(),
                attempt: order.attempt,
                background: order.background,
                run: None,
                severity: None,
                keys: order.keys.clone(),
                cycle: action.cycle,
            });
        }
        for (cycle, story) in stories(&self.state) {
            let known = (cycle.number, story.key.clone());
            let times = self.stories.entry(known).or_insert((at, None));
            if story.outcome.is_some() && times.1.is_none() {
                times.1 = Some(at);
            }
        }
        Ok(())
    }

    /// Takes over what a run knows of when its agent worked; one action may have had several.
    fn date(&mut self, run: &Run) {
        let Some((_, action)) = run.batch else {
            return;
        };
        let mut commands = self.commands.iter_mut();
        let Some(command) = commands.find(|one| i64::try_from(one.id) == Ok(action)) else {
            return;
        };
        let id = run.id.to_string();
        if command.run.get_or_insert_with(|| id.clone()) != &id {
            return;
        }
        if let Some(at) = run.started_at {
            command.started_at = at;
        }
        if command.ended_at.is_some()
            && let Some(at) = run.finished_at
        {
            command.ended_at = Some(at);
        }
    }

    /// Returns the batch as lists show it.
    pub(crate) fn row(&self) -> BatchRow {
        let batch = &self.batch;
        BatchRow {
            id: batch.id.to_string(),
            started_at: batch.started_at,
            ended_at: batch.ended_at,
            max_cycles: self.state.rules().max_cycles,
            cycles_completed: self.state.cycles_completed(),
            status: match batch.status {
                None => "running",
                Some(BatchStatus::Completed | BatchStatus::AllDone) => "completed",
                Some(BatchStatus::Stopped) => "stopped",
                Some(BatchStatus::Error) => "error",
            },
            state: state_of(batch),
            story_count: stories(&self.state).count(),
            duration_seconds: seconds(batch.started_at, batch.ended_at),
        }
    }

    /// Returns the batch with everything that happened in it.
    pub(crate) fn detail(self) -> BatchDetail {
        let batch = self.row();
        let mut cycles: Vec<(&Cycle, &Story)> = stories(&self.state).collect();
        // Where several run at once, they end in any order.
        cycles.sort_by_key(|(cycle, _)| cycle.number);
        let stories: Vec<StoryRow> = (1..)
            .zip(cycles)
            .map(|(id, (cycle, story))| self.story(id, cycle, story))
            .collect();
        let count = |status: &str| stories.iter().filter(|one| one.status == status).count();
        let spent = self.state.spent();
        let stats = BatchStats {
            story_count: stories.len(),
            command_count: self.commands.len(),
            cycles_completed: batch.cycles_completed,
            max_cycles: batch.max_cycles,
            duration_seconds: batch.duration_seconds,
            stories_done: count("done"),
            stories_failed: count("blocked"),
            stories_in_progress: count("in-progress"),
            tokens: spent.tokens,
            cost_usd: spent.cost_usd,
        };
        BatchDetail {
            batch,
            stories,
            stats,
        }
    }

    fn story(&self, id: usize, cycle: &Cycle, story: &Story) -> StoryRow {
        let times = self.stories.get(&(cycle.number, story.key.clone()));
        let (started_at, ended_at) = *times.unwrap_or(&(self.batch.started_at, None));
        let (status, reason) = match &story.outcome {
            Some(Outcome::Done) => ("done", None),
            Some(Outcome::Blocked { reason }) => (Status::Blocked.as_str(), Some(reason.clone())),
            Some(Outcome::Left { word }) => {
                ("skipped", Some(format!("somebody set it to `{word}`")))
            }
            None => ("in-progress", None),
        };
        let commands = self
            .commands
            .iter()
            .filter(|one| one.cycle == Some(cycle.number) && one.keys.contains(&story.key));
        let commands: Vec<CommandRow> = commands.cloned().collect();
        let spent = story.spent();
        StoryRow {
            id,
            story_key: story.key.clone(),
            epic_id: cycle.epic.clone(),
            cycle: cycle.number,
            status,
            reason,
            started_at,
            ended_at,
            duration_seconds: seconds(started_at, ended_at),
            command_count: commands.len(),
            tokens: spent.tokens,
            cost_usd: spent.cost_usd,
            commands,
        }
    }
}

/// Returns how a batch ended, or whether anybody is still at it.
pub(crate) fn state_of(batch: &Batch) -> &'static str {
    match batch.status {
        Some(status) => status.as_str(),
        None if is_running(batch) => "running",
        None => "interrupted",
    }
}

/// Returns the newest batch, if there is one. This blocks.
pub(crate) fn newest_batch(site: &Site) -> Result<Option<Batch>, ApiError> {
    let page = BatchPage {
        offset: 0,
        limit: 1,
    };
    Ok(site
        .store
        .batches(&site.project, page)
        .wait()?
        .batches
        .pop())
}

/// Returns the newest events of the batch that is open, the newest first.
pub(crate) async fn newest(
    store: &Store,
    project: &Project,
    batch: &Batch,
) -> Result<Vec<StoredEvent>, StoreError> {
    let head = store.head(project).await?.seq;
    let id = batch.id.to_string();
    let (mut found, mut until) = (Vec::new(), head);
    while until > 0 && head - until < FAR {
        let since = (until - PAGE).max(0);
        let most = usize::try_from(until - since).unwrap_or(0);
        let page = store.events_since(project, since, most).await?;
        for event in page.into_iter().rev() {
            let kind = event.event.kind.as_str();
            let is_first = kind == "batch:start" && event.event.payload["batch_id"] == id.as_str();
            if KINDS.iter().any(|start| kind.starts_with(start)) {
                found.push(event);
            }
            if is_first || found.len() == NEWEST {
                return Ok(found);
            }
        }
        until = since;
    }
    Ok(found)
}

/// Returns every story of a batch, with its cycle.
fn stories(state: &State) -> impl Iterator<Item = (&Cycle, &Story)> {
    let cycles = state.ended_cycles().iter().chain(state.open_cycles());
    cycles.flat_map(|cycle| cycle.stories.iter().map(move |story| (cycle, story)))
}

fn word_of(end: &End) -> &'static str {
    match end {
        End::Completed => "completed",
        End::Failed { .. } => "failed",
        End::Limited { .. } => "limited",
        End::Interrupted => "interrupted",
        End::Impossible { .. } => "impossible",
    }
}

fn seconds(from: i64, to: Option<i64>) -> Option<i64> {
    to.map(|to| (to - from).max(0) / 1000)
}
