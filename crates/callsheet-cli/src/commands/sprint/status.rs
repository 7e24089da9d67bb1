//! `sprint status`: whether a batch runs, what it works on, and the board.

use std::process::ExitCode;

use callsheet::sprint::machine::Cycle;
use callsheet_run::sprint::{fold, is_running};
use callsheet_store::{BatchStatus, Wait};
use serde_json::{Map, Value, json};

use super::{board_file, read};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::store;
use crate::table::{Align, Table};

/// Print whether a batch runs, what it works on, and the board
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet sprint status
  callsheet sprint status --json | jq .current_stories")]
pub(crate) struct Args {}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let Self {} = self;
        let file = board_file(project, out)?;
        let board = read(&file, out)?;
        let words = board
            .stories()
            .map(|story| (story.key.clone(), json!(story.word.text)));
        let mut document = json!({
            "schema": "callsheet.sprint-status/1",
            "state": "idle",
            "batch": null,
            "cycles_completed": 0,
            "max_cycles": 0,
            "current_stories": [],
            "board": words.collect::<Map<String, Value>>(),
        });
        let mut left = None;
        if let Some(opened) = store::open_if_there(project)?
            && let Some(batch) = super::batch(&opened, None)?
        {
            let (state, _) = fold(&opened.store, &opened.project, &batch)?;
            let open = opened.store.open_batch(&opened.project).wait()?;
            let stories: Vec<String> = state.open_cycles().flat_map(Cycle::keys).collect();
            let is_alive = open.as_ref().is_some_and(is_running);
            left = match batch.status {
                None if !is_alive => Some("was cut off"),
                Some(BatchStatus::Stopped | BatchStatus::Error) if !stories.is_empty() => {
                    Some("left stories unfinished")
                }
                _ => None,
            };
            document["state"] = json!(match (is_alive, &batch.stop) {
                (false, _) => "idle",
                (true, None) => "running",
                (true, Some(_)) => "stopping",
            });
            document["batch"] = json!(batch.id);
            document["cycles_completed"] = json!(state.cycles_completed());
            document["max_cycles"] = json!(state.rules().max_cycles);
            document["current_stories"] = json!(if is_alive { stories } else { Vec::new() });
        }
        if out.json {
            out.document(&document)?;
            return Ok(ExitCode::SUCCESS);
        }
        out.text(&text(&document))?;
        if board.stories().next().is_none() {
            out.note(&format!("the board `{}` has no stories", file.path()));
        }
        if let Some(left) = left {
            out.note(&format!(
                "the last batch {left}; `callsheet sprint run` goes on with it"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn text(document: &Value) -> String {
    let mut table = Table::new(&[("STORY", Align::Left), ("STATUS", Align::Left)]);
    for (key, word) in document["board"].as_object().into_iter().flatten() {
        table.row([key.clone(), word.as_str().unwrap_or_default().to_owned()]);
    }
    let state = document["state"].as_str().unwrap_or_default();
    let stories = document["current_stories"].as_array().into_iter().flatten();
    let stories: Vec<&str> = stories.filter_map(Value::as_str).collect();
    let line = match document["batch"].as_str() {
        Some(batch) if !stories.is_empty() => {
            format!(
                "{state}: batch {batch}, working on {}\n",
                stories.join(", ")
            )
        }
        Some(batch) => format!("{state}: last batch {batch}\n"),
        None => format!("{state}\n"),
    };
    if document["board"].as_object().is_none_or(Map::is_empty) {
        return line;
    }
    format!("{}{line}", table.render())
}
