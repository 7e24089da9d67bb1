//! `retry`: the same task once more, after a run that is over, with a digest of what was observed.

use std::process::ExitCode;

use callsheet_store::RunKind;

use crate::assignment::{Assignment, Order};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::tasks;

/// Run the task of a run again, with the facts of that run in the prompt
///
/// This makes a new run with a new sealed prompt, in the same worktree. Runner, model and profile are those of the run
/// unless you name others.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits as `callsheet run` does.

Examples:
  callsheet retry 1m7f6zd4
  callsheet retry 1m7f6zd4 --runner codex")]
pub(crate) struct Args {
    /// The id of a run that is over
    #[arg(value_name = "RUN")]
    run: String,

    #[command(flatten)]
    order: Order,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = tasks::open(project, out)?;
        let (parent, task) = tasks::finished(&opened, &self.run)?;
        let order = self.order.or_as(&parent);
        Assignment {
            project,
            opened,
            task,
            kind: RunKind::Retry,
            parent: Some(parent),
            input: None,
            order,
        }
        .run(out)
    }
}
