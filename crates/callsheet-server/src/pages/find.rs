//! What the command palette finds: stories, runs, prompts and files by their names.

use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use callsheet::sprint::Epics;
use callsheet_store::{PromptFilter, RunPage};
use serde::{Deserialize, Serialize};

use super::show;
use crate::error::ApiError;
use crate::extract::Query;
use crate::server::Server;
use crate::view::name::name_of;

/// How many of the newest runs and prompts are looked at.
const LOOKED_AT: usize = 200;

/// How many of one kind are shown.
const SHOWN: usize = 5;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new().route("/find", get(find))
}

#[derive(Debug, Deserialize)]
struct Wanted {
    #[serde(default)]
    q: String,
}

/// Something that was found.
#[derive(Debug, Serialize)]
struct Found {
    icon: &'static str,
    text: String,
    right: String,
    url: String,
}

async fn find(
    State(server): State<Server>,
    Query(wanted): Query<Wanted>,
) -> Result<impl IntoResponse, ApiError> {
    let text = wanted.q.trim().to_lowercase();
    let mut found = Vec::new();
    if !text.is_empty() {
        found.extend(stories(&server, &text).await);
        found.extend(runs(&server, &text).await?);
        found.extend(prompts(&server, &text).await?);
        found.extend(files(&server, &text).await?);
    }
    Ok(Json(serde_json::json!({ "data": found })))
}

/// Finds stories on the board; a project without one has none.
async fn stories(server: &Server, text: &str) -> Vec<Found> {
    let settings = server.settings();
    let read = server.blocking(|site| Ok(settings?.board(&site.root)?.read()?));
    let Ok(board) = read.await else {
        return Vec::new();
    };
    let epics = Epics::of(&board);
    let stories = board
        .stories()
        .filter(|story| story.key.to_lowercase().contains(text));
    let stories = stories.map(|story| {
        let (short, title) = name_of(&story.key, &epics.place(&story.key).short);
        Found {
            icon: "board",
            text: format!("{short} {title}"),
            right: story.word.text.clone(),
            url: format!("/stories/{}", show::encoded(&story.key)),
        }
    });
    stories.take(SHOWN).collect()
}

async fn runs(server: &Server, text: &str) -> Result<Vec<Found>, ApiError> {
    let page = RunPage {
        limit: LOOKED_AT,
        ..RunPage::default()
    };
    let runs = server.site.store.runs(&server.site.project, page).await?;
    let now = show::now();
    let found = runs
        .iter()
        .filter(|run| run.id.as_str().starts_with(text))
        .map(|run| Found {
            icon: "term",
            text: format!("Run {}", run.id),
            right: show::age(now - run.queued_at),
            url: format!("/runs/{}", run.id),
        });
    Ok(found.take(SHOWN).collect())
}

async fn prompts(server: &Server, text: &str) -> Result<Vec<Found>, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let prompts = store
        .prompts(project, PromptFilter::default(), LOOKED_AT)
        .await?;
    let now = show::now();
    let found = prompts
        .iter()
        .filter(|prompt| prompt.id.as_str().starts_with(text))
        .map(|prompt| Found {
            icon: "script",
            text: format!("Prompt {} ({})", prompt.id, prompt.recipe),
            right: show::age(now - prompt.sealed_at),
            url: format!("/prompts/{}", prompt.id),
        });
    Ok(found.take(SHOWN).collect())
}

/// Finds the files that went into prompts.
async fn files(server: &Server, text: &str) -> Result<Vec<Found>, ApiError> {
    let names = server.site.store.sources(&server.site.project).await?;
    let files = names.iter().filter_map(|name| name.strip_prefix("file:"));
    let found = files
        .filter(|path| path.to_lowercase().contains(text))
        .map(|path| Found {
            icon: "file",
            text: path.to_owned(),
            right: "in prompts".to_owned(),
            url: format!("/prompts?source={}", show::encoded(&format!("file:{path}"))),
        });
    Ok(found.take(SHOWN).collect())
}
