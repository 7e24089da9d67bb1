//! One prompt: its sections, its text in pages, where bytes come from, and what differs from another one.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, State};
use axum::response::Response;
use axum::routing::get;
use callsheet::cache::common_prefix;
use callsheet_store::PromptFilter;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::content;
use super::parts::{bytes, exact, lines, whence_part};
use super::query;
use crate::access::May;
use crate::error::ApiError;
use crate::pages::Frame;
use crate::server::Server;
use crate::view::attempt::{Attempt, attempts};
use crate::view::compare::{Comparison, compare};
use crate::view::prompt::{Opened, Shelf, open};
use crate::view::whence::{Whence, whence};

/// How many prompts can be chosen to compare with.
const CHOICE: usize = 60;

pub(super) fn routes() -> Router<Server> {
    Router::new()
        .route("/prompts/{id}", get(page))
        .route("/prompts/{id}/exact", get(exact))
        .route("/prompts/{id}/lines", get(lines))
        .route("/prompts/{id}/bytes", get(bytes))
        .route("/prompts/{id}/whence", get(whence_part))
        .layer(Extension(Arc::new(Shelf::default())))
}

/// What of a prompt is wanted.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    /// The prompt to compare with.
    with: Option<String>,
    pub(super) view: Option<String>,
    /// The line from which on the text is wanted.
    pub(super) line: Option<usize>,
    /// The bytes whose origin is wanted; the end may be left out.
    pub(super) at: Option<usize>,
    to: Option<usize>,
}

/// The other prompt.
#[derive(Serialize)]
struct With {
    id: String,
    title: String,
    comparison: Comparison,
}

/// A prompt that can be compared with.
#[derive(Serialize)]
struct Choice {
    id: String,
    recipe: String,
    sealed_at: i64,
    same_recipe: bool,
}

async fn page(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    Extension(shelf): Extension<Arc<Shelf>>,
    Path(id): Path<String>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Response {
    let made = async {
        let wanted = query(wanted)?;
        let opened = open(&server, &shelf, &id).await?;
        let around = Around::of(&server, &shelf, &opened, &wanted).await?;
        Ok((opened, wanted, around))
    };
    match made.await {
        Ok((opened, wanted, around)) => {
            let title = format!("Prompt {}", opened.sealed.id);
            let content = content(&opened, &wanted, around);
            server.page("prompt.html", &Frame::new("prompts", &title, may), &content)
        }
        Err(error) => server.failed(may, &error),
    }
}

/// What the store knows around a prompt.
#[derive(Serialize)]
pub(super) struct Around {
    run: Option<Attempt>,
    runs: usize,
    command: Option<String>,
    with: Option<With>,
    #[serde(skip)]
    pub(super) prefix: Option<usize>,
    choice: Vec<Choice>,
    whence: Option<Whence>,
}

impl Around {
    async fn of(
        server: &Server,
        shelf: &Shelf,
        opened: &Opened,
        wanted: &Wanted,
    ) -> Result<Self, ApiError> {
        let (store, project) = (&server.site.store, &server.site.project);
        let runs = store.runs_of_prompt(project, opened.sealed.id).await?;
        let newest = attempts(server, runs.last().map_or(&[], std::slice::from_ref)).await?;
        let newest = newest.into_iter().next();
        let command = newest
            .as_ref()
            .and_then(|(_, document)| command_line(document));
        let other = match wanted.with.as_deref().filter(|with| !with.is_empty()) {
            Some(with) => Some(open(server, shelf, with).await?),
            None => before(server, shelf, opened, runs.last()).await?,
        };
        let found = store
            .prompts(project, PromptFilter::default(), CHOICE)
            .await?;
        let recipe = &opened.sealed.recipe;
        let mut choice: Vec<Choice> = found
            .into_iter()
            .filter(|prompt| prompt.id != opened.sealed.id)
            .map(|prompt| Choice {
                id: prompt.id.to_string(),
                same_recipe: prompt.recipe == *recipe,
                recipe: prompt.recipe,
                sealed_at: prompt.sealed_at,
            })
            .collect();
        choice.sort_by_key(|choice| !choice.same_recipe);
        let whence = match wanted.at {
            Some(at) => {
                let end = wanted.to.unwrap_or(at.saturating_add(1));
                Some(whence(server, opened, at..end).await?)
            }
            None => None,
        };
        let prefix = other
            .as_ref()
            .map(|other| common_prefix(&other.text, &opened.text));
        let with = match other {
            Some(other) => Some(With {
                id: other.sealed.id.to_string(),
                title: title_of(server, &other).await?,
                comparison: compare(&other, opened),
            }),
            None => None,
        };
        Ok(Self {
            runs: runs.len(),
            run: newest.map(|(run, _)| run),
            command,
            with,
            prefix,
            choice,
            whence,
        })
    }
}

/// Returns what an agent got before: the prompt of the run before the one that got this.
async fn before(
    server: &Server,
    shelf: &Shelf,
    opened: &Opened,
    run: Option<&callsheet_store::Run>,
) -> Result<Option<Arc<Opened>>, ApiError> {
    let Some(parent) = run.and_then(|run| run.parent) else {
        return Ok(None);
    };
    let (store, project) = (&server.site.store, &server.site.project);
    let parent = store.run(project, parent.as_str()).await?;
    if parent.prompt == opened.sealed.id {
        return Ok(None);
    }
    open(server, shelf, parent.prompt.as_str()).await.map(Some)
}

async fn title_of(server: &Server, opened: &Opened) -> Result<String, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let runs = store.runs_of_prompt(project, opened.sealed.id).await?;
    let newest = attempts(server, runs.last().map_or(&[], std::slice::from_ref)).await?;
    Ok(match newest.first() {
        Some((run, _)) => run.title.clone(),
        None => format!("{}, which no agent got", opened.sealed.recipe),
    })
}

/// Returns the command line of a run as a shell takes it.
fn command_line(document: &Value) -> Option<String> {
    let argv = document["argv"].as_array()?.iter();
    let words: Vec<String> = argv.filter_map(Value::as_str).map(quoted).collect();
    let mut line = words.join(" ");
    if !document["delivered"]["prompt"]["read"].is_null() {
        line.push_str(" < prompt");
    }
    (!words.is_empty()).then_some(line)
}

/// Returns a word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_line_can_be_pasted() {
        let document = json!({
            "argv": ["claude", "-p", "it's", "", "--x=1"],
            "delivered": {"prompt": {"read": 4}},
        });
        let line = command_line(&document);
        assert_eq!(
            line.as_deref(),
            Some(r"claude -p 'it'\''s' '' --x=1 < prompt")
        );
        assert_eq!(command_line(&json!({})), None);
    }
}
