//! `sprint stop`: asks the batch that runs to stop.

use std::process::ExitCode;

use callsheet_run::sprint::{end_left, is_running};
use callsheet_store::Wait;
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::store;

/// Ask the batch that runs to stop
///
/// By default its agents come to their end and nothing else is started; `--cancel` ends them. What is on record is kept, and
/// the next `sprint run` goes on from there.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet sprint stop
  callsheet sprint stop --cancel")]
pub(crate) struct Args {
    /// End the agents that run
    #[arg(long, conflicts_with = "drain")]
    cancel: bool,

    /// Let the agents that run come to their end
    #[arg(long)]
    drain: bool,

    /// End a batch whose process is gone, too; the next `sprint run` begins another that takes up its stories
    #[arg(long)]
    clean: bool,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let policy = match (self.cancel, self.drain) {
            (true, _) => "cancel".to_owned(),
            (_, true) => "drain".to_owned(),
            _ => json!(project.settings.sprint.stop)
                .as_str()
                .unwrap_or("drain")
                .to_owned(),
        };
        let opened = store::open_to_write_if_there(project)?;
        let open = match &opened {
            Some(opened) => opened.store.open_batch(&opened.project).wait()?,
            None => None,
        };
        let (status, id) = match (&opened, open.filter(is_running)) {
            (Some(opened), Some(batch)) => {
                opened
                    .store
                    .request_batch_stop(&opened.project, batch.id, &policy)
                    .wait()?;
                ("stopping", Some(batch.id))
            }
            (Some(opened), None) if self.clean => match end_left(&opened.store, &opened.project)? {
                Some(batch) => ("cleaned", Some(batch.id)),
                None => ("idle", None),
            },
            _ => ("idle", None),
        };
        if out.json {
            let document =
                json!({"schema": "callsheet.sprint-stop/1", "status": status, "batch": id});
            out.document(&document)?;
        } else {
            out.text(&match id {
                Some(id) if status == "cleaned" => {
                    format!("stopped: batch {id} was cut off, and is over now\n")
                }
                Some(id) => format!("stopping batch {id} ({policy})\n"),
                None => "idle: no batch is running\n".to_owned(),
            })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
