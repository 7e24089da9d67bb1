//! `run`: hands a task to an agent in a worktree of its own, and ends with the facts.

use std::process::ExitCode;

use callsheet_store::RunKind;

use super::task::add;
use crate::assignment::{Assignment, Order};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::{run, tasks};

/// Run a task: an agent works on it in a worktree of its own, and is judged by what can be observed
///
/// The agent works on the branch `callsheet/task-ID`. When it has ended, the checks of callsheet.toml are run in the
/// worktree, and every change outside of the write scope becomes a violation that a person decides about. The last line
/// on stdout is the id of the run. Ctrl-C stops the agent and everything that it started.
#[derive(Debug, clap::Args)]
#[command(override_usage = "\
callsheet run <TASK> [OPTIONS]
       callsheet run --title <TEXT> --write <GLOB>... [OPTIONS]")]
#[command(after_help = "\
Exits with 0 if the run completed, all required checks passed and there is no violation; with 1 if
not; with 3 if the task cannot be run now, or the agent could not be started.

Examples:
  callsheet run 1m7f6zd4
  callsheet run --title 'Fix the login' --write 'src/auth/**' --runner claude
  callsheet run 1m7f6zd4 --profile reviewer --json | jq .violations
  callsheet run 1m7f6zd4 --queue")]
pub(crate) struct Args {
    /// The id of a task; without one, `--title` and `--write` make a new task
    #[arg(value_name = "TASK", required_unless_present = "title", conflicts_with_all = ["title", "write"])]
    task: Option<String>,

    #[command(flatten)]
    order: Order,

    #[command(flatten, next_help_heading = "A new task")]
    new: add::New,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        // What cannot be run is not added.
        self.order.resolve(project, false)?;
        let opened = match &self.task {
            Some(_) => tasks::open(project, out)?,
            None => run::open_to_write(project, out)?,
        };
        let task = match &self.task {
            Some(name) => tasks::find(&opened, name)?,
            None => {
                let task = self.new.add_to(project, &opened)?;
                out.say(&format!("task {}", task.id));
                task
            }
        };
        Assignment {
            project,
            opened,
            task,
            kind: RunKind::First,
            parent: None,
            input: None,
            order: self.order,
        }
        .run(out)
    }
}
