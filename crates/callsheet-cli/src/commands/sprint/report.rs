//! `sprint report`: what a batch has done, story by story.

use std::process::ExitCode;

use callsheet::sprint::machine::{Batch, Cycle, End, Outcome, PhaseRecord, Story};
use callsheet::sprint::{Phase, Status};
use callsheet_run::sprint::fold;
use callsheet_run::workspace::cycle_branch;
use callsheet_store::{Batch as StoredBatch, Wait};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{Output, human_tokens, one_line};
use crate::project::Project;
use crate::store::{self, Opened};
use crate::table::{Align, Table};

/// Print what a batch has done, story by story
///
/// Phases, attempts, findings, cost, commits and the runs of each story. Without an id, the newest batch.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet sprint report
  callsheet sprint report 1m7h --json | jq '.stories[].runs'")]
pub(crate) struct Args {
    /// The batch: its id, or the beginning of it
    batch: Option<String>,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let none = || {
            Failure::input("no sprint was run here yet").hint("`callsheet sprint run` begins one")
        };
        let opened = store::open_if_there(project)?.ok_or_else(none)?;
        let batch = super::batch(&opened, self.batch.as_deref())?.ok_or_else(none)?;
        let (state, _) = fold(&opened.store, &opened.project, &batch)?;
        let report = of(&opened, batch.id.as_str(), &state)?;
        if out.json {
            out.document(&report)?;
        } else {
            out.text(&text(&report))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns what a batch came to.
pub(super) fn of(opened: &Opened, id: &str, batch: &Batch) -> Result<Value, Failure> {
    let stored = opened.store.batch(&opened.project, id).wait()?;
    Ok(document(batch, &stored))
}

/// Returns the report of a batch.
fn document(batch: &Batch, stored: &StoredBatch) -> Value {
    let cycles = batch.ended_cycles().iter().chain(batch.open_cycles());
    let mut cycles: Vec<&Cycle> = cycles.collect();
    // Where several run at once, they end in any order.
    cycles.sort_by_key(|cycle| cycle.number);
    let stories = cycles.into_iter().flat_map(|cycle| {
        let stories = cycle.stories.iter();
        stories.map(move |story| story_of(batch, cycle, story))
    });
    let stories: Vec<Value> = stories.collect();
    let spent = batch.spent();
    json!({
        "schema": "callsheet.sprint-report/1",
        "batch": stored.id,
        "status": super::state(stored),
        "reason": batch.failure(),
        "cycles_completed": batch.cycles_completed(),
        "max_cycles": batch.rules().max_cycles,
        "started_at": stored.started_at,
        "ended_at": stored.ended_at,
        "tokens": spent.tokens,
        "cost_usd": spent.cost_usd,
        "agent_ms": spent.wall_ms,
        "stories": stories,
    })
}

fn story_of(batch: &Batch, cycle: &Cycle, story: &Story) -> Value {
    let (outcome, reason) = match &story.outcome {
        Some(Outcome::Done) => (Status::Done.as_str(), None),
        Some(Outcome::Blocked { reason }) => (Status::Blocked.as_str(), Some(reason.clone())),
        Some(Outcome::Left { word }) => ("left", Some(format!("somebody set it to `{word}`"))),
        None => ("open", None),
    };
    let records = batch.records().iter();
    let mine = records
        .filter(|record| record.cycle == Some(cycle.number) && record.keys.contains(&story.key));
    let phases: Vec<Value> = mine.map(phase_of).collect();
    let count = |phase: Phase| {
        let name = phase.as_str();
        phases
            .iter()
            .filter(|one| one["phase"] == name && one["background"] == false)
            .count()
    };
    let is_done = story.outcome == Some(Outcome::Done);
    let spent = story.spent();
    json!({
        "story": story.key,
        "epic": cycle.epic,
        "cycle": cycle.number,
        "status": story.status.as_str(),
        "outcome": outcome,
        "reason": reason,
        "code_reviews": count(Phase::CodeReview),
        "commit": cycle.commit().filter(|_| is_done),
        "branch": cycle.workspace.as_deref().filter(|_| !is_done).map(cycle_branch),
        "tokens": spent.tokens,
        "cost_usd": spent.cost_usd,
        "agent_ms": spent.wall_ms,
        "phases": phases,
    })
}

fn phase_of(record: &PhaseRecord) -> Value {
    let ended = &record.ended;
    let (end, class) = match &ended.end {
        End::Completed => ("completed", None),
        End::Failed { class, .. } => ("failed", Some(class.clone())),
        End::Limited { class, .. } => ("limited", Some(class.clone())),
        End::Interrupted => ("interrupted", None),
        End::Impossible { .. } => ("impossible", None),
    };
    json!({
        "phase": record.phase.as_str(),
        "attempt": record.attempt,
        "background": record.background,
        "end": end,
        "class": class,
        "severity": ended.heard.severity,
        "findings": ended.heard.findings,
        "violations": ended.violations,
        "run": ended.run,
    })
}

/// Returns the report as people read it.
pub(super) fn text(document: &Value) -> String {
    let mut text = table(document);
    for story in stories(document) {
        let (key, reason) = (word(&story["story"]), word(&story["reason"]));
        if !reason.is_empty() {
            text.push_str(&format!("{key}: {reason}\n"));
        }
        let branch = word(&story["branch"]);
        if !branch.is_empty() {
            text.push_str(&format!("{key}: its work is on branch {branch}\n"));
        }
    }
    text + &total(document)
}

/// Returns the stories of a report.
pub(crate) fn stories(document: &Value) -> impl Iterator<Item = &Value> {
    document["stories"].as_array().into_iter().flatten()
}

/// Returns the table of the stories; nothing where there are none.
pub(crate) fn table(document: &Value) -> String {
    let mut table = Table::new(&[
        ("STORY", Align::Left),
        ("OUTCOME", Align::Left),
        ("REVIEWS", Align::Right),
        ("AGENTS", Align::Right),
        ("TOKENS", Align::Right),
        ("COMMIT", Align::Left),
    ]);
    let mut is_empty = true;
    for story in stories(document) {
        is_empty = false;
        let commit = word(&story["commit"]);
        table.row([
            word(&story["story"]),
            word(&story["outcome"]),
            story["code_reviews"].to_string(),
            story["phases"].as_array().map_or(0, Vec::len).to_string(),
            human_tokens(story["tokens"].as_u64().unwrap_or(0)),
            commit.get(..10).unwrap_or(&commit).to_owned(),
        ]);
    }
    if is_empty {
        String::new()
    } else {
        table.render()
    }
}

/// Returns the line about the whole batch.
pub(crate) fn total(document: &Value) -> String {
    let cycles = match document["cycles_completed"].as_u64() {
        Some(1) => "1 cycle".to_owned(),
        None | Some(0) if document["status"] == "all_done" => "nothing to do".to_owned(),
        cycles => format!("{} cycles", cycles.unwrap_or(0)),
    };
    let cost = document["cost_usd"].as_f64().filter(|cost| *cost > 0.0);
    let cost = cost.map_or_else(String::new, |cost| format!(", ${cost:.2}"));
    let (batch, status) = (word(&document["batch"]), word(&document["status"]));
    format!("batch {batch} {status}: {cycles}{cost}\n")
}

fn word(value: &Value) -> String {
    one_line(value.as_str().unwrap_or_default())
}
