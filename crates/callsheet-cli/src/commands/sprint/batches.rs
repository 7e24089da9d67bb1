//! `sprint batches`: every batch of the project, the newest first.

use std::process::ExitCode;

use callsheet_run::sprint::fold;
use callsheet_store::{Batch, BatchPage, Wait};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::store::{self, Opened};
use crate::table::{Align, Table};
use crate::time;

/// List the batches, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet sprint batches
  callsheet sprint batches -n 5 --json")]
pub(crate) struct Args {
    /// How many at most
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// How many of the newest to skip
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let page = BatchPage {
            offset: self.offset,
            limit: self.limit,
        };
        let (mut batches, mut total) = (Vec::new(), 0);
        if let Some(opened) = store::open_if_there(project)? {
            let found = opened.store.batches(&opened.project, page).wait()?;
            total = found.total;
            for batch in &found.batches {
                batches.push(row(&opened, batch)?);
            }
        }
        if total == 0 {
            out.note("no sprint was run here yet; `callsheet sprint run` begins one");
        }
        if out.json {
            out.document(&json!({
                "schema": "callsheet.sprint-batches/1",
                "total": total,
                "batches": batches,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        out.text(&table(&batches))?;
        let shown = batches.len() + self.offset;
        if let Some(more) = usize::try_from(total).unwrap_or(0).checked_sub(shown)
            && more > 0
        {
            out.note(&format!(
                "{more} more; `--offset {shown}` shows the next ones"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn row(opened: &Opened, batch: &Batch) -> Result<Value, Failure> {
    let (state, _) = fold(&opened.store, &opened.project, batch)?;
    let cycles = state.ended_cycles().iter().chain(state.open_cycles());
    let stories = cycles.map(|cycle| cycle.stories.len()).sum::<usize>();
    let done = state.ended_cycles().iter().map(|cycle| cycle.done().len());
    Ok(json!({
        "id": batch.id,
        "status": super::state(batch),
        "started_at": batch.started_at,
        "ended_at": batch.ended_at,
        "max_cycles": state.rules().max_cycles,
        "cycles_completed": state.cycles_completed(),
        "story_count": stories,
        "stories_done": done.sum::<usize>(),
    }))
}

fn table(batches: &[Value]) -> String {
    let mut table = Table::new(&[
        ("BATCH", Align::Left),
        ("STARTED", Align::Left),
        ("STATUS", Align::Left),
        ("CYCLES", Align::Right),
        ("DONE", Align::Right),
    ]);
    for batch in batches {
        let word = |field: &str| batch[field].as_str().unwrap_or_default().to_owned();
        table.row([
            word("id"),
            time::shown(batch["started_at"].as_i64().unwrap_or(0)),
            word("status"),
            batch["cycles_completed"].to_string(),
            format!("{}/{}", batch["stories_done"], batch["story_count"]),
        ]);
    }
    if batches.is_empty() {
        String::new()
    } else {
        table.render()
    }
}
