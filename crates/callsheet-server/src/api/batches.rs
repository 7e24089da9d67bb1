//! Batches: one sprint run each, with its stories and events.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use callsheet_store::{Batch, BatchPage, Id, StoreError, StoredEvent, Wait};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::orchestrator::methods;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Path, Query};
use crate::server::Server;
use crate::view::batch::{BatchDetail, BatchRow, History, newest};

/// The most batches of a page.
const MOST: i64 = 100;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(batches, batches_methods))
        .routes(routes!(batch))
}

/// Which batches are asked for. What is not a number says nothing.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// How many, from 1 to 100; `serve.batch_list_limit` unless you say so.
    limit: Option<String>,
    /// How many of the newest to leave out.
    offset: Option<String>,
}

/// A page of batches, the newest first.
#[derive(Debug, Serialize, ToSchema)]
struct Batches {
    batches: Vec<BatchRow>,
    /// How many batches the project has.
    total: i64,
}

/// Lists the batches, the newest first
#[utoipa::path(get, path = "/api/batches", tag = "sprint", params(Wanted),
    responses(
        (status = 200, description = "A page of batches", body = Batches),
    ))]
async fn batches(
    State(server): State<Server>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Batches>, ApiError> {
    let number = |text: &Option<String>| text.as_ref().and_then(|text| text.trim().parse().ok());
    let usual = i64::from(server.settings()?.serve.batch_list_limit);
    let limit = number(&wanted.limit).unwrap_or(usual).clamp(1, MOST);
    let offset: i64 = number(&wanted.offset).unwrap_or(0).max(0);
    let page = BatchPage {
        limit: usize::try_from(limit).unwrap_or(1),
        offset: usize::try_from(offset).unwrap_or(usize::MAX),
    };
    let found = server.blocking(move |site| {
        let found = site.store.batches(&site.project, page).wait()?;
        let batches = found.batches.into_iter();
        let rows = batches.map(|batch| Ok(History::read(&site.store, &site.project, batch)?.row()));
        Ok(Batches {
            batches: rows.collect::<Result<_, ApiError>>()?,
            total: found.total,
        })
    });
    Ok(Json(found.await?))
}

/// Tells the methods of the path
#[utoipa::path(options, path = "/api/batches", tag = "sprint",
    responses((status = 204, description = "The methods")))]
async fn batches_methods() -> (StatusCode, [(&'static str, &'static str); 3]) {
    methods()
}

/// Shows a batch with its stories, and the agents that worked on them
#[utoipa::path(get, path = "/api/batches/{id}", tag = "sprint",
    params(("id" = String, Path, description = "The id of a batch, or the beginning of it")),
    responses(
        (status = 200, description = "The batch", body = BatchDetail),
        (status = 400, description = "Not the id of a batch", body = ErrorBody),
        (status = 404, description = "No such batch", body = ErrorBody),
    ))]
async fn batch(
    State(server): State<Server>,
    Path(id): Path<String>,
) -> Result<Json<BatchDetail>, ApiError> {
    if !is_id(&id) {
        return Err(ApiError::validation("Invalid batch ID"));
    }
    let batch = server.site.store.batch(&server.site.project, &id).await?;
    let detail =
        server.blocking(move |site| Ok(History::read(&site.store, &site.project, batch)?.detail()));
    Ok(Json(detail.await?))
}

/// Tells whether a text could be an id, or the beginning of one.
pub(super) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 14 && format!("{text:0<14}").parse::<Id>().is_ok()
}

/// Returns what a client of the WebSocket gets first: the batch that is open, and its newest events, the newest first.
pub(crate) async fn init(server: &Server) -> Value {
    let (batch, events) = open(server).await.unwrap_or_default();
    let row = match batch {
        Some(batch) => {
            let row = server
                .blocking(move |site| Ok(History::read(&site.store, &site.project, batch)?.row()));
            row.await.ok()
        }
        None => None,
    };
    let events: Vec<Value> = events.iter().map(crate::live::wire).collect();
    json!({"batch": row, "events": events})
}

async fn open(server: &Server) -> Result<(Option<Batch>, Vec<StoredEvent>), StoreError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let Some(batch) = store.open_batch(project).await? else {
        return Ok((None, Vec::new()));
    };
    let events = newest(store, project, &batch).await?;
    Ok((Some(batch), events))
}

#[cfg(test)]
mod tests {
    use super::is_id;

    #[test]
    fn ids_and_their_beginnings_are_told_from_other_texts() {
        assert!(["1m7t57gqry4dnr", "1m7t", "0"].into_iter().all(is_id));
        let others = ["", "-", "abc def", "1m7t57gqry4dnr0", "../x", "ä"];
        for other in others {
            assert!(!is_id(other), "{other}");
        }
    }
}
