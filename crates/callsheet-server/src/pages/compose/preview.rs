//! What an input comes to: the prompt as it would be, what gives way to a budget, and what is wrong.

use std::time::Instant;

use axum::extract::rejection::{QueryRejection, StringRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::response::{IntoResponse, Response};
use callsheet::Root;
use callsheet::cache::{self, CachePlan, Side};
use callsheet::manifest::SectionRecord;
use callsheet::recipe::Found;
use callsheet::source_map::MapSpan;
use callsheet::tokens::Encoding;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::found;
use crate::access::May;
use crate::error::ApiError;
use crate::pages::Frame;
use crate::pages::prompts::query;
use crate::server::Server;
use crate::view::ladder::{Ladder, ladder};
use crate::view::place::line_of;
use crate::view::prompt::{Entry, entries, percent};
use crate::view::reel::Reel;
use crate::view::script::{Block, Script};

/// How many rows of a section are shown.
const ROWS: usize = 400;

/// What a prompt may cost.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Limits {
    budget: Option<usize>,
    unit: Option<String>,
}

/// What an input comes to.
#[derive(Serialize)]
struct Preview {
    error: Option<Wrong>,
    result: Option<Composed>,
    took: u64,
}

/// What is wrong with an input.
#[derive(Serialize)]
struct Wrong {
    message: String,
    line: Option<usize>,
    hints: Vec<String>,
}

#[derive(Serialize)]
struct Composed {
    #[serde(flatten)]
    spent: Spent,
    entries: Vec<Entry>,
    /// The budget up to which each entry gives way.
    goes_at: Vec<Option<usize>>,
    reel: Reel,
    blocks: Vec<ResultBlock>,
    ladder: Ladder,
    /// Where each step stands on the slider, in percent.
    ticks: Vec<f64>,
    least: usize,
    most: usize,
    warnings: Vec<String>,
}

/// What a prompt costs, and what a budget took of it.
#[derive(Serialize)]
struct Spent {
    fingerprint: String,
    bytes: usize,
    tokens: usize,
    sections: usize,
    layers: usize,
    budget: Option<usize>,
    unit: &'static str,
    used: usize,
    gave: usize,
    gave_bytes: u64,
    gave_tokens: usize,
    kept_tokens: usize,
    kept_percent: f64,
}

/// What stands in the result: the number of an entry, and its text.
#[derive(Serialize)]
struct ResultBlock {
    entry: Option<usize>,
    html: String,
    more: usize,
    cache: bool,
}

/// The document of a composition, as far as it is shown.
#[derive(Deserialize)]
struct Document {
    fingerprint: String,
    bytes: usize,
    tokens: Option<usize>,
    sections: Vec<SectionRecord>,
    omissions: Vec<callsheet::Omission>,
    events: Vec<callsheet::Event>,
    spans: Vec<MapSpan>,
    text: Option<String>,
    system_prompt: Option<String>,
}

pub(super) async fn preview(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    Path(name): Path<String>,
    limits: Result<Query<Limits>, QueryRejection>,
    input: Result<String, StringRejection>,
) -> Response {
    let began = Instant::now();
    let made = async {
        let limits = query(limits)?;
        let input = input.map_err(|error| ApiError::validation(error.body_text()))?;
        let of = name.clone();
        let found = server
            .blocking(move |site| found(&of, &Root::open(&site.root)?))
            .await?;
        Ok::<_, ApiError>((limits, input, found))
    };
    let (limits, input, found) = match made.await {
        Ok(made) => made,
        Err(error) => return error.into_response(),
    };
    let done = composed(&server, &name, &input, &limits, &found).await;
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let content = match done {
        Ok(result) => Preview {
            error: None,
            result: Some(result),
            took,
        },
        Err(error) => Preview {
            error: Some(wrong(&error, &input)),
            result: None,
            took,
        },
    };
    server.page(
        "compose_result.html",
        &Frame::new("compose", "", may),
        &content,
    )
}

async fn ask(
    server: &Server,
    name: &str,
    input: &str,
    budget: Option<String>,
) -> Result<Document, ApiError> {
    let mut args = vec!["compose", "--input=-"];
    args.extend(budget.as_deref());
    args.extend(["--", name]);
    let document: Value = server.program.ask(&args, Some(input.as_bytes())).await?;
    serde_json::from_value(document)
        .map_err(|error| ApiError::internal(format!("the document of the prompt: {error}")))
}

async fn composed(
    server: &Server,
    name: &str,
    input: &str,
    limits: &Limits,
    found: &Found,
) -> Result<Composed, ApiError> {
    let in_bytes = limits.unit.as_deref() == Some("bytes");
    let unit = if in_bytes { "bytes" } else { "tokens" };
    let whole = ask(server, name, input, None).await?;
    let budget = limits.budget.filter(|budget| *budget > 0);
    let cut = match budget {
        Some(budget) => {
            let word = if in_bytes { "byte" } else { "token" };
            Some(
                ask(
                    server,
                    name,
                    input,
                    Some(format!("--{word}-budget={budget}")),
                )
                .await?,
            )
        }
        None => None,
    };
    let recipe = found.recipe();
    let encoding = Encoding::default();
    let of_whole = entries(&whole.sections, &whole.omissions, whole.bytes, Some(recipe));
    let steps = ladder(
        whole.read(),
        &whole.spans,
        &whole.sections,
        &of_whole,
        ((!in_bytes).then_some(encoding), budget),
    );
    let document = cut.unwrap_or(whole);
    Ok(shown(&document, recipe, steps, (budget, unit)))
}

impl Document {
    fn read(&self) -> &str {
        let text = self.text.as_deref().or(self.system_prompt.as_deref());
        text.unwrap_or_default()
    }

    /// Returns what a cache keeps of it.
    fn plan(&self) -> CachePlan {
        let side = Side {
            text: self.read().to_owned(),
            own: false,
            sections: self.sections.iter().map(Into::into).collect(),
            spans: self.spans.clone(),
        };
        cache::plan(&side, None, Some(Encoding::default()))
    }
}

fn shown(
    document: &Document,
    recipe: &callsheet::Recipe,
    ladder: Ladder,
    (budget, unit): (Option<usize>, &'static str),
) -> Composed {
    let (text, kept) = (document.read(), document.plan());
    let entries = entries(
        &document.sections,
        &document.omissions,
        document.bytes,
        Some(recipe),
    );
    let stable = kept.prefix.bytes;
    let script = Script::new(text, &document.spans, &document.sections, &entries, stable);
    let goes_at = |entry: &Entry| {
        let step = ladder.steps.iter().find(|step| step.no == entry.no);
        step.map(|step| step.upto)
    };
    let least = ladder.required;
    let most = (ladder.whole + ladder.whole / 20).max(least + 1);
    let most = most.max(budget.unwrap_or(0));
    let tick = |upto: usize| percent(upto.saturating_sub(least), most - least);
    let blocks = script.blocks.iter();
    Composed {
        spent: spent(
            document,
            &entries,
            &kept,
            recipe.layers.len(),
            (budget, unit),
        ),
        goes_at: entries.iter().map(goes_at).collect(),
        reel: Reel::new(&entries, document.bytes, stable, None),
        blocks: blocks.filter_map(|block| part(&script, block)).collect(),
        ticks: ladder.steps.iter().map(|step| tick(step.upto)).collect(),
        warnings: warnings(document),
        entries,
        ladder,
        least,
        most,
    }
}

fn spent(
    document: &Document,
    entries: &[Entry],
    plan: &CachePlan,
    layers: usize,
    (budget, unit): (Option<usize>, &'static str),
) -> Spent {
    let counted = document.tokens.or(plan.a.tokens);
    let tokens = counted.unwrap_or(0);
    let gave = || entries.iter().filter(|entry| entry.gave_way());
    let lost = || gave().filter_map(|entry| entry.lost());
    Spent {
        fingerprint: document.fingerprint.clone(),
        bytes: document.bytes,
        tokens,
        sections: document.sections.len(),
        layers,
        used: if unit == "bytes" {
            document.bytes
        } else {
            tokens
        },
        gave: gave().count(),
        gave_bytes: lost().map(|lost| lost.bytes).sum(),
        gave_tokens: lost().filter_map(|lost| lost.tokens).sum(),
        kept_tokens: plan.prefix.tokens.unwrap_or(0),
        kept_percent: percent(plan.prefix.bytes, document.bytes).round(),
        budget,
        unit,
    }
}

fn part(script: &Script, block: &Block) -> Option<ResultBlock> {
    let none = ResultBlock {
        entry: None,
        html: String::new(),
        more: 0,
        cache: false,
    };
    Some(match block {
        Block::Section { entry, rows, .. } => {
            let end = rows.end.min(rows.start + ROWS);
            ResultBlock {
                entry: Some(*entry),
                html: script.html(rows.start..end),
                more: rows.end - end,
                cache: false,
            }
        }
        Block::Omitted(entry) => ResultBlock {
            entry: Some(*entry),
            ..none
        },
        Block::Cache => ResultBlock {
            cache: true,
            ..none
        },
        Block::Frame(_) => return None,
    })
}

/// Returns what a person should hear of: events that are not among the omissions.
fn warnings(document: &Document) -> Vec<String> {
    let events = document.events.iter();
    let said = events.filter(|event| {
        document
            .omissions
            .iter()
            .all(|lost| !event.message().contains(&lost.sentence()))
    });
    said.map(|event| event.message().to_owned()).collect()
}

/// Returns what is wrong with an input, and on which line.
fn wrong(error: &ApiError, input: &str) -> Wrong {
    let message = error.message();
    Wrong {
        line: line_of(message, input),
        hints: error.hint_texts(),
        message: without_place(message).to_owned(),
    }
}

/// Leaves out where the program has read the input, and the line, which the page shows by itself.
fn without_place(message: &str) -> &str {
    let Some(rest) = message.strip_prefix("stdin:") else {
        return message;
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
    rest.trim_start()
}

#[cfg(test)]
mod tests {
    use super::without_place;

    #[test]
    fn a_message_does_not_repeat_its_place() {
        let shown = ["stdin:12: malformed", "stdin: an object", "`a`: wrong"].map(without_place);
        assert_eq!(shown, ["malformed", "an object", "`a`: wrong"]);
    }
}
