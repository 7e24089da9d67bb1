//! `sprint set`: the status of one entry, as a person decides it.

use std::process::ExitCode;

use callsheet::sprint::{Status, Word};
use callsheet_run::sprint::{Put, Written};
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

    /// The new status: backlog, ready-for-dev, in-progress, review, done or blocked
    state: String,

    /// Go back, overwrite a status that is not known, or write any other word as it is
    #[arg(long)]
    force: bool,
}

impl Args {
    /// Returns what is written: the standard word where it is known what a word means, and with `--force` any word as it is.
    fn put(&self) -> Result<Put<'_>, Failure> {
        let force = self.force;
        if let Some(to) = Status::named(&self.state) {
            return Ok(Put::Status { to, force });
        }
        if force {
            return Ok(Put::Word(&self.state));
        }
        if let Some(to) = Word::parse(&self.state).status {
            return Ok(Put::Status { to, force });
        }
        let words = Status::ALL.map(Status::as_str);
        let error = callsheet::Error::unknown("status", &self.state, words);
        Err(Failure::from(error).hint("`--force` writes any word as it is"))
    }

    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let file = board_file(project, out)?;
        let board = read(&file, out)?;
        let key = entry(&board, &file, &self.key)?.key.clone();
        store::make_folder(project)?;
        let put = self.put()?;
        let written = file.set(&store::folder(project), &key, None, put)?;
        let word = match put {
            Put::Status { to, .. } => to.as_str(),
            Put::Word(word) => word,
        };
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
