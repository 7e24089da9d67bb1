//! What was decided lately: by a person, or by whoever acts for one.

use callsheet_store::StoredEvent;
use serde::Serialize;
use serde_json::Value;

use crate::error::ApiError;
use crate::server::Server;

/// How many events are read at once, and how many are looked at in all: older ones are in the history.
const PAGE: i64 = 500;
const FAR: i64 = 10_000;

/// What is found out or decided about a run that is over.
const ANNOTATED: &str = "run:annotated";

/// What counts as a decision.
const KINDS: [&str; 7] = [
    ANNOTATED,
    "run:stopping",
    "merge:complete",
    "merge:refused",
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
    let found = newest(server, most, is_decision).await?;
    let decisions = found.into_iter().map(|event| Decision {
        at: event.at,
        text: said(&event),
        run: event.run.map(|id| id.to_string()),
    });
    Ok(decisions.collect())
}

/// Tells whether an event is a decision: a check that ran once more is none.
fn is_decision(event: &StoredEvent) -> bool {
    let kind = event.event.kind.as_str();
    KINDS.contains(&kind) && (kind != ANNOTATED || fact(event, "kind") != Some("check"))
}

fn fact<'e>(event: &'e StoredEvent, name: &str) -> Option<&'e str> {
    event.event.payload.get(name).and_then(Value::as_str)
}

/// Says what was decided.
fn said(event: &StoredEvent) -> String {
    let value = event.event.payload.get("value").unwrap_or(&Value::Null);
    let name = fact(event, "name").unwrap_or_default();
    match (fact(event, "kind"), value["approval"].as_str()) {
        (Some("violation"), Some(approval)) => format!("{approval} {name}"),
        (Some("merge"), _) => format!("merged into {name}"),
        _ => match fact(event, "message") {
            Some(message) => message.to_owned(),
            None => event.event.kind.replace([':', '_'], " "),
        },
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
    fn a_decision_is_told_by_what_was_decided() {
        let violation = json!({"kind": "violation", "name": "r.1", "value": {"approval": "approved"}, "message": "x"});
        let merge = json!({"kind": "merge", "name": "main", "value": {}, "message": "x"});
        let check = json!({"kind": "check", "name": "lint", "value": {}, "message": "x"});
        assert_eq!(said(&event(ANNOTATED, &violation)), "approved r.1");
        assert_eq!(said(&event(ANNOTATED, &merge)), "merged into main");
        assert!(!is_decision(&event(ANNOTATED, &check)));
        assert_eq!(said(&event("batch:start", &json!({}))), "batch start");
        assert!(!is_decision(&event("agent:text", &json!({}))));
    }
}
