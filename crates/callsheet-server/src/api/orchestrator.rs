//! The sprint: start, stop, status and the board.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use callsheet::sprint::{NotFound, Status, Word, find};
use callsheet_run::sprint::is_running;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::{Answer, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{self, Path};
use crate::program::Ended;
use crate::server::Server;
use crate::view::sprint::{self, Activities, SprintStatus, no_board};

/// The name of the sprint among the commands that go on.
const SPRINT: &str = "sprint";

/// The file with what the sprint says, among what the program keeps for the project.
const SAID: &str = "sprint.log";

/// How long a batch may take to begin before the answer is that it was asked for.
const BEGINNING: Duration = Duration::from_secs(15);

/// How often one looks whether it has begun.
const LOOK: Duration = Duration::from_millis(50);

/// Who starts a batch does so alone.
static STARTING: Mutex<()> = Mutex::const_new(());

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(start, start_methods))
        .routes(routes!(stop, stop_methods))
        .routes(routes!(status))
        .routes(routes!(sprint_status, sprint_status_methods))
        .routes(routes!(activities, activities_methods))
        .routes(routes!(set_state))
}

/// How many cycles a batch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
enum BatchSize {
    /// So many cycles, of one or two stories each.
    Cycles(u32),
    /// As many as there are stories.
    All(All),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum All {
    All,
}

/// What a batch is started with.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    reason = "it describes the body, which is read by hand for its own errors"
)]
struct Start {
    /// How many cycles; `sprint.default_max_cycles` unless you say so.
    batch_size: Option<BatchSize>,
}

/// A batch was started.
#[derive(Debug, Serialize, ToSchema)]
struct Started {
    /// `started`.
    status: &'static str,
    batch_size: BatchSize,
}

/// A batch was asked to stop.
#[derive(Debug, Serialize, ToSchema)]
struct Stopping {
    /// `stopping`; `cleaned` where nobody was at it any more.
    status: String,
    /// The batch that nobody was at.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_id: Option<String>,
}

/// Starts a batch
///
/// Its agents run on this machine. The answer comes when the batch has begun.
#[utoipa::path(post, path = "/api/orchestrator/start", tag = "sprint", request_body = Option<Start>,
    responses(
        (status = 200, description = "The batch has begun", body = Started),
        (status = 409, description = "A batch is running already", body = ErrorBody),
        (status = 412, description = "Something that a batch needs is missing", body = ErrorBody),
    ))]
async fn start(State(server): State<Server>, body: Bytes) -> Result<Json<Started>, ApiError> {
    let asked = batch_size(&body)?;
    let _alone = STARTING.lock().await;
    if is_going(&server).await? {
        return Err(ApiError::conflict("a batch is running already"));
    }
    let settings = server.settings()?;
    let usual = BatchSize::Cycles(settings.sprint.default_max_cycles);
    let batch_size = asked.unwrap_or(usual);
    let has_board = server.blocking(move |site| settings.board(&site.root).map_err(no_board));
    has_board
        .await
        .map_err(|error| ApiError::precondition(error.message()))?;
    let cycles = match batch_size {
        BatchSize::Cycles(number) => number.to_string(),
        BatchSize::All(All::All) => "all".to_owned(),
    };
    let said = server.site.home.join(SAID);
    let args = ["sprint", "run", &cycles];
    server
        .program
        .start_with_log(SPRINT, &args, &said)
        .map_err(|error| ApiError::internal(error.to_string()))?;
    begun(&server).await?;
    Ok(Json(Started {
        status: "started",
        batch_size,
    }))
}

/// Waits until a batch has begun, or until it is clear that none does.
async fn begun(server: &Server) -> Result<(), ApiError> {
    let until = Instant::now() + BEGINNING;
    while Instant::now() < until {
        if let Some(status) = server.program.ended(SPRINT) {
            let said = server.blocking(|site| {
                let said = std::fs::read(site.home.join(SAID)).unwrap_or_default();
                Ok(String::from_utf8_lossy(&said).into_owned())
            });
            let said = said.await?;
            // A batch that is over at once has done what there was to do.
            return match status.code() {
                Some(0 | 1) => Ok(()),
                code => Err(not_begun(&Ended {
                    code,
                    printed: Vec::new(),
                    said,
                })),
            };
        }
        let open = server.site.store.open_batch(&server.site.project).await?;
        if open.as_ref().is_some_and(is_running) {
            return Ok(());
        }
        sleep(LOOK).await;
    }
    Ok(())
}

/// Says why no batch has begun: nothing is wrong with the request.
fn not_begun(ended: &Ended) -> ApiError {
    let error = ended.error();
    if error.status() == StatusCode::BAD_REQUEST {
        error.into_conflict().into_precondition()
    } else {
        error
    }
}

/// Tells whether a batch runs, or is about to.
async fn is_going(server: &Server) -> Result<bool, ApiError> {
    let open = server.site.store.open_batch(&server.site.project).await?;
    Ok(open.as_ref().is_some_and(is_running) || server.program.is_going(SPRINT))
}

/// Reads how many cycles are asked for.
fn batch_size(body: &[u8]) -> Result<Option<BatchSize>, ApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let body: Value =
        serde_json::from_slice(body).map_err(|_| ApiError::validation("Invalid JSON body"))?;
    let Value::Object(fields) = body else {
        return Err(ApiError::validation("Invalid JSON body"));
    };
    let invalid = || ApiError::validation("Invalid batch_size");
    if let Some(name) = fields.keys().find(|name| *name != "batch_size") {
        return Err(ApiError::validation(format!("unknown field `{name}`")));
    }
    let Some(size) = fields.get("batch_size") else {
        return Ok(None);
    };
    match size {
        Value::String(word) if word == "all" => Ok(Some(BatchSize::All(All::All))),
        Value::Number(number) => {
            if number.as_i64().is_some_and(|number| number < 1) {
                return Err(ApiError::validation("batch_size must be positive"));
            }
            let cycles = number
                .as_u64()
                .and_then(|number| u32::try_from(number).ok());
            Ok(Some(BatchSize::Cycles(cycles.ok_or_else(invalid)?)))
        }
        _ => Err(invalid()),
    }
}

/// How a batch is stopped.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Stop {
    /// Whether its agents are ended, or come to their end; as `sprint.stop` says unless you say so.
    cancel: Option<bool>,
}

/// Stops the batch
///
/// Where the process of a batch is gone, the batch is ended.
#[utoipa::path(post, path = "/api/orchestrator/stop", tag = "sprint", request_body = Option<Stop>,
    responses(
        (status = 200, description = "The batch stops", body = Stopping),
        (status = 409, description = "No batch is running", body = ErrorBody),
    ))]
async fn stop(
    State(server): State<Server>,
    body: Option<extract::Json<Stop>>,
) -> Result<Json<Stopping>, ApiError> {
    let stop = body.map(|extract::Json(stop)| stop).unwrap_or_default();
    let idle = || ApiError::conflict("no batch is running");
    let open = server.site.store.open_batch(&server.site.project).await?;
    if open.is_none() {
        return Err(idle());
    }
    let how = match stop.cancel {
        Some(true) => Some("--cancel"),
        Some(false) => Some("--drain"),
        None => None,
    };
    let args = ["sprint", "stop", "--clean"].into_iter().chain(how);
    let args: Vec<&str> = args.collect();
    let document = server.program.ask(&args, None).await?;
    let status = document["status"].as_str().unwrap_or_default().to_owned();
    match status.as_str() {
        "stopping" => Ok(Json(Stopping {
            status,
            batch_id: None,
        })),
        "cleaned" => Ok(Json(Stopping {
            status,
            batch_id: document["batch"].as_str().map(str::to_owned),
        })),
        _ => Err(idle()),
    }
}

/// Tells whether a batch runs, and what it works on
#[utoipa::path(get, path = "/api/orchestrator/status", tag = "sprint",
    responses(
        (status = 200, description = "Where the sprint stands", body = SprintStatus),
    ))]
async fn status(State(server): State<Server>) -> Result<Json<SprintStatus>, ApiError> {
    let is_started = server.program.is_going(SPRINT);
    let status = server.blocking(move |site| sprint::status(site, is_started));
    Ok(Json(status.await?))
}

/// Shows the board as it stands in its file
#[utoipa::path(get, path = "/api/sprint-status", tag = "sprint",
    responses(
        (status = 200, description = "The document of the board", body = Value),
        (status = 400, description = "The board cannot be read", body = ErrorBody),
        (status = 404, description = "The project has no board", body = ErrorBody),
    ))]
async fn sprint_status(State(server): State<Server>) -> Result<Json<Value>, ApiError> {
    let settings = server.settings()?;
    let board = server.blocking(move |site| sprint::board_document(site, &settings));
    Ok(Json(board.await?))
}

/// Shows the log that agents keep, `orchestrator.md`
#[utoipa::path(get, path = "/api/orchestrator-status", tag = "sprint",
    responses(
        (status = 200, description = "The log; an empty one where there is none", body = Activities),
    ))]
async fn activities(State(server): State<Server>) -> Result<Json<Activities>, ApiError> {
    let settings = server.settings()?;
    let log = server.blocking(move |site| sprint::activities(site, &settings));
    Ok(Json(log.await?))
}

/// Returns the answer to whoever asks for the methods of a path.
pub(super) fn methods() -> (StatusCode, [(&'static str, &'static str); 3]) {
    const METHODS: &str = "GET, POST, PUT, OPTIONS";
    let headers = [
        ("allow", METHODS),
        ("access-control-allow-methods", METHODS),
        ("access-control-allow-headers", "Content-Type"),
    ];
    (StatusCode::NO_CONTENT, headers)
}

/// Tells the methods of the path
#[utoipa::path(options, path = "/api/orchestrator/start", tag = "sprint",
    responses((status = 204, description = "The methods")))]
async fn start_methods() -> (StatusCode, [(&'static str, &'static str); 3]) {
    methods()
}

/// Tells the methods of the path
#[utoipa::path(options, path = "/api/orchestrator/stop", tag = "sprint",
    responses((status = 204, description = "The methods")))]
async fn stop_methods() -> (StatusCode, [(&'static str, &'static str); 3]) {
    methods()
}

/// Tells the methods of the path
#[utoipa::path(options, path = "/api/sprint-status", tag = "sprint",
    responses((status = 204, description = "The methods")))]
async fn sprint_status_methods() -> (StatusCode, [(&'static str, &'static str); 3]) {
    methods()
}

/// Tells the methods of the path
#[utoipa::path(options, path = "/api/orchestrator-status", tag = "sprint",
    responses((status = 204, description = "The methods")))]
async fn activities_methods() -> (StatusCode, [(&'static str, &'static str); 3]) {
    methods()
}

/// The status that a story is to have.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewState {
    /// `backlog`, `ready-for-dev`, `in-progress`, `review`, `done` or `blocked`.
    state: String,
    /// Whether the story may go back, or an unknown word be overwritten.
    #[serde(default)]
    force: bool,
}

/// What became of the status of a story.
#[derive(Debug, Serialize, ToSchema)]
struct StateSet {
    /// Its key on the board.
    key: String,
    /// The word that stood there.
    from: String,
    /// The word that stands there now.
    to: String,
    /// Whether anything was written.
    changed: bool,
}

/// Sets the status of a story on the board
///
/// One word in the file changes. A story does not go back unless `force` is set.
#[utoipa::path(post, path = "/api/stories/{key}/state", tag = "sprint", request_body = NewState,
    params(("key" = String, Path, description = "The key of a story, or its short id")),
    responses(
        (status = 200, description = "The status stands on the board", body = crate::answer::Data<StateSet>),
        (status = 404, description = "No such story, or no board", body = ErrorBody),
        (status = 409, description = "The story would go back", body = ErrorBody),
    ))]
async fn set_state(
    State(server): State<Server>,
    Path(key): Path<String>,
    extract::Json(new): extract::Json<NewState>,
) -> Answer<StateSet> {
    let settings = server.settings()?;
    let (word, force) = (new.state.clone(), new.force);
    let checked = server.blocking(move |site| {
        let board = settings.board(&site.root).map_err(no_board)?.read()?;
        let entry = find(&board, &key).map_err(|problem| match problem {
            NotFound::Unknown => ApiError::not_found("story", &key),
            NotFound::Ambiguous(keys) => {
                ApiError::validation(format!("`{key}` could mean several stories")).details(keys)
            }
        })?;
        let to = Status::named(&word).or_else(|| Word::parse(&word).status);
        match to {
            Some(to) => entry.may_become(to, force, entry.line).map_err(|why| {
                let details = json!({"yields_to_force": why.yields_to_force()});
                ApiError::conflict(why.to_string()).details(details)
            })?,
            None if force => {}
            None => {
                let known = Status::ALL.map(Status::as_str);
                let sentence = format!("`{word}` is not a status; use `{}`", known.join("`, `"));
                return Err(ApiError::validation(sentence));
            }
        }
        Ok(entry.key.clone())
    });
    let key = checked.await?;
    let force = new.force.then_some("--force");
    let args = ["sprint", "set"].into_iter().chain(force);
    let args: Vec<&str> = args.chain(["--", &key, &new.state]).collect();
    let document = server.program.ask(&args, None).await?;
    let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
    Ok(data(StateSet {
        key: text("key"),
        from: text("from"),
        to: text("to"),
        changed: document["changed"] == true,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> String {
        match batch_size(body.as_bytes()) {
            Ok(size) => json!(size).to_string(),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn the_size_of_a_batch_is_a_number_or_all() {
        assert_eq!(["", " ", "{}"].map(of), ["null", "null", "null"]);
        assert_eq!(of(r#"{"batch_size": 3}"#), "3");
        assert_eq!(of(r#"{"batch_size": "all"}"#), "\"all\"");
        for body in ["{", "[]", "3", "null", "\u{feff}{}"] {
            assert_eq!(of(body), "Invalid JSON body", "{body}");
        }
        for body in ["0", "-1", "-9223372036854775808"] {
            let body = format!("{{\"batch_size\": {body}}}");
            assert_eq!(of(&body), "batch_size must be positive", "{body}");
        }
        for body in ["\"3\"", "true", "null", "2.5", "4294967296", "1e99", "[]"] {
            let body = format!("{{\"batch_size\": {body}}}");
            assert_eq!(of(&body), "Invalid batch_size", "{body}");
        }
        assert_eq!(of(r#"{"size": 3}"#), "unknown field `size`");
    }
}
