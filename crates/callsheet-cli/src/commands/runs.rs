//! `runs`: what agents were started, the newest first.

use std::process::ExitCode;

use callsheet_store::{RunPage, RunState, Wait};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::table::{Align, Table};
use crate::{run, tasks, time};

/// List the runs, the newest first
///
/// A run whose process is gone without a word is settled first, from the evidence that it left.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet runs
  callsheet runs --state running
  callsheet runs -n 5 --json | jq '.runs[].status'")]
pub(crate) struct Args {
    /// Only those that stand here
    #[arg(long, value_name = "STATE")]
    state: Option<State>,

    /// Only those before this one: the next page
    #[arg(long, value_name = "RUN")]
    before: Option<String>,

    /// How many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum State {
    Queued,
    Running,
    Finished,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = run::open(project, out)?;
        let mut found = match &opened {
            Some(opened) => {
                let before = match &self.before {
                    Some(name) => Some(run::find(opened, name)?.id),
                    None => None,
                };
                let state = self.state.map(|state| match state {
                    State::Queued => RunState::Queued,
                    State::Running => RunState::Running,
                    State::Finished => RunState::Finished,
                });
                let page = RunPage {
                    before,
                    state,
                    limit: self.limit as usize + 1,
                };
                opened.store.runs(&opened.project, page).wait()?
            }
            None => {
                out.note("there are no runs in this project; `callsheet exec RECIPE` starts one");
                Vec::new()
            }
        };
        let limit = self.limit as usize;
        let more = found.len() > limit;
        found.truncate(limit);
        let documents = match &opened {
            Some(opened) => tasks::documents(opened, &found)?,
            None => Vec::new(),
        };
        if out.json {
            out.document(&json!({"schema": "callsheet.runs/1", "runs": documents, "more": more}))?;
            return Ok(ExitCode::SUCCESS);
        }
        if !documents.is_empty() {
            out.text(&table(&documents))?;
        }
        if let (true, Some(last)) = (more, found.last()) {
            out.note(&format!("there are more; `--before {}` goes on", last.id));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn table(documents: &[Value]) -> String {
    let mut table = Table::new(&[
        ("ID", Align::Left),
        ("STARTED", Align::Left),
        ("RUNNER", Align::Left),
        ("STATUS", Align::Left),
        ("TOOK", Align::Right),
        ("TOKENS", Align::Right),
        ("COST", Align::Right),
        ("CHANGED", Align::Right),
    ]);
    for document in documents {
        let text = |field: &str| run::text(document, field).unwrap_or_default();
        let started = document["started_at"].as_i64();
        let usage = &document["usage"];
        let tokens = usage["input_tokens"]
            .as_u64()
            .map(|input| input + usage["output_tokens"].as_u64().unwrap_or(0));
        let cost = usage["cost_usd"].as_f64();
        let changed = document["changed_files"].as_array();
        table.row([
            text("/id"),
            started.map_or_else(String::new, time::shown),
            text("/runner"),
            run::ending(document),
            run::took(document).unwrap_or_default(),
            tokens.map_or_else(String::new, |tokens| tokens.to_string()),
            cost.map_or_else(String::new, |cost| format!("${cost:.4}")),
            changed.map_or_else(String::new, |files| files.len().to_string()),
        ]);
    }
    table.render()
}
