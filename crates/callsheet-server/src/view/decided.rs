//! What was decided lately: by a person, or by whoever acts for one.

use callsheet_store::{StoreError, StoredEvent};
use serde::Serialize;
use serde_json::Value;

use super::attempt::attempts;
use crate::error::ApiError;
use crate::server::Server;

/// How many events are read at once, and how many are looked at in all: older ones are in the history.
const PAGE: i64 = 500;
const FAR: i64 = 10_000;

/// What is found out or decided about a run that is over.
const ANNOTATED: &str = "run:annotated";

const CANCELLED: &str = "task:cancelled";

/// What counts as a decision.
const KINDS: [&str; 7] = [
    ANNOTATED,
    "run:stopping",
    "merge:complete",
    "merge:refused",
    CANCELLED,
    "batch:start",
    "batch:stopping",
];

/// Something that was decided: what was done, to what, and which run, task or batch that is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Decision {
    pub(crate) at: i64,
    /// What was done, such as `approved`.
    pub(crate) did: String,
    /// The path of a file.
    pub(crate) path: Option<String>,
    /// What people call the run or the task, or the keys of stories.
    pub(crate) title: Option<String>,
    pub(crate) url: Option<String>,
}

/// Returns the newest events that a test wants, the newest first.
pub(crate) async fn newest(
    server: &Server,
    most: usize,
    mut wanted: impl FnMut(&StoredEvent) -> bool,
) -> Result<Vec<StoredEvent>, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let head = store.head(project).await?.seq;
    let (mut found, mut until) = (Vec::new(), head);
    while until > 0 && head - until < FAR {
        let since = (until - PAGE).max(0);
        let limit = usize::try_from(until - since).unwrap_or(0);
        let page = store.events_since(project, since, limit).await?;
        for event in page.into_iter().rev() {
            if wanted(&event) {
                found.push(event);
                if found.len() == most {
                    return Ok(found);
                }
            }
        }
        until = since;
    }
    Ok(found)
}

/// Returns what was decided last, the newest first.
pub(crate) async fn decisions(server: &Server, most: usize) -> Result<Vec<Decision>, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let found = newest(server, most, is_decision).await?;
    let mut runs = Vec::new();
    for id in found.iter().filter_map(|event| event.run) {
        match store.run(project, id.as_str()).await {
            Ok(run) => runs.push(run),
            // Somebody has removed it from the store since.
            Err(StoreError::Unknown { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let runs = attempts(server, &runs).await?;
    let is_of_task = |event: &StoredEvent| event.event.kind == CANCELLED;
    let tasks = if found.iter().any(is_of_task) {
        store.tasks(project).await?
    } else {
        Vec::new()
    };
    let decided = |event: &StoredEvent| {
        let id = event.run.map(|id| id.to_string());
        let run = runs.iter().find(|(run, _)| Some(&run.id) == id.as_ref());
        let of_task = fact(event, "task").filter(|_| is_of_task(event));
        let task = tasks.iter().find(|task| Some(task.id.as_str()) == of_task);
        Decision {
            title: run
                .map(|(run, _)| run.title.clone())
                .or_else(|| task.map(|task| task.title.clone()))
                .or_else(|| stories(event)),
            path: run.and_then(|(_, document)| path(event, document)),
            url: run
                .map(|(run, _)| format!("/runs/{}", run.id))
                .or_else(|| batch(event)),
            at: event.at,
            did: did(event),
        }
    };
    Ok(found.iter().map(decided).collect())
}

/// Tells whether an event is a decision: a check that ran once more is none.
fn is_decision(event: &StoredEvent) -> bool {
    let kind = event.event.kind.as_str();
    KINDS.contains(&kind) && (kind != ANNOTATED || fact(event, "kind") != Some("check"))
}

fn fact<'e>(event: &'e StoredEvent, name: &str) -> Option<&'e str> {
    event.event.payload.get(name).and_then(Value::as_str)
}

/// Returns the path of a change that was decided about.
fn path(event: &StoredEvent, document: &Value) -> Option<String> {
    let id = fact(event, "name").filter(|_| fact(event, "kind") == Some("violation"))?;
    let mut all = document["violations"].as_array()?.iter();
    let found = all.find(|one| one["id"] == id)?;
    found["path"].as_str().map(str::to_owned)
}

/// Returns the keys of the stories that an event is about.
fn stories(event: &StoredEvent) -> Option<String> {
    let keys = event.event.payload.get("story_keys")?.as_array()?.iter();
    let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
    (!keys.is_empty()).then(|| keys.join(", "))
}

/// Returns where the batch is shown that an event is about.
fn batch(event: &StoredEvent) -> Option<String> {
    let id = fact(event, "batch_id").or_else(|| fact(event, "batch"))?;
    Some(format!("/sprint?batch={}", crate::pages::encoded(id)))
}

/// Says what was done.
fn did(event: &StoredEvent) -> String {
    let value = event.event.payload.get("value").unwrap_or(&Value::Null);
    let name = fact(event, "name").unwrap_or_default();
    match event.event.kind.as_str() {
        ANNOTATED => match (fact(event, "kind"), value["approval"].as_str()) {
            (_, Some(approval)) => approval.to_owned(),
            (Some("merge"), _) => format!("merged into {name}"),
            (kind, _) => format!("{} {name}", kind.unwrap_or("annotated")),
        },
        "run:stopping" => "stopped".to_owned(),
        "merge:complete" => "merged".to_owned(),
        "merge:refused" => "not merged, checks failed".to_owned(),
        CANCELLED => "cancelled".to_owned(),
        "batch:start" => "sprint started".to_owned(),
        "batch:stopping" => "sprint asked to stop".to_owned(),
        kind => kind.replace([':', '_'], " "),
    }
}

#[cfg(test)]
mod tests {
    use callsheet::Event;
    use serde_json::json;

    use super::*;

    fn event(kind: &str, payload: &Value) -> StoredEvent {
        StoredEvent {
            seq: 1,
            event: Event {
                kind: kind.to_owned(),
                payload: payload.as_object().cloned().unwrap_or_default(),
            },
            at: 0,
            run: None,
        }
    }

    #[test]
    fn a_decision_is_told_by_what_was_done_and_to_what() {
        let violation =
            json!({"kind": "violation", "name": "r.1", "value": {"approval": "approved"}});
        let merge = json!({"kind": "merge", "name": "main", "value": {}});
        let check = json!({"kind": "check", "name": "lint", "value": {}});
        let approved = event(ANNOTATED, &violation);
        assert_eq!(did(&approved), "approved");
        let document =
            json!({"violations": [{"id": "r.2", "path": "a"}, {"id": "r.1", "path": "b"}]});
        assert_eq!(path(&approved, &document).as_deref(), Some("b"));
        assert_eq!(did(&event(ANNOTATED, &merge)), "merged into main");
        assert_eq!(path(&event(ANNOTATED, &merge), &document), None);
        assert!(!is_decision(&event(ANNOTATED, &check)));
        let start = event("batch:start", &json!({"batch_id": "b1"}));
        assert_eq!(did(&start), "sprint started");
        assert_eq!(batch(&start).as_deref(), Some("/sprint?batch=b1"));
        let merged = event("merge:complete", &json!({"story_keys": ["1-1", "1-2"]}));
        assert_eq!(stories(&merged).as_deref(), Some("1-1, 1-2"));
        assert!(!is_decision(&event("agent:text", &json!({}))));
    }
}
