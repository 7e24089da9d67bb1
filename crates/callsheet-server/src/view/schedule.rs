//! The schedule of a cycle: a row per story, a column per phase, and what both stories have in common spans the rows.

use std::collections::BTreeMap;

use serde::Serialize;

use super::batch::{BatchDetail, CommandRow, StoryRow};

/// The columns: the phase, and its name for people.
pub(crate) const COLUMNS: [(&str, &str); 8] = [
    ("create-story", "Create"),
    ("discovery", "Discovery"),
    ("story-review", "Story review"),
    ("tech-spec", "Tech spec"),
    ("tech-spec-review", "Spec review"),
    ("dev-story", "Dev"),
    ("code-review", "Code review"),
    ("commit", "Commit"),
];

/// A cycle as a schedule.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Schedule {
    pub(crate) cycle: u32,
    pub(crate) epic: String,
    pub(crate) is_over: bool,
    pub(crate) rows: Vec<Row>,
}

/// A story in a schedule.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) key: String,
    /// What its key says, where the board tells epics apart.
    pub(crate) short: String,
    pub(crate) title: String,
    pub(crate) status: &'static str,
    pub(crate) reason: Option<String>,
    pub(crate) cells: Vec<Cell>,
}

/// What became of a phase. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Cell {
    /// The number of the column, from 1.
    pub(crate) column: usize,
    /// `done`, `now`, `failed`, `next` or `na`.
    pub(crate) state: &'static str,
    /// How many rows it spans.
    pub(crate) rows: usize,
    pub(crate) started_at: Option<i64>,
    pub(crate) ended_at: Option<i64>,
    pub(crate) took: Option<i64>,
    pub(crate) attempt: u32,
    pub(crate) run: Option<String>,
    pub(crate) note: &'static str,
    /// The attempts before.
    pub(crate) before: Vec<Before>,
}

/// An attempt before the one that a cell shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Before {
    pub(crate) attempt: u32,
    pub(crate) status: &'static str,
    pub(crate) run: Option<String>,
}

/// Returns the cycles of a batch as schedules, the newest first.
pub(crate) fn schedules(batch: &BatchDetail) -> Vec<Schedule> {
    let mut cycles: BTreeMap<u32, Vec<&StoryRow>> = BTreeMap::new();
    for story in &batch.stories {
        cycles.entry(story.cycle).or_default().push(story);
    }
    let is_running = batch.batch.state == "running";
    let cycles = cycles.into_iter().rev();
    cycles
        .map(|(cycle, stories)| schedule(cycle, &stories, is_running))
        .collect()
}

fn schedule(cycle: u32, stories: &[&StoryRow], is_running: bool) -> Schedule {
    let is_open = stories.iter().any(|story| story.ended_at.is_none());
    // The commit comes after the stories are decided.
    let commits = stories.iter().flat_map(|story| &story.commands);
    let is_open = is_open
        || commits
            .clone()
            .any(|one| one.status == "running" && !one.background);
    let is_over = !(is_running && is_open);
    let last: Vec<usize> = stories.iter().map(|story| reached(story)).collect();
    let mut rows: Vec<Row> = stories
        .iter()
        .map(|story| Row {
            key: story.story_key.clone(),
            short: String::new(),
            title: String::new(),
            status: story.status,
            reason: story.reason.clone(),
            cells: Vec::new(),
        })
        .collect();
    for (at, (phase, _)) in COLUMNS.iter().enumerate() {
        let of: Vec<Vec<&CommandRow>> = stories.iter().map(|story| mine(story, phase)).collect();
        let ids = |at: usize| of[at].iter().map(|one| one.id).collect::<Vec<_>>();
        let cells: Vec<Cell> = (0..stories.len())
            .map(|row| {
                let is_past = last[row] > at || is_over || stories[row].ended_at.is_some();
                let cell = cell(at + 1, &of[row], is_past);
                let is_end = stories[row].status == "blocked" && last[row] == at;
                if is_end { cell.blocked() } else { cell }
            })
            .collect();
        let is_joint = cells.len() > 1
            && (1..cells.len()).all(|row| ids(row) == ids(0) && cells[row] == cells[0]);
        for (row, mut cell) in cells.into_iter().enumerate() {
            if is_joint && row > 0 {
                continue;
            }
            cell.rows = if is_joint { rows.len() } else { 1 };
            rows[row].cells.push(cell);
        }
    }
    Schedule {
        cycle,
        epic: stories
            .first()
            .map_or_else(String::new, |story| story.epic_id.clone()),
        is_over,
        rows,
    }
}

fn mine<'s>(story: &'s StoryRow, phase: &str) -> Vec<&'s CommandRow> {
    let commands = story.commands.iter();
    commands
        .filter(|one| one.phase == phase && !one.background)
        .collect()
}

/// Returns the last column that a story has reached, from 0.
fn reached(story: &StoryRow) -> usize {
    let has = |(phase, _): &(&str, &str)| !mine(story, phase).is_empty();
    COLUMNS.iter().rposition(has).unwrap_or(0)
}

impl Cell {
    /// Takes it for the phase at which a story was blocked: that its agent came to its end is no success.
    fn blocked(self) -> Self {
        if self.state != "done" {
            return self;
        }
        Self {
            state: "failed",
            note: "blocked",
            ..self
        }
    }
}

fn cell(column: usize, commands: &[&CommandRow], is_past: bool) -> Cell {
    let Some((last, before)) = commands.split_last() else {
        return Cell {
            column,
            state: if is_past { "na" } else { "next" },
            note: if is_past { "not needed" } else { "waits" },
            ..Cell::default()
        };
    };
    let state = match last.status {
        "running" if is_past && last.ended_at.is_none() && column != COLUMNS.len() => "failed",
        "running" => "now",
        "completed" => "done",
        _ => "failed",
    };
    Cell {
        column,
        state,
        started_at: Some(last.started_at),
        ended_at: last.ended_at,
        took: last.ended_at.map(|at| at - last.started_at),
        attempt: last.attempt,
        run: last.run.clone(),
        note: if state == "failed" && last.status == "running" {
            "cut off"
        } else {
            last.status
        },
        before: before
            .iter()
            .map(|one| Before {
                attempt: one.attempt,
                status: one.status,
                run: one.run.clone(),
            })
            .collect(),
        ..Cell::default()
    }
}

/// Returns how long each phase usually takes, in milliseconds: the median of those that were completed.
pub(crate) fn usual<'b>(batches: impl IntoIterator<Item = &'b BatchDetail>) -> Vec<Option<i64>> {
    let mut took: BTreeMap<&str, BTreeMap<(usize, u64), i64>> = BTreeMap::new();
    for (nth, batch) in batches.into_iter().enumerate() {
        for command in batch.stories.iter().flat_map(|story| &story.commands) {
            let Some(ended) = command.ended_at.filter(|_| command.status == "completed") else {
                continue;
            };
            let all = took.entry(command.phase).or_default();
            // A phase of two stories is one.
            all.insert((nth, command.id), ended - command.started_at);
        }
    }
    let columns = COLUMNS.iter().map(|(phase, _)| {
        let mut all: Vec<i64> = took.get(phase)?.values().copied().collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied()
    });
    columns.collect()
}

/// A phase as a stroke.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Dot {
    pub(crate) name: &'static str,
    pub(crate) class: &'static str,
    pub(crate) word: &'static str,
}

/// Returns the phases of a story as strokes, of the newest cycle that has it.
pub(crate) fn dots(schedules: &[Schedule], key: &str) -> Vec<Dot> {
    let holds = |schedule: &&Schedule| schedule.rows.iter().any(|row| row.key == key);
    let Some(schedule) = schedules.iter().find(holds) else {
        return Vec::new();
    };
    let own = schedule.rows.iter().filter(|row| row.key == key);
    // What spans the rows stands in the first of them.
    let cells: Vec<&Cell> = own
        .chain(schedule.rows.first())
        .flat_map(|row| &row.cells)
        .collect();
    let dots = COLUMNS.iter().zip(1..).map(|((_, name), column)| {
        let state = cells.iter().find(|cell| cell.column == column);
        let (class, word) = match state.map(|cell| cell.state) {
            Some("done") => ("d", "done"),
            Some("now") => ("r", "running"),
            Some("failed") => ("f", "failed"),
            Some("na") => ("s", "not needed"),
            _ => ("w", "waiting"),
        };
        Dot { name, class, word }
    });
    dots.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_at_which_a_story_is_blocked_is_no_success() {
        let cell = |state: &'static str| Cell {
            state,
            note: "completed",
            ..Cell::default()
        };
        let of = |state| (cell(state).blocked().state, cell(state).blocked().note);
        assert_eq!(of("done"), ("failed", "blocked"));
        assert_eq!(of("now"), ("now", "completed"));
    }
}
