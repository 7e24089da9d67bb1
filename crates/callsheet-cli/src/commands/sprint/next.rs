//! `sprint next`: the stories that a sprint would take now.

use std::process::ExitCode;

use callsheet::sprint::next;
use serde_json::json;

use super::{board_file, read, tell_unknown};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;

/// Print the stories that come next
///
/// These are the first story that can run and the next one of the same epic, one key per line. Nothing is printed when
/// there is nothing to do. A story whose status is not known is reported and never taken.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet sprint next
  callsheet sprint next --json | jq -r .epic_id")]
pub(crate) struct Args {}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let Self {} = self;
        let file = board_file(project, out)?;
        let board = read(&file, out)?;
        tell_unknown(&file, &board, out);
        let choice = next(&board);
        if choice.story_keys.is_empty() {
            out.note(&format!("nothing to do on the board `{}`", file.path()));
        }
        if out.json {
            out.document(&json!({
                "schema": "callsheet.sprint-next/1",
                "story_keys": choice.story_keys,
                "epic_id": choice.epic_id,
            }))?;
        } else {
            let lines = choice.story_keys.iter().map(|key| [key.as_str(), "\n"]);
            out.text(&lines.flatten().collect::<String>())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
