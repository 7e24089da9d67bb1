//! `compose`: input → prompt.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use callsheet::Composition;
use callsheet::check::coherence;
use callsheet::recipe::Shape;
use clap::ValueEnum;
use serde_json::json;

use crate::failure::{Failure, NEGATIVE};
use crate::options::{BudgetArgs, Composed, InputArgs, Keeping, report_losses_and_events};
use crate::output::{Output, STDOUT, clear_file, is_stdout, pretty, refuse_shared, write_file};
use crate::project::Project;
use crate::store::Sealed;
use crate::{report, store};

/// Compose a prompt from a recipe and an input
///
/// The prompt goes to stdout, its exact bytes and nothing else; what was left out and what happened goes to stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet compose layers --input input.yaml
  callsheet compose layers --input team.yaml --input mine.yaml -D rules=@rules.md
  callsheet compose injection -D command_name=dev -D story_keys:='[\"2a-1\"]' --manifest manifest.json
  callsheet compose pack -D format=markdown --token-budget 20k -o prompt.md
  callsheet compose run --input task.yaml --seal
  callsheet compose review -D range=main..HEAD --token-budget 60k")]
pub(crate) struct Args {
    /// The recipe: one of `callsheet recipe list`
    recipe: String,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    delivery: Delivery,

    #[command(flatten)]
    budget: BudgetArgs,

    /// Print the table of sections on stderr as well
    #[arg(long)]
    explain: bool,

    /// Warn of sentences that ask for a tool that the policy of the input denies, and exit with 1 if there are any
    #[arg(long)]
    check: bool,
}

/// Where a prompt goes and what goes with it.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Delivery {
    /// The form of the result [default: the recipe's own]
    #[arg(long, value_name = "FORM")]
    pub(crate) format: Option<Format>,

    #[command(flatten)]
    pub(crate) files: Files,
}

/// The files that a composition writes, each whole or not at all.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Files {
    /// Write the result to a file instead of stdout, which is `-`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    account: Account,

    /// Keep the prompt in the store, with everything that explains it and makes it again; its id goes to stderr
    #[arg(long)]
    seal: bool,
}

/// What goes with a prompt: files that explain it, and whether it may lack anything.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Account {
    /// Write the manifest: every section, what was left out, and why
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,

    /// Write the source map: where every byte came from
    #[arg(long, value_name = "FILE")]
    source_map: Option<PathBuf>,

    /// Write the events as NDJSON instead of saying them on stderr
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,

    /// Give no prompt, and exit with 1, if anything that was asked for is not in it
    #[arg(long)]
    fail_on_loss: bool,
}

/// The form in which a prompt is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The text alone: of messages, their contents one after the other
    Text,
    /// A document with the prompt, its sections and what was left out
    Json,
    /// A list of messages with role and content, as compact JSON
    Messages,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let format = format_of(self.delivery.format, out)?;
        let options = self
            .budget
            .options(self.explain || format == Some(Format::Json));
        let files = &self.delivery.files;
        let keeping = files.prepared()?;
        let mut composed = (self.input).compose_for(project, &self.recipe, &options, keeping)?;
        if self.explain {
            out.say(report::table(&composed.composition.manifest).trim_end());
        }
        if !self.check {
            return files.deliver(project, &mut composed, format, out);
        }
        let findings = coherence(&composed.composition);
        report::findings(&composed.composition, &findings, out);
        let clean = findings.is_empty();
        composed.findings = Some(findings);
        let delivered = files.deliver(project, &mut composed, format, out)?;
        Ok(if clean {
            delivered
        } else {
            ExitCode::from(NEGATIVE)
        })
    }
}

/// Returns the form that was asked for, where it is not left to the recipe; `--json` asks for the document.
pub(crate) fn format_of(asked: Option<Format>, out: Output) -> Result<Option<Format>, Failure> {
    match asked {
        Some(form) if out.json && form != Format::Json => {
            let form = form.to_possible_value();
            let form = form.as_ref().map_or("", |form| form.get_name());
            Err(Failure::input(format!(
                "`--json` prints a document, `--format {form}` does not"
            ))
            .hint("`--json` is `--format json`; leave one of them out"))
        }
        Some(form) => Ok(Some(form)),
        None => Ok(out.json.then_some(Format::Json)),
    }
}

impl Files {
    /// Returns the files that will be written.
    pub(crate) fn written(&self) -> impl Iterator<Item = &Path> {
        let files = [
            &self.output,
            &self.account.manifest,
            &self.account.source_map,
            &self.account.events,
        ];
        let files = files.into_iter().filter_map(Option::as_deref);
        files.filter(|file| !is_stdout(file))
    }

    /// Makes ready for a composition before it begins; returns whether the prompt is kept.
    pub(crate) fn prepared(&self) -> Result<Keeping, Failure> {
        let prompt = self.output.as_deref().unwrap_or(Path::new(STDOUT));
        self.account.prepare("the prompt", prompt)?;
        Ok(if self.seal {
            Keeping::Seal
        } else {
            Keeping::Nothing
        })
    }

    /// Hands a composition over: to the store first, then talk and files, then the prompt itself.
    pub(crate) fn deliver(
        &self,
        project: &Project,
        composed: &mut Composed,
        format: Option<Format>,
        out: Output,
    ) -> Result<ExitCode, Failure> {
        let sealed = self.account.keep(project, composed, out)?;
        let composition = &composed.composition;
        let result = match format {
            None => Cow::from(composition.text.as_str()),
            Some(Format::Text) => composition.plain().into(),
            Some(Format::Json) => {
                let mut document = composition.document();
                if let Some(sealed) = sealed {
                    document["id"] = json!(sealed.id);
                }
                if let Some(findings) = &composed.findings {
                    document["findings"] = json!(findings);
                }
                pretty(&document).into()
            }
            // Roles and texts only: serialising them cannot fail.
            Some(Format::Messages) => serde_json::to_string(&composition.messages())
                .unwrap_or_default()
                .into(),
        };
        if format.is_none_or(|format| format == Format::Text)
            && composition.prompt.shape == Shape::System
            && !composition.prompt.tools.is_empty()
        {
            out.note("the tools are not part of the text; `--format json` has them");
        }
        match self.output.as_deref().filter(|file| !is_stdout(file)) {
            Some(file) => write_file(file, result.as_bytes())?,
            None => out.data(result.as_bytes())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Account {
    /// Refuses files that would destroy each other or `what`, which goes to `place`; takes the events of an earlier
    /// composition away, which this one may not come to replace.
    pub(crate) fn prepare(&self, what: &str, place: &Path) -> Result<(), Failure> {
        let mut outputs = vec![(what, place)];
        for (option, file) in [
            ("`--manifest`", &self.manifest),
            ("`--source-map`", &self.source_map),
            ("`--events`", &self.events),
        ] {
            outputs.extend(file.as_deref().map(|file| (option, file)));
        }
        refuse_shared(&outputs)?;
        self.events.as_deref().map_or(Ok(()), clear_file)
    }

    /// Says what happened, and writes what explains it.
    fn explain(&self, composition: &Composition, out: Output) -> Result<(), Failure> {
        report_losses_and_events(composition, self.events.as_deref(), out)?;
        write_some(self.manifest.as_deref(), || pretty(&composition.manifest))?;
        write_some(self.source_map.as_deref(), || {
            pretty(&composition.source_map)
        })
    }

    /// Takes the seal of a composition and keeps it, where there is one; says what happened, and writes what explains it.
    pub(crate) fn keep(
        &self,
        project: &Project,
        composed: &mut Composed,
        out: Output,
    ) -> Result<Option<Sealed>, Failure> {
        let composition = &composed.composition;
        let losses = composition.manifest.losses().count();
        if self.fail_on_loss && losses > 0 {
            self.explain(composition, out)?;
            let what = if losses == 1 {
                "1 thing that was asked for is"
            } else {
                &format!("{losses} things that were asked for are")
            };
            return Err(Failure::negative(format!(
                "{what} not in the prompt, and `--fail-on-loss` is set"
            )));
        }
        // What is handed over was stored before.
        let seal = composed.seal.take();
        let sealed = seal.map(|seal| store::seal(project, seal)).transpose()?;
        self.explain(composition, out)?;
        if let Some(sealed) = sealed {
            sealed.print(out);
        }
        Ok(sealed)
    }
}

fn write_some(file: Option<&Path>, content: impl FnOnce() -> String) -> Result<(), Failure> {
    file.map_or(Ok(()), |file| write_file(file, content()))
}
