//! `prompts`: what is sealed.

use std::process::ExitCode;

use callsheet::inputs::Globs;
use callsheet_store::{PromptFilter, SealedPrompt, Wait};
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::store::{self, Opened};
use crate::table::{Align, Table};
use crate::time;

/// List the sealed prompts, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet prompts
  callsheet prompts --recipe run --since 7d
  callsheet prompts --file 'src/**' --limit 5
  callsheet prompts --template task-agent --json")]
pub(crate) struct Args {
    /// Only those of this recipe
    #[arg(long, value_name = "NAME")]
    recipe: Option<String>,

    /// Only those sealed since then: `7d`, `12h`, `2026-11-01` or `2026-11-01T18:30`, in UTC
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only those sealed before then
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Only those that a file went into; a path or a glob
    #[arg(long, value_name = "GLOB")]
    file: Vec<String>,

    /// Only those that a template went into, by its name or its file
    #[arg(long, value_name = "NAME")]
    template: Vec<String>,

    /// Only those before this one: the next page
    #[arg(long, value_name = "ID")]
    before: Option<String>,

    /// How many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let mut filter = PromptFilter {
            recipe: self.recipe.clone(),
            since: time::option(self.since.as_deref())?,
            until: time::option(self.until.as_deref())?,
            ..PromptFilter::default()
        };
        let files = Globs::new(&self.file)?;
        let opened = store::open(project)?;
        filter.sources = self.sources(&opened, &files)?;
        filter.before = match &self.before {
            Some(id) => Some(opened.store.prompt(&opened.project, id).wait()?.id),
            None => None,
        };
        let most = self.limit as usize + 1;
        let mut found = opened.store.prompts(&opened.project, filter, most).wait()?;
        let limit = self.limit as usize;
        let more = found.len() > limit;
        found.truncate(limit);
        if out.json {
            out.document(
                &json!({"schema": "callsheet.prompts/1", "prompts": found, "more": more}),
            )?;
            return Ok(ExitCode::SUCCESS);
        }
        if !found.is_empty() {
            out.text(&table(&found))?;
        }
        if let (true, Some(last)) = (more, found.last()) {
            out.note(&format!("there are more; `--before {}` goes on", last.id));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the sources that the filters name; nothing if there is no such filter.
    fn sources(&self, opened: &Opened, files: &Globs) -> Result<Option<Vec<String>>, Failure> {
        if self.file.is_empty() && self.template.is_empty() {
            return Ok(None);
        }
        let wanted = |source: &String| match source.split_once(':') {
            Some(("file", path)) => files.matches(path),
            Some(("template", name)) => {
                self.template.iter().any(|wanted| is_template(name, wanted))
            }
            _ => false,
        };
        let mut sources = opened.store.sources(&opened.project).wait()?;
        sources.retain(wanted);
        Ok(Some(sources))
    }
}

/// Tells whether a template is called so: by its path, its file, or its file without the ending.
fn is_template(path: &str, wanted: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    [path, file, file.strip_suffix(".md").unwrap_or(file)].contains(&wanted)
}

fn table(prompts: &[SealedPrompt]) -> String {
    let mut table = Table::new(&[
        ("ID", Align::Left),
        ("SEALED", Align::Left),
        ("RECIPE", Align::Left),
        ("BYTES", Align::Right),
        ("TOKENS", Align::Right),
        ("FINGERPRINT", Align::Left),
    ]);
    for prompt in prompts {
        let tokens = prompt
            .tokens
            .map_or_else(String::new, |tokens| tokens.to_string());
        table.row([
            prompt.id.to_string(),
            time::shown(prompt.sealed_at),
            prompt.recipe.clone(),
            prompt.bytes.to_string(),
            tokens,
            // Enough of it to tell two apart; `show` has it all.
            prompt.fingerprint.to_string().chars().take(15).collect(),
        ]);
    }
    table.render()
}
