//! The arguments that every command shares, and the list of commands.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands;
use crate::failure::Failure;
use crate::output::{Output, Talk};
use crate::project::{Preference, Project};

/// Options of all commands stand together, below those of each.
const GLOBAL: &str = "Global options";

/// Composes the exact prompt that a coding agent gets, explains every byte of it, and runs the agent on it.
#[derive(Debug, Parser)]
#[command(
    name = "callsheet",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(after_help = "\
Examples:
  callsheet demo                                   see what it does, in a temporary folder
  callsheet init                                   set up a project
  callsheet inject --command dev --story 2a-1      the files of a story, as XML
  callsheet pack src --token-budget 30k            a source tree as one prompt
  callsheet explain layers --input input.yaml      which section costs what
  callsheet compose run --input task.yaml --seal   keep the prompt, and the proof of it
  callsheet exec review --runner claude            hand the prompt to an agent, and see what it did
  callsheet serve                                  look at all of it in a browser
  callsheet verify                                 prove that nothing was changed since")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "every one of them is a flag of its own on the command line"
)]
pub(crate) struct Cli {
    /// Run as if started in this folder
    #[arg(
        short = 'C',
        value_name = "DIR",
        global = true,
        help_heading = GLOBAL,
        conflicts_with = "root"
    )]
    directory: Option<PathBuf>,

    /// The project's root [default: the nearest folder above with callsheet.toml, else with .git, else this one]
    #[arg(long, value_name = "DIR", global = true, help_heading = GLOBAL)]
    root: Option<PathBuf>,

    /// Take the recipe that comes with callsheet where the project has one of the same name
    #[arg(long, global = true, help_heading = GLOBAL)]
    built_in: bool,

    /// Print one JSON document on stdout
    #[arg(long, global = true, help_heading = GLOBAL)]
    json: bool,

    /// Say nothing on stderr but errors
    #[arg(short, long, global = true, help_heading = GLOBAL, conflicts_with = "verbose")]
    quiet: bool,

    /// Say more on stderr
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    verbose: bool,

    /// When to use colours
    #[arg(long, value_name = "WHEN", global = true, help_heading = GLOBAL)]
    color: Option<Color>,

    #[command(subcommand)]
    command: Command,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(commands::demo::Args),
    Init(commands::init::Args),
    Compose(commands::compose::Args),
    Inject(commands::inject::Args),
    Pack(commands::pack::Args),
    Explain(commands::explain::Args),
    Why(commands::why::Args),
    Diff(commands::diff::Args),
    Cache(commands::cache::Args),
    Task(commands::task::Args),
    Run(commands::run::Args),
    Retry(commands::retry::Args),
    Continue(commands::continue_run::Args),
    Approve(commands::decide::Approve),
    Reject(commands::decide::Reject),
    Checks(commands::checks::Args),
    Merge(commands::merge::Args),
    Proof(commands::proof::Args),
    Sprint(commands::sprint::Args),
    Worker(commands::worker::Args),
    Serve(commands::serve::Args),
    Exec(commands::exec::Args),
    Runs(commands::runs::Args),
    Log(commands::log::Args),
    Events(commands::events::Args),
    LogEvent(commands::log_event::Args),
    Stop(commands::stop::Args),
    Prompts(commands::prompts::Args),
    Show(commands::show::Args),
    Search(commands::search::Args),
    Reindex(commands::reindex::Args),
    Verify(commands::verify::Args),
    Head(commands::head::Args),
    Replay(commands::replay::Args),
    Export(commands::export::Args),
    Import(commands::import::Args),
    Gc(commands::gc::Args),
    Template(commands::template::Args),
    Recipe(commands::recipe::Args),
    Profile(commands::profile::Args),
    Adapter(commands::adapter::Args),
    Package(commands::package::Args),
    State(commands::state::Args),
    Schema(commands::schema::Args),
    Doctor(commands::doctor::Args),
    Completions(commands::completions::Args),
    #[command(hide = true)]
    Supervise(commands::supervise::Args),
    #[command(hide = true)]
    Play(commands::play::Args),
}

impl Cli {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.color {
            Some(Color::Always) => anstream::ColorChoice::Always.write_global(),
            Some(Color::Never) => anstream::ColorChoice::Never.write_global(),
            Some(Color::Auto) | None => {}
        }
        let talk = match (self.quiet, self.verbose) {
            (true, _) => Talk::Quiet,
            (_, true) => Talk::Verbose,
            _ => Talk::Normal,
        };
        let out = Output {
            talk,
            json: self.json,
        };
        if let Some(folder) = &self.directory {
            if !folder.is_dir() {
                return Err(Failure::input(format!(
                    "`{}` is not a folder",
                    folder.display()
                )));
            }
            std::env::set_current_dir(folder).map_err(|cause| {
                Failure::refused(&format!("cannot go to `{}`", folder.display()), &cause)
            })?;
        }
        let preference = Preference {
            built_in: self.built_in,
            out,
        };
        self.command.run(self.root.as_deref(), preference)
    }
}

impl Command {
    /// Runs the command, in the project of the root where it works on one.
    fn run(self, root: Option<&Path>, preference: Preference) -> Result<ExitCode, Failure> {
        let project = || Project::find(root, preference);
        let out = preference.out;
        match self {
            Self::Demo(args) => args.run(out),
            Self::Init(args) => args.run(root, out),
            Self::Compose(args) => args.run(&project()?, out),
            Self::Inject(args) => args.run(&project()?, out),
            Self::Pack(args) => args.run(&project()?, out),
            Self::Explain(args) => args.run(&project()?, out),
            Self::Why(args) => args.run(&project()?, out),
            Self::Diff(args) => args.run(&project()?, out),
            Self::Cache(args) => args.run(&project()?, out),
            Self::Task(args) => args.run(&project()?, out),
            Self::Exec(args) => args.run(&project()?, out),
            Self::Runs(args) => args.run(&project()?, out),
            Self::Run(args) => args.run(&project()?, out),
            Self::Retry(args) => args.run(&project()?, out),
            Self::Continue(args) => args.run(&project()?, out),
            Self::Approve(args) => args.run(&project()?, out),
            Self::Reject(args) => args.run(&project()?, out),
            Self::Checks(args) => args.run(&project()?, out),
            Self::Merge(args) => args.run(&project()?, out),
            Self::Proof(args) => args.run(&project()?, out),
            Self::Sprint(args) => args.run(&project()?, out),
            Self::Worker(args) => args.run(&project()?, out),
            Self::Serve(args) => args.run(&project()?, out),
            Self::Log(args) => args.run(&project()?, out),
            Self::Events(args) => args.run(&project()?, out),
            Self::LogEvent(args) => args.run(project, out),
            Self::Stop(args) => args.run(&project()?, out),
            Self::Prompts(args) => args.run(&project()?, out),
            Self::Show(args) => args.run(&project()?, out),
            Self::Search(args) => args.run(&project()?, out),
            Self::Reindex(args) => args.run(&project()?, out),
            Self::Verify(args) => args.run(&project()?, out),
            Self::Head(args) => args.run(&project()?, out),
            Self::Replay(args) => args.run(&project()?, out),
            Self::Export(args) => args.run(&project()?, out),
            Self::Import(args) => args.run(&project()?, out),
            Self::Gc(args) => args.run(&project()?, out),
            Self::Template(args) => args.run(&project()?, out),
            Self::Recipe(args) => args.run(&project()?, out),
            Self::Profile(args) => args.run(&project()?, out),
            Self::Adapter(args) => args.run(&project()?, out),
            Self::Schema(args) => args.run(&project()?, out),
            Self::Doctor(args) => args.run(&project()?, out),
            Self::Package(args) => args.run(&project()?, out),
            Self::State(args) => args.run(&project()?, out),
            Self::Completions(args) => args.run(out),
            Self::Supervise(args) => args.run(),
            Self::Play(args) => args.run(),
        }
    }
}
