//! What a run is judged by: its checks, its violations, its proof, and the merge of its task.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use callsheet::task::proof;
use callsheet_run::document::document;
use callsheet_run::tasks::View;
use callsheet_store::{Project, Run, RunState};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoResponses, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documents::RunDocument;
use crate::answer::{Answer, Data, Many, ManyAnswer, PageQuery, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Json, Path, Query};
use crate::server::{Server, now};
use crate::view::{run, task};

/// How long checks may take, those on a merged tree too.
const PATIENCE: Duration = Duration::from_hours(2);

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(list_checks))
        .routes(routes!(rerun_checks))
        .routes(routes!(list_violations))
        .routes(routes!(approve_violation))
        .routes(routes!(reject_violation))
        .routes(routes!(show_proof))
        .routes(routes!(merge_task))
}

/// Which checks are run again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Rerun {
    /// Their names; all of them unless you say so.
    #[serde(default)]
    check_keys: Vec<String>,
}

/// A check with its newest result, as the document of a run has it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
struct Check(Value);

/// A change outside of the scope of a run: `id, path, reason, approval`, and `decided_at` once a person has decided.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
struct Violation(Value);

/// What comes of a decision about a change outside of a scope.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it describes what is answered")]
enum Decided {
    /// What was decided
    #[response(status = 200)]
    Once(#[to_schema] Data<Violation>),
    /// No such violation
    #[response(status = 404)]
    Missing(ErrorBody),
    /// Somebody has decided already
    #[response(status = 409)]
    Twice(ErrorBody),
}

/// The proof of a run, in the shape `callsheet.proof/1`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
struct Proof(Value);

/// What a merge came to, in the shape `callsheet.merge/1`: `outcome` is `merged` or `already`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
struct Merge(Value);

/// Lists the checks of a run with their newest results
#[utoipa::path(get, path = "/api/runs/{id}/checks", tag = "checks",
    params(("id" = String, Path, description = "The id of a run"), PageQuery),
    responses(
        (status = 200, description = "A page of checks", body = Many<Check>),
        (status = 404, description = "No such run", body = ErrorBody),
    ))]
async fn list_checks(
    State(server): State<Server>,
    Path(id): Path<String>,
    Query(page): Query<PageQuery>,
) -> ManyAnswer<Check> {
    let found = list(&server, &id, "checks").await?;
    Ok(axum::Json(page.of(found.into_iter().map(Check).collect())?))
}

/// Lists the changes of a run outside of its scope
#[utoipa::path(get, path = "/api/runs/{id}/scope-violations", tag = "checks",
    params(("id" = String, Path, description = "The id of a run"), PageQuery),
    responses(
        (status = 200, description = "A page of violations", body = Many<Violation>),
        (status = 404, description = "No such run", body = ErrorBody),
    ))]
async fn list_violations(
    State(server): State<Server>,
    Path(id): Path<String>,
    Query(page): Query<PageQuery>,
) -> ManyAnswer<Violation> {
    let found = list(&server, &id, "violations").await?;
    Ok(axum::Json(
        page.of(found.into_iter().map(Violation).collect())?,
    ))
}

/// Returns a list in the document of a run.
async fn list(server: &Server, id: &str, field: &str) -> Result<Vec<Value>, ApiError> {
    let (project, found) = run::find(server, id).await?;
    let document = run::document(&server.site.store, &project, &found).await?;
    Ok(document[field].as_array().cloned().unwrap_or_default())
}

/// Runs checks of a run again, on the tree that it left; answers when they are over
#[utoipa::path(post, path = "/api/runs/{id}/checks/rerun", tag = "checks",
    params(("id" = String, Path, description = "The id of a run that is over")),
    request_body(content = Option<Rerun>),
    responses(
        (status = 200, description = "The run with the new results, good or bad", body = Data<RunDocument>),
        (status = 404, description = "No such run", body = ErrorBody),
        (status = 409, description = "The run is not over", body = ErrorBody),
        (status = 412, description = "The run is not one of a task, or its worktree is not as it left it", body = ErrorBody),
    ))]
async fn rerun_checks(
    State(server): State<Server>,
    Path(id): Path<String>,
    wanted: Option<Json<Rerun>>,
) -> Answer<RunDocument> {
    let found = run::find_own(&server, &id).await?;
    run::must_be_over(&found)?;
    run::task_of(&found)?;
    let names = wanted.unwrap_or_default().0.check_keys;
    let mut args = vec![
        "checks".to_owned(),
        "rerun".to_owned(),
        found.id.to_string(),
    ];
    args.extend(names.iter().map(|name| format!("--check={name}")));
    let done = server.act(args, PATIENCE).await;
    // That it is over is known: what is left is where it worked.
    let done = done.map_err(ApiError::into_precondition)?;
    Ok(data(RunDocument(done)))
}

/// Approves a change outside of the scope of a run
#[utoipa::path(post, path = "/api/scope-violations/{id}/approve", tag = "checks",
    params(("id" = String, Path, description = "The id of a violation")), responses(Decided))]
async fn approve_violation(
    State(server): State<Server>,
    Path(id): Path<String>,
) -> Answer<Violation> {
    decide(&server, "approve", &id).await
}

/// Rejects a change outside of the scope of a run
#[utoipa::path(post, path = "/api/scope-violations/{id}/reject", tag = "checks",
    params(("id" = String, Path, description = "The id of a violation")), responses(Decided))]
async fn reject_violation(
    State(server): State<Server>,
    Path(id): Path<String>,
) -> Answer<Violation> {
    decide(&server, "reject", &id).await
}

async fn decide(server: &Server, how: &str, id: &str) -> Answer<Violation> {
    let unknown = || ApiError::not_found("scope violation", id);
    let (name, _) = id.rsplit_once('.').ok_or_else(unknown)?;
    let found = run::find_own(server, name)
        .await
        .map_err(|error| match error.status() {
            StatusCode::NOT_FOUND => unknown(),
            _ => error,
        })?;
    let store = &server.site.store;
    let document = run::document(store, &server.site.project, &found).await?;
    let all = document["violations"].as_array();
    let violation = all.into_iter().flatten().find(|one| one["id"] == id);
    let violation = violation.ok_or_else(unknown)?;
    if violation["approval"] != "pending" {
        let approval = violation["approval"].as_str().unwrap_or_default();
        let why = format!("violation `{id}` is {approval} already");
        return Err(ApiError::conflict(why));
    }
    let decided = server.program.ask(&[how, id], None).await?;
    Ok(data(Violation(decided["violations"][0].clone())))
}

/// Returns the proof of a run: facts and references, without a verdict
#[utoipa::path(get, path = "/api/runs/{id}/proof", tag = "checks",
    params(("id" = String, Path, description = "The id of a run that is over")),
    responses(
        (status = 200, description = "The proof", body = Data<Proof>),
        (status = 404, description = "No such run, or it is not over, or not one of a task", body = ErrorBody),
    ))]
async fn show_proof(State(server): State<Server>, Path(id): Path<String>) -> Answer<Proof> {
    let (project, found) = run::find(&server, &id).await?;
    if found.state != RunState::Finished || found.task.is_none() {
        return Err(ApiError::not_found("proof of run", &id));
    }
    Ok(data(Proof(proof_of(&server, project, found).await?)))
}

async fn proof_of(server: &Server, project: Project, run: Run) -> Result<Value, ApiError> {
    let added = server.site.store.annotations(&project, &[run.id]).await?;
    let added = json!(added.get(&run.id).cloned().unwrap_or_default());
    let is_here = server.must_serve(&project).is_ok();
    let proof = server.blocking(move |site| {
        let mut document = document(&run);
        let ends = ["start_head", "result"].map(|field| document[field].as_str());
        if let ([Some(start), Some(result)], true) = (ends, is_here) {
            // Without the commits nobody can count; the proof says so by null.
            let stat = View::of(&site.root).diff_stat(start, result);
            document["diff_stat"] = json!(stat);
        }
        let request = run.request.unwrap_or_default();
        Ok(proof(&request, &document, &added, now()))
    });
    proof.await
}

/// Merges the result of a task into its base, after its checks passed on the merged tree; answers when that is over
#[utoipa::path(post, path = "/api/tasks/{id}/merge", tag = "checks",
    params(("id" = String, Path, description = "The id of a task")),
    responses(
        (status = 200, description = "The base has the result", body = Data<Merge>),
        (status = 404, description = "No such task", body = ErrorBody),
        (status = 409, description = "There is a conflict, a failed check, a violation or nothing to merge", body = ErrorBody),
        (status = 412, description = "Local changes are in the way", body = ErrorBody),
    ))]
async fn merge_task(State(server): State<Server>, Path(id): Path<String>) -> Answer<Merge> {
    let found = task::find_own(&server, &id).await?;
    let args = vec!["merge".to_owned(), found.id.to_string()];
    let document = server.act(args, PATIENCE).await?;
    let word = |field: &str| document[field].as_str().unwrap_or_default().to_owned();
    match document["outcome"].as_str() {
        Some("merged" | "already") => Ok(data(Merge(document))),
        Some("conflict") => {
            let why = format!(
                "task `{}` conflicts with `{}`; nothing has changed",
                found.id,
                word("base")
            );
            Err(ApiError::conflict(why).details(document))
        }
        Some("blocked") => {
            let why = format!("{}; nothing has changed", word("reason"));
            Err(ApiError::precondition(why).details(document))
        }
        _ => {
            let why = format!("{}; nothing has changed", word("reason"));
            Err(ApiError::conflict(why).details(document))
        }
    }
}
