//! The runs of a task: their list, and how one is started, repeated and continued.

use axum::extract::State;
use axum::response::Response;
use callsheet_store::RunKind;
use serde::Deserialize;
use utoipa::{IntoResponses, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documents::RunDocument;
use crate::answer::{Data, Many, ManyAnswer, PageQuery};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Json, Path, Query};
use crate::once::{Key, Start, start};
use crate::server::Server;
use crate::view::{run, task};

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(list_runs_of_task, start_run))
        .routes(routes!(retry_run))
        .routes(routes!(continue_run))
}

/// What comes of asking for another run after one that is over.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it describes what is answered")]
enum Another {
    /// The new run, which is queued
    #[response(status = 201)]
    Queued(#[to_schema] Data<RunDocument>),
    /// No such run
    #[response(status = 404)]
    Missing(ErrorBody),
    /// A run of the task is not over, or the task is done or cancelled
    #[response(status = 409)]
    NotNow(ErrorBody),
    /// The run is not one of a task, or the task waits for others
    #[response(status = 412)]
    First(ErrorBody),
}

/// Who runs a task: a profile or a runner, or the runner of the project.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Order {
    /// The name of an agent profile.
    agent_profile_id: Option<String>,
    /// The name of a runner.
    runner: Option<String>,
    /// The model, in the words of the agent's program.
    model: Option<String>,
}

impl Order {
    /// Returns the arguments that say so.
    fn args(&self) -> Result<Vec<String>, ApiError> {
        if self.agent_profile_id.is_some() && self.runner.is_some() {
            let why = "name an `agent_profile_id` or a `runner`, not both";
            return Err(ApiError::validation(why));
        }
        let named = [
            ("--profile", &self.agent_profile_id),
            ("--runner", &self.runner),
            ("--model", &self.model),
        ];
        let mut args = vec!["--queue".to_owned()];
        for (flag, value) in named {
            args.extend(value.iter().map(|value| format!("{flag}={value}")));
        }
        Ok(args)
    }
}

/// Who runs it once more, and what a person adds.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Continuation {
    /// What you add; it stands in the prompt word by word.
    additional_input: String,
    /// The name of an agent profile.
    agent_profile_id: Option<String>,
    /// The name of a runner.
    runner: Option<String>,
    /// The model, in the words of the agent's program.
    model: Option<String>,
}

/// Lists the runs of a task, the newest first
#[utoipa::path(get, path = "/api/tasks/{id}/runs", tag = "runs",
    params(("id" = String, Path, description = "The id of a task"), PageQuery),
    responses(
        (status = 200, description = "A page of runs", body = Many<RunDocument>),
        (status = 404, description = "No such task", body = ErrorBody),
    ))]
async fn list_runs_of_task(
    State(server): State<Server>,
    Path(id): Path<String>,
    Query(page): Query<PageQuery>,
) -> ManyAnswer<RunDocument> {
    page.bounds()?;
    let (project, found) = task::find(&server, &id).await?;
    let store = &server.site.store;
    let mut all = store.runs_of_task(&project, found.id).await?;
    all.reverse();
    let Many { data, pagination } = page.of(all)?;
    let documents = run::documents(store, &project, &data).await?;
    let data = documents.into_iter().map(RunDocument).collect();
    Ok(axum::Json(Many { data, pagination }))
}

/// Starts a run of a task: it is queued, and a worker takes it
#[utoipa::path(post, path = "/api/tasks/{id}/runs", tag = "runs",
    params(
        ("id" = String, Path, description = "The id of a task"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gives the same answer and starts nothing twice"),
    ),
    request_body(content = Option<Order>),
    responses(
        (status = 201, description = "The run, which is queued", body = Data<RunDocument>),
        (status = 404, description = "No such task", body = ErrorBody),
        (status = 409, description = "The task is done or cancelled, or has a run that is not over", body = ErrorBody),
        (status = 412, description = "The task waits for others, or has no write scope", body = ErrorBody),
    ))]
async fn start_run(
    State(server): State<Server>,
    Path(id): Path<String>,
    key: Key,
    order: Option<Json<Order>>,
) -> Result<Response, ApiError> {
    let found = task::find_own(&server, &id).await?;
    let order = order.unwrap_or_default().0;
    let mut args = vec!["run".to_owned(), found.id.to_string()];
    args.extend(order.args()?);
    let run = Start {
        task: found.id,
        kind: RunKind::First,
        parent: None,
        args,
        input: None,
    };
    start(&server, key, run).await
}

/// Runs the task of a run again, with the facts of that run in the prompt
#[utoipa::path(post, path = "/api/runs/{id}/retry", tag = "runs",
    params(
        ("id" = String, Path, description = "The id of a run that is over"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gives the same answer and starts nothing twice"),
    ),
    request_body(content = Option<Order>),
    responses(Another))]
async fn retry_run(
    State(server): State<Server>,
    Path(id): Path<String>,
    key: Key,
    order: Option<Json<Order>>,
) -> Result<Response, ApiError> {
    let order = order.unwrap_or_default().0;
    again(&server, &id, key, (RunKind::Retry, &order, None)).await
}

/// Continues the task of a run with more input, with the facts of that run in the prompt
#[utoipa::path(post, path = "/api/runs/{id}/continue", tag = "runs",
    params(
        ("id" = String, Path, description = "The id of a run that is over"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gives the same answer and starts nothing twice"),
    ),
    request_body = Continuation,
    responses(Another))]
async fn continue_run(
    State(server): State<Server>,
    Path(id): Path<String>,
    key: Key,
    Json(more): Json<Continuation>,
) -> Result<Response, ApiError> {
    if more.additional_input.trim().is_empty() {
        return Err(ApiError::validation("`additional_input` is empty"));
    }
    let order = Order {
        agent_profile_id: more.agent_profile_id,
        runner: more.runner,
        model: more.model,
    };
    let input = Some(more.additional_input);
    again(&server, &id, key, (RunKind::Continue, &order, input)).await
}

/// Queues another run after one that is over.
async fn again(
    server: &Server,
    id: &str,
    key: Key,
    (kind, order, input): (RunKind, &Order, Option<String>),
) -> Result<Response, ApiError> {
    let before = run::find_own(server, id).await?;
    let task = run::task_of(&before)?;
    run::must_be_over(&before)?;
    let mut args = vec![kind.as_str().to_owned(), before.id.to_string()];
    // A text that began with `@` would name a file.
    args.extend(input.as_ref().map(|_| "--input=@-".to_owned()));
    args.extend(order.args()?);
    let next = Start {
        task,
        kind,
        parent: Some(before.id),
        args,
        input,
    };
    start(server, key, next).await
}
