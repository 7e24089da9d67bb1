//! Settings: a form over the file of the project. What is not set has its default as a placeholder.

use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use callsheet::inputs::Root;
use callsheet::settings::FILE;
use callsheet::{Fingerprint, Reason};
use serde::Serialize;
use serde_json::Value;

use crate::access::May;
use crate::error::ApiError;
use crate::server::Server;
use crate::settings_file::{LOCKED, shown, values};
use crate::site::Site;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new().route("/settings", get(page))
}

/// A setting as the form knows it: its name, its words, what kind it is, its default, and what it is for.
type Known = (&'static str, &'static str, Kind, &'static str, &'static str);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Text,
    Number,
    Money,
    List,
    Stop,
}

const SPRINT: [Known; 13] = [
    (
        "sprint.runner",
        "Runner",
        Kind::Text,
        "the project's",
        "who runs the agents of a sprint",
    ),
    (
        "sprint.review_model",
        "Review model",
        Kind::Text,
        "haiku, where the CLI knows it",
        "the model of later code reviews",
    ),
    (
        "sprint.haiku_after_review",
        "From review",
        Kind::Number,
        "2",
        "the attempt from which on a code review has that model",
    ),
    (
        "sprint.max_code_review_attempts",
        "Code reviews",
        Kind::Number,
        "10",
        "how many a story gets before it is blocked",
    ),
    (
        "sprint.default_max_cycles",
        "Cycles",
        Kind::Number,
        "2",
        "how many a batch has where nobody says it",
    ),
    (
        "sprint.stop",
        "Stop",
        Kind::Stop,
        "drain",
        "what a stop does to agents at work",
    ),
    (
        "sprint.project_context_max_age_hours",
        "Context, hours",
        Kind::Number,
        "24",
        "the age above which the context of the project is written anew",
    ),
    (
        "sprint.injection_warning_kb",
        "Warn from, KiB",
        Kind::Number,
        "100",
        "the size above which an injection is reported",
    ),
    (
        "sprint.injection_error_kb",
        "Refuse from, KiB",
        Kind::Number,
        "150",
        "the size above which an injection is refused",
    ),
    (
        "sprint.story_budget.cost_usd",
        "Story, $",
        Kind::Money,
        "no limit",
        "what a story may cost",
    ),
    (
        "sprint.batch_budget.cost_usd",
        "Batch, $",
        Kind::Money,
        "no limit",
        "what a batch may cost",
    ),
    (
        "sprint.batch_budget.tokens",
        "Batch, tokens",
        Kind::Number,
        "no limit",
        "how many tokens a batch may take",
    ),
    (
        "sprint.board",
        "Board",
        Kind::Text,
        "the first that is found",
        "the file with the states of stories",
    ),
];

const RUNS: [Known; 4] = [
    (
        "runner",
        "Runner",
        Kind::Text,
        "none",
        "who runs an agent where nobody says it",
    ),
    (
        "limits.runs",
        "Runs at once",
        Kind::Number,
        "no limit",
        "how many there may be in the whole project",
    ),
    (
        "workspace.base",
        "Base",
        Kind::Text,
        "the branch that is checked out",
        "the branch that new tasks start from",
    ),
    (
        "scope.default_exclude",
        "Never touch",
        Kind::List,
        "none",
        "patterns of paths that no run may change, one in each line",
    ),
];

const FILES: [Known; 4] = [
    (
        "prompts_dir",
        "Templates",
        Kind::Text,
        "callsheet/templates",
        "the folder of the templates",
    ),
    (
        "max_file_bytes",
        "Largest file, bytes",
        Kind::Number,
        "33554432",
        "larger ones are refused and reported, never read",
    ),
    (
        "paths.implementation_artifacts",
        "Story files",
        Kind::Text,
        "_bmad-output/implementation-artifacts",
        "the folder of story files",
    ),
    (
        "paths.planning_artifacts",
        "Planning files",
        Kind::Text,
        "_bmad-output/planning-artifacts",
        "the folder of planning files",
    ),
];

const SERVER: [Known; 3] = [
    (
        "serve.port",
        "Port",
        Kind::Number,
        "6419",
        "where the next server listens",
    ),
    (
        "serve.websocket_heartbeat_seconds",
        "Heartbeat, seconds",
        Kind::Number,
        "30",
        "how often a WebSocket is asked whether it is there",
    ),
    (
        "serve.batch_list_limit",
        "Batches",
        Kind::Number,
        "20",
        "how many a list has where nobody says it",
    ),
];

/// What the page shows.
#[derive(Serialize)]
struct Content {
    file: &'static str,
    exists: bool,
    hash: String,
    /// The text of the file, for whoever may change it.
    text: Option<String>,
    /// What is wrong with the file, if anything is.
    wrong: Option<String>,
    groups: Vec<Group>,
    runners: Vec<RunnerShown>,
    checks: Vec<CheckShown>,
    set: usize,
    locked: Vec<&'static str>,
    project_id: String,
}

#[derive(Serialize)]
struct Group {
    id: &'static str,
    name: &'static str,
    fields: Vec<Field>,
}

/// A setting with its value, where it has one.
#[derive(Serialize)]
struct Field {
    name: String,
    word: String,
    kind: Kind,
    usual: String,
    help: String,
    value: Option<String>,
}

#[derive(Serialize)]
struct RunnerShown {
    name: String,
    adapter: String,
    account: Option<String>,
    permissions: Option<String>,
    model: Field,
}

#[derive(Serialize)]
struct CheckShown {
    name: String,
    command: String,
    required: bool,
}

async fn page(State(server): State<Server>, Extension(may): Extension<May>) -> Response {
    let project = server.project_id().to_owned();
    let gathered = server
        .blocking(move |site| gather(site, may, project))
        .await;
    server.answer("settings.html", ("settings", "Settings"), may, gathered)
}

/// Reads the file. This blocks.
fn gather(site: &Site, may: May, project_id: String) -> Result<Content, ApiError> {
    let text = match Root::open(&site.root)?.read(FILE) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(refusal) if refusal.reason == Reason::Missing => None,
        Err(refusal) => {
            return Err(ApiError::internal(format!(
                "cannot read `{FILE}`: {refusal}"
            )));
        }
    };
    let exists = text.is_some();
    let text = text.unwrap_or_default();
    // A file that is wrong can still be mended here.
    let (found, wrong) = match values(&text) {
        Ok(found) => (shown(found), (site.check_settings)(&text).err()),
        Err(why) => (Value::Null, Some(why)),
    };
    let groups = [
        ("sprint", "Sprint", &SPRINT[..]),
        ("runs", "Runs", &RUNS[..]),
        ("files", "Files", &FILES[..]),
        ("server", "Server", &SERVER[..]),
    ];
    let groups: Vec<Group> = groups
        .into_iter()
        .map(|(id, name, known)| Group {
            id,
            name,
            fields: known.iter().map(|known| field(known, &found)).collect(),
        })
        .collect();
    let fields = groups.iter().flat_map(|group| &group.fields);
    Ok(Content {
        file: FILE,
        exists,
        hash: Fingerprint::of(&text).to_string(),
        set: fields.filter(|field| field.value.is_some()).count(),
        wrong,
        groups,
        runners: runners(&found),
        checks: checks(&found),
        locked: LOCKED.to_vec(),
        project_id,
        text: (may == May::Write).then_some(text),
    })
}

fn field((name, word, kind, usual, help): &Known, found: &Value) -> Field {
    let value = name.split('.').fold(found, |value, part| &value[part]);
    Field {
        name: (*name).to_owned(),
        word: (*word).to_owned(),
        kind: *kind,
        usual: (*usual).to_owned(),
        help: (*help).to_owned(),
        value: written(value),
    }
}

/// Returns a value as people write it; nothing where it is not set.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let lines: Vec<String> = items.iter().filter_map(written).collect();
            Some(lines.join("\n"))
        }
        value => Some(value.to_string()),
    }
}

fn runners(found: &Value) -> Vec<RunnerShown> {
    let tables = found["runners"].as_object().into_iter().flatten();
    let runners = tables.map(|(name, table)| RunnerShown {
        adapter: written(&table["adapter"]).unwrap_or_else(|| name.clone()),
        account: written(&table["account"]),
        permissions: written(&table["permissions"]),
        model: Field {
            name: format!("runners.{}.model", quoted(name)),
            word: format!("Model of {name}"),
            kind: Kind::Text,
            usual: "the CLI's own".to_owned(),
            help: String::new(),
            value: written(&table["model"]),
        },
        name: name.clone(),
    });
    runners.collect()
}

/// Returns a part of the name of a setting as TOML has it.
fn quoted(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(is_bare) {
        return name.to_owned();
    }
    Value::from(name).to_string()
}

fn checks(found: &Value) -> Vec<CheckShown> {
    let checks = found["checks"].as_array().into_iter().flatten();
    let checks = checks.map(|check| CheckShown {
        name: written(&check["name"]).unwrap_or_default(),
        command: written(&check["command"])
            .unwrap_or_default()
            .replace('\n', " "),
        required: check["required"].as_bool().unwrap_or(true),
    });
    checks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_as_people_write_them() {
        let found = json!({"a": {"b": 1.5, "c": ["x", "y"]}, "d": true});
        assert_eq!(written(&found["a"]["b"]).as_deref(), Some("1.5"));
        assert_eq!(written(&found["a"]["c"]).as_deref(), Some("x\ny"));
        assert_eq!(written(&found["a"]["none"]), None);
    }

    #[test]
    fn names_that_need_quotes_get_them() {
        assert_eq!(quoted("claude-2"), "claude-2");
        assert_eq!(quoted("my runner"), "\"my runner\"");
    }
}
