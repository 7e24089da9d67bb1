//! The live line of a run: who, how long, the last tool, tokens, cost. On a terminal it moves; elsewhere tools are lines.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use callsheet_run::drive::{self, Watcher};
use callsheet_run::{Interrupts, Resolved};

use serde_json::Value;

use crate::failure::Failure;
use crate::output::{Output, Talk, human_tokens};
use crate::table::one_line;

/// Shows a run while it lasts, and listens for Ctrl-C.
pub(crate) struct Live {
    runner: String,
    out: Output,
    interrupts: Interrupts,
    terminal: bool,
    shown: bool,
    stops: usize,
}

impl Live {
    /// Begins to listen.
    pub(crate) fn new(runner: &Resolved, out: Output) -> Result<Self, Failure> {
        Ok(Self {
            runner: runner.name.clone(),
            interrupts: Interrupts::catch()?,
            terminal: std::io::stderr().is_terminal() && out.talk > Talk::Quiet,
            out,
            shown: false,
            stops: 0,
        })
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.shown) {
            // The line is a courtesy; a terminal that is gone does not matter.
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

impl Watcher for Live {
    fn live(&mut self, live: &drive::Live<'_>) {
        if self.terminal {
            let line = line(&self.runner, live);
            let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
            self.shown = true;
            return;
        }
        for call in live
            .news
            .iter()
            .filter(|event| event.kind == "agent:tool_call")
        {
            let tool = call.payload.get("name").and_then(Value::as_str);
            let tool = one_line(tool.unwrap_or_default());
            self.out
                .say(&format!("{}  {}  {tool}", self.runner, clock(live.elapsed)));
        }
    }

    fn stops(&mut self) -> usize {
        let stops = self.interrupts.count();
        if stops > self.stops {
            self.stops = stops;
            self.end();
            self.out.say(match stops {
                1 => "stopping the agent; once more ends it at once",
                _ => "ending the agent",
            });
        }
        stops
    }

    fn note(&mut self, line: &str) {
        self.end();
        self.out.note(line);
    }
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

fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
