//! `task list`: what there is to do, the newest first.

use std::process::ExitCode;

use callsheet::task::TaskStatus;
use callsheet_run::tasks::{self, TaskState, View};
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::run;
use crate::store::Opened;
use crate::table::{Align, Table};

/// List the tasks, the newest first
///
/// The reasons say what keeps a task from being done.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet task list
  callsheet task list --status needs_review
  callsheet task list --json | jq '.tasks[] | select(.status == \"open\") | .id'")]
pub(crate) struct Args {
    /// Only those with this status
    #[arg(long, value_name = "STATUS", value_parser = statuses())]
    status: Option<TaskStatus>,
}

/// Returns what reads the word of a status.
fn statuses() -> impl clap::builder::TypedValueParser<Value = TaskStatus> {
    let words = PossibleValuesParser::new(TaskStatus::ALL.map(TaskStatus::as_str));
    words.map(|word| {
        let found = TaskStatus::ALL.into_iter().find(|one| one.as_str() == word);
        found.unwrap_or(TaskStatus::Open)
    })
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = run::open(project, out)?;
        let all = |opened: &Opened| {
            let view = View::of(project.root());
            tasks::statuses(&opened.store, &opened.project, &view)
        };
        let mut found = opened.as_ref().map_or_else(|| Ok(Vec::new()), all)?;
        if found.is_empty() {
            out.note("there are no tasks in this project; `callsheet task add` adds one");
        }
        found.reverse();
        found.retain(|state| {
            self.status
                .is_none_or(|status| state.derived.status == status)
        });
        if out.json {
            let documents: Vec<_> = found.iter().map(tasks::document).collect();
            out.document(&json!({"schema": "callsheet.tasks/1", "tasks": documents}))?;
        } else if !found.is_empty() {
            out.text(&table(&found))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn table(states: &[TaskState]) -> String {
    let mut table = Table::new(&[
        ("ID", Align::Left),
        ("STATUS", Align::Left),
        ("RUNS", Align::Right),
        ("TITLE", Align::Left),
        ("REASONS", Align::Left),
    ]);
    for state in states {
        let reasons = state.derived.reasons.iter().map(|reason| reason.as_str());
        table.row([
            state.task.id.to_string(),
            state.derived.status.as_str().to_owned(),
            state.runs.len().to_string(),
            state.task.title.clone(),
            reasons.collect::<Vec<_>>().join(", "),
        ]);
    }
    table.render()
}
