//! The live line of a run: who, how long, the last tool, tokens, cost. On a terminal it moves; elsewhere tools are lines.
//!
//! A thread of its own prints, and what nobody reads is dropped: a terminal that is stuck must not stop the clocks of a run.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Duration;

use callsheet_run::drive::{self, Watcher};
use callsheet_run::{Interrupts, Resolved};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::terminal::{is_watched, print_moving};
use crate::output::{Output, Talk, human_tokens, one_line};

/// How much may wait for a reader.
const WAITING: usize = 256;

/// How long the end waits for a reader.
const PATIENCE: Duration = Duration::from_secs(1);

/// Something to print.
enum LiveLine {
    /// The line that moves, in the place of the one before.
    Moving(String),
    /// A line that stays.
    Said(String),
    Noted(String),
}

/// Lines on stderr, printed by a thread of their own.
pub(crate) struct LivePrinter {
    sender: Option<SyncSender<LiveLine>>,
    printed: Receiver<()>,
    /// Whether there is a terminal that shows a line that moves.
    pub(crate) terminal: bool,
}

impl LivePrinter {
    /// Begins to print.
    pub(crate) fn new(out: Output) -> Result<Self, Failure> {
        let (lines, waiting) = sync_channel(WAITING);
        let (done, printed) = channel();
        std::thread::Builder::new()
            .name("callsheet-live".to_owned())
            .spawn(move || {
                print(&waiting, out);
                // Nobody waits any more where the reader was too slow.
                let _ = done.send(());
            })
            .map_err(|cause| Failure::refused("cannot show the run", &cause))?;
        Ok(Self {
            sender: Some(lines),
            printed,
            terminal: is_watched() && out.talk > Talk::Quiet,
        })
    }

    /// Takes the line that moves away, and waits for the rest to be printed.
    pub(crate) fn end(&mut self) {
        self.sender = None;
        let _ = self.printed.recv_timeout(PATIENCE);
    }

    /// Shows a line in the place of the one before.
    pub(crate) fn moving(&self, line: String) {
        self.print(LiveLine::Moving(line));
    }

    /// Prints a line that stays.
    pub(crate) fn say(&self, line: String) {
        self.print(LiveLine::Said(line));
    }

    /// Prints a line that somebody should read.
    pub(crate) fn note(&self, line: String) {
        self.print(LiveLine::Noted(line));
    }

    fn print(&self, line: LiveLine) {
        if let Some(lines) = &self.sender {
            // Everything is stored; what is not shown is not lost.
            let _ = lines.try_send(line);
        }
    }
}

/// Shows a run while it lasts, and listens for Ctrl-C.
pub(crate) struct Live {
    runner: String,
    interrupts: Interrupts,
    stops: usize,
    lines: LivePrinter,
}

impl Live {
    /// Begins to listen.
    pub(crate) fn new(runner: &Resolved, out: Output) -> Result<Self, Failure> {
        Ok(Self {
            interrupts: Interrupts::catch()?,
            lines: LivePrinter::new(out)?,
            runner: runner.name.clone(),
            stops: 0,
        })
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self) {
        self.lines.end();
    }
}

impl Watcher for Live {
    fn live(&mut self, live: &drive::Live<'_>) {
        if self.lines.terminal {
            self.lines.moving(line(&self.runner, live));
            return;
        }
        let calls = live.news.iter();
        for call in calls.filter(|event| event.kind == "agent:tool_call") {
            let tool = call.payload.get("name").and_then(Value::as_str);
            let tool = one_line(tool.unwrap_or_default());
            let elapsed = clock(live.elapsed);
            self.lines
                .say(format!("{}  {elapsed}  {tool}", self.runner));
        }
    }

    fn stops(&mut self) -> usize {
        let stops = self.interrupts.count();
        if stops > self.stops {
            self.stops = stops;
            let said = match stops {
                1 => "stopping the agent; once more ends it at once",
                _ => "ending the agent",
            };
            self.lines.say(said.to_owned());
        }
        stops
    }

    fn note(&mut self, line: &str) {
        self.lines.note(line.to_owned());
    }

    fn say(&mut self, line: &str) {
        self.lines.say(line.to_owned());
    }
}

/// Prints lines until there are no more, and takes the one that moves away.
fn print(lines: &Receiver<LiveLine>, out: Output) {
    let mut shown = false;
    let clear = |shown: &mut bool| {
        if std::mem::take(shown) {
            print_moving("");
        }
    };
    for line in lines {
        match line {
            LiveLine::Moving(line) => {
                print_moving(&line);
                shown = true;
            }
            LiveLine::Said(line) => {
                clear(&mut shown);
                out.say(&line);
            }
            LiveLine::Noted(line) => {
                clear(&mut shown);
                out.note(&line);
            }
        }
    }
    clear(&mut shown);
}

fn line(runner: &str, live: &drive::Live<'_>) -> String {
    let mut parts = vec![runner.to_owned(), clock(live.elapsed)];
    if live.stopping {
        parts.push("stopping".to_owned());
    }
    parts.extend(live.seen.last_tool.as_deref().map(one_line));
    if let Some(usage) = &live.seen.usage {
        let tokens = usage.input_tokens + usage.output_tokens;
        parts.push(format!("{} tokens", human_tokens(tokens)));
        parts.extend(usage.cost_usd.map(|cost| format!("${cost:.2}")));
    }
    parts.join("  ")
}

/// Returns a time as minutes and seconds.
pub(crate) fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
