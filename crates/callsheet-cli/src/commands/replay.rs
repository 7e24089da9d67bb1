//! `replay`: a sealed prompt, composed again from what was sealed with it.

use std::process::ExitCode;

use callsheet::Seal;
use callsheet::manifest::ENGINE;
use callsheet::seal::Difference;
use serde_json::json;

use crate::failure::{Failure, NEGATIVE};
use crate::output::Output;
use crate::progress;
use crate::project::Project;
use crate::table::one_line;
use crate::target::Target;

/// Compose a sealed prompt again from its sealed inputs, and compare the bytes
///
/// The project is not looked at: recipe, templates, files and input come from the seal. PROMPT is an id, or a bundle
/// with one prompt. Exits with 1 if the bytes differ, and says which section differs and why.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet replay 1m7f6zd4
  callsheet replay handover.tar.zst --json")]
pub(crate) struct Args {
    /// The id of a prompt, or a bundle
    #[arg(value_name = "PROMPT")]
    prompt: String,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let Target::Sealed { id, seal, .. } = Target::find(project, &self.prompt)? else {
            return Err(Failure::input(format!(
                "`{}` is a prompt without its inputs",
                self.prompt
            ))
            .hint("name a sealed prompt by its id, or a bundle"));
        };
        let manifest = seal.manifest()?;
        let differences = progress::during("composing again", || differences(&seal));
        let equal = differences.is_empty();
        if out.json {
            out.document(&json!({
                "schema": "callsheet.replay/1", "id": id, "equal": equal, "fingerprint": manifest.fingerprint,
                "sealed_engine": manifest.engine, "engine": ENGINE, "differences": differences,
            }))?;
        } else if equal {
            out.text(&format!(
                "prompt {id}: the same {} bytes, {}\n",
                manifest.bytes, manifest.fingerprint
            ))?;
        } else {
            out.text(&format!("prompt {id}: not the same\n"))?;
            for Difference { what, change, why } in &differences {
                out.text(&format!(
                    "  {}\n",
                    one_line(&format!("{what} {change}: {why}"))
                ))?;
            }
        }
        Ok(if equal {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(NEGATIVE)
        })
    }
}

/// Returns what is not as it was; a prompt that cannot be composed any more differs as a whole.
fn differences(seal: &Seal) -> Vec<Difference> {
    let failed = |error: callsheet::Error| {
        let sealed = seal.manifest().map(|manifest| manifest.engine);
        let sealed = sealed.unwrap_or_default();
        vec![Difference {
            what: "the prompt".to_owned(),
            change: "cannot be composed",
            why: format!("{error}; sealed by engine {sealed}, this is {ENGINE}"),
        }]
    };
    let replay = match seal.replay() {
        Ok(replay) => replay,
        Err(error) => return failed(error),
    };
    let mut differences = replay.differences;
    let replays = seal.inputs().is_ok_and(|inputs| inputs.replays);
    if !replays {
        for difference in &mut differences {
            difference.why = String::from(
                "pseudonyms stand where its inputs had secrets, and have other lengths",
            );
        }
    }
    differences
}
