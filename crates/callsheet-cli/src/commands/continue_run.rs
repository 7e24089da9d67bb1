//! `continue`: more of a task, after a run that is over, with what a person adds.

use std::process::ExitCode;

use callsheet_store::RunKind;

use crate::assignment::{Assignment, Order};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::{input, tasks};

/// Continue the task of a run with more input, with the facts of that run in the prompt
///
/// This makes a new run with a new sealed prompt, in the same worktree. Your text stands in the prompt word by word,
/// between two lines that mark it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits as `callsheet run` does.

Examples:
  callsheet continue 1m7f6zd4 --input 'Keep the old endpoint as well.'
  callsheet continue 1m7f6zd4 --input @review.md")]
pub(crate) struct Args {
    /// The id of a run that is over
    #[arg(value_name = "RUN")]
    run: String,

    /// What you add; `@FILE` reads a file, `@-` stdin
    #[arg(long, value_name = "TEXT")]
    input: String,

    #[command(flatten)]
    order: Order,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let input = input::given(&self.input)?;
        if input.trim().is_empty() {
            return Err(Failure::input("the text of `--input` is empty"));
        }
        let opened = tasks::open(project, out)?;
        let (parent, task) = tasks::finished(&opened, &self.run)?;
        let order = self.order.or_as(&parent);
        Assignment {
            project,
            opened,
            task,
            kind: RunKind::Continue,
            parent: Some(parent),
            input: Some(input),
            order,
        }
        .run(out)
    }
}
