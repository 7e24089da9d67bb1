//! `sprint archive`: moves the files of stories to the archive.

use std::process::ExitCode;

use callsheet_run::sprint::archive;
use serde_json::json;

use super::{board_file, entry, read};
use crate::failure::{Failure, NEGATIVE};
use crate::output::Output;
use crate::project::Project;

/// Move the files of stories to the archive
///
/// A file belongs to a story if its name has the key, with no letter or digit before or behind it. Nothing in the archive is
/// overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet sprint archive 2a-1-login
  callsheet sprint archive 2a-1 2a-2")]
pub(crate) struct Args {
    /// The stories: whole keys, or short ids that only one story has
    #[arg(value_name = "KEY", required = true)]
    keys: Vec<String>,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let file = board_file(project, out)?;
        let board = read(&file, out)?;
        let mut keys = Vec::new();
        for name in &self.keys {
            keys.push(entry(&board, &file, name)?.key.clone());
        }
        let layout = super::layout(project);
        let archived = archive(project.root(), &file, &layout, &keys)?;
        if out.json {
            let moved = archived.moved.iter();
            let moved = moved.map(|(from, to)| json!({"source": from, "destination": to}));
            let failed = archived.failed.iter();
            let failed = failed.map(|(file, why)| json!({"file": file, "error": why}));
            out.document(&json!({
                "schema": "callsheet.sprint-archive/1",
                "story_keys": keys,
                "moved": moved.collect::<Vec<_>>(),
                "failed": failed.collect::<Vec<_>>(),
            }))?;
        } else {
            let lines = archived
                .moved
                .iter()
                .map(|(from, to)| format!("{from} -> {to}\n"));
            out.text(&lines.collect::<String>())?;
            if archived.moved.is_empty() && archived.failed.is_empty() {
                out.note("no file belongs to these stories");
            }
        }
        for (path, why) in &archived.failed {
            out.warn(&format!("cannot move `{path}`: {why}"));
        }
        Ok(if archived.failed.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(NEGATIVE)
        })
    }
}
