//! `head`: the hash that stands for the whole history of a project.

use std::process::ExitCode;

use callsheet_store::{Head, Wait};
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::store;

/// Print the head of the history: one hash that stands for everything that was recorded
///
/// Each event of a project covers the one before it, so the hash of the last one covers them all, and with them every
/// sealed prompt. Write it down where nobody who can write the store can change it: `callsheet verify --head HASH` proves
/// later that the history still contains it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet head
  callsheet head > head.txt
  callsheet verify --head \"$(cat head.txt)\"")]
pub(crate) struct Args {}

impl Args {
    #[expect(clippy::unused_self, reason = "every command is run by its arguments")]
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = store::open(project)?;
        let head = opened.store.head(&opened.project).wait()?;
        let Head { project, seq, hash } = &head;
        if out.json {
            out.document(&json!({
                "schema": "callsheet.head/1", "project": project, "seq": seq, "hash": hash,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        out.text(&format!("{hash}\n"))?;
        out.say(&format!("event {seq} of project {project}"));
        Ok(ExitCode::SUCCESS)
    }
}
