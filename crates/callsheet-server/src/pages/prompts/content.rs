//! What the page of a prompt shows: its facts, its sections, and its text in parts.

use std::ops::Range;

use callsheet::reading::Reading;
use serde::Serialize;

use super::inspector::{Around, Wanted};
use super::parts::{WIDTH, dump};
use crate::view::prompt::{Entry, Opened, percent};
use crate::view::reel::Reel;
use crate::view::script::{Block, CHUNK};

/// How many rows a page has in it from the start.
const AT_ONCE: usize = 600;

/// All of the page.
#[derive(Serialize)]
pub(super) struct Page<'p> {
    #[serde(flatten)]
    facts: Facts<'p>,
    #[serde(flatten)]
    lost: Lost<'p>,
    #[serde(flatten)]
    text: Text,
    #[serde(flatten)]
    around: Around,
    entries: &'p [Entry],
    reel: Reel,
    cache: Cache,
}

#[derive(Serialize)]
struct Facts<'p> {
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
    budget: Option<Budget>,
    replays: Option<bool>,
    frame_bytes: usize,
    frame_tokens: usize,
    frame_share: f64,
    /// The largest section, to which the small bars are scaled.
    largest: usize,
}

/// What is not in the prompt.
#[derive(Serialize)]
struct Lost<'p> {
    omitted: usize,
    gave_bytes: u64,
    gave_tokens: usize,
    gave: Vec<&'p Entry>,
    left_out: Vec<&'p Entry>,
}

/// The text, its bytes or its tools.
#[derive(Serialize)]
struct Text {
    view: &'static str,
    lines: usize,
    blocks: Vec<ContentBlock>,
    byte_rows: String,
    byte_chunks: Vec<Chunk>,
    tools: Vec<String>,
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
enum ContentBlock {
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

/// Returns all of the page.
pub(super) fn content<'p>(opened: &'p Opened, wanted: &Wanted, around: Around) -> Page<'p> {
    let (len, kept) = (opened.text.len(), opened.plan.prefix.bytes);
    Page {
        facts: facts(opened),
        lost: lost(opened),
        text: text(opened, wanted),
        entries: &opened.entries,
        reel: Reel::new(&opened.entries, len, kept, around.prefix),
        cache: cache(opened),
        around,
    }
}

fn facts(opened: &Opened) -> Facts<'_> {
    let manifest = &opened.manifest;
    let tokens = manifest.tokens.unwrap_or(0);
    let body_bytes: usize = opened.entries.iter().map(|entry| entry.bytes).sum();
    let body_tokens: usize = opened.entries.iter().map(|entry| entry.tokens).sum();
    let len = opened.text.len();
    let largest = opened.entries.iter().map(|entry| entry.bytes).max();
    Facts {
        id: opened.sealed.id.to_string(),
        sealed_at: opened.sealed.sealed_at,
        fingerprint: opened.sealed.fingerprint.to_string(),
        recipe: &manifest.recipe.name,
        recipe_fingerprint: manifest.recipe.fingerprint.to_string(),
        bytes: len,
        tokens,
        encoding: opened.encoding().name(),
        layers: opened.layers,
        sections: manifest.sections.len(),
        budget: budget(opened),
        replays: opened.replays,
        frame_bytes: len.saturating_sub(body_bytes),
        frame_tokens: tokens.saturating_sub(body_tokens),
        frame_share: percent(len.saturating_sub(body_bytes), len),
        largest: largest.unwrap_or(1).max(1),
    }
}

fn lost(opened: &Opened) -> Lost<'_> {
    let all = || opened.entries.iter();
    let mut gave: Vec<&Entry> = all().filter(|entry| entry.gave_way()).collect();
    gave.reverse();
    gave.sort_by_key(|entry| entry.priority);
    let lost = || gave.iter().filter_map(|entry| entry.lost());
    let left_out = all().filter(|entry| entry.lost().is_some() && !entry.gave_way());
    Lost {
        omitted: all().filter(|entry| entry.omitted.is_some()).count(),
        gave_bytes: lost().map(|lost| lost.bytes).sum(),
        gave_tokens: lost().filter_map(|lost| lost.tokens).sum(),
        left_out: left_out.collect(),
        gave,
    }
}

fn text(opened: &Opened, wanted: &Wanted) -> Text {
    let view = match wanted.view.as_deref() {
        Some("bytes") => "bytes",
        Some("tools") => "tools",
        _ => "text",
    };
    let mut text = Text {
        view,
        lines: opened.script.lines,
        blocks: Vec::new(),
        byte_rows: String::new(),
        byte_chunks: Vec::new(),
        tools: opened
            .tools
            .iter()
            .map(|tool| format!("{tool:#}"))
            .collect(),
    };
    match view {
        "bytes" => {
            text.byte_rows = dump(&opened.text, 0, CHUNK);
            text.byte_chunks = byte_chunks(opened.text.len());
        }
        "text" => text.blocks = blocks(opened, wanted),
        _ => {}
    }
    text
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

/// Returns what stands in the text; rows around the wanted line or byte come with the page, others are asked for.
fn blocks(opened: &Opened, wanted: &Wanted) -> Vec<ContentBlock> {
    let script = &opened.script;
    let of_byte = |at: usize| {
        let at = Reading::of(&opened.text).to_read(at.min(opened.text.len()));
        script.rows.partition_point(|row| row.end < at)
    };
    let of_line = |line: usize| script.rows.partition_point(|row| row.line < line);
    let wanted = wanted.line.map(of_line).or(wanted.at.map(of_byte));
    let wanted = wanted.unwrap_or(0);
    let shown = wanted.saturating_sub(CHUNK / 2)..wanted.saturating_add(AT_ONCE);
    let chunks = |rows: &Range<usize>| {
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
        Block::Frame(rows) => ContentBlock::Frame {
            chunks: chunks(rows),
        },
        Block::Section { entry, rows, .. } => ContentBlock::Section {
            entry: *entry,
            chunks: chunks(rows),
        },
        Block::Omitted(entry) => ContentBlock::Omitted { entry: *entry },
        Block::Cache => ContentBlock::Cache,
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
