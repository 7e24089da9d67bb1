//! `task cancel` and `task depend`: what a person changes about a task.

use std::process::ExitCode;

use callsheet_run::tasks;
use callsheet_store::{Id, RunState, Wait};

use super::open;
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::store::{self, Opened};
use crate::tasks::{find, state};

/// Cancel a task
///
/// Nothing can be run for it any more, and that cannot be taken back. A task with a run that is not over is left alone. A
/// task that is cancelled already is not an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet task cancel 1m7f6zd4")]
pub(crate) struct Cancel {
    /// The id of a task
    #[arg(value_name = "ID")]
    task: String,
}

impl Cancel {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        // What has lost its process is settled here.
        let id = find(&open(project, out)?, &self.task)?.id;
        let opened = store::open_to_write(project)?;
        let runs = opened.store.runs_of_task(&opened.project, id).wait()?;
        if let Some(run) = runs.iter().find(|run| run.state != RunState::Finished) {
            let why = format!("task `{id}` has a run that is not over: `{}`", run.id);
            let hint = format!("`callsheet stop {}` ends it", run.id);
            return Err(Failure::negative(why).hint(hint));
        }
        let cancelled = opened.store.cancel_task(&opened.project, id).wait()?;
        let already = if cancelled { "" } else { " already" };
        out.say(&format!("task {id} is cancelled{already}"));
        print_task(project, &opened, id, out)
    }
}

/// Say which tasks have to be done first
///
/// A task is blocked until all tasks that it depends on are done.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet task depend 1m7f6zd4 --on 1m7f6zc9
  callsheet task depend 1m7f6zd4 --on 1m7f6zc9 --remove")]
pub(crate) struct Depend {
    /// The id of a task
    #[arg(value_name = "ID")]
    task: String,

    /// The tasks that have to be done first
    #[arg(long, value_name = "ID", num_args = 1.., required = true)]
    on: Vec<String>,

    /// They do not have to be done first any more
    #[arg(long)]
    remove: bool,
}

impl Depend {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = open(project, out)?;
        let id = find(&opened, &self.task)?.id;
        // All names are looked up before anything changes.
        let on = self.on.iter().map(|name| Ok(find(&opened, name)?.id));
        let on = on.collect::<Result<Vec<Id>, Failure>>()?;
        drop(opened);
        let opened = store::open_to_write(project)?;
        for on in on {
            if self.remove {
                let removing = opened.store.remove_dependency(&opened.project, id, on);
                if !removing.wait()? {
                    let why = format!("task `{id}` does not depend on `{on}`");
                    return Err(Failure::input(why));
                }
                out.say(&format!("task {id} does not depend on {on} any more"));
            } else {
                opened
                    .store
                    .add_dependency(&opened.project, id, on)
                    .wait()?;
                out.say(&format!("task {id} depends on {on}"));
            }
        }
        print_task(project, &opened, id, out)
    }
}

/// Prints the document of a task, where a program reads.
fn print_task(
    project: &Project,
    opened: &Opened,
    id: Id,
    out: Output,
) -> Result<ExitCode, Failure> {
    if out.json {
        out.document(&tasks::document(&state(project, opened, id)?))?;
    }
    Ok(ExitCode::SUCCESS)
}
