//! `worker`: claims queued runs of the project and runs them, one after the other.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use callsheet_run::drive::{self, Able};
use callsheet_run::sandbox::WorkingDirectory;
use callsheet_run::tasks::Terms;
use callsheet_run::{Interrupts, Resolved, RunError, document, find_program};
use callsheet_store::{Claim, RunPage, RunState, Task, Wait};

use crate::commands::exec::{self, Errand, TaskErrand, Texts};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::store::{self, Opened};
use crate::tasks::{self, Desk};
use crate::travel::{self, Journey};
use crate::{run, sandbox};

/// How long to wait for news before looking again: a lease may have run out, or an account may be free again.
const LOOK: Duration = Duration::from_secs(1);

/// How often to look for work of this machine that others do not have yet.
const HAND_OVER: Duration = Duration::from_secs(10);

/// How long a workspace that is in use or a remote that is out of reach is tried again.
const PATIENCE: Duration = Duration::from_secs(30);

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

    /// End after the run that is running when stdin is closed: whoever started the worker is gone
    #[arg(long, hide = true)]
    leash: bool,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        // Whoever stops it while it opens the store has stopped it as well.
        let interrupts = Interrupts::catch()?;
        let opened = run::open_to_write(project, out)?;
        let desk = Desk::of(project, out)?;
        let is_sandboxed = sandbox::of(project, WorkingDirectory::Worktree)?.is_some();
        let runners = able(project, is_sandboxed);
        if runners.is_empty() {
            return Err(
                Failure::missing("no runner of this project can be started here")
                    .hint("`callsheet doctor` says what to do"),
            );
        }
        let names: Vec<&str> = runners.iter().map(|runner| runner.name.as_str()).collect();
        out.say(&format!("waiting for runs of {}", names.join(", ")));
        let mut worker = Worker {
            project,
            opened,
            desk,
            runners,
            interrupts,
            leash: self.leash.then(Leash::hold),
            complaint: None,
            handed_over: None,
            taken: 0,
            out,
        };
        worker.work(self.drain)?;
        // Nobody here would do so before the next worker is started.
        travel::publish_left(worker.project, &worker.opened, &worker.desk, out);
        match worker.tell_left() {
            // Whoever stops a worker need not wait for its server.
            Err(failure) if self.drain => return Err(failure),
            _ => {}
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Stdin, as long as somebody holds its other end.
struct Leash(Arc<AtomicBool>);

impl Leash {
    /// Waits on a thread of its own for the end of stdin.
    fn hold() -> Self {
        let cut = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&cut);
        std::thread::spawn(move || {
            // Nothing is said there; an error means that it is gone, too.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            seen.store(true, Ordering::Relaxed);
        });
        Self(cut)
    }

    fn is_cut(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Somebody who takes runs, one after the other.
struct Worker<'a> {
    project: &'a Project,
    opened: Opened,
    desk: Desk,
    runners: Vec<Resolved>,
    interrupts: Interrupts,
    leash: Option<Leash>,
    /// What was said last about a store that refuses.
    complaint: Option<String>,
    /// When it was looked for what has to be handed over.
    handed_over: Option<Instant>,
    taken: usize,
    out: Output,
}

impl Worker<'_> {
    /// Takes runs until somebody stops it; with `drain` until there is none that it can take.
    fn work(&mut self, drain: bool) -> Result<(), Failure> {
        let out = self.out;
        let mut news = self.opened.store.follow(&self.opened.project, i64::MAX)?;
        while self.interrupts.count() == 0 && !self.leash.as_ref().is_some_and(Leash::is_cut) {
            match self.look() {
                Ok(Some(claim)) => {
                    self.taken += 1;
                    let id = claim.run.id;
                    out.say(&format!("run {id}"));
                    if let Err(failure) = self.execute(&claim) {
                        // What it left is settled by the next look, here or elsewhere.
                        out.warn(&format!("run {id}: {}", failure.text()));
                    }
                }
                Ok(None) if drain => break,
                Ok(None) => {
                    news.wait(LOOK)?;
                }
                // A server that cannot be reached comes back; a worker outlives that.
                Err(RunError::Store(error)) if !drain => {
                    self.complain(&error.to_string());
                    std::thread::sleep(LOOK);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Settles runs that lost their process, hands over what was left, and claims the next run.
    fn look(&mut self) -> Result<Option<Claim>, RunError> {
        let (opened, out) = (&self.opened, self.out);
        let home = store::folder(self.project);
        let settled = drive::settle(&opened.runs(&home), None);
        match settled {
            Ok(settled) => {
                run::tell_settled(&settled, out);
                self.complaint = None;
            }
            Err(RunError::Store(error)) => return Err(RunError::Store(error)),
            // One run that cannot be settled does not keep others from being run.
            Err(error) => self.complain(&error.to_string()),
        }
        // A remote that is out of reach would be complained about all the time.
        if self.handed_over.is_none_or(|at| at.elapsed() > HAND_OVER) {
            travel::publish_left(self.project, &self.opened, &self.desk, out);
            self.handed_over = Some(Instant::now());
        }
        claim(self.project, &self.opened, &self.runners)
    }

    /// Says what is wrong, once as long as nothing else is.
    fn complain(&mut self, what: &str) {
        if self.complaint.as_deref() != Some(what) {
            self.out.warn(what);
            self.complaint = Some(what.to_owned());
        }
    }

    /// Runs a claimed run to its end; one that cannot be started is on record as failed.
    fn execute(&mut self, claim: &Claim) -> Result<(), Failure> {
        let (id, out) = (claim.run.id, self.out);
        let store = self.opened.store.clone();
        let prepared = drive::keep(&store, claim, || self.prepare(claim));
        let home = store::folder(self.project);
        let place = self.opened.runs(&home);
        if self.interrupts.count() > 0 {
            drive::cancel(&place, claim)?;
            out.say(&format!("run {id}: cancelled"));
            return Ok(());
        }
        let (errand, mut runner, task) = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => {
                let error = RunError::NotNow(failure.text());
                drive::refuse(&place, claim, &error);
                return Err(failure);
            }
        };
        let done = errand.run(self.project, &mut runner, out)?;
        out.say(&format!(
            "run {id}: {}",
            run::ending(&document::document(&done.run))
        ));
        done.export(out);
        if let Some(errand) = &errand.task {
            let journey = Journey::new(self.project, &self.opened, &errand.workspace, &task);
            journey.publish(true, out)?;
        }
        Ok(())
    }

    /// Tries something that may be in use or out of reach for a moment, until it works or somebody stops the worker.
    fn patiently<T>(
        &mut self,
        mut work: impl FnMut(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let since = Instant::now();
        loop {
            match work(self) {
                Err(_) if since.elapsed() < PATIENCE && self.interrupts.count() == 0 => {
                    std::thread::sleep(LOOK);
                }
                done => return done,
            }
        }
    }

    /// Makes everything ready for a claimed run.
    fn prepare(&mut self, claim: &Claim) -> Result<(Errand, Resolved, Task), Failure> {
        let (project, out) = (self.project, self.out);
        let queued = &claim.run;
        let unknown = || Failure::input(format!("run `{}` is not one of a task", queued.id));
        let (task, terms) = queued.task.zip(Terms::of(queued)).ok_or_else(unknown)?;
        let task = tasks::find(&self.opened, task.as_str())?;
        let place = if terms.in_place {
            WorkingDirectory::Project
        } else {
            WorkingDirectory::Worktree
        };
        let sandbox = sandbox::of(project, place)?;
        let asked = document::document(queued);
        let name = run::text(&asked, "/runner").unwrap_or_default();
        let mut runner = project
            .runners()
            .resolve(&name, project.root(), sandbox.is_some())?;
        runner.runner.model = run::text(&asked, "/model").or(runner.runner.model);
        let script = run::script(project, &runner)?;
        // A task has one run that is not over, which this process has claimed: there is nothing to settle.
        let workspace =
            self.patiently(|worker| worker.desk.hold(project, &task, terms.in_place))?;
        self.patiently(|worker| {
            Journey::new(project, &worker.opened, &workspace, &task).bring(out)
        })?;
        let (before, runs) = tasks::results(&self.opened, &task)?;
        let before = (before.as_deref(), &runs[..]);
        self.desk.ready(project, &workspace, &terms, before)?;
        Journey::new(project, &self.opened, &workspace, &task).owe(Some(queued.id))?;
        let (_, seal) = self.opened.sealed(queued.prompt.as_str())?;
        let errand = Errand {
            sealed: queued.prompt,
            texts: Texts {
                prompt: seal.text()?,
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
    fn tell_left(&self) -> Result<(), Failure> {
        let (opened, out) = (&self.opened, self.out);
        let page = RunPage {
            before: None,
            state: Some(RunState::Queued),
            limit: QUEUED,
        };
        let left = opened.store.runs(&opened.project, page).wait()?.len();
        let runs = |count: usize| match count {
            1 => "1 run".to_owned(),
            count => format!("{count} runs"),
        };
        out.say(&format!("{} done", runs(self.taken)));
        if left > 0 {
            let (stay, them) = if left == 1 {
                ("stays", "it")
            } else {
                ("stay", "them")
            };
            out.note(&format!(
                "{} {stay} queued: no runner or account here can take {them} now",
                runs(left)
            ));
        }
        Ok(())
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
            most: exec::most(project, runner),
        })
        .collect();
    drive::claim_next(
        &opened.store,
        &opened.project,
        &able,
        settings.workspace.conflict_threshold,
    )
}
