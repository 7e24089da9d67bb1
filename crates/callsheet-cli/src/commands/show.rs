//! `show`: a sealed prompt, its exact bytes, or a run, its facts.

use std::path::Path;
use std::process::ExitCode;

use callsheet::Seal;
use callsheet::seal::DOCUMENTS;

use callsheet_store::SealedPrompt;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{Output, pretty};
use crate::project::Project;
use crate::target::{self, Target};
use crate::{run, tasks, time};

/// Print a sealed prompt: its exact bytes on stdout, what is known of it on stderr; or what was observed of a run
///
/// PROMPT is an id or a unique beginning of one, a bundle with one prompt, or a file. What was sealed is proven before
/// it is printed. The id of a run prints its facts, with `--json` the run document; `--part` prints a part of its prompt.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet show 1m7f6zd4
  callsheet show 1m7f6zd4 --part manifest
  callsheet show 1m7f6zd4 --json
  callsheet show RUN --json | jq .changed_files")]
pub(crate) struct Args {
    /// The id of a prompt or of a run, or a file
    #[arg(value_name = "PROMPT")]
    prompt: String,

    /// Print something else that was sealed with it
    #[arg(long, value_name = "PART")]
    part: Option<SealPart>,
}

/// What was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SealPart {
    /// The exact bytes that were handed over
    Prompt,
    /// Every section, what was left out, and why
    Manifest,
    /// Where every byte came from
    SourceMap,
    /// What stands around the sections
    Layout,
    /// What it was made from, by fingerprint
    Inputs,
    /// The input document
    Input,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        if let Some(document) = self.run_of(project, out)? {
            if out.json {
                out.document(&document)?;
            } else {
                out.text(&run::facts(&document))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        match Target::find(project, &self.prompt)? {
            Target::Sealed { id, prompt, seal } => {
                self.show(&id, prompt.as_ref(), &seal, out)?;
            }
            Target::Text(text) => self.show_file(&text, out)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the run that is meant; a part is one of its prompt.
    fn run_of(&self, project: &Project, out: Output) -> Result<Option<Value>, Failure> {
        let name = &self.prompt;
        if self.part.is_some() || !target::could_be_id(name) || Path::new(name).is_file() {
            return Ok(None);
        }
        let Some(opened) = run::open(project, out)? else {
            return Ok(None);
        };
        let (_, run) = opened.find(name)?;
        run.map(|run| tasks::document(&opened, &run)).transpose()
    }

    fn show(
        &self,
        id: &str,
        prompt: Option<&SealedPrompt>,
        seal: &Seal,
        out: Output,
    ) -> Result<(), Failure> {
        if let (Some(prompt), None) = (prompt, self.part) {
            print_prompt(prompt, out);
        }
        match self.part {
            None if out.json => {
                let mut document = seal.document()?;
                document["id"] = json!(id);
                document["engine"] = json!(seal.manifest()?.engine);
                if let Some(prompt) = prompt {
                    document["sealed_at"] = json!(prompt.sealed_at);
                }
                out.document(&document)
            }
            None | Some(SealPart::Prompt) => out.data(seal.text()?),
            Some(SealPart::Input) => out.document(&seal.inputs()?.input()?),
            Some(SealPart::SourceMap) => out.data(pretty(&seal.explained()?.source_map)),
            Some(part) => out.data(indented(&seal.documents[part.number()])),
        }
    }

    fn show_file(&self, text: &str, out: Output) -> Result<(), Failure> {
        let document: Option<Value> = serde_json::from_str(text).ok();
        let side = document
            .as_ref()
            .and_then(callsheet::cache::Side::from_document);
        if !matches!(self.part, None | Some(SealPart::Prompt)) {
            return Err(Failure::input(
                "a file has no such part; name a sealed prompt",
            ));
        }
        match side {
            Some(side) => out.data(side.text),
            None => out.data(text),
        }
    }
}

impl SealPart {
    /// Returns which document of the seal it is.
    fn number(self) -> usize {
        let name = match self {
            Self::SourceMap => "source-map",
            Self::Layout => "layout",
            Self::Inputs => "inputs",
            Self::Prompt | Self::Manifest | Self::Input => "manifest",
        };
        DOCUMENTS
            .iter()
            .position(|known| *known == name)
            .unwrap_or(0)
    }
}

/// Returns a document for people; one that is not JSON as it is.
fn indented(document: &str) -> String {
    let value: Option<Value> = serde_json::from_str(document).ok();
    value.map_or_else(|| document.to_owned(), |value| pretty(&value))
}

fn print_prompt(prompt: &SealedPrompt, out: Output) {
    let tokens = prompt
        .tokens
        .map_or_else(String::new, |tokens| format!(", {tokens} tokens"));
    out.say(&format!(
        "prompt {}, sealed {} by engine {}\nrecipe {}, {} bytes{tokens}, {}",
        prompt.id,
        time::shown(prompt.sealed_at),
        prompt.engine,
        prompt.recipe,
        prompt.bytes,
        prompt.fingerprint
    ));
}
