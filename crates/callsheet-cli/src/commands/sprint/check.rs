//! `sprint check`: contradictions, unknown words and missing story files.

use std::process::ExitCode;

use callsheet::sprint::check::check;
use serde_json::json;

use super::board_file;
use crate::failure::{Failure, NEGATIVE};
use crate::output::{Output, one_line};
use crate::project::Project;

/// Check the board
///
/// Reports epics that contradict their stories, words that are not a known status, stories that need a file and have none or
/// several, and story files whose status differs from that of the board. Nothing is changed.
///
/// Exits with 1 if something is found.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet sprint check
  callsheet sprint check --json | jq -r '.findings[] | select(.kind == \"unknown-word\") | .key'")]
pub(crate) struct Args {}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let Self {} = self;
        let file = board_file(project, out)?;
        let board = file.read()?;
        let files = file.story_files(&board)?;
        let findings = check(&board, Some(&files));
        if out.json {
            out.document(&json!({
                "schema": "callsheet.sprint-check/1",
                "board": file.path(),
                "findings": findings,
            }))?;
        } else {
            let lines = findings.iter().map(|found| {
                let (path, line) = (file.path(), found.line);
                format!("{path}:{line}: {}\n", one_line(&found.message))
            });
            let lines: Vec<String> = lines.collect();
            out.text(&lines.concat())?;
            if findings.is_empty() {
                out.say(&format!("no problems in `{}`", file.path()));
            }
        }
        Ok(match findings.len() {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::from(NEGATIVE),
        })
    }
}
