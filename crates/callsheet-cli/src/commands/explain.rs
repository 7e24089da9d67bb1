//! `explain`: which section costs what, and what gave way.

use std::process::ExitCode;

use callsheet::Manifest;
use callsheet::seal::Explained;

use crate::failure::Failure;
use crate::options::{BudgetArgs, InputArgs};
use crate::output::Output;
use crate::project::Project;
use crate::{report, target};

/// Show the sections of a prompt: layer, source, bytes, tokens, share, and what was left out
///
/// Takes what `callsheet compose` takes, or the id of a sealed prompt, and prints a table instead of the prompt.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet explain layers --input input.yaml
  callsheet explain 1m7f6zd4
  callsheet explain pack -D globs:='[\"src\"]' --token-budget 8k
  callsheet explain injection --input input.json --json")]
pub(crate) struct Args {
    /// A recipe, one of `callsheet recipe list`; or the id of a sealed prompt
    #[arg(value_name = "RECIPE|PROMPT")]
    target: String,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    budget: BudgetArgs,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let manifest = self.manifest(project)?;
        let events = manifest.events.iter();
        for event in events.filter(|event| !report::is_among_omissions(event, &manifest.omissions))
        {
            out.warn(&format!("{}: {}", event.kind, event.message()));
        }
        if out.json {
            out.document(&report::explanation(&manifest))?;
        } else {
            out.text(&report::table(&manifest))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the manifest of a sealed prompt, or of one that is composed for it; a recipe wins over an id.
    fn manifest(&self, project: &Project) -> Result<Manifest, Failure> {
        let options = self.budget.options(true);
        if let Err(unknown) = project.recipe(&self.target) {
            let Some(seal) = target::sealed(project, &self.target)? else {
                return Err(unknown);
            };
            self.input.refuse_for_sealed()?;
            self.budget.refuse_redaction()?;
            let Explained {
                text, mut manifest, ..
            } = seal.explained()?;
            manifest.count(self.budget.encoding, &text);
            return Ok(manifest);
        }
        let composition = self.input.compose(project, &self.target, &options)?;
        Ok(composition.manifest)
    }
}
