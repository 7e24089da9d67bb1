//! Parts of a prompt that are asked for by themselves: its bytes, some of its lines, and where some bytes come from.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{Html, IntoResponse, Response};
use callsheet::reading::Reading;
use serde::{Deserialize, Serialize};

use super::query;
use crate::access::May;
use crate::error::ApiError;
use crate::pages::Frame;
use crate::server::Server;
use crate::view::prompt::{Shelf, open};
use crate::view::script::{CHUNK, spell};
use crate::view::whence::{Whence, whence};

/// How many rows can be asked for at once.
const MOST: usize = 2000;

/// How many bytes a row of bytes has.
pub(super) const WIDTH: usize = 16;

/// A range of rows, or of bytes to read.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Slice {
    from: Option<usize>,
    count: Option<usize>,
    /// Places in the text to read, instead of bytes.
    r: Option<usize>,
    rto: Option<usize>,
    at: Option<usize>,
    to: Option<usize>,
}

/// What the panel shows.
#[derive(Serialize)]
struct Found<'p> {
    whence: Whence,
    recipe: &'p str,
    layers: usize,
    id: String,
}

/// Returns rows of bytes as HTML: where they are, their numbers, and what they say.
pub(super) fn dump(text: &str, from: usize, count: usize) -> String {
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

pub(super) async fn exact(
    State(server): State<Server>,
    Extension(shelf): Extension<Arc<Shelf>>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let opened = open(&server, &shelf, &id).await?;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    Ok(([(CONTENT_TYPE, kind)], opened.text.clone()).into_response())
}

pub(super) async fn lines(
    State(server): State<Server>,
    Extension(shelf): Extension<Arc<Shelf>>,
    Path(id): Path<String>,
    wanted: Result<Query<Slice>, QueryRejection>,
) -> Result<Html<String>, ApiError> {
    let (from, count) = rows(&query(wanted)?)?;
    let opened = open(&server, &shelf, &id).await?;
    Ok(Html(opened.script.html(from..from.saturating_add(count))))
}

pub(super) async fn bytes(
    State(server): State<Server>,
    Extension(shelf): Extension<Arc<Shelf>>,
    Path(id): Path<String>,
    wanted: Result<Query<Slice>, QueryRejection>,
) -> Result<Html<String>, ApiError> {
    let (from, count) = rows(&query(wanted)?)?;
    let opened = open(&server, &shelf, &id).await?;
    Ok(Html(dump(&opened.text, from, count)))
}

fn rows(wanted: &Slice) -> Result<(usize, usize), ApiError> {
    let count = wanted.count.unwrap_or(CHUNK);
    if count == 0 || count > MOST {
        return Err(ApiError::validation(format!(
            "`count` is {count}; it has to be from 1 to {MOST}"
        )));
    }
    Ok((wanted.from.unwrap_or(0), count))
}

pub(super) async fn whence_part(
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
    let content = Found {
        whence: found,
        recipe: &opened.manifest.recipe.name,
        layers: opened.layers,
        id: opened.sealed.id.to_string(),
    };
    Ok(server.page("whence.html", &Frame::new("prompts", "", may), &content))
}

#[cfg(test)]
mod tests {
    use super::*;

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
