//! What an agent said in a run, whole: events have long texts cut, records have all of them.

use callsheet_store::{Run, Store, Stream, Wait};

use super::ingest::lines;
use crate::{AgentEvent, RunError, adapter};

/// How many records are read at once.
const PAGE: usize = 64;

/// Returns the agent's own text in a run: every text, one right after the other, without those of agents that it started.
///
/// What it says after it used a tool begins on a line of its own: that is another message.
/// It is read out of the log again, by the reader of the adapter that the run was started with.
pub fn spoken(store: &Store, run: &Run) -> Result<String, RunError> {
    let Some(adapter) = adapter::of_run(run) else {
        let name = adapter::name_of_run(run).unwrap_or_default();
        let known = adapter::NAMES.iter().map(|name| (*name).to_owned());
        return Err(RunError::Unknown {
            what: "adapter",
            name: name.to_owned(),
            known: known.collect(),
        });
    };
    let mut reader = adapter.reader();
    let mut spoken = Spoken::default();
    let mut since = 0;
    loop {
        let records = store
            .log_since(run.id, since, PAGE, Some(Stream::Stdout))
            .wait()?;
        let Some(last) = records.last() else {
            return Ok(spoken.text);
        };
        since = last.seq;
        for record in &records {
            for line in lines(&record.data) {
                for event in reader.line(&line) {
                    spoken.hear(&event);
                }
            }
        }
    }
}

/// What was heard so far.
#[derive(Default)]
struct Spoken {
    text: String,
    /// Whether a tool was used since, so that what comes is another message.
    is_over: bool,
}

impl Spoken {
    fn hear(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text {
                text,
                subagent: false,
                ..
            } => {
                if self.is_over && !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push('\n');
                }
                self.is_over = false;
                self.text.push_str(text);
            }
            AgentEvent::ToolCall { .. } | AgentEvent::ToolResult { .. } => self.is_over = true,
            _ => {}
        }
    }
}
