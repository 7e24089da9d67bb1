//! A run in a line: what it is called, how it stands, what it took.

use callsheet_run::document;
use callsheet_store::{Id, Run};
use serde::Serialize;
use serde_json::Value;

use super::line::{CheckMark, ending, marks, words};
use crate::error::ApiError;
use crate::server::Server;

/// A run as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Attempt {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) state: &'static str,
    /// How it ended or where it stands, in a word.
    pub(crate) verdict: String,
    /// The shape before that word, and its colour.
    pub(crate) shape: &'static str,
    pub(crate) tone: &'static str,
    pub(crate) exit: Option<String>,
    pub(crate) runner: String,
    pub(crate) model: Option<String>,
    pub(crate) phase: Option<String>,
    pub(crate) stories: Vec<String>,
    pub(crate) prompt: String,
    pub(crate) at: i64,
    pub(crate) started_at: Option<i64>,
    pub(crate) finished_at: Option<i64>,
    pub(crate) took: Option<i64>,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost: Option<f64>,
    pub(crate) changed: Option<usize>,
    pub(crate) lights: Vec<CheckMark>,
    pub(crate) violations: usize,
}

/// Returns runs as lists show them, with their documents.
pub(crate) async fn attempts(
    server: &Server,
    runs: &[Run],
) -> Result<Vec<(Attempt, Value)>, ApiError> {
    let ids: Vec<Id> = runs.iter().map(|run| run.id).collect();
    let (store, project) = (&server.site.store, &server.site.project);
    let mut added = store.annotations(project, &ids).await?;
    let one = |run: &Run| {
        let added = added.remove(&run.id).unwrap_or_default();
        let document = document::document_with(run, &added);
        (Attempt::of(run, &document), document)
    };
    Ok(runs.iter().map(one).collect())
}

impl Attempt {
    pub(crate) fn of(run: &Run, document: &Value) -> Self {
        let text = |field: &str| document[field].as_str().map(str::to_owned);
        let list = |field: &str| document[field].as_array();
        let stories = list("stories").into_iter().flatten();
        let stories: Vec<String> = stories
            .filter_map(|key| key.as_str().map(str::to_owned))
            .collect();
        let phase =
            text("phase").map(|phase| phase.strip_prefix("sprint-").unwrap_or(&phase).to_owned());
        let lights = marks(document);
        let ending = ending(run, document, &lights);
        let usage = &document["usage"];
        let tokens = usage["input_tokens"].as_u64();
        let exit = document["exit_code"]
            .as_i64()
            .map(|code| format!("exit {code}"));
        let signal = document["signal"]
            .as_i64()
            .map(|signal| format!("signal {signal}"));
        Self {
            id: run.id.to_string(),
            title: title(document, phase.as_deref(), &stories),
            state: run.state.as_str(),
            verdict: ending.word,
            shape: ending.shape,
            tone: ending.tone,
            exit: exit.or(signal),
            runner: text("runner").unwrap_or_default(),
            model: text("answered_by").or_else(|| text("model")),
            phase,
            stories,
            prompt: run.prompt.to_string(),
            at: run.started_at.unwrap_or(run.queued_at),
            started_at: run.started_at,
            finished_at: run.finished_at,
            took: run
                .finished_at
                .zip(run.started_at)
                .map(|(end, start)| end - start),
            tokens: tokens.map(|input| input + usage["output_tokens"].as_u64().unwrap_or(0)),
            cost: usage["cost_usd"].as_f64(),
            changed: list("changed_files").map(Vec::len),
            lights,
            violations: list("violations").map_or(0, Vec::len),
        }
    }
}

/// Returns what people call a run.
fn title(document: &Value, phase: Option<&str>, stories: &[String]) -> String {
    let attempt = document["attempt"].as_u64().filter(|attempt| *attempt > 1);
    let attempt = attempt.map_or_else(String::new, |attempt| format!(", attempt {attempt}"));
    let phase = phase.map(words);
    match (phase, stories) {
        (Some(phase), []) => format!("{phase}{attempt}"),
        (Some(phase), stories) => format!("{} {phase}{attempt}", stories.join(", ")),
        (None, _) => {
            let runner = document["runner"].as_str().unwrap_or("agent");
            let named = document["title"].as_str();
            match (named, document["kind"].as_str()) {
                (Some(title), Some("retry")) => format!("{title}, retry"),
                (Some(title), Some("continue")) => format!("{title}, continued"),
                (Some(title), _) => title.to_owned(),
                (None, Some("retry")) => format!("Retry with {runner}"),
                (None, Some("continue")) => format!("Continuation with {runner}"),
                (None, _) => format!("Run with {runner}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_is_called_by_what_it_does() {
        let stories = ["2a-1".to_owned()];
        assert_eq!(
            title(&json!({"attempt": 2}), Some("dev-story"), &stories),
            "2a-1 dev story, attempt 2"
        );
        assert_eq!(title(&json!({"attempt": 1}), Some("commit"), &[]), "commit");
        assert_eq!(
            title(&json!({"kind": "retry", "runner": "claude"}), None, &[]),
            "Retry with claude"
        );
    }
}
