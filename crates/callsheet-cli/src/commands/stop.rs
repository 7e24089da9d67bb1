//! `stop`: ends a run, wherever it is.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use callsheet_run::document::document;
use callsheet_store::{RunState, Wait};

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::{progress, run, store};

/// How long a run may take to end: its own way, then TERM, then KILL, and what has to be put on record.
const PATIENCE: Duration = Duration::from_secs(40);

/// Stop a run: the agent and everything that it started
///
/// The agent is asked in its own way first, then with TERM, then with KILL. The command waits until the run is over. A run
/// that is over already is not an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet stop 1m7f6zd4")]
pub(crate) struct Args {
    /// The id of a run
    #[arg(value_name = "RUN")]
    run: String,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        // What has lost its process is settled here.
        let id = run::find(&run::open_some(project, out)?, &self.run)?.id;
        let opened = store::open_to_write(project)?;
        let asked = opened.store.request_stop(id).wait()?;
        if !asked {
            out.note(&format!("run {id} is over already"));
        }
        let since = Instant::now();
        let finished = progress::during("stopping", || {
            loop {
                let run = opened.store.run(&opened.project, id.as_str()).wait()?;
                if run.state == RunState::Finished {
                    return Ok(Some(run));
                }
                if since.elapsed() > PATIENCE {
                    return Ok::<_, Failure>(None);
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        })?;
        let Some(finished) = finished else {
            return Err(Failure::missing(format!(
                "run {id} was asked to stop and is not over after {} s",
                PATIENCE.as_secs()
            ))
            .hint("the process that drives it may be on another machine, or stuck"));
        };
        let document = document(&finished);
        if out.json {
            out.document(&document)?;
        } else {
            out.say(&format!("run {id}: {}", run::ending(&document)));
        }
        Ok(ExitCode::SUCCESS)
    }
}
