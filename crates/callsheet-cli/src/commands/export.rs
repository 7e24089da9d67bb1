//! `export`: sealed prompts as one file for somebody else.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;

use callsheet::redact::Level;
use callsheet_store::{Bundle, Bundled};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, write_file};
use crate::progress;
use crate::project::Project;
use crate::report::count;
use crate::store;

/// Write sealed prompts into one file, with everything that proves them and makes them again
///
/// The bundle is a tar archive compressed with zstd: documents, texts and fingerprints. It needs no store:
/// `callsheet verify FILE` and `callsheet replay FILE` work anywhere. Without `-o` it goes to stdout.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet export 1m7f6zd4 -o handover.tar.zst
  callsheet export 1m7f6zd4 1m7f70ab --redact -o handover.tar.zst")]
pub(crate) struct Args {
    /// The ids of the prompts
    #[arg(value_name = "PROMPT", required = true)]
    prompts: Vec<String>,

    /// The file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Put pseudonyms in the place of secrets: each prompt is composed again without them, under an id of its own
    #[arg(long)]
    redact: bool,

    /// Redact, and take what looks random for a secret too
    #[arg(long)]
    redact_entropy: bool,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        if self.output.is_none() && io::stdout().is_terminal() {
            return Err(Failure::input("a bundle is nothing for a terminal")
                .hint("name a file with `-o FILE`"));
        }
        let level = match (self.redact, self.redact_entropy) {
            (_, true) => Level::Entropy,
            (true, false) => Level::Formats,
            (false, false) => Level::Off,
        };
        let bundle = progress::during("collecting", || self.bundle(project, level, out))?;
        let mut bytes = Vec::new();
        let written = progress::during("compressing", || bundle.write(&mut bytes));
        written.map_err(|cause| Failure::input(format!("cannot make the bundle: {cause}")))?;
        match &self.output {
            Some(file) => write_file(file, &bytes)?,
            None => out.data(&bytes)?,
        }
        if out.json && self.output.is_some() {
            let ids: Vec<_> = bundle.prompts.iter().map(|prompt| prompt.id).collect();
            out.document(&json!({
                "schema": "callsheet.export/1", "redacted": bundle.redacted, "prompts": ids, "bytes": bytes.len(),
            }))?;
        }
        out.say(&format!(
            "exported {}, {}",
            count(bundle.prompts.len(), "prompt"),
            count(bytes.len(), "byte")
        ));
        Ok(ExitCode::SUCCESS)
    }

    fn bundle(&self, project: &Project, level: Level, out: Output) -> Result<Bundle, Failure> {
        let opened = store::open(project)?;
        let key = project.settings.redact_key();
        let mut prompts: Vec<Bundled> = Vec::new();
        for name in &self.prompts {
            let (prompt, mut seal) = opened.sealed(name)?;
            if level != Level::Off {
                seal = seal.redacted(level, key).map_err(|error| {
                    Failure::negative(format!("prompt {} cannot be redacted: {error}", prompt.id))
                })?;
            }
            let bundled = Bundled::new(prompt.sealed_at, seal);
            if bundled.id != prompt.id {
                out.say(&format!(
                    "prompt {} without its secrets is {}",
                    prompt.id, bundled.id
                ));
            }
            prompts.push(bundled);
        }
        prompts.sort_unstable_by_key(|prompt| prompt.id);
        prompts.dedup_by_key(|prompt| prompt.id);
        Ok(Bundle {
            redacted: level != Level::Off,
            prompts,
        })
    }
}
