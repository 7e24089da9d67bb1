//! `task show`: what a task asks for, what it is at, and why.

use std::process::ExitCode;

use callsheet_run::tasks::{self, TaskState};
use serde_json::Value;

use super::open;
use crate::failure::Failure;
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::tasks::{find, state};
use crate::{run, time};

/// Show what a task asks for, its status and its runs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet task show 1m7f6zd4
  callsheet task show 1m7f6zd4 --json | jq -r '.reasons[]'")]
pub(crate) struct Args {
    /// The id of a task
    #[arg(value_name = "ID")]
    task: String,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = open(project, out)?;
        let state = state(project, &opened, find(&opened, &self.task)?.id)?;
        if out.json {
            out.document(&tasks::document(&state))?;
        } else {
            out.text(&shown(&state))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns a task for people: a line per fact, then its description.
fn shown(state: &TaskState) -> String {
    let document = tasks::document(state);
    let list = |field: &str| -> Vec<String> {
        let values = document[field].as_array().into_iter().flatten();
        values
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let depends = state.task.depends.iter().map(|id| {
        let waits = if state.waits_for.contains(id) {
            " (not done)"
        } else {
            ""
        };
        format!("{id}{waits}")
    });
    let runs = state
        .runs
        .iter()
        .map(|one| format!("{}  {}", one.run.id, run::ending(&one.document)));
    let when = |at: Option<i64>| at.map(time::shown).into_iter().collect();
    let lines: [(&str, Vec<String>); 11] = [
        ("title", vec![state.task.title.clone()]),
        ("status", vec![state.derived.status.as_str().to_owned()]),
        ("reasons", list("reasons")),
        ("write", list("write_scope")),
        ("exclude", list("exclude")),
        ("done when", list("done_when")),
        ("base", run::text(&document, "/base").into_iter().collect()),
        ("depends", depends.collect()),
        ("runs", runs.collect()),
        ("added", when(Some(state.task.created_at))),
        ("cancelled", when(state.task.cancelled_at)),
    ];
    let mut text = String::new();
    for (name, values) in lines {
        for (at, value) in values.iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            text.push_str(&format!("{name:<9}  {}\n", one_line(value)));
        }
    }
    if let Some(description) = run::text(&document, "/description") {
        text.push('\n');
        for line in description.lines() {
            text.push_str(&format!("{}\n", one_line(line)));
        }
    }
    text
}
