//! `worker`: claims queued runs of the project and runs them, one after the other.

use std::process::ExitCode;
use std::time::Duration;

use callsheet_run::drive::{self, Able, Most};
use callsheet_run::sandbox::Place;
use callsheet_run::tasks::Terms;
use callsheet_run::{Interrupts, Resolved, RunError, document, find_program};
use callsheet_store::{Claim, RunPage, RunState, Task, block_on};

use crate::commands::exec::{Errand, TaskErrand, Texts};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::store::{self, Opened};
use crate::tasks::{self, Desk};
use crate::travel::{self, Journey};
use crate::{run, sandbox};

/// How long to wait for news before looking again: a lease may have run out, or an account may be free again.
const LOOK: Duration = Duration::from_secs(1);

/// How many queued runs are looked at to say why nothing is taken.
const QUEUED: usize = 1000;

/// Claim queued runs and run them, until you stop it
///
/// A worker takes runs of this project only, for the runners and accounts that it has. With a PostgreSQL store, workers on
/// any number of machines share one queue. Ctrl-C stops the agent that is running, and then the worker.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 0 however the runs end; with 3 if no runner of the project can be started here.

Examples:
  callsheet worker
  callsheet worker --drain
  callsheet run 1m7f6zd4 --queue && callsheet worker --drain")]
pub(crate) struct Args {
    /// End when nothing is queued that this worker can take
    #[arg(long)]
    drain: bool,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = run::open_to_write(project, out)?;
        let desk = Desk::of(project, out)?;
        let is_sandboxed = sandbox::of(project, Place::Worktree)?.is_some();
        let runners = able(project, is_sandboxed);
        if runners.is_empty() {
            return Err(
                Failure::missing("no runner of this project can be started here")
                    .hint("`callsheet doctor` says what to do"),
            );
        }
        let names: Vec<&str> = runners.iter().map(|runner| runner.name.as_str()).collect();
        out.say(&format!("waiting for runs of {}", names.join(", ")));
        let mut interrupts = Interrupts::catch()?;
        let mut news = opened.store.follow(&opened.project, i64::MAX)?;
        let mut taken = 0_usize;
        while interrupts.count() == 0 {
            // Runs that lost their process are settled before anything new is taken; a server may be out of reach.
            let settled = drive::settle(&opened.runs(&store::folder(project)), None);
            run::tell_settled(&settled.unwrap_or_default(), out);
            travel::publish_left(project, &opened, &desk, out);
            match claim(project, &opened, &runners) {
                Ok(Some(claim)) => {
                    taken += 1;
                    let id = claim.run.id;
                    out.say(&format!("run {id}"));
                    if let Err(failure) = execute(project, &desk, &claim, out) {
                        // What it left is settled below, or by whoever comes next.
                        out.warn(&format!("run {id}: {}", failure.text()));
                    }
                }
                Ok(None) if self.drain => break,
                Ok(None) => {
                    news.wait(LOOK)?;
                }
                // A server that cannot be reached comes back; a worker outlives that.
                Err(RunError::Store(error)) if !self.drain => {
                    out.warn(&error.to_string());
                    std::thread::sleep(LOOK);
                }
                Err(error) => return Err(error.into()),
            }
        }
        tell_left(&opened, taken, out)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the runners that can be started here.
fn able(project: &Project, is_sandboxed: bool) -> Vec<Resolved> {
    let runners = project.runners();
    let path = std::env::var("PATH").ok();
    let found = |runner: &Resolved| {
        let program = runner.command.first();
        program.is_none_or(|program| find_program(program, path.as_deref()).is_some())
    };
    let names = runners.names().into_iter();
    names
        .filter_map(|name| runners.resolve(&name, project.root(), is_sandboxed).ok())
        .filter(found)
        .collect()
}

fn claim(
    project: &Project,
    opened: &Opened,
    runners: &[Resolved],
) -> Result<Option<Claim>, RunError> {
    let settings = &project.settings;
    let able: Vec<Able<'_>> = runners
        .iter()
        .map(|runner| Able {
            runner,
            most: Most {
                project: settings.limits.runs,
                account: settings
                    .accounts
                    .get(&runner.account)
                    .and_then(|account| account.runs),
            },
        })
        .collect();
    drive::claim_next(
        &opened.store,
        &opened.project,
        &able,
        settings.workspace.conflict_threshold,
    )
}

/// Runs a claimed run to its end; one that cannot be started is on record as failed.
fn execute(project: &Project, desk: &Desk, claim: &Claim, out: Output) -> Result<(), Failure> {
    let id = claim.run.id;
    let opened = store::open_to_write(project)?;
    let prepared = drive::keep(&opened.store, claim, || {
        prepare(project, desk, &opened, claim, out)
    });
    let (errand, mut runner, task) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => {
            let error = RunError::NotNow(failure.text());
            drive::refuse(&opened.runs(&store::folder(project)), claim, &error);
            return Err(failure);
        }
    };
    let done = errand.run(project, &mut runner, out)?;
    if let Some(errand) = &errand.task {
        Journey::new(project, &opened, &errand.workspace, &task).publish(out)?;
    }
    out.say(&format!(
        "run {id}: {}",
        run::ending(&document::document(&done.run))
    ));
    done.export(out);
    Ok(())
}

/// Makes everything ready for a claimed run.
fn prepare(
    project: &Project,
    desk: &Desk,
    opened: &Opened,
    claim: &Claim,
    out: Output,
) -> Result<(Errand, Resolved, Task), Failure> {
    let queued = &claim.run;
    let unknown = || Failure::input(format!("run `{}` is not one of a task", queued.id));
    let (task, terms) = queued.task.zip(Terms::of(queued)).ok_or_else(unknown)?;
    let task = tasks::find(opened, task.as_str())?;
    let place = if terms.in_place {
        Place::Project
    } else {
        Place::Worktree
    };
    let sandbox = sandbox::of(project, place)?;
    let asked = document::document(queued);
    let name = run::text(&asked, "/runner").unwrap_or_default();
    let mut runner = project
        .runners()
        .resolve(&name, project.root(), sandbox.is_some())?;
    runner.runner.model = run::text(&asked, "/model").or(runner.runner.model);
    let script = run::script(project, &runner)?;
    let workspace = desk.workspace(project, opened, &task, terms.in_place)?;
    let journey = Journey::new(project, opened, &workspace, &task);
    journey.bring(out)?;
    journey.owe()?;
    let (before, runs) = tasks::results(opened, &task)?;
    desk.ready(project, &workspace, &terms, (before.as_deref(), &runs))?;
    let (_, seal) = opened.sealed(queued.prompt.as_str())?;
    let errand = Errand {
        sealed: queued.prompt,
        texts: Texts {
            prompt: seal.rendered()?,
            system: None,
        },
        script,
        sandbox: sandbox.map(|write| workspace.writable(write)),
        probe: false,
        kind: queued.kind,
        parent: queued.parent,
        task: Some(TaskErrand {
            id: task.id,
            terms,
            workspace,
        }),
        claim: Some(claim.clone()),
    };
    Ok((errand, runner, task))
}

/// Says what is queued and was not taken.
fn tell_left(opened: &Opened, taken: usize, out: Output) -> Result<(), Failure> {
    let page = RunPage {
        before: None,
        state: Some(RunState::Queued),
        limit: QUEUED,
    };
    let left = block_on(opened.store.runs(&opened.project, page))?.len();
    let runs = |count: usize| match count {
        1 => "1 run".to_owned(),
        count => format!("{count} runs"),
    };
    out.say(&format!("{} done", runs(taken)));
    if left > 0 {
        out.note(&format!(
            "{} stay queued: no runner or account here can take them now",
            runs(left)
        ));
    }
    Ok(())
}
