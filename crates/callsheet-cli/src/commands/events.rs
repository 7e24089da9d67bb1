//! `events`: what happened in the project, in the order in which it was stored.

use std::process::ExitCode;
use std::time::Duration;

use callsheet_store::{Id, RunState, StoredEvent, Wait};

use crate::failure::Failure;
use crate::output::{Output, compact, one_line};
use crate::project::Project;
use crate::store::Opened;
use crate::{run, time};

/// How many events are read at once.
const PAGE: usize = 500;

/// How long to wait for news before looking whether the run is over.
const WAIT: Duration = Duration::from_millis(500);

/// Print what happened: the stored events, the oldest first
///
/// Every event was stored before anybody saw it, and has a number that follows the one before it. With `--json` one event
/// per line, in its wire form.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet events
  callsheet events --run 1m7f6zd4
  callsheet events --since 120 --json
  callsheet events -f")]
pub(crate) struct Args {
    /// Only events with a number above this one
    #[arg(long, value_name = "N", default_value_t = 0)]
    since: i64,

    /// Only those of this run
    #[arg(long, value_name = "RUN")]
    run: Option<String>,

    /// Go on: until the run is over, or without end
    #[arg(short, long)]
    follow: bool,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = run::open_some(project, out)?;
        let run = match &self.run {
            Some(name) => Some(run::find(&opened, name)?.id),
            None => None,
        };
        let mut since = self.since;
        let mut follower = opened.store.follow(&opened.project, i64::MAX - 1)?;
        loop {
            let over = match run {
                Some(id) => {
                    let run = opened.store.run(&opened.project, id.as_str()).wait()?;
                    run.state == RunState::Finished
                }
                None => false,
            };
            since = print_since(&opened, run, since, out)?;
            if !self.follow || over {
                return Ok(ExitCode::SUCCESS);
            }
            follower.wait(WAIT)?;
        }
    }
}

fn print_since(
    opened: &Opened,
    run: Option<Id>,
    mut since: i64,
    out: Output,
) -> Result<i64, Failure> {
    loop {
        let events = match run {
            Some(id) => opened.store.events_of_run(id, since, PAGE).wait()?,
            None => opened
                .store
                .events_since(&opened.project, since, PAGE)
                .wait()?,
        };
        let Some(last) = events.last() else {
            return Ok(since);
        };
        since = last.seq;
        let mut text = String::new();
        for event in &events {
            text.push_str(&line(event, out));
        }
        out.data(text)?;
    }
}

fn line(event: &StoredEvent, out: Output) -> String {
    if out.json {
        return compact(event);
    }
    let run = event.run.map_or_else(String::new, |run| format!("  {run}"));
    format!(
        "{:>6}  {}  {}{run}  {}\n",
        event.seq,
        time::shown(event.at),
        one_line(&event.event.kind),
        one_line(event.event.message())
    )
}
