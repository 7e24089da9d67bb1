//! The arguments that every command shares, and the list of commands.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands;
use crate::failure::Failure;
use crate::output::{Output, Talk};
use crate::project::Project;

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
  callsheet verify                                 prove that nothing was changed since")]
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
    Exec(commands::exec::Args),
    Runs(commands::runs::Args),
    Log(commands::log::Args),
    Events(commands::events::Args),
    Stop(commands::stop::Args),
    Prompts(commands::prompts::Args),
    Show(commands::show::Args),
    Search(commands::search::Args),
    Verify(commands::verify::Args),
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
                    "`{}` is no folder",
                    folder.display()
                )));
            }
            std::env::set_current_dir(folder).map_err(|cause| {
                Failure::refused(&format!("cannot go to `{}`", folder.display()), &cause)
            })?;
        }
        let root = self.root.as_deref();
        let project = || Project::find(root);
        match self.command {
            Command::Demo(args) => args.run(out),
            Command::Init(args) => args.run(root, out),
            Command::Compose(args) => args.run(&project()?, out),
            Command::Inject(args) => args.run(&project()?, out),
            Command::Pack(args) => args.run(&project()?, out),
            Command::Explain(args) => args.run(&project()?, out),
            Command::Why(args) => args.run(&project()?, out),
            Command::Diff(args) => args.run(&project()?, out),
            Command::Cache(args) => args.run(&project()?, out),
            Command::Exec(args) => args.run(&project()?, out),
            Command::Runs(args) => args.run(&project()?, out),
            Command::Log(args) => args.run(&project()?, out),
            Command::Events(args) => args.run(&project()?, out),
            Command::Stop(args) => args.run(&project()?, out),
            Command::Prompts(args) => args.run(&project()?, out),
            Command::Show(args) => args.run(&project()?, out),
            Command::Search(args) => args.run(&project()?, out),
            Command::Verify(args) => args.run(&project()?, out),
            Command::Replay(args) => args.run(&project()?, out),
            Command::Export(args) => args.run(&project()?, out),
            Command::Import(args) => args.run(&project()?, out),
            Command::Gc(args) => args.run(&project()?, out),
            Command::Template(args) => args.run(&project()?, out),
            Command::Recipe(args) => args.run(&project()?, out),
            Command::Profile(args) => args.run(&project()?, out),
            Command::Adapter(args) => args.run(&project()?, out),
            Command::Schema(args) => args.run(&project()?, out),
            Command::Doctor(args) => args.run(&project()?, out),
            Command::Package(args) => args.run(&project()?, out),
            Command::State(args) => args.run(&project()?, out),
            Command::Completions(args) => args.run(out),
            Command::Supervise(args) => args.run(),
            Command::Play(args) => args.run(),
        }
    }
}
