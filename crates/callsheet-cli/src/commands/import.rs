//! `import`: takes in what somebody else has sealed.

use std::io::Read as _;
use std::process::ExitCode;

use callsheet_store::block_on;
use serde_json::json;

use crate::failure::{Failure, cause_text};
use crate::output::Output;
use crate::progress;
use crate::project::Project;
use crate::store;
use crate::target::read_bundle;

/// Take the prompts of a bundle into the store: all of them, or none
///
/// Everything in the bundle is proven first. Importing it once more changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet import handover.tar.zst
  callsheet import - < handover.tar.zst")]
pub(crate) struct Args {
    /// The bundle; `-` reads stdin
    #[arg(value_name = "FILE")]
    file: String,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let mut bytes = Vec::new();
        let read = if self.file == "-" {
            std::io::stdin().read_to_end(&mut bytes).map(drop)
        } else {
            std::fs::read(&self.file).map(|content| bytes = content)
        };
        let shown = if self.file == "-" {
            "stdin"
        } else {
            &self.file
        };
        read.map_err(|cause| Failure::input(format!("{shown}: {}", cause_text(&cause))))?;
        let bundle = progress::during("checking the bundle", || read_bundle(shown, &bytes))?;
        let opened = store::open_to_write(project)?;
        let importing = || block_on(opened.store.import(&opened.project, bundle));
        let imported = progress::during("importing", importing)?;
        if out.json {
            let prompts = imported.iter();
            let prompts: Vec<_> = prompts
                .map(|(prompt, new)| json!({"id": prompt.id, "new": new}))
                .collect();
            out.document(&json!({"schema": "callsheet.import/1", "prompts": prompts}))?;
            return Ok(ExitCode::SUCCESS);
        }
        for (prompt, new) in &imported {
            let what = if *new { "imported" } else { "already here" };
            out.say(&format!("{what} {}", prompt.id));
        }
        Ok(ExitCode::SUCCESS)
    }
}
