//! `reindex`: the search index, made anew from what is kept.

use std::process::ExitCode;

use callsheet_store::Wait;
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::{index, progress, store};

/// Make the search index anew from the sealed prompts and logs
///
/// The index is made and kept up to date by itself. `callsheet verify` says when it does not have what the texts say; then this
/// helps. Nothing else is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet reindex")]
pub(crate) struct Args {}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        // A store that is not there is not made for this.
        store::open(project)?;
        let opened = store::open_to_write(project)?;
        progress::during("reading prompts", || {
            opened.store.empty_index(&opened.project).wait()
        })?;
        let left = opened.store.unindexed(&opened.project).wait()?;
        index::fill(&opened, &left)?;
        if out.json {
            let schema = "callsheet.reindex/1";
            let (passages, records) = (left.passages, left.records);
            out.document(&json!({"schema": schema, "passages": passages, "records": records}))?;
        } else {
            out.say(&format!("indexed {}", index::measured(&left)));
        }
        Ok(ExitCode::SUCCESS)
    }
}
