//! `checks rerun`: the checks of a run once more, on the same tree.

use std::process::ExitCode;

use callsheet::task::CheckStatus;
use callsheet_run::Interrupts;
use callsheet_run::tasks::{Rerun as Checks, Terms};
use callsheet_store::Wait;
use serde_json::json;

use crate::failure::{Failure, NEGATIVE};
use crate::output::Output;
use crate::project::Project;
use crate::travel::Journey;
use crate::{run, tasks};

/// Run the checks of a run again
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Rerun(Rerun),
}

/// Run the checks of a run again, in its worktree
///
/// The definitions are those that were frozen when the run started. The worktree has to be as the run left it: a result
/// is worth something only for the tree that it ran on. The new results stand beside the old ones, and the newest counts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 1 if a required check did not pass; with 3 if the worktree is not as the run left it.

Examples:
  callsheet checks rerun 1m7f6zd4
  callsheet checks rerun 1m7f6zd4 --check test")]
struct Rerun {
    /// The id of a run that is over
    #[arg(value_name = "RUN")]
    run: String,

    /// Only the check of this name; may be repeated
    #[arg(long = "check", value_name = "NAME")]
    checks: Vec<String>,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let Command::Rerun(rerun) = self.command;
        rerun.run(project, out)
    }
}

impl Rerun {
    fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = tasks::open(project, out)?;
        let (run, task) = tasks::finished(&opened, &self.run)?;
        let desk = tasks::Desk::of(project, out)?;
        let terms = Terms::of(&run).ok_or_else(|| {
            Failure::input(format!("run `{}` does not say what it was for", run.id))
        })?;
        let workspace = desk.workspace(project, &opened, &task, terms.in_place)?;
        Journey::new(project, &opened, &workspace, &task).bring(out)?;
        if !terms.in_place {
            // Another run may have been there since, or another machine.
            let (_, runs) = tasks::results(&opened, &task)?;
            let left = run::text(&tasks::document(&opened, &run)?, "/result");
            desk.ready(project, &workspace, &terms, (left.as_deref(), &runs))?;
        }
        let sandbox = tasks::check_sandbox(project, &workspace, terms.in_place)?;
        let mut waiting = tasks::Patience {
            interrupts: Interrupts::catch()?,
            out,
        };
        let rerun = Checks {
            name: run.id.as_str(),
            ground: workspace.ground(),
            program: &desk.program,
            environment: &desk.environment,
            sandbox: sandbox.as_ref(),
        };
        let results = rerun.run(&run, &self.checks, &mut waiting)?;
        for checked in &results {
            let store = &opened.store;
            let value = json!(checked);
            let kept = store.annotate(
                &opened.project,
                run.id,
                "check",
                &checked.name,
                value,
                |_, _| Ok(()),
            );
            kept.wait()?.map_err(Failure::missing)?;
        }
        if out.json {
            out.document(&tasks::document(&opened, &run)?)?;
        }
        let passed = results
            .iter()
            .all(|checked| !checked.required || checked.status == CheckStatus::Passed);
        Ok(if passed {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(NEGATIVE)
        })
    }
}
