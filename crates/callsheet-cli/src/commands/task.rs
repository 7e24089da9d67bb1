//! `task`: add, list, show and cancel tasks, and say which have to be done first.

pub(crate) mod add;
mod change;
mod list;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::run;
use crate::store::Opened;

/// Add, list, show and cancel tasks
///
/// A task says what is to be done and which paths may be written for it. Its status follows from what was observed of its
/// runs, from what people decided, and from what is merged; nothing that an agent says about itself counts.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  callsheet task add --title 'Fix the login' --write 'src/auth/**'
  callsheet task list --status needs_review
  callsheet task show 1m7f6zd4
  callsheet task depend 1m7f6zd4 --on 1m7f6zc9
  callsheet task cancel 1m7f6zd4")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(add::Args),
    List(list::Args),
    Show(show::Args),
    Cancel(change::Cancel),
    Depend(change::Depend),
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Add(args) => args.run(project, out),
            Command::List(args) => args.run(project, out),
            Command::Show(args) => args.run(project, out),
            Command::Cancel(args) => args.run(project, out),
            Command::Depend(args) => args.run(project, out),
        }
    }
}

/// Opens the store with every run in a true state; there have to be tasks in it.
fn open(project: &Project, out: Output) -> Result<Opened, Failure> {
    run::open(project, out)?.ok_or_else(|| {
        Failure::input("there are no tasks in this project").hint("`callsheet task add` adds one")
    })
}
