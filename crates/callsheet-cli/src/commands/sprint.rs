//! `sprint`: the board of a project, and what is done about its stories.

mod archive;
mod batches;
mod check;
mod crew;
mod dry;
mod live;
mod next;
mod parse;
pub(crate) mod report;
pub(crate) mod run;
mod set;
mod status;
mod stop;

use std::process::ExitCode;

use callsheet::sprint::board::Board;
use callsheet::sprint::{Entry, NotFound, find};
use callsheet_run::RunError;
use callsheet_run::sprint::{BoardFile, Layout, PLACES, is_running};
use callsheet_store::{Batch, BatchPage, Wait};
use clap::Subcommand;

use crate::failure::Failure;
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::store::Opened;

/// Work on the stories of a board
///
/// The board is `sprint-status.yaml`, in the place that `[sprint] board` names, else in the first of the usual places that has
/// one. callsheet changes one value at a time and keeps everything else as it is.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  callsheet sprint next
  callsheet sprint set 2a-1 ready-for-dev
  callsheet sprint check")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Status(status::Args),
    Stop(stop::Args),
    Next(next::Args),
    Set(set::Args),
    Check(check::Args),
    Parse(parse::Args),
    Archive(archive::Args),
    Batches(batches::Args),
    Report(report::Args),
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Run(args) => args.run(project, out),
            Command::Status(args) => args.run(project, out),
            Command::Stop(args) => args.run(project, out),
            Command::Next(args) => args.run(project, out),
            Command::Set(args) => args.run(project, out),
            Command::Check(args) => args.run(project, out),
            Command::Parse(args) => args.run(out),
            Command::Archive(args) => args.run(project, out),
            Command::Batches(args) => args.run(project, out),
            Command::Report(args) => args.run(project, out),
        }
    }
}

/// Finds the board of a project, and says which of several it is.
fn board_file(project: &Project, out: Output) -> Result<BoardFile, Failure> {
    let layout = project.settings.sprint_paths().layout();
    let found = BoardFile::find(project.root(), &project.settings.sprint, &layout);
    let file = match found {
        Err(RunError::Unknown { what: "board", .. }) => {
            let places = PLACES.map(|place| if place.is_empty() { "the root" } else { place });
            return Err(Failure::input("this project has no `sprint-status.yaml`")
                .hint(format!("looked in {}", places.join(", ")))
                .hint("`board` in `[sprint]` of callsheet.toml names another place"));
        }
        found => found?,
    };
    if !file.others().is_empty() {
        let others = file.others().join("`, `");
        out.warn(&format!(
            "using the board `{}`, not `{others}`; `board` in `[sprint]` says which",
            file.path()
        ));
    }
    Ok(file)
}

/// Returns where the files of the sprint are.
fn layout(project: &Project) -> Layout {
    let paths = project.settings.sprint_paths();
    let usual = paths.layout();
    let file = BoardFile::find(project.root(), &project.settings.sprint, &usual);
    file.map_or(usual, |file| file.layout(&paths))
}

/// Reads the board, and says what other readers would not take.
fn read(file: &BoardFile, out: Output) -> Result<Board, Failure> {
    let board = file.read()?;
    for warning in board.warnings() {
        let (path, line) = (file.path(), warning.line);
        out.warn(&format!("{path}:{line}: {}", one_line(&warning.message)));
    }
    Ok(board)
}

/// Says which stories have a status that nobody knows; they are never run.
fn tell_unknown(file: &BoardFile, board: &Board, out: Output) {
    for story in board.unknown() {
        let (path, line, key) = (file.path(), story.line, &story.key);
        let why = match story.word.text.as_str() {
            "" => "it has no status".to_owned(),
            word => format!("`{word}` is not a known status"),
        };
        out.warn(&format!("{path}:{line}: skipping `{key}`: {why}"));
    }
}

/// Finds a batch: the one that is named, else the newest.
fn batch(opened: &Opened, name: Option<&str>) -> Result<Option<Batch>, Failure> {
    if let Some(name) = name {
        return Ok(Some(opened.store.batch(&opened.project, name).wait()?));
    }
    let page = BatchPage {
        offset: 0,
        limit: 1,
    };
    Ok(opened
        .store
        .batches(&opened.project, page)
        .wait()?
        .batches
        .pop())
}

/// Returns how a batch ended, or whether anybody is still at it.
fn state(batch: &Batch) -> &'static str {
    match batch.status {
        Some(status) => status.as_str(),
        None if is_running(batch) => "running",
        // `sprint run` goes on with it.
        None => "interrupted",
    }
}

/// Finds the entry that a name means.
fn entry<'a>(board: &'a Board, file: &BoardFile, name: &str) -> Result<&'a Entry, Failure> {
    // More than these say no more.
    const SHOWN: usize = 10;
    find(board, name).map_err(|problem| match problem {
        NotFound::Unknown => {
            let keys = board.entries().iter().map(|entry| entry.key.as_str());
            let error = callsheet::Error::unknown("story", name, keys).at(file.path(), None);
            match crate::failure::did_you_mean(name, error.allowed()) {
                Some(_) => error.into(),
                None => Failure::input(format!("{}: no story named `{name}`", file.path())),
            }
        }
        NotFound::Ambiguous(mut keys) => {
            let more = keys.len().saturating_sub(SHOWN);
            keys.truncate(SHOWN);
            let keys = keys.join("`, `");
            let more = match more {
                0 => String::new(),
                more => format!(" or {more} more"),
            };
            Failure::input(format!("`{name}` could mean `{keys}`{more}"))
                .hint("write the whole key")
        }
    })
}
