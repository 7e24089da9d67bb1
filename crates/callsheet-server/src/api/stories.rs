//! Stories: what their files say.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::{Answer, Data, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::Path;
use crate::server::Server;
use crate::view::story::{self, StoryDetail};

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(descriptions))
        .routes(routes!(story))
}

/// Tells what each story is about, by the key in the name of its file
#[utoipa::path(get, path = "/story-descriptions.json", tag = "stories",
    responses(
        (status = 200, description = "The descriptions, by key", body = BTreeMap<String, String>),
    ))]
async fn descriptions(
    State(server): State<Server>,
) -> Result<Json<BTreeMap<String, String>>, ApiError> {
    let settings = server.settings()?;
    let found = server.blocking(move |site| story::descriptions(site, &settings));
    Ok(Json(found.await?))
}

/// Shows a story: its files, and what agents did about it
#[utoipa::path(get, path = "/api/stories/{key}", tag = "stories",
    params(("key" = String, Path, description = "The key of a story, or its short id")),
    responses(
        (status = 200, description = "The story", body = Data<StoryDetail>),
        (status = 400, description = "The key could mean several stories", body = ErrorBody),
        (status = 404, description = "No such story, or no board", body = ErrorBody),
    ))]
async fn story(State(server): State<Server>, Path(key): Path<String>) -> Answer<StoryDetail> {
    let settings = server.settings()?;
    let found = server.blocking(move |site| story::detail(site, &settings, &key));
    Ok(data(found.await?))
}
