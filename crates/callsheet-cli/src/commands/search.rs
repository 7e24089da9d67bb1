//! `search`: texts by their words, in sealed prompts and in logs.

use std::collections::BTreeMap;
use std::process::ExitCode;

use callsheet::Manifest;
use callsheet::manifest::SectionRecord;
use callsheet_store::{Hit, HitPlace, Id, block_on};
use serde_json::{Value, json};

use crate::failure::{Failure, NEGATIVE};
use crate::output::{Output, one_line};
use crate::progress;
use crate::project::Project;
use crate::store::{self, Opened};

/// So many bytes of logs go into the index in one go.
const STEP: usize = 4 << 20;

/// Search sealed prompts and logs by words, the best first
///
/// All words have to be there; the end of each may be left out. For an exact text, and where it came from, use
/// `callsheet why --text`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet search session token
  callsheet search src/login.rs --limit 3
  callsheet search 'never push' --json")]
pub(crate) struct Args {
    /// The words
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,

    /// How many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let text = self.text.join(" ");
        let opened = store::open(project)?;
        index_logs(project, &opened, out)?;
        let limit = self.limit as usize;
        let found = block_on(opened.store.search(&opened.project, &text, limit))?;
        let mut manifests = BTreeMap::new();
        let hits: Vec<Found> = found
            .into_iter()
            .map(|hit| Found::new(&opened, hit, &mut manifests))
            .collect::<Result<_, Failure>>()?;
        if out.json {
            let hits: Vec<Value> = hits.iter().map(Found::document).collect();
            out.document(&json!({"schema": "callsheet.search/1", "hits": hits}))?;
        } else {
            for hit in &hits {
                out.text(&hit.line())?;
            }
        }
        if hits.is_empty() {
            out.say("nothing was found");
            return Ok(ExitCode::from(NEGATIVE));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Puts what is new in the logs into the index; a store that cannot be written is searched as it is.
fn index_logs(project: &Project, opened: &Opened, out: Output) -> Result<(), Failure> {
    if block_on(opened.store.unindexed_records())? == 0 {
        return Ok(());
    }
    let Ok(writer) = store::open_to_write(project) else {
        out.note("the store cannot be written; the newest log records are not searched");
        return Ok(());
    };
    progress::during("indexing logs", || {
        while block_on(writer.store.index_logs(STEP))? > 0 {}
        Ok(())
    })
}

/// A hit, and the section that it is in.
struct Found {
    hit: Hit,
    section: Option<SectionRecord>,
}

impl Found {
    fn new(
        opened: &Opened,
        hit: Hit,
        manifests: &mut BTreeMap<Id, Manifest>,
    ) -> Result<Self, Failure> {
        let section = match &hit.place {
            HitPlace::Prompt {
                prompt, section, ..
            } => {
                if !manifests.contains_key(prompt) {
                    let found = block_on(opened.store.prompt(&opened.project, prompt.as_str()))?;
                    let manifest = block_on(opened.store.manifest(&found))?;
                    manifests.insert(*prompt, manifest);
                }
                let sections = manifests
                    .get(prompt)
                    .map(|manifest| manifest.sections.iter());
                let mut sections = sections.into_iter().flatten();
                sections.find(|one| one.fingerprint == *section).cloned()
            }
            _ => None,
        };
        Ok(Self { hit, section })
    }

    fn document(&self) -> Value {
        let mut document = json!(self.hit);
        if let Some(section) = &self.section {
            document["layer"] = json!(section.layer);
            document["name"] = json!(section.name);
            document["source"] = json!(section.source);
        }
        document
    }

    fn line(&self) -> String {
        let place = match &self.hit.place {
            HitPlace::Prompt {
                prompt, prompts, ..
            } => {
                let others = match prompts - 1 {
                    0 => String::new(),
                    others => format!(" and {others} more"),
                };
                let section = self.section.as_ref().map_or_else(String::new, |section| {
                    format!(", section {}: {}", section.label(), section.source)
                });
                format!("prompt {prompt}{others}{section}")
            }
            HitPlace::Log { run, seq, stream } => {
                format!("run {run}, record {seq} of {}", stream.as_str())
            }
            _ => String::new(),
        };
        let snippet = &self.hit.snippet;
        format!("{}\n  {}\n", one_line(&place), one_line(snippet))
    }
}
