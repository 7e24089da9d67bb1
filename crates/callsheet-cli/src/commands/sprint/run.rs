//! `sprint run`: takes stories from the board and through their phases, and goes on where an earlier one was left.

use std::process::ExitCode;

use callsheet::sprint::board::Board;
use callsheet::sprint::machine::{Batch, BatchStatus, Rules};
use callsheet_run::RunError;
use callsheet_run::sprint::{self as sprints, Begun, Stage};
use callsheet_store::Wait;
use serde_json::Value;

use super::crew::{Cast, ProgramCrew, review_model};
use super::dry::Dry;
use super::report;
use crate::failure::{Failure, NEGATIVE, REFUSED};
use crate::output::Output;
use crate::project::Project;
use crate::{run, store};

/// Run stories through their phases: create, review, develop, review the code, commit
///
/// A cycle takes one or two stories of an epic, as `sprint next` prints them. Agents work in the project's own checkout, one
/// after the other. With `--parallel`, cycles of several epics run at once, each in a worktree of its own, and are merged in
/// the order in which they began, after the checks passed on the merged tree. Everything that happened is on record before anything follows from it: after a crash or a stop, the next
/// `sprint run` goes on from there. Ctrl-C stops as the setting `stop` says; the second one ends the agents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 0 if every story that it took is done, with 1 if one is not, with 3 if it could not go on.

Examples:
  callsheet sprint run
  callsheet sprint run all --runner claude
  callsheet sprint run all --parallel 3
  callsheet sprint run 1 --dry-run")]
pub(crate) struct Args {
    /// How many cycles, or `all` [default: `default_max_cycles` in `[sprint]`, which is 2]
    #[arg(value_name = "N|all", value_parser = cycles)]
    cycles: Option<Cycles>,

    /// Who runs the agents [default: the runner in `[sprint]`, else the project's]
    #[arg(long, value_name = "NAME")]
    runner: Option<String>,

    /// How many cycles run at once, from 1 to 16
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    parallel: u32,

    /// Print every prompt that would be sent if all went well, with its size; start and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// How many cycles are asked for.
#[derive(Clone, Copy, Debug)]
enum Cycles {
    Some(u32),
    All,
}

fn cycles(text: &str) -> Result<Cycles, String> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(Cycles::All);
    }
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a number of cycles from 1 on, or `all`".to_owned()),
        Ok(number) => Ok(Cycles::Some(number)),
    }
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let board = checked(project, out)?;
        if self.dry_run {
            let (board, rules) = (&board, self.dry_rules(project)?);
            let dry = Dry {
                project,
                board,
                rules,
                out,
            };
            return dry.run();
        }
        let ran = self.ran(project, out)?;
        if out.json {
            out.document(&ran.report)?;
        } else {
            out.text(&report::text(&ran.report))?;
        }
        Ok(ran.exit())
    }

    /// Chooses who runs the agents, and runs the batch to its end.
    fn ran(&self, project: &Project, out: Output) -> Result<Ran, Failure> {
        let cast = Cast::new(project, self.runner.as_deref())?;
        let rules = self.rules(project, cast.review_model.clone());
        ran(project, cast, rules, out)
    }

    fn rules(&self, project: &Project, review_model: Option<String>) -> Rules {
        let mut rules = project.settings.sprint.rules();
        match self.cycles {
            None => {}
            Some(Cycles::Some(number)) => rules.max_cycles = Some(number),
            Some(Cycles::All) => rules.max_cycles = None,
        }
        rules.review_model = review_model;
        rules.parallel = self.parallel;
        rules
    }

    /// Returns the rules of a sprint that nobody starts: whoever looks at prompts may have no agent yet.
    fn dry_rules(&self, project: &Project) -> Result<Rules, Failure> {
        let settings = &project.settings.sprint;
        let named = self.runner.as_deref().or(settings.runner.as_deref());
        let model = match run::choose(project, named) {
            Ok(runner) => review_model(project, &runner)?,
            Err(_) => settings.review_model.clone(),
        };
        Ok(self.rules(project, model))
    }
}

/// Says what to do where another process has the batch.
pub(super) fn busy(error: RunError) -> Failure {
    let is_busy = matches!(error, RunError::NotNow(_));
    let failure = Failure::from(error);
    if is_busy {
        failure
            .hint("`callsheet sprint status` shows what it does, `callsheet sprint stop` stops it")
    } else {
        failure
    }
}

/// A batch that is over.
pub(crate) struct Ran {
    /// What it came to, as `sprint report` has it.
    pub(crate) report: Value,
    batch: Batch,
}

impl Ran {
    /// Returns the exit code that says how it went.
    pub(crate) fn exit(&self) -> ExitCode {
        if self.batch.status() == Some(BatchStatus::Error) {
            ExitCode::from(REFUSED)
        } else if self.batch.is_fine() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(NEGATIVE)
        }
    }
}

/// Runs every story of the board, as `sprint run all` does, and prints nothing but the progress.
pub(crate) fn all(project: &Project, runner: &str, out: Output) -> Result<Ran, Failure> {
    let args = Args {
        cycles: Some(Cycles::All),
        runner: Some(runner.to_owned()),
        parallel: 1,
        dry_run: false,
    };
    checked(project, out)?;
    args.ran(project, out)
}

/// Looks at the board: what is wrong with it is said before anything is kept.
fn checked(project: &Project, out: Output) -> Result<Board, Failure> {
    let file = super::board_file(project, out)?;
    let board = super::read(&file, out)?;
    super::tell_unknown(&file, &board, out);
    Ok(board)
}

/// Runs a batch to its end, with its progress on stderr.
fn ran(project: &Project, cast: Cast, rules: Rules, out: Output) -> Result<Ran, Failure> {
    let root = run::real(project.root())?;
    if sprints::repository(&root).is_none() {
        out.warn("this project is not in a git repository: stories are not committed, and nobody can tell what an agent changed");
    }
    let opened = store::open_to_write(project)?;
    store::make_folder(project)?;
    let crew = ProgramCrew::new(project, cast, &opened, out)?;
    let program = std::env::current_exe()
        .map_err(|cause| Failure::refused("cannot tell where callsheet is", &cause))?;
    let environment = run::environment();
    let stage = Stage {
        store: &opened.store,
        project: &opened.project,
        root: &root,
        home: &store::folder(project),
        settings: &project.settings.sprint,
        layout: &super::layout(project),
        exclude: &project.settings.prompt.scope.default_exclude,
        workspace: &project.settings.workspace,
        checks: &project.settings.checks,
        environment: &environment,
        program: &program,
        crew: &crew,
    };
    let mut id = None;
    let ran = sprints::run(&stage, rules, &mut |begun, batch| {
        id = Some(batch.id);
        out.say(&match begun {
            Begun::New => format!("batch {} begins", batch.id),
            Begun::TakenUp => format!("batch {} takes up what the last one left", batch.id),
            Begun::Continued => format!("batch {} goes on where it was left", batch.id),
        });
    });
    crew.end();
    let batch = ran.map_err(|error| {
        match opened.store.open_batch(&opened.project).wait() {
            Ok(Some(_)) => busy(error),
            // Nothing has begun, and nobody else is at it.
            _ => error.into(),
        }
    })?;
    let id = id.map(|id| id.to_string()).unwrap_or_default();
    let report = report::of(&opened, &id, &batch)?;
    Ok(Ran { report, batch })
}
