//! The events of a batch, as the source document names them and their payloads.

use serde_json::{Value, json};

use super::action::{AgentOrder, Model};
use super::input::{AgentEnded, End, Merged};
use crate::Event;
use crate::sprint::Phase;

/// The story that events name which belong to no story.
const SYSTEM: &str = "system";

/// The kind of the context, in its events.
const PROJECT_CONTEXT: &str = "project-context";

fn event(kind: &str, payload: Value) -> Event {
    let Value::Object(payload) = payload else {
        return Event::new::<String>(kind, [], "");
    };
    Event {
        kind: kind.to_owned(),
        payload,
    }
}

pub(super) fn batch_start(batch: &str, max_cycles: Option<u32>) -> Event {
    let mode = if max_cycles.is_some() { "fixed" } else { "all" };
    event(
        "batch:start",
        json!({"batch_id": batch, "max_cycles": max_cycles, "batch_mode": mode}),
    )
}

pub(super) fn batch_end(batch: &str, cycles_completed: u32, status: &str) -> Event {
    event(
        "batch:end",
        json!({"batch_id": batch, "cycles_completed": cycles_completed, "status": status}),
    )
}

pub(super) fn batch_warning(batch: &str, warning: &str, message: &str) -> Event {
    event(
        "batch:warning",
        json!({"batch_id": batch, "message": message, "warning_type": warning}),
    )
}

pub(super) fn usage_limit(batch: &str, class: &str, resets_at: Option<i64>) -> Event {
    let message = format!("Waiting for a limit to end ({class})");
    let mut warning = batch_warning(batch, "usage_limit", &message);
    (warning.payload).insert("resets_at".to_owned(), resets_at.into());
    warning
}

pub(super) fn error(kind: &str, message: &str) -> Event {
    event("error", json!({"type": kind, "message": message}))
}

pub(super) fn cycle_start(number: u32, keys: &[String]) -> Event {
    event(
        "cycle:start",
        json!({"cycle_number": number, "story_keys": keys}),
    )
}

pub(super) fn cycle_end(number: u32, completed: &[String]) -> Event {
    event(
        "cycle:end",
        json!({"cycle_number": number, "completed_stories": completed}),
    )
}

pub(super) fn story_status(key: &str, old: &str, new: &str) -> Event {
    event(
        "story:status",
        json!({"story_key": key, "old_status": old, "new_status": new}),
    )
}

/// Makes an event about the context of the project; `task` is the number of the agent in the background.
pub(super) fn context(kind: &str, status: &str, task: Option<u64>) -> Event {
    let mut made = event(
        kind,
        json!({"story_key": SYSTEM, "context_type": PROJECT_CONTEXT, "status": status}),
    );
    if let Some(task) = task {
        made.payload.insert("task_id".to_owned(), json!(task));
    }
    made
}

pub(super) fn context_error(task: u64, why: &str) -> Event {
    let mut made = context("context:error", "error", Some(task));
    made.payload.insert("error".to_owned(), json!(why));
    made
}

pub(super) fn context_fresh() -> Event {
    let message = "The context of the project is fresh";
    event("context:fresh", json!({"message": message}))
}

pub(super) fn context_copied(source: &str, destination: &str) -> Event {
    let message = "The context of the project is copied for this sprint";
    event(
        "context:copied",
        json!({"source": source, "destination": destination, "message": message}),
    )
}

pub(super) fn context_copy_failed(source: &str, reason: &str) -> Event {
    let message = "The context of the project cannot be copied";
    event(
        "context:copy_failed",
        json!({"source": source, "reason": reason, "message": message}),
    )
}

fn command(kind: &str, order: &AgentOrder, message: &str) -> Event {
    let story = if order.keys.is_empty() {
        SYSTEM.to_owned()
    } else {
        order.keys.join(",")
    };
    event(
        kind,
        json!({"story_key": story, "command": order.phase.command(), "task_id": order.task_id(), "message": message}),
    )
}

pub(super) fn command_start(order: &AgentOrder, review_model: Option<&str>) -> Event {
    let message = match order.phase {
        Phase::CodeReview => format!("Review attempt {}", order.attempt),
        _ if order.background => "Started in the background".to_owned(),
        _ => "Started".to_owned(),
    };
    let mut made = command("command:start", order, &message);
    let model = review_model.filter(|_| order.model == Model::Review);
    let flags = order.phase.context().map(|flags| {
        json!({
            "project_context": flags.project_context,
            "discovery": flags.discovery,
            "tech_spec": flags.tech_spec,
        })
    });
    let more = [
        ("attempt", json!(order.attempt)),
        ("model", json!(model)),
        ("background", json!(order.background)),
        ("context", json!(flags)),
    ];
    let more = more.map(|(name, value)| (name.to_owned(), value));
    made.payload.extend(more);
    made
}

pub(super) fn command_end(order: &AgentOrder, ended: &AgentEnded) -> Event {
    let (status, message) = match &ended.end {
        End::Completed => ("completed", "Completed".to_owned()),
        End::Failed { class, reason } => ("failed", format!("Failed ({class}): {reason}")),
        End::Limited { class, .. } => ("limited", format!("Stopped by a limit ({class})")),
        End::Interrupted => ("interrupted", "Interrupted".to_owned()),
        End::Impossible { reason } => ("failed", reason.clone()),
    };
    let mut made = command("command:end", order, &message);
    made.payload.insert("status".to_owned(), json!(status));
    made
}

pub(super) fn background_complete(task: u64, kind: &str) -> Event {
    event(
        "background:complete",
        json!({"task_id": task, "task_type": kind, "status": "completed"}),
    )
}

pub(super) fn background_error(task: u64, kind: &str, error: &str) -> Event {
    event(
        "background:error",
        json!({"task_id": task, "task_type": kind, "status": "error", "error": error}),
    )
}

pub(super) fn file_moved(source: &str, destination: &str) -> Event {
    let name = source.rsplit('/').next().unwrap_or(source);
    event(
        "cleanup:file_moved",
        json!({"source": source, "destination": destination, "file_name": name}),
    )
}

pub(super) fn file_error(file: &str, error: &str) -> Event {
    let message = format!("{file} cannot be moved to the archive");
    event(
        "cleanup:file_error",
        json!({"file": file, "error": error, "message": message}),
    )
}

pub(super) fn cleanup_complete(moved: usize, keys: &[String]) -> Event {
    let message = match moved {
        1 => "1 file is moved to the archive".to_owned(),
        moved => format!("{moved} files are moved to the archive"),
    };
    event(
        "cleanup:complete",
        json!({"files_moved": moved, "story_keys": keys, "message": message}),
    )
}

/// Makes the event of a merge, where there is something to tell.
pub(super) fn merged(keys: &[String], merged: &Merged) -> Option<Event> {
    Some(match merged {
        Merged::Good { commit } => event(
            "merge:complete",
            json!({"commit": commit, "story_keys": keys}),
        ),
        Merged::Conflict { paths } => event(
            "merge:conflict",
            json!({"paths": paths, "story_keys": keys}),
        ),
        Merged::ChecksFailed { checks } => event(
            "merge:refused",
            json!({"checks": checks, "story_keys": keys}),
        ),
        Merged::Nothing | Merged::Interrupted => return None,
    })
}

/// Says which cycle an event is about, where several run at once.
pub(super) fn of_cycle(event: &mut Event, cycle: u32) {
    let payload = &mut event.payload;
    if !payload.contains_key("cycle_number") {
        payload.insert("cycle_number".to_owned(), json!(cycle));
    }
}

pub(super) fn committed(commit: &str, keys: &[String]) -> Event {
    event(
        "commit:verified",
        json!({"commit": commit, "story_keys": keys}),
    )
}
