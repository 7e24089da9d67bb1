//! Settings of the project: the file, and the settings of sprints.

use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::State;
use axum::{Extension, Json};
use callsheet::inputs::Root;
use callsheet::settings::FILE;
use callsheet::{Fingerprint, Reason};
use callsheet_run::below;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::orchestrator::methods;
use crate::access::May;
use crate::answer::{Answer, Data, data};
use crate::error::{ApiError, Code, ErrorBody};
use crate::extract::{self, Path};
use crate::server::Server;
use crate::settings_file::{LOCKED, edited, locked_change, shown, values};
use crate::site::{Site, SiteSettings};

/// Who changes the file does so alone.
static WRITING: Mutex<()> = Mutex::new(());

/// The settings of sprints and of the server: the name of each, where it is in the file, and its bounds.
const NAMES: [(&str, &str, u64, u64); 9] = [
    (
        "project_context_max_age_hours",
        "sprint.project_context_max_age_hours",
        0,
        MOST,
    ),
    (
        "injection_warning_kb",
        "sprint.injection_warning_kb",
        1,
        MOST,
    ),
    ("injection_error_kb", "sprint.injection_error_kb", 1, MOST),
    ("default_max_cycles", "sprint.default_max_cycles", 0, MOST),
    (
        "max_code_review_attempts",
        "sprint.max_code_review_attempts",
        0,
        MOST,
    ),
    ("haiku_after_review", "sprint.haiku_after_review", 0, MOST),
    ("server_port", "serve.port", 1, 65_535),
    (
        "websocket_heartbeat_seconds",
        "serve.websocket_heartbeat_seconds",
        0,
        MOST,
    ),
    (
        "default_batch_list_limit",
        "serve.batch_list_limit",
        0,
        MOST,
    ),
];

/// The largest value of a setting that has no other bound.
const MOST: u64 = u32::MAX as u64;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(
            sprint_settings,
            put_sprint_settings,
            settings_methods
        ))
        .routes(routes!(file, patch_file))
}

/// The settings of sprints and of the server.
#[derive(Debug, Serialize, ToSchema)]
struct SprintSettings {
    /// The age in hours above which the context of the project is written anew.
    project_context_max_age_hours: u64,
    /// The size in KiB above which an injection is reported.
    injection_warning_kb: u64,
    /// The size in KiB above which an injection is refused.
    injection_error_kb: u64,
    /// How many cycles a batch has where nobody says it.
    default_max_cycles: u32,
    /// How many code reviews a story gets before it is blocked.
    max_code_review_attempts: u32,
    /// The attempt from which on a code review has the review model.
    haiku_after_review: u32,
    /// The port of the server; another one counts when it is started again.
    server_port: u16,
    /// How often a WebSocket is asked whether it is still there; 0 for never.
    websocket_heartbeat_seconds: u32,
    /// How many batches a list has where nobody says it.
    default_batch_list_limit: u32,
}

/// Some of the settings of sprints and of the server; the others stay as they are.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    reason = "it describes the body, which is read by hand for its own errors"
)]
struct SomeSprintSettings {
    #[schema(minimum = 0, maximum = 4_294_967_295_u32)]
    project_context_max_age_hours: Option<u32>,
    #[schema(minimum = 1, maximum = 4_294_967_295_u32)]
    injection_warning_kb: Option<u32>,
    #[schema(minimum = 1, maximum = 4_294_967_295_u32)]
    injection_error_kb: Option<u32>,
    #[schema(minimum = 0, maximum = 4_294_967_295_u32)]
    default_max_cycles: Option<u32>,
    #[schema(minimum = 0, maximum = 4_294_967_295_u32)]
    max_code_review_attempts: Option<u32>,
    #[schema(minimum = 0, maximum = 4_294_967_295_u32)]
    haiku_after_review: Option<u32>,
    #[schema(minimum = 1, maximum = 65_535)]
    server_port: Option<u16>,
    #[schema(minimum = 0, maximum = 4_294_967_295_u32)]
    websocket_heartbeat_seconds: Option<u32>,
    #[schema(minimum = 0, maximum = 4_294_967_295_u32)]
    default_batch_list_limit: Option<u32>,
}

impl From<&SiteSettings> for SprintSettings {
    fn from(settings: &SiteSettings) -> Self {
        let (sprint, serve) = (&settings.sprint, &settings.serve);
        Self {
            project_context_max_age_hours: sprint.project_context_max_age_hours,
            injection_warning_kb: sprint.injection_warning_kb,
            injection_error_kb: sprint.injection_error_kb,
            default_max_cycles: sprint.default_max_cycles,
            max_code_review_attempts: sprint.max_code_review_attempts,
            haiku_after_review: sprint.haiku_after_review,
            server_port: serve.port.get(),
            websocket_heartbeat_seconds: serve.websocket_heartbeat_seconds,
            default_batch_list_limit: serve.batch_list_limit,
        }
    }
}

/// Shows the settings of sprints and of the server
#[utoipa::path(get, path = "/api/settings", tag = "settings",
    responses(
        (status = 200, description = "The settings", body = SprintSettings),
    ))]
async fn sprint_settings(State(server): State<Server>) -> Result<Json<SprintSettings>, ApiError> {
    Ok(Json((&server.settings()?).into()))
}

/// Changes settings of sprints and of the server
///
/// All of them or none. They are written to the `callsheet.toml` of the project.
#[utoipa::path(put, path = "/api/settings", tag = "settings", request_body = SomeSprintSettings,
    responses(
        (status = 200, description = "All settings, as they are now", body = SprintSettings),
        (status = 400, description = "What is wrong", body = ErrorBody),
    ))]
async fn put_sprint_settings(
    State(server): State<Server>,
    body: Bytes,
) -> Result<Json<SprintSettings>, ApiError> {
    let changes = sprint_changes(&body)?;
    if !changes.is_empty() {
        let written = server.blocking(move |site| change(site, None, Change::Some(&changes)));
        written.await?;
    }
    Ok(Json((&server.settings()?).into()))
}

/// Reads which settings change, by their names in the file.
fn sprint_changes(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    let body: Value =
        serde_json::from_slice(body).map_err(|_| ApiError::validation("Invalid JSON body"))?;
    let Value::Object(fields) = body else {
        return Err(ApiError::validation("Invalid JSON body"));
    };
    let mut changes = Map::new();
    for (name, value) in fields {
        let known = NAMES.iter().find(|known| known.0 == name);
        let &(_, path, least, most) =
            known.ok_or_else(|| ApiError::validation(format!("`{name}` is not a setting")))?;
        let text = value.to_string();
        let number = value
            .as_number()
            .filter(|_| !text.contains(['.', 'e', 'E']));
        if number.is_none() {
            let sentence = format!("`{name}` is {text}; it has to be a whole number");
            return Err(ApiError::validation(sentence));
        }
        match value.as_u64() {
            Some(number) if (least..=most).contains(&number) => {
                changes.insert(path.to_owned(), number.into());
            }
            _ => {
                let sentence = format!("`{name}` is {text}; it has to be from {least} to {most}");
                return Err(ApiError::validation(sentence));
            }
        }
    }
    Ok(changes)
}

/// Tells the methods of the path
#[utoipa::path(options, path = "/api/settings", tag = "settings",
    responses((status = 204, description = "The methods")))]
async fn settings_methods() -> (axum::http::StatusCode, [(&'static str, &'static str); 3]) {
    methods()
}

/// The file with the settings of the project.
#[derive(Debug, Serialize, ToSchema)]
struct SettingsFile {
    /// Its name.
    file: &'static str,
    /// Whether it is there.
    exists: bool,
    /// The fingerprint of its text, for a change of what you have seen.
    hash: String,
    /// All of it; nothing for a token that may only read.
    text: Option<String>,
    /// The settings in it, without secrets.
    values: Value,
    /// The settings that are changed in the file only: they decide what runs.
    locked: Vec<&'static str>,
}

/// A change of the file with the settings: either some of them, or all of its text.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FileChange {
    /// The fingerprint of the text that you have seen.
    hash: String,
    /// Settings by their names, such as `sprint.runner`; `null` takes one away.
    #[serde(default)]
    set: Option<Map<String, Value>>,
    /// The new text of the file.
    #[serde(default)]
    text: Option<String>,
}

/// Shows the settings of the project, as they stand in its file
#[utoipa::path(get, path = "/api/projects/{id}/settings", tag = "settings",
    params(("id" = String, Path, description = "The id of the project")),
    responses(
        (status = 200, description = "The file", body = Data<SettingsFile>),
        (status = 400, description = "The file cannot be read", body = ErrorBody),
        (status = 404, description = "No such project", body = ErrorBody),
    ))]
async fn file(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    Path(id): Path<String>,
) -> Answer<SettingsFile> {
    server.check_project(&id)?;
    let found = server.blocking(move |site| shown_file(site, may));
    Ok(data(found.await?))
}

/// Changes the file with the settings of the project
///
/// Comments and order stay. What decides which programs run is changed in the file only.
#[utoipa::path(patch, path = "/api/projects/{id}/settings", tag = "settings", request_body = FileChange,
    params(("id" = String, Path, description = "The id of the project")),
    responses(
        (status = 200, description = "The file as it is now", body = Data<SettingsFile>),
        (status = 400, description = "What is wrong", body = ErrorBody),
        (status = 403, description = "The token may only read, or the setting is changed in the file only", body = ErrorBody),
        (status = 404, description = "No such project", body = ErrorBody),
        (status = 412, description = "The file has changed meanwhile", body = ErrorBody),
    ))]
async fn patch_file(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    Path(id): Path<String>,
    extract::Json(asked): extract::Json<FileChange>,
) -> Answer<SettingsFile> {
    server.check_project(&id)?;
    let found = server.blocking(move |site| {
        let how = match (&asked.set, &asked.text) {
            (Some(changes), None) => Change::Some(changes),
            (None, Some(text)) => Change::Whole(text),
            _ => return Err(ApiError::validation("give either `set` or `text`")),
        };
        change(site, Some(&asked.hash), how)?;
        shown_file(site, may)
    });
    Ok(data(found.await?))
}

/// Returns the file as somebody may see it. This blocks.
fn shown_file(site: &Site, may: May) -> Result<SettingsFile, ApiError> {
    let text = read(&Root::open(&site.root)?)?;
    let exists = text.is_some();
    let text = text.unwrap_or_default();
    let wrong = |why: String| ApiError::validation(format!("{FILE}: {why}"));
    Ok(SettingsFile {
        file: FILE,
        exists,
        hash: Fingerprint::of(&text).to_string(),
        values: shown(values(&text).map_err(wrong)?),
        text: (may == May::Write).then_some(text),
        locked: LOCKED.to_vec(),
    })
}

/// How the file changes.
#[derive(Clone, Copy)]
enum Change<'c> {
    Some(&'c Map<String, Value>),
    Whole(&'c str),
}

/// Changes the file: whole or not at all, and only where it is still what somebody has seen. This blocks.
fn change(site: &Site, seen: Option<&str>, how: Change<'_>) -> Result<(), ApiError> {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let root = Root::open(&site.root)?;
    let old = read(&root)?.unwrap_or_default();
    let hash = Fingerprint::of(&old).to_string();
    if seen.is_some_and(|seen| seen != hash) {
        let sentence = format!("`{FILE}` has changed since you have seen it");
        return Err(ApiError::precondition(sentence).details(json!({"hash": hash})));
    }
    let new = match how {
        Change::Some(changes) => edited(&old, changes).map_err(ApiError::validation)?,
        Change::Whole(text) => text.to_owned(),
    };
    (site.check_settings)(&new).map_err(ApiError::validation)?;
    // What cannot be read has no settings that could be the same.
    let before = values(&old).unwrap_or_default();
    let after = values(&new).map_err(ApiError::validation)?;
    if let Some(name) = locked_change(&before, &after) {
        let sentence = format!("`{name}` decides what runs; change it in `{FILE}` itself");
        return Err(ApiError::new(Code::Forbidden, sentence));
    }
    if new == old {
        return Ok(());
    }
    below::write(&root, FILE, new.as_bytes())
        .map_err(|why| ApiError::internal(format!("cannot write `{FILE}`: {why}")))
}

fn read(root: &Root) -> Result<Option<String>, ApiError> {
    match root.read(FILE) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| ApiError::validation(format!("{FILE}: not UTF-8 text"))),
        Err(refusal) if refusal.reason == Reason::Missing => Ok(None),
        Err(refusal) => Err(ApiError::internal(format!(
            "cannot read `{FILE}`: {refusal}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> String {
        match sprint_changes(body.as_bytes()) {
            Ok(changes) => Value::Object(changes).to_string(),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn settings_are_whole_numbers_within_their_bounds() {
        assert_eq!(of("{}"), "{}");
        assert_eq!(
            of(r#"{"default_max_cycles": 3, "server_port": 8080}"#),
            r#"{"sprint.default_max_cycles":3,"serve.port":8080}"#
        );
        assert_eq!(of("[]"), "Invalid JSON body");
        assert_eq!(of("{"), "Invalid JSON body");
        assert_eq!(of(r#"{"x": 1}"#), "`x` is not a setting");
        for value in ["true", "\"3\"", "null", "1.0", "1e+2", "[1]"] {
            assert_eq!(
                of(&format!("{{\"haiku_after_review\": {value}}}")),
                format!("`haiku_after_review` is {value}; it has to be a whole number")
            );
        }
        assert_eq!(
            of(r#"{"default_max_cycles": -1}"#),
            "`default_max_cycles` is -1; it has to be from 0 to 4294967295"
        );
        assert_eq!(
            of(r#"{"injection_error_kb": 0}"#),
            "`injection_error_kb` is 0; it has to be from 1 to 4294967295"
        );
        assert_eq!(
            of(r#"{"server_port": 65536}"#),
            "`server_port` is 65536; it has to be from 1 to 65535"
        );
    }
}
