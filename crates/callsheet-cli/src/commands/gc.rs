//! `gc`: removes sealed prompts that nobody wants to keep, when somebody asks for it and never otherwise.

use std::process::ExitCode;

use callsheet_store::{Keep, Wait};
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use crate::progress;
use crate::project::Project;
use crate::report::count;
use crate::{store, time};

/// Remove sealed prompts but those that are kept, and the texts that only they carried
///
/// Kept is what any `--keep` names, and every prompt that a run was given. Nothing is ever removed by itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet gc --keep 90d --dry-run
  callsheet gc --keep 90d --keep 1000")]
pub(crate) struct Args {
    /// Keep those sealed within this span, such as `90d`, or so many of the newest, such as `1000`; may be given twice
    #[arg(long, value_name = "SPAN|N", required = true)]
    keep: Vec<String>,

    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let keep = self.rules()?;
        let collected = if self.dry_run {
            let opened = store::open(project)?;
            opened.store.collectable(&opened.project, keep).wait()?
        } else {
            let opened = store::open_to_collect(project)?;
            let collecting = || opened.store.collect(&opened.project, keep).wait();
            progress::during("collecting", collecting)?
        };
        if out.json {
            out.document(&json!({
                "schema": "callsheet.gc/1", "dry_run": self.dry_run, "prompts": collected.prompts,
                "texts": collected.texts, "bytes": collected.bytes,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        for id in &collected.prompts {
            out.text(&format!("{id}\n"))?;
        }
        let texts = usize::try_from(collected.texts).unwrap_or(0);
        out.say(&format!(
            "{}{}, {} that only they carried, {}",
            if self.dry_run {
                "would remove "
            } else {
                "removed "
            },
            count(collected.prompts.len(), "prompt"),
            count(texts, "text"),
            count(usize::try_from(collected.bytes).unwrap_or(0), "byte"),
        ));
        Ok(ExitCode::SUCCESS)
    }

    fn rules(&self) -> Result<Keep, Failure> {
        let mut keep = Keep::default();
        for rule in &self.keep {
            if let Ok(newest) = rule.parse::<usize>() {
                keep.newest = Some(keep.newest.map_or(newest, |other| other.max(newest)));
            } else if let Some(span) = time::span(rule) {
                let since = time::now() - span;
                keep.since = Some(keep.since.map_or(since, |other| other.min(since)));
            } else {
                return Err(Failure::input(format!("`--keep {rule}` keeps nothing"))
                    .hint("write a span such as `90d` or `12h`, or a number of prompts"));
            }
        }
        Ok(keep)
    }
}
