//! A run in one line, as tables show it: what it was for, how it ended, what it took.

use std::collections::BTreeMap;

use callsheet_run::document::document_with;
use callsheet_store::{Id, Run, RunKind, RunState};
use serde::Serialize;
use serde_json::Value;

use crate::error::ApiError;
use crate::server::Server;

/// A run in one line. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct RunLine {
    pub(crate) id: String,
    pub(crate) prompt: String,
    pub(crate) parent: Option<String>,
    /// The keys of its stories.
    pub(crate) keys: Vec<String>,
    pub(crate) task: Option<String>,
    /// What its task is called.
    pub(crate) title: Option<String>,
    /// The phase of a sprint in words, such as `code review`; else how it came to be.
    pub(crate) phase: String,
    /// Which attempt at its phase it is.
    pub(crate) attempt: Option<i64>,
    pub(crate) runner: String,
    pub(crate) model: Option<String>,
    pub(crate) account: Option<String>,
    pub(crate) state: &'static str,
    pub(crate) ending: Ending,
    pub(crate) checks: Vec<CheckMark>,
    /// How many files out of scope it changed, and how many of them nobody has decided about.
    pub(crate) violations: usize,
    pub(crate) pending: usize,
    /// How many files it changed.
    pub(crate) changed: Option<usize>,
    pub(crate) queued_at: i64,
    pub(crate) started_at: Option<i64>,
    pub(crate) finished_at: Option<i64>,
    pub(crate) took: Option<i64>,
    pub(crate) tokens: Option<Tokens>,
    /// In US dollars, where the CLI told it.
    pub(crate) cost: Option<f64>,
    /// When the usage window starts anew that it ran into.
    pub(crate) resets_at: Option<i64>,
    /// The commit that was checked out when it was over.
    pub(crate) head: Option<String>,
}

/// How a run ended, or that it has not: a shape, a word and a tone.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Ending {
    pub(crate) shape: &'static str,
    pub(crate) tone: &'static str,
    pub(crate) word: String,
    /// `running`, `passed`, `failed`, `scope`, `parked` or `cancelled`, for filters.
    pub(crate) sort: &'static str,
}

/// A check as a shape with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CheckMark {
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) shape: &'static str,
    pub(crate) tone: &'static str,
    pub(crate) exit_code: Option<i64>,
    /// Whether a run whose check fails has failed.
    pub(crate) required: bool,
}

/// Tokens of a run, in three parts that are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tokens {
    /// New ones that went in.
    pub(crate) input: i64,
    /// Those that the cache of the provider answered.
    pub(crate) cached: i64,
    pub(crate) output: i64,
}

impl Tokens {
    pub(crate) fn all(self) -> i64 {
        self.input + self.cached + self.output
    }
}

/// Returns runs as lines, in their order.
pub(crate) async fn lines(server: &Server, runs: &[Run]) -> Result<Vec<RunLine>, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let ids: Vec<Id> = runs.iter().map(|run| run.id).collect();
    let added = store.annotations(project, &ids).await?;
    let titles = if runs.iter().any(|run| run.task.is_some()) {
        let tasks = store.tasks(project).await?.into_iter();
        tasks.map(|task| (task.id, task.title)).collect()
    } else {
        BTreeMap::new()
    };
    Ok(runs
        .iter()
        .map(|run| {
            let annotations = added.get(&run.id).map_or(&[][..], Vec::as_slice);
            let document = document_with(run, annotations);
            let title = run.task.and_then(|task| titles.get(&task).cloned());
            line(run, &document, title)
        })
        .collect())
}

/// Returns a run as a line.
pub(crate) fn line(run: &Run, document: &Value, title: Option<String>) -> RunLine {
    let text = |name: &str| document[name].as_str().map(str::to_owned);
    let checks = marks(document);
    let violations = array(&document["violations"]);
    let now = jiff::Timestamp::now().as_millisecond();
    let phase = match text("phase") {
        Some(phase) => words(phase.strip_prefix("sprint-").unwrap_or(&phase)),
        None if run.kind == RunKind::First => "run".to_owned(),
        None => run.kind.as_str().to_owned(),
    };
    RunLine {
        id: run.id.to_string(),
        prompt: run.prompt.to_string(),
        parent: run.parent.map(|id| id.to_string()),
        keys: array(&document["stories"])
            .iter()
            .filter_map(|key| key.as_str().map(str::to_owned))
            .collect(),
        task: run.task.map(|id| id.to_string()),
        title,
        phase,
        attempt: document["attempt"]
            .as_i64()
            .filter(|_| document["phase"].is_string()),
        runner: text("runner").unwrap_or_else(|| "–".to_owned()),
        model: text("answered_by").or_else(|| text("model")),
        account: text("account"),
        state: run.state.as_str(),
        ending: ending(run, document, &checks),
        checks,
        violations: violations.len(),
        pending: pending(document),
        changed: document["changed_files"].as_array().map(Vec::len),
        queued_at: run.queued_at,
        started_at: run.started_at,
        finished_at: run.finished_at,
        took: run.started_at.map(|at| run.finished_at.unwrap_or(now) - at),
        tokens: tokens(&document["usage"]),
        cost: document["usage"]["cost_usd"].as_f64(),
        resets_at: document["resets_at"]
            .as_i64()
            .map(|at| at.saturating_mul(1000)),
        head: text("head"),
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the name of a phase as words: `code-review` is `code review`.
pub(crate) fn words(name: &str) -> String {
    name.replace('-', " ")
}

fn tokens(usage: &Value) -> Option<Tokens> {
    let of = |name: &str| usage[name].as_i64();
    let cached = of("cached_tokens").unwrap_or(0);
    let input = of("input_tokens")?;
    Some(Tokens {
        // Some CLIs count what was cached among what went in.
        input: if input >= cached {
            input - cached
        } else {
            input
        },
        cached,
        output: of("output_tokens").unwrap_or(0),
    })
}

/// Returns the checks of a run as shapes.
pub(crate) fn marks(document: &Value) -> Vec<CheckMark> {
    array(&document["checks"]).iter().map(mark).collect()
}

/// Returns a check as a shape.
pub(crate) fn mark(check: &Value) -> CheckMark {
    let status = check["status"].as_str().unwrap_or("pending");
    let (shape, tone) = match status {
        "passed" => ("pass", "pass-c"),
        "pending" => ("wait", "dim"),
        "running" => ("run", "pen-c"),
        _ => ("fail", "fail-c"),
    };
    CheckMark {
        name: check["name"].as_str().unwrap_or_default().to_owned(),
        status: status.to_owned(),
        shape,
        tone,
        exit_code: check["exit_code"].as_i64(),
        required: check["required"] != false,
    }
}

/// Counts the changes out of scope that nobody has decided about.
fn pending(document: &Value) -> usize {
    let is_pending =
        |one: &&Value| !matches!(one["approval"].as_str(), Some("approved" | "rejected"));
    array(&document["violations"])
        .iter()
        .filter(is_pending)
        .count()
}

/// Returns how a run ended: the one verdict that every page shows.
pub(crate) fn ending(run: &Run, document: &Value, checks: &[CheckMark]) -> Ending {
    match run.state {
        RunState::Queued => of("running", "wait", "dim", "queued"),
        RunState::Running if run.stop_requested_at.is_some() => {
            of("running", "run", "pen-c", "stopping")
        }
        RunState::Running => of("running", "run", "pen-c", "running"),
        RunState::Finished => ended(document, checks),
    }
}

fn of(sort: &'static str, shape: &'static str, tone: &'static str, word: &str) -> Ending {
    let word = word.to_owned();
    Ending {
        shape,
        tone,
        word,
        sort,
    }
}

/// Returns how a run ended that is over.
fn ended(document: &Value, checks: &[CheckMark]) -> Ending {
    let class = document["class"].as_str().unwrap_or_default();
    match document["status"].as_str() {
        Some("cancelled") => of("cancelled", "stopped", "dim", "cancelled"),
        Some("completed") => {
            let failed = |check: &&CheckMark| check.required && check.status == "failed";
            if let Some(check) = checks.iter().find(failed) {
                let word = format!("failed: {}", check.name);
                return of("failed", "fail", "fail-c", &word);
            }
            if pending(document) > 0 {
                return of("scope", "flag", "fail-c", "out of scope");
            }
            let passed = |check: &CheckMark| check.status == "passed";
            let word = if !checks.is_empty() && checks.iter().all(passed) {
                "passed"
            } else {
                "completed"
            };
            of("passed", "pass", "ok", word)
        }
        _ if matches!(class, "quota" | "overload") => {
            of("parked", "clock", "warn-c", &format!("parked: {class}"))
        }
        _ => {
            let word = match document["exit_code"].as_i64() {
                Some(code) if code != 0 && matches!(class, "" | "unknown") => {
                    format!("failed: exit {code}")
                }
                _ if class.is_empty() => "failed".to_owned(),
                _ => format!("failed: {class}"),
            };
            of("failed", "fail", "fail-c", &word)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cached_tokens_are_counted_once() {
        let of = |input, cached| {
            let usage = json!({"input_tokens": input, "cached_tokens": cached, "output_tokens": 5});
            tokens(&usage).map(Tokens::all)
        };
        // One CLI counts them among those that went in, another beside them.
        assert_eq!(of(100, 60), Some(105));
        assert_eq!(of(40, 60), Some(105));
        assert_eq!(tokens(&Value::Null), None);
    }

    #[test]
    fn only_a_required_check_makes_a_run_fail() {
        let word = |required: bool, status: &str| {
            let checks = json!([{"name": "lint", "status": status, "required": required}]);
            let document = json!({"status": "completed", "checks": checks});
            let ending = ended(&document, &marks(&document));
            (ending.sort, ending.word)
        };
        assert_eq!(word(true, "failed"), ("failed", "failed: lint".to_owned()));
        assert_eq!(word(false, "failed"), ("passed", "completed".to_owned()));
        assert_eq!(word(true, "passed"), ("passed", "passed".to_owned()));
        assert_eq!(word(true, "pending"), ("passed", "completed".to_owned()));
    }

    #[test]
    fn a_check_that_did_not_pass_is_red() {
        let of = |check: Value| (mark(&check).shape, mark(&check).tone);
        assert_eq!(of(json!({"status": "passed"})), ("pass", "pass-c"));
        assert_eq!(of(json!({"status": "failed"})), ("fail", "fail-c"));
        assert_eq!(of(json!({})), ("wait", "dim"));
    }
}
