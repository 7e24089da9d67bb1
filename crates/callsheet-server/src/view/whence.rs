//! Where bytes of a prompt come from: section, layer, file and line, and what that file is now.

use std::ops::Range;

use callsheet::Fingerprint;
use callsheet::reading::Reading;
use callsheet::source_map::FRAME;
use callsheet_store::PromptFilter;
use serde::Serialize;

use super::prompt::{Entry, Opened, shown_source};
use super::script::spell;
use crate::error::ApiError;
use crate::server::Server;

/// How many lines of the source are shown before and after.
const AROUND: usize = 2;

/// The longest line of a source that is shown whole.
const LONGEST: usize = 400;

/// How many bytes may be selected.
const MOST: usize = 4096;

/// How many other prompts are named.
const OTHERS: usize = 5;

/// Files over this size are not hashed to compare them.
const LARGEST_FILE: u64 = 16 << 20;

/// Where bytes come from.
#[derive(Debug, Serialize)]
pub(crate) struct Whence {
    /// The bytes, in the prompt.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The same in the text to read.
    pub(crate) read_start: usize,
    pub(crate) read_end: usize,
    /// What they say.
    pub(crate) text: String,
    /// Where that is, as people count.
    pub(crate) place: String,
    pub(crate) entry: Option<Entry>,
    pub(crate) layer: String,
    /// The source, and its line where that is known.
    pub(crate) source: String,
    pub(crate) line: Option<usize>,
    /// What was done to the bytes on the way.
    pub(crate) transform: Option<String>,
    /// Lines of the source around them, as HTML.
    pub(crate) excerpt: Vec<(usize, String)>,
    pub(crate) then: Option<String>,
    /// Whether the file is the same now; nothing where it is not a file of the project.
    pub(crate) now: Option<Now>,
    pub(crate) others: Vec<Other>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Now {
    Same,
    Changed,
    Gone,
}

/// Another prompt that the source went into.
#[derive(Debug, Serialize)]
pub(crate) struct Other {
    pub(crate) id: String,
    pub(crate) recipe: String,
    pub(crate) sealed_at: i64,
    /// Whether it had the same bytes there.
    pub(crate) same: bool,
}

/// Tells where bytes come from.
pub(crate) async fn whence(
    server: &Server,
    opened: &Opened,
    bytes: Range<usize>,
) -> Result<Whence, ApiError> {
    let len = opened.text.len();
    if bytes.start >= len || bytes.end > len || bytes.start >= bytes.end {
        return Err(ApiError::validation(format!(
            "there are no bytes {} to {}; the prompt has {len} bytes",
            bytes.start, bytes.end
        )));
    }
    let start = opened.text.floor_char_boundary(bytes.start);
    let end = opened
        .text
        .ceil_char_boundary(bytes.end.min(start.saturating_add(MOST)));
    let mut found = look(opened, start..end);
    if let Some(path) = file_of(opened, start) {
        found.now = Some(now(server, path, found.then.clone()).await?);
    }
    found.others = others(server, opened, start).await?;
    Ok(found)
}

/// Returns what the prompt itself tells.
fn look(opened: &Opened, bytes: Range<usize>) -> Whence {
    let reading = Reading::of(&opened.text);
    let read =
        reading.to_read(bytes.start)..reading.to_read(bytes.end).max(reading.to_read(bytes.start));
    let span = opened.map.at(bytes.start);
    let entry = opened.entry_at(bytes.start).cloned();
    let line = span.filter(|span| span.tells_line());
    let line = line.and_then(|span| span.line_at(&opened.text, bytes.start));
    let source = span.map_or(FRAME, |span| span.source.as_str());
    let section = entry
        .as_ref()
        .and_then(|entry| opened.manifest.sections.get(entry.section?));
    let section = section.filter(|section| section.source == source);
    let whole = section.and_then(|section| opened.seal.bodies.get(&section.source_fingerprint));
    let whole = whole.and_then(|bytes| std::str::from_utf8(bytes).ok());
    let place = span.and_then(|span| {
        let from = span.source_start?;
        let (offset, len) = match span.transform {
            None => (
                bytes.start - span.start,
                bytes.end.min(span.end) - bytes.start,
            ),
            Some(_) => (0, span.source_end?.saturating_sub(from)),
        };
        Some(from + offset..from + offset + len)
    });
    let excerpt = whole.zip(place).map(|(whole, place)| excerpt(whole, place));
    Whence {
        text: reading.slice(bytes.clone()).to_owned(),
        place: reading.position(bytes.start).to_string(),
        start: bytes.start,
        end: bytes.end,
        read_start: read.start,
        read_end: read.end,
        layer: span.map_or(FRAME, |span| span.layer.as_str()).to_owned(),
        source: if source == FRAME {
            "text of the recipe".to_owned()
        } else {
            shown_source(source).to_owned()
        },
        line,
        transform: span
            .and_then(|span| span.transform.as_ref())
            .and_then(|transform| {
                serde_json::to_value(transform)
                    .ok()?
                    .as_str()
                    .map(|word| word.replace('_', " "))
            }),
        excerpt: excerpt.unwrap_or_default(),
        then: section.map(|section| section.source_fingerprint.to_string()),
        now: None,
        others: Vec::new(),
        entry,
    }
}

/// Returns the lines around a place of a text, with the place marked.
fn excerpt(whole: &str, place: Range<usize>) -> Vec<(usize, String)> {
    let from = whole.floor_char_boundary(place.start.min(whole.len()));
    let to = whole.ceil_char_boundary(place.end.clamp(from, whole.len()));
    let first = whole[..from].matches('\n').count();
    let last = first + whole[from..to].trim_end_matches('\n').matches('\n').count();
    let mut at = 0;
    let mut lines = Vec::new();
    for (number, line) in whole.split_inclusive('\n').enumerate() {
        let start = at;
        at += line.len();
        if number + AROUND < first {
            continue;
        }
        if number > last + AROUND || lines.len() > 12 {
            break;
        }
        let text = line.trim_end_matches('\n');
        let inside = from.clamp(start, start + text.len()) - start
            ..to.clamp(start, start + text.len()) - start;
        lines.push((number + 1, marked(text, inside)));
    }
    lines
}

/// Returns a line as HTML, with a place in it marked; a long one has only what is near that place.
fn marked(line: &str, place: Range<usize>) -> String {
    let from = line.floor_char_boundary(place.start.saturating_sub(LONGEST / 2));
    let to = line.ceil_char_boundary((place.end + LONGEST / 2).min(line.len()));
    let mut html = String::new();
    if from > 0 {
        html.push('…');
    }
    spell(&mut html, &line[from..place.start]);
    if !place.is_empty() {
        html.push_str("<mark>");
        spell(&mut html, &line[place.clone()]);
        html.push_str("</mark>");
    }
    spell(&mut html, &line[place.end..to]);
    if to < line.len() {
        html.push('…');
    }
    html
}

/// Returns the path of the file of the project that a byte comes from.
fn file_of(opened: &Opened, byte: usize) -> Option<String> {
    let source = opened.map.at(byte)?.source.strip_prefix("file:")?;
    Some(source.to_owned())
}

/// Compares a file as it is now with what it was.
async fn now(server: &Server, path: String, then: Option<String>) -> Result<Now, ApiError> {
    server
        .blocking(move |site| {
            let Ok(root) = callsheet::Root::open(&site.root) else {
                return Ok(Now::Gone);
            };
            let root = root.with_max_file_bytes(LARGEST_FILE);
            Ok(match root.read(&path) {
                Ok(text) if then == Some(Fingerprint::of(&text).to_string()) => Now::Same,
                Ok(_) => Now::Changed,
                Err(_) => Now::Gone,
            })
        })
        .await
}

/// Returns other prompts that the same source went into, the newest first.
async fn others(server: &Server, opened: &Opened, byte: usize) -> Result<Vec<Other>, ApiError> {
    let Some(source) = opened.map.at(byte).map(|span| span.source.clone()) else {
        return Ok(Vec::new());
    };
    if !(source.starts_with("file:") || source.starts_with("template:")) {
        return Ok(Vec::new());
    }
    let body = opened
        .entry_at(byte)
        .and_then(|entry| opened.manifest.sections.get(entry.section?));
    let body = body.map(|section| section.fingerprint);
    let (store, project) = (&server.site.store, &server.site.project);
    let filter = PromptFilter {
        sources: Some(vec![source.clone()]),
        ..PromptFilter::default()
    };
    let mut found = Vec::new();
    for prompt in store.prompts(project, filter, OTHERS + 1).await? {
        if prompt.id == opened.sealed.id || found.len() == OTHERS {
            continue;
        }
        let manifest = store.manifest(&prompt).await?;
        let mut sections = manifest
            .sections
            .iter()
            .filter(|section| section.source == source);
        found.push(Other {
            id: prompt.id.to_string(),
            recipe: prompt.recipe,
            sealed_at: prompt.sealed_at,
            same: sections.any(|section| Some(section.fingerprint) == body),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_marks_the_same_bytes() {
        let shown = excerpt("one\ntwo\nthree <3\nfour\nfive\nsix\n", 14..16);
        let expected = [
            (1, "one"),
            (2, "two"),
            (3, "three <mark>&lt;3</mark>"),
            (4, "four"),
            (5, "five"),
        ];
        assert_eq!(shown, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn a_long_line_is_shown_near_the_place() {
        let line = "x".repeat(1000);
        let shown = marked(&line, 500..501);
        assert_eq!(shown, format!("…{0}<mark>x</mark>{0}…", "x".repeat(200)));
    }
}
