//! What was decided lately: by a person, or by whoever acts for one.

use callsheet_store::StoredEvent;
use serde::Serialize;
use serde_json::Value;

use crate::error::ApiError;
use crate::server::Server;

/// How many events are read at once, and how many are looked at in all: older ones are in the history.
const PAGE: i64 = 500;
const FAR: i64 = 10_000;

/// What counts as a decision.
const KINDS: [&str; 8] = [
    "run:annotated",
    "run:stopping",
    "merge:complete",
    "merge:refused",
    "task:added",
    "task:cancelled",
    "batch:start",
    "batch:stopping",
];

/// Something that was decided.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Decision {
    pub(crate) at: i64,
    pub(crate) text: String,
    pub(crate) run: Option<String>,
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
    let is_one = |event: &StoredEvent| KINDS.contains(&event.event.kind.as_str());
    let found = newest(server, most, is_one).await?;
    let decisions = found.into_iter().map(|event| Decision {
        at: event.at,
        text: said(&event),
        run: event.run.map(|id| id.to_string()),
    });
    Ok(decisions.collect())
}

/// Says what was decided, in the words of the event, or by its facts.
fn said(event: &StoredEvent) -> String {
    let payload = &event.event.payload;
    let text = |name: &str| payload.get(name).and_then(Value::as_str);
    if let Some(message) = text("message") {
        return message.to_owned();
    }
    let name = text("name").unwrap_or_default();
    let value = payload.get("value").unwrap_or(&Value::Null);
    let word = value["approval"].as_str().or(value["status"].as_str());
    match (text("kind"), word) {
        (Some(kind), Some(word)) => format!("{kind} {name}: {word}"),
        (Some(kind), None) => format!("{kind} {name}"),
        _ => event.event.kind.replace([':', '_'], " "),
    }
}
