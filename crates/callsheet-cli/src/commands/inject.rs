//! `inject`: the recipe `injection` by flags.

use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::compose::{Delivery, format_of};
use crate::failure::Failure;
use crate::options::{BudgetArgs, compose_fields, name_of};
use crate::output::Output;
use crate::project::Project;

/// Print the files that belong to stories, as XML for a system-prompt append
///
/// Files of the artifact folder whose names match a story key, after the project context, before the files you name.
/// The same bytes as `callsheet compose injection`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet inject --command dev-story --story 2a-1 --discovery --tech-spec
  callsheet inject --command commit --story 2a-1 --story 2a-2 --no-project-context
  callsheet inject --command review --story 2a-1 --file docs/api.md -o injection.xml")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "every one of them is a flag of its own on the command line"
)]
pub(crate) struct Args {
    /// The command that the agent runs; named in messages only
    #[arg(long, value_name = "NAME")]
    command: String,

    /// A story key; may be given several times
    #[arg(long, value_name = "KEY", required = true)]
    story: Vec<String>,

    /// Leave the project context out
    #[arg(long)]
    no_project_context: bool,

    /// Include discovery files of the stories
    #[arg(long)]
    discovery: bool,

    /// Include tech-spec files of the stories
    #[arg(long)]
    tech_spec: bool,

    /// One more file, relative to the root; may be given several times
    #[arg(long, value_name = "PATH", num_args = 1..)]
    file: Vec<String>,

    /// Take files of `--file` that lie outside the root, too
    #[arg(long)]
    allow_outside: bool,

    /// How keys match file names [default: key]
    #[arg(long = "match", value_name = "RULE")]
    rule: Option<Rule>,

    /// Whether tags get a suffix when a file contains them [default: exact]
    #[arg(long, value_name = "KIND")]
    framing: Option<Framing>,

    #[command(flatten)]
    delivery: Delivery,

    #[command(flatten)]
    budget: BudgetArgs,
}

/// How story keys match file names.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Rule {
    /// No letter or digit may touch the key
    Key,
    /// The key may be any part of the name
    Substring,
}

/// How tags are chosen.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Framing {
    /// Always the same
    Exact,
    /// With the shortest suffix that occurs in no file
    Unique,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let format = format_of(self.delivery.format, out)?;
        let options = self
            .budget
            .options(format == Some(super::compose::Format::Json));
        let files = &self.delivery.files;
        let fields = self.fields();
        let mut composed =
            compose_fields(project, "injection", fields, &options, files.prepared()?)?;
        files.deliver(project, &mut composed, format, out)
    }

    /// Returns the input: only what was asked for, as the project may have set other defaults.
    fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| {
            fields.insert(name.to_owned(), value);
        };
        set("command_name", json!(self.command));
        set("story_keys", json!(self.story));
        set("additional_files", json!(self.file));
        for (asked, name, value) in [
            (self.no_project_context, "include_project_context", false),
            (self.discovery, "include_discovery", true),
            (self.tech_spec, "include_tech_spec", true),
            (self.allow_outside, "allow_outside", true),
        ] {
            if asked {
                set(name, json!(value));
            }
        }
        if let Some(rule) = self.rule {
            set("match", json!(name_of(&rule)));
        }
        if let Some(framing) = self.framing {
            set("framing", json!(name_of(&framing)));
        }
        fields
    }
}
