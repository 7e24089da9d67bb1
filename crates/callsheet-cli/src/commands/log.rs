//! `log`: what a run was given and what it wrote.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::Duration;

use callsheet_store::{Id, RunState, StoredRecord, Stream, Wait};
use clap::ValueEnum;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, compact};
use crate::project::Project;
use crate::run;
use crate::store::Opened;

/// How many records are read at once.
const PAGE: usize = 64;

/// How long to wait for news before looking whether the run is over.
const WAIT: Duration = Duration::from_millis(500);

/// Print the log of a run: what the agent was given, and what it wrote
///
/// One stream is printed as its exact bytes; with all of them, every line begins with the name of its stream. A record has
/// the lines that came together, and a number.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet log 1m7f6zd4
  callsheet log 1m7f6zd4 --stream stdout --tail 20
  callsheet log 1m7f6zd4 -f
  callsheet log 1m7f6zd4 --since 7 --json")]
pub(crate) struct Args {
    /// The id of a run
    #[arg(value_name = "RUN")]
    run: String,

    /// Which stream
    #[arg(long, value_name = "STREAM", default_value = "all")]
    stream: Which,

    /// Only records with a number above this one
    #[arg(long, value_name = "N", conflicts_with = "tail")]
    since: Option<i64>,

    /// Only the last lines
    #[arg(long, value_name = "N")]
    tail: Option<usize>,

    /// Go on until the run is over
    #[arg(short, long)]
    follow: bool,
}

/// A stream, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// What the agent was given: the prompt first
    Meta,
    /// Its standard output
    Stdout,
    /// Its standard error
    Stderr,
    /// All of them
    All,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = run::open_some(project, out)?;
        let id = run::find(&opened, &self.run)?.id;
        let mut since = match self.tail {
            Some(lines) => self.print_tail(&opened, id, lines, out)?,
            None => self.since.unwrap_or(0),
        };
        let mut follower = opened.store.follow(&opened.project, i64::MAX - 1)?;
        loop {
            // In this order: what is written before the end was seen is printed after it.
            let state = opened.store.run(&opened.project, id.as_str()).wait()?.state;
            since = self.print_since(&opened, id, since, out)?;
            if !self.follow || state == RunState::Finished {
                return Ok(ExitCode::SUCCESS);
            }
            follower.wait(WAIT)?;
        }
    }

    fn stream(&self) -> Option<Stream> {
        match self.stream {
            Which::Meta => Some(Stream::Meta),
            Which::Stdout => Some(Stream::Stdout),
            Which::Stderr => Some(Stream::Stderr),
            Which::All => None,
        }
    }

    fn print_since(
        &self,
        opened: &Opened,
        id: Id,
        mut since: i64,
        out: Output,
    ) -> Result<i64, Failure> {
        loop {
            let records = opened
                .store
                .log_since(id, since, PAGE, self.stream())
                .wait()?;
            let Some(last) = records.last() else {
                return Ok(since);
            };
            since = last.seq;
            for record in &records {
                self.print(record, &record.data, out)?;
            }
        }
    }

    /// Prints the last lines and returns the number of the last record.
    fn print_tail(
        &self,
        opened: &Opened,
        id: Id,
        lines: usize,
        out: Output,
    ) -> Result<i64, Failure> {
        // A record has one line at least, so this many have enough of them.
        let mut wanted = lines.min(PAGE);
        let mut records = loop {
            let records = opened.store.log_tail(id, wanted, self.stream()).wait()?;
            let have: usize = records.iter().map(|record| count(&record.data)).sum();
            if have >= lines || records.len() < wanted {
                break VecDeque::from(records);
            }
            wanted = wanted.saturating_mul(2);
        };
        let last = records.back().map_or(0, |record| record.seq);
        let mut over = records
            .iter()
            .map(|record| count(&record.data))
            .sum::<usize>()
            .saturating_sub(lines);
        while let Some(record) = records.pop_front() {
            let has = count(&record.data);
            let skipped = over.min(has);
            over -= skipped;
            let kept: Vec<u8> = record
                .data
                .split_inclusive(|byte| *byte == b'\n')
                .skip(skipped)
                .flatten()
                .copied()
                .collect();
            if !kept.is_empty() {
                self.print(&record, &kept, out)?;
            }
        }
        Ok(last)
    }

    fn print(&self, record: &StoredRecord, data: &[u8], out: Output) -> Result<(), Failure> {
        if out.json {
            let line = json!({
                "seq": record.seq,
                "at": record.at,
                "stream": record.stream,
                "data": String::from_utf8_lossy(data),
            });
            return out.data(compact(&line));
        }
        if self.stream != Which::All {
            out.data(data)?;
            // The prompt has no newline of ours; what follows it begins a line.
            if self.stream == Which::Meta && !data.ends_with(b"\n") {
                out.data("\n")?;
            }
            return Ok(());
        }
        let mut shown = String::with_capacity(data.len() + 16);
        for line in String::from_utf8_lossy(data).split_inclusive('\n') {
            let line = line.trim_end_matches('\n');
            shown.push_str(&format!("{:<6} {line}\n", record.stream.as_str()));
        }
        out.text(&shown)
    }
}

/// Returns how many lines there are, one without its end included.
fn count(data: &[u8]) -> usize {
    data.split_inclusive(|byte| *byte == b'\n').count()
}
