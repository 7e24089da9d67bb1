//! `why`: which layer, file and line a byte of a prompt comes from.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use callsheet::SourceMap;
use callsheet::cache::Side;
use callsheet::document::plain_words;
use callsheet::reading::Reading;
use callsheet::source_map::{FRAME, MapSpan};
use callsheet::trace::Transform;
use callsheet_store::Wait;
use serde_json::{Value, json};

use crate::failure::{Failure, cause_text};
use crate::options::{BudgetArgs, InputArgs};
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::target::{self, Target};
use crate::{index, store, time};

/// So many places of a text are shown in each of many prompts.
const PLACES_EACH: usize = 3;

/// So many places of a text are shown.
const MOST_PLACES: usize = 50;

/// Tell which layer, file and line a byte of a prompt comes from
///
/// The target is a recipe, with what `callsheet compose` takes; or the id of a sealed prompt; or a document of
/// `compose --format json`; or a prompt that `compose -o` wrote, with the map that `compose --source-map` wrote beside it.
/// Without a target, `--text` tells which sealed prompts carried the text.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet why layers --input input.yaml --at 120
  callsheet why pack --text 'fn main'
  callsheet why 1m7f6zd4 --at 120
  callsheet why --text 'never push'
  callsheet why prompt.txt --source-map map.json --text 'never push'")]
#[command(group = clap::ArgGroup::new("place").required(true).args(["at", "text"]))]
pub(crate) struct Args {
    /// A recipe, the id of a sealed prompt, or a file with a prompt or a document [default: all sealed prompts]
    target: Option<String>,

    /// The byte, counted from 0
    #[arg(long, value_name = "BYTE")]
    at: Option<usize>,

    /// The text; every place where it stands is told
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    text: Option<String>,

    /// The source map of the prompt in the file
    #[arg(long, value_name = "FILE")]
    source_map: Option<PathBuf>,

    /// Only sealed prompts since then, without a target: `7d`, `12h`, `2026-11-01` or `2026-11-01T18:30`, in UTC
    #[arg(long, value_name = "TIME", conflicts_with = "target")]
    since: Option<String>,

    /// How many sealed prompts are told, without a target
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    budget: BudgetArgs,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let Some(target) = &self.target else {
            return self.carriers(project, out);
        };
        let (prompt, map) = self.prompt(project, target)?;
        let places: Vec<(usize, usize)> = match (&self.text, self.at) {
            (Some(text), _) => all_places_of(&prompt, text),
            (None, Some(at)) if at < prompt.len() => vec![(at, at + 1)],
            (None, at) => {
                let at = at.unwrap_or_default();
                return Err(Failure::input(format!(
                    "there is no byte {at}; the prompt has {} bytes",
                    prompt.len()
                )));
            }
        };
        if places.is_empty() {
            if out.json {
                out.document(&json!({"schema": "callsheet.why/1", "places": []}))?;
            }
            return Err(Failure::negative("the prompt does not contain this text"));
        }
        if out.json {
            let places: Vec<Value> = places
                .iter()
                .map(|&place| describe(&prompt, &map, place))
                .collect();
            out.document(&json!({"schema": "callsheet.why/1", "places": places}))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut text = String::new();
        for &place in places.iter().take(MOST_PLACES) {
            text.push_str(&place_text(&prompt, &map, place));
        }
        out.text(&text)?;
        if places.len() > MOST_PLACES {
            out.note(&format!(
                "{} more places; `--json` has them all",
                places.len() - MOST_PLACES
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn prompt(&self, project: &Project, target: &str) -> Result<(String, SourceMap), Failure> {
        let is_file = Path::new(target).is_file();
        if !is_file && let Err(unknown) = project.recipe(target) {
            let Some(seal) = target::sealed(project, target)? else {
                return Err(unknown);
            };
            self.input.refuse_for_sealed()?;
            self.budget.refuse_redaction()?;
            let sealed = seal.explained()?;
            return Ok((sealed.text, sealed.source_map));
        }
        if !is_file {
            let options = self.budget.options(false);
            let composition = self.input.compose(project, target, &options)?;
            return Ok((composition.text, composition.source_map));
        }
        self.budget.refuse_redaction()?;
        let prompt = match Target::find(project, target)? {
            Target::Sealed { seal, .. } => {
                let sealed = seal.explained()?;
                return Ok((sealed.text, sealed.source_map));
            }
            Target::Text(prompt) => prompt,
        };
        let (prompt, map, shown) = match (&self.source_map, document(&prompt)) {
            (Some(map), _) => (prompt, parse_map(map)?, map.display().to_string()),
            (None, Some((prompt, map))) => (prompt, map, target.to_owned()),
            (None, None) => {
                return Err(Failure::input(format!("`{target}` is a file and needs its source map"))
                    .hint("compose it with `--source-map FILE`, and name that file here with `--source-map FILE`"));
            }
        };
        check_cover(&prompt, &map, &shown, target)?;
        Ok((prompt, map))
    }

    /// Tells which sealed prompts carried the text.
    fn carriers(&self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let Some(text) = &self.text else {
            return Err(Failure::input(
                "`--at` needs a target: a byte of which prompt?",
            ));
        };
        self.input.refuse_for_sealed()?;
        let since = time::option(self.since.as_deref())?;
        let opened = store::open(project)?;
        index::catch_up(project, &opened, out)?;
        let limit = self.limit as usize;
        let look = opened.store.carriers(&opened.project, text, limit, since);
        let found = look.wait()?;
        let mut documents = Vec::new();
        for carrier in &found.prompts {
            let (prompt, whole, map) = (&carrier.prompt, &carrier.text, &carrier.source_map);
            let places = all_places_of(whole, text);
            if out.json {
                let places = places.iter().map(|&place| describe(whole, map, place));
                let places: Vec<Value> = places.collect();
                let mut document = json!(prompt);
                document["places"] = json!(places);
                documents.push(document);
                continue;
            }
            let sealed = time::shown(prompt.sealed_at);
            let mut lines = format!(
                "prompt {}, sealed {sealed}, recipe {}\n",
                prompt.id, prompt.recipe
            );
            for &place in places.iter().take(PLACES_EACH) {
                let text = place_text(whole, map, place);
                lines.extend(text.lines().flat_map(|line| ["  ", line, "\n"]));
            }
            if places.len() > PLACES_EACH {
                lines.push_str(&format!(
                    "  and {} more places\n",
                    places.len() - PLACES_EACH
                ));
            }
            out.text(&lines)?;
        }
        if out.json {
            let (prompts, more) = (documents, found.more);
            out.document(&json!({"schema": "callsheet.why/1", "prompts": prompts, "more": more}))?;
        } else if found.more {
            out.note("there are more prompts; `--limit N` tells more, `--since TIME` only the newer ones");
        }
        if found.prompts.is_empty() {
            return Err(Failure::negative("no sealed prompt carried this text"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns every place of a text in a prompt, as people read it and as it stands there.
fn all_places_of(prompt: &str, text: &str) -> Vec<(usize, usize)> {
    let reading = Reading::of(prompt);
    let read = places_of(reading.text(), text).into_iter();
    let read = read.map(|(start, end)| reading.to_prompt(start..end));
    let read = read.map(|place| (place.start, place.end));
    // Half an escape is not text.
    let whole = |at: usize| reading.to_prompt(0..reading.to_read(at)).end == at;
    let mut places = places_of(prompt, text);
    places.retain(|&(start, end)| whole(start) && whole(end));
    places.extend(read);
    places.sort_unstable();
    places.dedup();
    places
}

/// Returns every place of a text in a prompt, also those that overlap.
fn places_of(prompt: &str, text: &str) -> Vec<(usize, usize)> {
    let step = text.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(found) = prompt.get(from..).and_then(|rest| rest.find(text)) {
        let at = from + found;
        places.push((at, at + text.len()));
        from = at + step;
    }
    places
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|cause| Failure::input(format!("{}: {}", path.display(), cause_text(&cause))))
}

fn parse_map(path: &Path) -> Result<SourceMap, Failure> {
    serde_json::from_str(&read(path)?).map_err(|error| {
        let cause = plain_words(&error.to_string(), "an object");
        let (shown, line) = (path.display(), error.line());
        Failure::input(format!("{shown}:{line}: no source map: {cause}"))
    })
}

/// Reads the prompt and its map from a document of `compose --format json`; anything else is not one.
fn document(text: &str) -> Option<(String, SourceMap)> {
    let document: Value = serde_json::from_str(text).ok()?;
    let side = Side::from_document(&document)?;
    let map = SourceMap {
        spans: side.spans,
        ..SourceMap::default()
    };
    (!map.spans.is_empty()).then_some((side.text, map))
}

fn check_cover(prompt: &str, map: &SourceMap, shown: &str, target: &str) -> Result<(), Failure> {
    let starts = map.spans.iter().map(|span| span.start);
    let ends = map.spans.iter().map(|span| span.end);
    if !starts.eq(std::iter::once(0).chain(ends).take(map.spans.len())) {
        return Err(Failure::input(format!(
            "{shown}: no source map: the spans do not follow each other"
        )));
    }
    let covered = map.spans.last().map_or(0, |span| span.end);
    if covered != prompt.len() {
        let len = prompt.len();
        return Err(Failure::input(format!(
            "the source map is of another prompt: it covers {covered} bytes, `{target}` has {len}"
        )));
    }
    Ok(())
}

/// Returns the spans that hold the bytes of a place; of one text in a row, the first.
fn spans(map: &SourceMap, (start, end): (usize, usize)) -> Vec<&MapSpan> {
    let from = map.spans.partition_point(|span| span.end <= start);
    let mut found: Vec<&MapSpan> = Vec::new();
    let mut last: Option<&MapSpan> = None;
    for span in map.spans[from..].iter().take_while(|span| span.start < end) {
        if !last.is_some_and(|last| goes_on(last, span)) {
            found.push(span);
        }
        last = Some(span);
    }
    found
}

/// Tells whether a span is the next of its source, as where a line end is escaped between two lines.
fn goes_on(last: &MapSpan, span: &MapSpan) -> bool {
    let escaped = |span: &MapSpan| matches!(span.transform, None | Some(Transform::JsonString));
    let same =
        (&last.layer, &last.section, &last.source) == (&span.layer, &span.section, &span.source);
    same && span.source_start.is_some()
        && last.source_end == span.source_start
        && escaped(last)
        && escaped(span)
}

fn describe(prompt: &str, map: &SourceMap, place: (usize, usize)) -> Value {
    let sources: Vec<Value> = spans(map, place)
        .into_iter()
        .map(|span| {
            let at = span.start.max(place.0);
            let exact = span.transform.is_none();
            json!({
                "layer": span.layer, "section": span.section, "source": span.source,
                "line": span.line_at(prompt, at),
                "source_start": span.source_start.map(|start| if exact { start.saturating_add(at - span.start) } else { start }),
                "transform": span.transform,
            })
        })
        .collect();
    json!({"start": place.0, "end": place.1, "sources": sources})
}

fn place_text(prompt: &str, map: &SourceMap, place: (usize, usize)) -> String {
    let at = Reading::of(prompt).position(place.0);
    let mut text = if place.1 - place.0 == 1 {
        format!("byte {} ({at})\n", place.0)
    } else {
        format!("bytes {} to {} ({at})\n", place.0, place.1)
    };
    for span in spans(map, place) {
        let source = match span.line_at(prompt, span.start.max(place.0)) {
            Some(line) if span.tells_line() => format!("{}:{line}", span.source),
            _ if span.source == FRAME => "text of the recipe".to_owned(),
            _ => span.source.clone(),
        };
        let section = span
            .section
            .as_ref()
            .filter(|section| **section != span.layer);
        let section = section.map_or_else(String::new, |section| format!(", section {section}"));
        text.push_str(&one_line(&format!(
            "  layer {}{section}: {source}",
            span.layer
        )));
        text.push('\n');
    }
    text
}
