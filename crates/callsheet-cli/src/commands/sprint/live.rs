//! A sprint while it lasts: what was stored becomes a line, and on a terminal a line that moves has the agents at work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callsheet::Event;
use callsheet::sprint::machine::{ActionId, AgentOrder, Batch};
use callsheet_run::drive;
use serde_json::Value;

use crate::failure::Failure;
use crate::live::{LivePrinter, clock};
use crate::output::{Output, human_tokens, one_line};

/// Shows a sprint.
pub(super) struct Show(Mutex<State>);

struct State {
    lines: LivePrinter,
    /// What is shown of each agent at work, or of what is waited for.
    active: BTreeMap<ActionId, String>,
    stops: usize,
    /// What was noted; of many agents, each would say the same.
    noted: BTreeSet<String>,
    /// Whether several cycles can run at once.
    is_parallel: bool,
}

impl Show {
    pub(super) fn new(out: Output) -> Result<Self, Failure> {
        Ok(Self(Mutex::new(State {
            lines: LivePrinter::new(out)?,
            active: BTreeMap::new(),
            stops: 0,
            noted: BTreeSet::new(),
            is_parallel: false,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn end(&self) {
        self.state().lines.end();
    }

    /// Says once what each stop means.
    pub(super) fn stops(&self, stops: usize) {
        let mut state = self.state();
        if stops > state.stops {
            state.stops = stops;
            let said = match stops {
                1 => "stopping; once more ends the agents at once",
                _ => "ending the agents",
            };
            state.lines.say(said.to_owned());
        }
    }

    pub(super) fn recorded(&self, batch: &Batch, events: &[Event]) {
        let mut state = self.state();
        state.is_parallel = batch.rules().parallel > 1;
        let open: Vec<ActionId> = batch.open().map(|action| action.id).collect();
        state.active.retain(|action, _| open.contains(action));
        for line in events.iter().filter_map(line) {
            state.lines.say(line);
        }
    }

    pub(super) fn live(&self, action: ActionId, order: &AgentOrder, live: &drive::Live<'_>) {
        let mut state = self.state();
        let mut parts = vec![order.task_id(), clock(live.elapsed)];
        if state.is_parallel {
            parts.insert(1, order.keys.join(","));
        }
        parts.extend(live.seen.last_tool.as_deref().map(one_line));
        if let Some(usage) = &live.seen.usage {
            let tokens = usage.input_tokens + usage.output_tokens;
            parts.push(format!("{} tokens", human_tokens(tokens)));
        }
        state.active.insert(action, parts.join(" "));
        state.moving();
    }

    pub(super) fn waiting(&self, action: ActionId, account: &str, seconds: u64) {
        let mut state = self.state();
        let left = clock(Duration::from_secs(seconds));
        let line = match account {
            "" => format!("waiting {left}"),
            account => format!("waiting {left} for {account}"),
        };
        // Elsewhere than on a terminal, a line per minute is enough.
        let is_first = state.active.insert(action, line.clone()).is_none();
        if state.lines.terminal {
            state.moving();
        } else if is_first || seconds.is_multiple_of(60) {
            state.lines.say(format!("  {line}"));
        }
    }

    pub(super) fn note(&self, line: &str) {
        let mut state = self.state();
        if state.noted.insert(line.to_owned()) {
            state.lines.note(line.to_owned());
        }
    }
}

impl State {
    fn moving(&self) {
        if self.lines.terminal {
            let shown: Vec<&str> = self.active.values().map(String::as_str).collect();
            self.lines.moving(shown.join("  |  "));
        }
    }
}

/// Returns the line of an event, where it has one; where several cycles run at once, it begins with the number of its cycle.
fn line(event: &Event) -> Option<String> {
    let text = plain_line(event)?;
    match event.payload.get("cycle_number") {
        Some(number) if text.starts_with(' ') => {
            Some(format!("  [{number}] {}", text.trim_start()))
        }
        _ => Some(text),
    }
}

fn plain_line(event: &Event) -> Option<String> {
    let text = |field: &str| -> String {
        let value = event.payload.get(field);
        one_line(value.and_then(Value::as_str).unwrap_or_default())
    };
    let list = |field: &str| -> String {
        let keys = event.payload.get(field).and_then(Value::as_array);
        let keys = keys.into_iter().flatten().filter_map(Value::as_str);
        keys.map(one_line).collect::<Vec<_>>().join(", ")
    };
    let short = |field: &str| text(field).chars().take(10).collect::<String>();
    Some(match event.kind.as_str() {
        "batch:warning" => format!("  warning: {}", text("message")),
        "error" => format!("error: {}", text("message")),
        "context:create" => format!("context of the project: {}", text("status")),
        "context:refresh" => "context of the project: refreshed in the background".to_owned(),
        "context:error" => format!("context of the project: {}", text("error")),
        "cycle:start" => format!(
            "cycle {}: {}",
            event.payload["cycle_number"],
            list("story_keys")
        ),
        "cycle:end" => {
            let done = match list("completed_stories") {
                done if done.is_empty() => "nothing done".to_owned(),
                done => format!("done: {done}"),
            };
            format!("cycle {} over, {done}", event.payload["cycle_number"])
        }
        "command:start" => format!(
            "  {} {}{}",
            text("task_id"),
            text("story_key"),
            model(event)
        ),
        "command:end" if text("status") != "completed" => {
            format!(
                "  {} {}: {}",
                text("task_id"),
                text("story_key"),
                text("message")
            )
        }
        "story:status" => format!(
            "  {}: {} -> {}",
            text("story_key"),
            text("old_status"),
            text("new_status")
        ),
        "commit:verified" => {
            format!("  commit {} for {}", short("commit"), list("story_keys"))
        }
        "merge:complete" => {
            format!("  merged {} in {}", list("story_keys"), short("commit"))
        }
        "merge:conflict" => format!("  conflict in {}", list("paths")),
        "merge:refused" => format!("  checks failed on the merged tree: {}", list("checks")),
        "cleanup:file_error" => format!("  warning: {}: {}", text("message"), text("error")),
        "background:error" => format!("  {}: {}", text("task_type"), text("error")),
        _ => return None,
    })
}

fn model(event: &Event) -> String {
    let model = event.payload.get("model").and_then(Value::as_str);
    model.map_or_else(String::new, |model| format!(" ({})", one_line(model)))
}
