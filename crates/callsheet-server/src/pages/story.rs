//! A story: its attempts with what changed between them, and its files.

use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use callsheet_store::StoreError;
use serde::Serialize;

use super::Frame;
use crate::access::May;
use crate::error::ApiError;
use crate::extract::Path;
use crate::server::Server;
use crate::view::line::{RunLine, lines, words};
use crate::view::name::name_of;
use crate::view::spent::{self, Spending};
use crate::view::story::{self, StoryAttempt, StoryDetail};

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new().route("/stories/{key}", get(page))
}

/// What the page shows.
#[derive(Serialize)]
struct Content {
    story: StoryDetail,
    short: String,
    title: String,
    /// Every attempt at every phase, the oldest batch first.
    batches: Vec<Took>,
    total: Spending,
    is_live: bool,
}

/// A batch that took the story.
#[derive(Serialize)]
struct Took {
    batch: String,
    status: &'static str,
    reason: Option<String>,
    started_at: i64,
    ended_at: Option<i64>,
    attempts: Vec<Attempt>,
}

/// An agent that worked on the story.
#[derive(Serialize)]
struct Attempt {
    phase: String,
    number: u32,
    status: &'static str,
    shape: &'static str,
    tone: &'static str,
    background: bool,
    severity: Option<&'static str>,
    started_at: i64,
    took: Option<i64>,
    run: Option<RunLine>,
    /// The prompt of the attempt before at the same phase.
    before: Option<String>,
}

async fn page(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    key: Result<Path<String>, ApiError>,
) -> Response {
    let content = async {
        let Path(key) = key?;
        gather(&server, key).await
    };
    match content.await {
        Ok(content) => {
            let title = format!("{} {}", content.short, content.title);
            server.page("story.html", &Frame::new("sprint", &title, may), &content)
        }
        Err(error) => server.failed(may, &error),
    }
}

async fn gather(server: &Server, key: String) -> Result<Content, ApiError> {
    let settings = server.settings()?;
    let found = server.blocking(move |site| story::detail(site, &settings, &key));
    let story = found.await?;
    let mut runs = Vec::new();
    for id in &story.runs {
        match server.site.store.run(&server.site.project, id).await {
            Ok(run) => runs.push(run),
            // Somebody has removed it from the store since.
            Err(StoreError::Unknown { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let runs = lines(server, &runs).await?;
    let attempts = story.attempts.iter().rev();
    let batches: Vec<Took> = attempts.map(|attempt| took(attempt, &runs)).collect();
    let prefix = format!("{}-", story.epic_id);
    let short = short_of(&story.key, &prefix);
    let (short, title) = name_of(&story.key, &short);
    Ok(Content {
        short,
        title,
        total: spent::total(&runs),
        is_live: batches.last().is_some_and(|one| one.ended_at.is_none()),
        batches,
        story,
    })
}

/// Returns what became of the story in a batch.
fn took(attempt: &StoryAttempt, runs: &[RunLine]) -> Took {
    let mut attempts: Vec<Attempt> = Vec::new();
    for command in &attempt.story.commands {
        let run = runs
            .iter()
            .find(|run| Some(&run.id) == command.run.as_ref());
        let phase = words(command.phase);
        let before = attempts.iter().rev().find(|one| one.phase == phase);
        let before = before.and_then(|one| one.run.as_ref().map(|run| run.prompt.clone()));
        let (shape, tone) = match command.status {
            "running" => ("run", "pen-c"),
            "completed" => ("pass", "ok"),
            "limited" => ("clock", "warn-c"),
            _ => ("fail", "fail-c"),
        };
        attempts.push(Attempt {
            phase,
            number: command.attempt,
            status: command.status,
            shape,
            tone,
            background: command.background,
            severity: command.severity,
            started_at: command.started_at,
            took: command.ended_at.map(|at| at - command.started_at),
            run: run.cloned(),
            before,
        });
    }
    // That the agent came to its end is no success where it says that a person is needed.
    if attempt.story.status == "blocked"
        && let Some(last) = attempts.iter_mut().rfind(|one| !one.background)
        && last.status == "completed"
    {
        (last.status, last.shape, last.tone) = ("blocked", "block", "fail-c");
    }
    Took {
        batch: attempt.batch_id.clone(),
        status: attempt.story.status,
        reason: attempt.story.reason.clone(),
        started_at: attempt.story.started_at,
        ended_at: attempt.story.ended_at,
        attempts,
    }
}

/// Returns the epic and the number of a story, with which its key begins.
fn short_of(key: &str, prefix: &str) -> String {
    let Some(rest) = key.strip_prefix(prefix) else {
        return key.to_owned();
    };
    let number = rest.find('-').unwrap_or(rest.len());
    key[..prefix.len() + number].to_owned()
}

#[cfg(test)]
mod tests {
    use super::short_of;

    #[test]
    fn the_short_key_is_epic_and_number() {
        assert_eq!(short_of("1-1-add-a-task", "1-"), "1-1");
        assert_eq!(short_of("2a-10", "2a-"), "2a-10");
        assert_eq!(short_of("cleanup", "x-"), "cleanup");
    }
}
