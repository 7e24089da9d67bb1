//! The task document: what is known of a task, in the one shape that people and programs get.

use serde_json::{Value, json};

use super::TaskState;

/// The name and version of the shape.
pub const SCHEMA: &str = "callsheet.task/1";

/// Returns the document of a task; its runs are ids, the oldest first.
pub fn document(state: &TaskState) -> Value {
    let task = &state.task;
    // A body that came with a bundle may be of any shape.
    let list = |field: &str| task.body.get(field).filter(|value| value.is_array());
    let list = |field: &str| list(field).cloned().unwrap_or_else(|| json!([]));
    let text = |field: &str| task.body.get(field).filter(|value| value.is_string());
    let runs: Vec<_> = state.runs.iter().map(|one| one.run.id).collect();
    json!({
        "schema": SCHEMA,
        "id": task.id,
        "title": task.title,
        "description": text("description"),
        "write_scope": list("write_scope"),
        "exclude": list("exclude"),
        "done_when": list("done_when"),
        "base": text("base"),
        "depends": task.depends,
        "status": state.derived.status,
        "reasons": state.derived.reasons,
        "runs": runs,
        "created_at": task.created_at,
        "cancelled_at": task.cancelled_at,
    })
}
