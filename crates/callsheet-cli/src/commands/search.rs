//! `search`: texts by their words, in sealed prompts and in logs.

use std::collections::BTreeMap;
use std::process::ExitCode;

use callsheet::Manifest;
use callsheet::manifest::SectionRecord;
use callsheet_store::{Hit, HitPlace, Id, Wait};
use serde_json::{Value, json};

use crate::failure::{Failure, NEGATIVE};
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::store::{self, Opened};
use crate::{index, time};

/// Search sealed prompts and logs by words, the best first
///
/// All words have to be there; the end of each may be left out. For an exact text, and where it came from, use
/// `callsheet why --text`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet search session token
  callsheet search src/login.rs --limit 3
  callsheet search 'never push' --since 7d --json")]
pub(crate) struct Args {
    /// The words
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,

    /// Only in prompts and runs since then: `7d`, `12h`, `2026-11-01` or `2026-11-01T18:30`, in UTC
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// How many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let text = self.text.join(" ");
        let since = time::option(self.since.as_deref())?;
        let opened = store::open(project)?;
        index::catch_up(project, &opened, out)?;
        let limit = self.limit as usize;
        let search = opened.store.search(&opened.project, &text, limit, since);
        let found = search.wait()?;
        let mut manifests = BTreeMap::new();
        let hits: Vec<Found> = found
            .hits
            .into_iter()
            .map(|hit| Found::new(&opened, hit, &mut manifests))
            .collect::<Result<_, Failure>>()?;
        if out.json {
            let hits: Vec<Value> = hits.iter().map(Found::document).collect();
            let document =
                json!({"schema": "callsheet.search/1", "hits": hits, "more": found.more});
            out.document(&document)?;
        } else {
            for hit in &hits {
                out.text(&hit.line())?;
            }
        }
        if hits.is_empty() {
            out.say("nothing was found");
            return Ok(ExitCode::from(NEGATIVE));
        }
        if found.more && !out.json {
            out.note("there are more; `--limit N` shows more of them, `--since TIME` only the newer ones");
        }
        Ok(ExitCode::SUCCESS)
    }
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
                    let found = opened
                        .store
                        .prompt(&opened.project, prompt.as_str())
                        .wait()?;
                    let manifest = opened.store.manifest(&found).wait()?;
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
