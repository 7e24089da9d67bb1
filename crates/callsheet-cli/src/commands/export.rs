//! `export`: sealed prompts and finished runs as one file for somebody else.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use callsheet::Seal;
use callsheet::redact::{Key, Level, Redactor, Rules};
use callsheet::seal::RootPaths;
use callsheet_store::{Bundle, Bundled, SealedPrompt, Wait};
use serde_json::json;

use crate::failure::Failure;
use crate::output::terminal::is_shown;
use crate::output::{Output, STDOUT, is_stdout, refuse_shared, write_file_with};
use crate::progress;
use crate::project::Project;
use crate::report::count;
use crate::store::{self, Opened};

/// Write sealed prompts and runs into one file, with everything that proves them and makes them again
///
/// A run brings its prompt, its log and its events; it has to be over. The bundle is a tar archive compressed with zstd:
/// documents, texts, logs and fingerprints. It needs no store:
/// `callsheet verify FILE` and `callsheet replay FILE` work anywhere. Without `-o` it goes to stdout.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet export 1m7f6zd4 -o handover.tar.zst
  callsheet export 1m7f6zd4 1m7f70ab --redact -o handover.tar.zst")]
pub(crate) struct Args {
    /// The ids of prompts and runs
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,

    /// The file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Put pseudonyms in the place of secrets: each prompt is composed again without them, under an id of its own; logs
    /// and events of runs are cleaned line by line
    #[arg(long)]
    redact: bool,

    /// Redact, and take what looks random for a secret too
    #[arg(long)]
    redact_entropy: bool,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        if self.output.is_none() && is_shown() {
            return Err(
                Failure::input("refusing to write a binary bundle to the terminal")
                    .hint("use `-o FILE`"),
            );
        }
        let level = match (self.redact, self.redact_entropy) {
            (_, true) => Level::Entropy,
            (true, false) => Level::Formats,
            (false, false) => Level::Off,
        };
        let output = self.output.as_deref().filter(|file| !is_stdout(file));
        if let Some(file) = output.filter(|_| out.json) {
            refuse_shared(&[("the bundle", file), ("`--json`", Path::new(STDOUT))])?;
        }
        let mut opened = store::open(project)?;
        opened.project = opened.project.at(project.root_paths());
        let redaction = Redaction {
            level,
            key: project.settings.prompt.redact_key(),
            rules: project.settings.prompt.redact_rules.clone(),
            paths: project.root_paths(),
        };
        let collecting = || self.bundle(&opened, &redaction, out);
        let bundle = progress::during("collecting", collecting)?;
        let write = |writer: &mut dyn Write| {
            let redactor = redaction.redactor();
            let redactor = redactor.as_ref();
            let written = progress::during("compressing", || {
                bundle.write_from(&opened.store, &opened.project, redactor, writer)
            });
            written.map_err(|cause| match cause.raw_os_error() {
                Some(_) => Failure::refused("cannot write the bundle", &cause),
                None => Failure::input(format!("cannot make the bundle: {cause}")),
            })
        };
        let bytes = match output {
            Some(file) => write_file_with(file, write)?,
            None => out.stream(write)?,
        };
        if out.json && output.is_some() {
            let prompts: Vec<_> = bundle.prompts.iter().map(|prompt| prompt.id).collect();
            let runs: Vec<_> = bundle.runs.iter().map(|bundled| bundled.run.id).collect();
            out.document(&json!({
                "schema": "callsheet.export/1", "redacted": bundle.redacted, "prompts": prompts, "runs": runs,
                "bytes": bytes,
            }))?;
        }
        let mut exported = count(bundle.prompts.len(), "prompt");
        if !bundle.runs.is_empty() {
            exported = format!("{exported}, {}", count(bundle.runs.len(), "run"));
        }
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        out.say(&format!("exported {exported}, {}", count(bytes, "byte")));
        Ok(ExitCode::SUCCESS)
    }

    fn bundle(
        &self,
        opened: &Opened,
        redaction: &Redaction,
        out: Output,
    ) -> Result<Bundle, Failure> {
        let mut bundle = Bundle {
            redacted: redaction.level != Level::Off,
            ..Bundle::default()
        };
        for name in &self.ids {
            let (prompt, run) = opened.find(name)?;
            let seal = opened.store.sealed(&prompt).wait()?;
            let bundled = redaction.prompt(&prompt, seal, out)?;
            if let Some(run) = run {
                let redactor = redaction.redactor();
                let reading = opened
                    .store
                    .bundled_run(&opened.project, run.id, redactor.as_ref());
                let mut run = reading?;
                run.run.prompt = bundled.id;
                bundle.runs.push(run);
            }
            bundle.prompts.push(bundled);
        }
        bundle.arrange();
        Ok(bundle)
    }
}

/// What is taken out.
struct Redaction {
    level: Level,
    key: Key,
    rules: Rules,
    paths: RootPaths,
}

impl Redaction {
    fn redactor(&self) -> Option<Redactor> {
        self.level.redactor(self.key, &self.rules)
    }

    /// Returns a prompt without the path of its project, and without its secrets where that is asked for; says where
    /// that makes it another one.
    fn prompt(&self, prompt: &SealedPrompt, seal: Seal, out: Output) -> Result<Bundled, Failure> {
        let id = prompt.id;
        let hidden = seal.without_paths(&self.paths).map_err(|error| {
            let what = "cannot be exported without the path of the project";
            Failure::negative(format!("prompt {id} {what}: {error}"))
        })?;
        let seal = hidden.unwrap_or(seal);
        let seal = match self.level {
            Level::Off => seal,
            level => seal
                .redacted(level, self.key, &self.rules)
                .map_err(|error| {
                    Failure::negative(format!("prompt {id} cannot be redacted: {error}"))
                })?,
        };
        let bundled = Bundled::new(prompt.sealed_at, seal);
        if bundled.id != id {
            let what = match self.level {
                Level::Off => "the path of its project",
                _ => "its secrets",
            };
            out.say(&format!("prompt {id} without {what} is {}", bundled.id));
        }
        Ok(bundled)
    }
}
