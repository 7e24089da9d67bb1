//! `sprint set`: the status of one entry, as a person decides it.

use std::process::ExitCode;

use callsheet::sprint::Status;
use callsheet_run::sprint::Written;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use serde_json::json;

use super::{board_file, entry, read};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::store;

/// Set the status of a story
///
/// Exactly one line of the board changes; comments, quotes, spacing and line ends stay. A story does not go back and a status
/// that is not known is not overwritten, unless you use `--force`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet sprint set 2a-1-login done
  callsheet sprint set 2a-1 ready-for-dev
  callsheet sprint set 2a-1 backlog --force")]
pub(crate) struct Args {
    /// The key of an entry, or the short id of a story, such as 2a-1 for 2a-1-login
    key: String,

    /// The new status
    #[arg(value_parser = statuses())]
    state: Status,

    /// Go back, or overwrite a status that is not known
    #[arg(long)]
    force: bool,
}

/// Returns what reads the word of a status.
fn statuses() -> impl clap::builder::TypedValueParser<Value = Status> {
    let words = PossibleValuesParser::new(Status::ALL.map(Status::as_str));
    words.map(|word| Status::named(&word).unwrap_or(Status::Backlog))
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let file = board_file(project, out)?;
        let board = read(&file, out)?;
        let key = entry(&board, &file, &self.key)?.key.clone();
        store::make_folder(project)?;
        let to = (self.state, self.force);
        let written = file.set(&store::folder(project), &key, None, to)?;
        let word = self.state.as_str();
        let (from, changed) = match &written {
            Written::Set { from, .. } => (from.as_str(), true),
            Written::Same => (word, false),
            Written::Differs { .. } => {
                return Err(Failure::input(format!(
                    "`{key}` is not on the board any more"
                )));
            }
            Written::Refused { path, why } => {
                let line = why.line().map(|line| format!(":{line}"));
                let failure = Failure::input(format!("{path}{}: {why}", line.unwrap_or_default()));
                return Err(if why.yields_to_force() {
                    failure.hint("use `--force` to write it anyway")
                } else {
                    failure
                });
            }
        };
        if out.json {
            out.document(&json!({
                "schema": "callsheet.sprint-set/1",
                "key": key,
                "from": from,
                "to": word,
                "changed": changed,
            }))?;
        } else if changed {
            out.say(&format!("{key}: {from} → {word}"));
        } else {
            out.say(&format!("{key} is {word} already"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
