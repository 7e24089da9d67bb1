//! One prompt: its sections, its text in pages, where bytes come from, and what differs from another one.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use callsheet::cache::common_prefix;
use callsheet::reading::Reading;
use callsheet_store::PromptFilter;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::query;
use crate::access::May;
use crate::error::ApiError;
use crate::pages::Frame;
use crate::server::Server;
use crate::view::attempt::{Attempt, attempts};
use crate::view::compare::{Comparison, compare};
use crate::view::prompt::{Entry, Opened, Shelf, open, percent};
use crate::view::reel::Reel;
use crate::view::script::{Block, CHUNK, spell};
use crate::view::whence::{Whence, whence};

/// How many rows a page has in it from the start.
const AT_ONCE: usize = 600;

/// How many rows can be asked for at once.
const MOST: usize = 2000;

/// How many bytes a row of bytes has.
const WIDTH: usize = 16;

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
struct Wanted {
    /// The prompt to compare with.
    with: Option<String>,
    view: Option<String>,
    /// The line from which on the text is wanted.
    line: Option<usize>,
    /// The bytes whose origin is wanted; the end may be left out.
    at: Option<usize>,
    to: Option<usize>,
}

/// A range of rows, or of bytes to read.
#[derive(Debug, Default, Deserialize)]
struct Slice {
    from: Option<usize>,
    count: Option<usize>,
    /// Places in the text to read, instead of bytes.
    r: Option<usize>,
    rto: Option<usize>,
    at: Option<usize>,
    to: Option<usize>,
}

#[derive(Serialize)]
struct Page<'p> {
    id: String,
    sealed_at: i64,
    fingerprint: String,
    recipe: &'p str,
    recipe_fingerprint: String,
    bytes: usize,
    tokens: usize,
    encoding: &'static str,
    layers: usize,
    sections: usize,
    omitted: usize,
    budget: Option<Budget>,
    gave_bytes: u64,
    gave_tokens: usize,
    replays: Option<bool>,
    entries: &'p [Entry],
    frame_bytes: usize,
    frame_tokens: usize,
    frame_share: f64,
    /// The largest section, to which the small bars are scaled.
    largest: usize,
    lines: usize,
    view: &'static str,
    tools: Vec<String>,
    reel: Reel,
    cache: Cache,
    gave: Vec<&'p Entry>,
    left_out: Vec<&'p Entry>,
    blocks: Vec<Part>,
    byte_rows: String,
    byte_chunks: Vec<Chunk>,
    run: Option<Attempt>,
    runs: usize,
    command: Option<String>,
    with: Option<With>,
    choice: Vec<Choice>,
    whence: Option<Whence>,
    many: bool,
}

#[derive(Serialize)]
struct Budget {
    limit: usize,
    used: usize,
    unit: &'static str,
}

#[derive(Serialize)]
struct Cache {
    bytes: usize,
    tokens: usize,
    percent: f64,
    /// How often what comes behind changes.
    below: Option<&'static str>,
    advice: Vec<String>,
}

/// What stands in the text.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Part {
    Frame { chunks: Vec<Chunk> },
    Section { entry: usize, chunks: Vec<Chunk> },
    Omitted { entry: usize },
    Cache,
}

/// Some rows: in the page, or asked for when they come into sight.
#[derive(Serialize)]
struct Chunk {
    from: usize,
    count: usize,
    first: usize,
    last: usize,
    html: Option<String>,
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
struct Around {
    run: Option<Attempt>,
    runs: usize,
    command: Option<String>,
    with: Option<With>,
    prefix: Option<usize>,
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

fn content<'p>(opened: &'p Opened, wanted: &Wanted, around: Around) -> Page<'p> {
    let manifest = &opened.manifest;
    let view = match wanted.view.as_deref() {
        Some("bytes") => "bytes",
        Some("tools") => "tools",
        _ => "text",
    };
    let tokens = manifest.tokens.unwrap_or(0);
    let body_bytes: usize = opened.entries.iter().map(|entry| entry.bytes).sum();
    let body_tokens: usize = opened.entries.iter().map(|entry| entry.tokens).sum();
    let lost = |entry: &'p Entry| entry.cut.as_ref().or(entry.omitted.as_ref());
    let over = |entry: &&Entry| lost_over(entry);
    let mut gave: Vec<&Entry> = opened.entries.iter().filter(over).collect();
    gave.reverse();
    gave.sort_by_key(|entry| entry.priority);
    let left_out = opened
        .entries
        .iter()
        .filter(|entry| lost(entry).is_some() && !lost_over(entry));
    let left_out: Vec<&Entry> = left_out.collect();
    let of_gave = || {
        gave.iter()
            .filter_map(|entry| entry.cut.as_ref().or(entry.omitted.as_ref()))
    };
    let is_text = view == "text";
    Page {
        id: opened.sealed.id.to_string(),
        sealed_at: opened.sealed.sealed_at,
        fingerprint: opened.sealed.fingerprint.to_string(),
        recipe: &manifest.recipe.name,
        recipe_fingerprint: manifest.recipe.fingerprint.to_string(),
        bytes: opened.text.len(),
        tokens,
        encoding: opened.encoding().name(),
        layers: opened.layers,
        sections: manifest.sections.len(),
        omitted: opened
            .entries
            .iter()
            .filter(|entry| entry.omitted.is_some())
            .count(),
        budget: budget(opened),
        gave_bytes: of_gave().map(|lost| lost.bytes).sum(),
        gave_tokens: of_gave().filter_map(|lost| lost.tokens).sum(),
        replays: opened.replays,
        entries: &opened.entries,
        frame_bytes: opened.text.len().saturating_sub(body_bytes),
        frame_tokens: tokens.saturating_sub(body_tokens),
        frame_share: percent(
            opened.text.len().saturating_sub(body_bytes),
            opened.text.len(),
        ),
        largest: opened
            .entries
            .iter()
            .map(|entry| entry.bytes)
            .max()
            .unwrap_or(1)
            .max(1),
        lines: opened.script.lines,
        view,
        tools: opened
            .tools
            .iter()
            .map(|tool| format!("{tool:#}"))
            .collect(),
        reel: Reel::new(
            &opened.entries,
            opened.text.len(),
            opened.plan.prefix.bytes,
            around.prefix,
        ),
        cache: cache(opened),
        blocks: if is_text {
            blocks(opened, wanted.line)
        } else {
            Vec::new()
        },
        byte_rows: if view == "bytes" {
            dump(&opened.text, 0, CHUNK)
        } else {
            String::new()
        },
        byte_chunks: if view == "bytes" {
            byte_chunks(opened.text.len())
        } else {
            Vec::new()
        },
        many: opened.script.rows.len() > 3000,
        run: around.run,
        runs: around.runs,
        command: around.command,
        with: around.with,
        choice: around.choice,
        whence: around.whence,
        gave,
        left_out,
    }
}

fn lost_over(entry: &Entry) -> bool {
    let lost = entry.cut.as_ref().or(entry.omitted.as_ref());
    lost.is_some_and(|lost| lost.over_budget)
}

fn budget(opened: &Opened) -> Option<Budget> {
    let manifest = &opened.manifest;
    let (tokens, bytes) = (manifest.budget.tokens, manifest.budget.bytes);
    let of_tokens = tokens.map(|limit| Budget {
        limit,
        used: manifest.tokens.unwrap_or(0),
        unit: "tokens",
    });
    of_tokens.or_else(|| {
        bytes.map(|limit| Budget {
            limit,
            used: manifest.bytes,
            unit: "bytes",
        })
    })
}

fn cache(opened: &Opened) -> Cache {
    let (plan, len) = (&opened.plan, opened.text.len());
    let behind = opened
        .entries
        .iter()
        .find(|entry| entry.section.is_some() && entry.end > plan.prefix.bytes);
    Cache {
        bytes: plan.prefix.bytes,
        tokens: plan.prefix.tokens.unwrap_or(0),
        percent: percent(plan.prefix.bytes, len).round(),
        below: behind.map(|entry| entry.volatility),
        advice: plan
            .advice
            .iter()
            .map(|advice| advice.message.clone())
            .collect(),
    }
}

/// Returns what stands in the text; rows around the wanted line come with the page, others are asked for.
fn blocks(opened: &Opened, line: Option<usize>) -> Vec<Part> {
    let script = &opened.script;
    let wanted = line.map_or(0, |line| script.rows.partition_point(|row| row.line < line));
    let shown = wanted.saturating_sub(CHUNK / 2)..wanted.saturating_add(AT_ONCE);
    let chunks = |rows: &std::ops::Range<usize>| {
        let starts = rows.clone().step_by(CHUNK);
        let chunk = |from: usize| {
            let count = CHUNK.min(rows.end - from);
            let seen = from < shown.end && from + count > shown.start;
            Chunk {
                from,
                count,
                first: script.rows[from].line,
                last: script.rows[from + count - 1].line,
                html: seen.then(|| script.html(from..from + count)),
            }
        };
        starts.map(chunk).collect::<Vec<Chunk>>()
    };
    let part = |block: &Block| match block {
        Block::Frame(rows) => Part::Frame {
            chunks: chunks(rows),
        },
        Block::Section { entry, rows, .. } => Part::Section {
            entry: *entry,
            chunks: chunks(rows),
        },
        Block::Omitted(entry) => Part::Omitted { entry: *entry },
        Block::Cache => Part::Cache,
    };
    script.blocks.iter().map(part).collect()
}

fn byte_chunks(len: usize) -> Vec<Chunk> {
    let rows = len.div_ceil(WIDTH);
    let starts = (CHUNK..rows).step_by(CHUNK);
    let chunk = |from: usize| {
        let count = CHUNK.min(rows - from);
        Chunk {
            from,
            count,
            first: from * WIDTH,
            last: (from + count) * WIDTH - 1,
            html: None,
        }
    };
    starts.map(chunk).collect()
}

/// Returns rows of bytes as HTML: where they are, their numbers, and what they say.
fn dump(text: &str, from: usize, count: usize) -> String {
    let bytes = text.as_bytes();
    let mut html = String::new();
    for row in from..from.saturating_add(count) {
        let start = row.saturating_mul(WIDTH);
        let Some(some) = bytes.get(start..bytes.len().min(start.saturating_add(WIDTH))) else {
            break;
        };
        if some.is_empty() {
            break;
        }
        let mut numbers = String::new();
        let mut said = String::new();
        for (at, byte) in some.iter().enumerate() {
            numbers.push_str(if at == WIDTH / 2 { "  " } else { " " });
            numbers.push_str(&format!("{byte:02x}"));
            said.push(if (0x20..0x7f).contains(byte) {
                char::from(*byte)
            } else {
                '·'
            });
        }
        let width = 3 * WIDTH + 1;
        html.push_str(&format!(
            "<span class=\"l\" data-n=\"{start}\"><span>{numbers:<width$}</span>  "
        ));
        spell(&mut html, &said);
        html.push_str("\n</span>");
    }
    html
}

async fn exact(
    State(server): State<Server>,
    Extension(shelf): Extension<Arc<Shelf>>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let opened = open(&server, &shelf, &id).await?;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    Ok(([(CONTENT_TYPE, kind)], opened.text.clone()).into_response())
}

async fn lines(
    State(server): State<Server>,
    Extension(shelf): Extension<Arc<Shelf>>,
    Path(id): Path<String>,
    wanted: Result<Query<Slice>, QueryRejection>,
) -> Result<Html<String>, ApiError> {
    let (from, count) = rows(query(wanted)?)?;
    let opened = open(&server, &shelf, &id).await?;
    Ok(Html(opened.script.html(from..from.saturating_add(count))))
}

async fn bytes(
    State(server): State<Server>,
    Extension(shelf): Extension<Arc<Shelf>>,
    Path(id): Path<String>,
    wanted: Result<Query<Slice>, QueryRejection>,
) -> Result<Html<String>, ApiError> {
    let (from, count) = rows(query(wanted)?)?;
    let opened = open(&server, &shelf, &id).await?;
    Ok(Html(dump(&opened.text, from, count)))
}

fn rows(wanted: Slice) -> Result<(usize, usize), ApiError> {
    let count = wanted.count.unwrap_or(CHUNK);
    if count == 0 || count > MOST {
        return Err(ApiError::validation(format!(
            "`count` is {count}; it has to be from 1 to {MOST}"
        )));
    }
    Ok((wanted.from.unwrap_or(0), count))
}

async fn whence_part(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    Extension(shelf): Extension<Arc<Shelf>>,
    Path(id): Path<String>,
    wanted: Result<Query<Slice>, QueryRejection>,
) -> Result<Response, ApiError> {
    let wanted = query(wanted)?;
    let opened = open(&server, &shelf, &id).await?;
    let place = match (wanted.at, wanted.r) {
        (Some(at), _) => at..wanted.to.unwrap_or(at.saturating_add(1)),
        (None, Some(from)) => {
            let len = opened.script.read.len();
            let to = wanted.rto.unwrap_or(from.saturating_add(1)).min(len);
            let reading = Reading::of(&opened.text);
            let place = reading.to_prompt(from.min(len)..to);
            place.start
                ..place
                    .end
                    .max(place.start.saturating_add(1))
                    .min(opened.text.len())
        }
        (None, None) => return Err(ApiError::validation("`at` is missing: which byte?")),
    };
    let found = whence(&server, &opened, place).await?;
    let content = json!({
        "whence": found,
        "recipe": opened.manifest.recipe.name,
        "layers": opened.layers,
        "id": opened.sealed.id,
    });
    Ok(server.page("whence.html", &Frame::new("prompts", "", may), &content))
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn bytes_are_shown_in_rows() {
        let shown = dump("<a>\n0123456789abcdef", 1, 9);
        let numbers = format!("{:<49}", " 63 64 65 66");
        assert_eq!(
            shown,
            format!("<span class=\"l\" data-n=\"16\"><span>{numbers}</span>  cdef\n</span>")
        );
        assert_eq!(dump("ab", 7, 9), "");
    }
}
