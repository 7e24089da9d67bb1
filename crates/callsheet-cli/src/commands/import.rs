//! `import`: takes in what somebody else has sealed or run.

use std::fs::File;
use std::io::{self, Seek as _};
use std::process::ExitCode;

use callsheet_store::{Bundle, Imported, Wait};
use serde_json::{Value, json};

use crate::failure::{Failure, cause_text};
use crate::output::Output;
use crate::progress;
use crate::project::Project;
use crate::store;
use crate::target::not_a_bundle;

/// Take the prompts and runs of a bundle into the store: all of them, or none
///
/// Everything in the bundle is proven first. Importing it once more changes nothing. A run that is here already with other
/// contents is refused.
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
        let file = if self.file == "-" {
            spooled()
        } else {
            File::open(&self.file)
        };
        let shown = if self.file == "-" {
            "stdin"
        } else {
            &self.file
        };
        let file =
            file.map_err(|cause| Failure::input(format!("{shown}: {}", cause_text(&cause))))?;
        // Before a store is made for it.
        let source = &file;
        let bundle = progress::during("checking the bundle", || Bundle::read(shown, source));
        let bundle = bundle.map_err(not_a_bundle)?;
        let opened = store::open_to_write(project)?;
        let importing = || {
            let kept = opened.project.clone().at(project.root_paths());
            opened.store.import_from(&kept, bundle, shown, file).wait()
        };
        let imported = progress::during("importing", importing).map_err(not_a_bundle)?;
        if out.json {
            out.document(&document(&imported))?;
            return Ok(ExitCode::SUCCESS);
        }
        let what = |new: bool| if new { "imported" } else { "already here" };
        for (prompt, new) in &imported.prompts {
            out.say(&format!("{} {}", what(*new), prompt.id));
        }
        for (run, new) in &imported.runs {
            out.say(&format!("{} run {run}", what(*new)));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn document(imported: &Imported) -> Value {
    let prompts = imported.prompts.iter();
    let prompts: Vec<_> = prompts
        .map(|(prompt, new)| json!({"id": prompt.id, "new": new}))
        .collect();
    let runs = imported.runs.iter();
    let runs: Vec<_> = runs
        .map(|(run, new)| json!({"id": run, "new": new}))
        .collect();
    json!({"schema": "callsheet.import/1", "prompts": prompts, "runs": runs})
}

/// Keeps what comes from stdin in a file without a name: a bundle is read more than once.
fn spooled() -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    file.rewind()?;
    Ok(file)
}
