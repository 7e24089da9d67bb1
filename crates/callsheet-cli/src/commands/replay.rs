//! `replay`: a sealed prompt, composed again from what was sealed with it.

use std::process::ExitCode;

use callsheet::Seal;
use callsheet::manifest::{ENGINE, Manifest};
use callsheet::seal::Difference;
use serde_json::{Value, json};

use crate::failure::{Failure, NEGATIVE};
use crate::output::{Output, one_line};
use crate::progress;
use crate::project::Project;
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

/// A prompt that was composed again.
pub(crate) struct Replayed {
    id: String,
    sealed: Manifest,
    differences: Vec<Difference>,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let replayed = Replayed::of(project, &self.prompt)?;
        if out.json {
            out.document(&replayed.document())?;
        } else {
            out.text(&replayed.text())?;
        }
        Ok(if replayed.differences.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(NEGATIVE)
        })
    }
}

impl Replayed {
    /// Composes a sealed prompt again.
    pub(crate) fn of(project: &Project, name: &str) -> Result<Self, Failure> {
        let Target::Sealed { id, seal, .. } = Target::find(project, name)? else {
            return Err(
                Failure::input(format!("`{name}` is a prompt without its inputs"))
                    .hint("name a sealed prompt by its id, or a bundle"),
            );
        };
        Ok(Self {
            id,
            sealed: seal.manifest()?,
            differences: progress::during("composing again", || differences(&seal)),
        })
    }

    pub(crate) fn document(&self) -> Value {
        json!({
            "schema": "callsheet.replay/1", "id": self.id, "equal": self.differences.is_empty(),
            "fingerprint": self.sealed.fingerprint, "sealed_engine": self.sealed.engine, "engine": ENGINE,
            "differences": self.differences,
        })
    }

    pub(crate) fn text(&self) -> String {
        let Self { id, sealed, .. } = self;
        if self.differences.is_empty() {
            let (bytes, fingerprint) = (sealed.bytes, sealed.fingerprint);
            return format!("prompt {id}: the same {bytes} bytes, {fingerprint}\n");
        }
        let mut text = format!("prompt {id}: not the same\n");
        for Difference { what, change, why } in &self.differences {
            let line = one_line(&format!("{what} {change}: {why}"));
            text.push_str(&format!("  {line}\n"));
        }
        text
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
