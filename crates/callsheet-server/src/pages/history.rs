//! History: what happened in a period and what it has cost, with filters and a search over prompts and logs.

mod plot;

use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use callsheet_store::{Hit, HitPlace};
use serde::{Deserialize, Serialize};

use self::plot::{Bar, Grid, plot};
use super::show;
use crate::access::May;
use crate::error::ApiError;
use crate::extract::Query;
use crate::server::Server;
use crate::view::line::RunLine;
use crate::view::spent::{self, DAY, Spending};

/// How many runs a page has.
const PAGE: usize = 50;

/// How many hits of a search are shown.
const HITS: usize = 15;

/// How many bytes of new text a search takes into the index first.
const INDEXED: usize = 4 << 20;

/// The most days that are drawn.
const DAYS: i64 = 31;

/// How many parts are listed.
const PARTS: usize = 10;

/// The longest word in a filter.
const LONGEST: usize = 300;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new().route("/history", get(page))
}

/// What is looked for.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Wanted {
    #[serde(default)]
    q: String,
    /// How many days back, or `all`.
    #[serde(default)]
    days: String,
    #[serde(default)]
    story: String,
    #[serde(default)]
    phase: String,
    #[serde(default)]
    runner: String,
    #[serde(default)]
    verdict: String,
    /// `phase`, `story` or `runner`.
    #[serde(default)]
    by: String,
    /// How many runs are left out before the page.
    #[serde(default)]
    offset: String,
}

/// What the page shows.
#[derive(Serialize)]
struct Content {
    wanted: Wanted,
    is_filtered: bool,
    from: Option<i64>,
    total: Spending,
    saved: i64,
    is_cut: bool,
    /// How many runs are added up then.
    most: usize,
    options: Options,
    days: Vec<Bar>,
    lines: Vec<Grid>,
    by: &'static str,
    parts: Vec<Spending>,
    rest: usize,
    runs: Vec<Day>,
    first: usize,
    shown: usize,
    found: usize,
    next: Option<usize>,
    previous: Option<usize>,
    search: Option<Found>,
    /// The filters as they stand in an address, without the page, and without what is added up by.
    query: String,
    query_by: String,
}

/// What the filters offer: what there is in the period.
#[derive(Serialize)]
struct Options {
    stories: Vec<String>,
    phases: Vec<String>,
    runners: Vec<String>,
}

/// Runs of a day.
#[derive(Serialize)]
struct Day {
    at: i64,
    runs: Vec<RunLine>,
}

/// What a search has found.
#[derive(Serialize)]
struct Found {
    hits: Vec<HitShown>,
    has_more: bool,
    /// How many texts are not in the index yet.
    unindexed: i64,
}

#[derive(Serialize)]
struct HitShown {
    icon: &'static str,
    what: String,
    url: String,
    snippet: String,
    note: String,
}

async fn page(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    wanted: Result<Query<Wanted>, ApiError>,
) -> Response {
    let content = async {
        let Query(wanted) = wanted?;
        wanted.check()?;
        gather(&server, wanted).await
    };
    server.answer("history.html", ("history", "History"), may, content.await)
}

impl Wanted {
    fn check(&self) -> Result<(), ApiError> {
        let fields = [
            &self.q,
            &self.story,
            &self.phase,
            &self.runner,
            &self.verdict,
        ];
        if fields.iter().any(|field| field.len() > LONGEST) {
            return Err(ApiError::validation("a filter is too long"));
        }
        self.since().map(|_| ())?;
        self.offset().map(|_| ())
    }

    /// Returns how many days back; nothing for all.
    fn since(&self) -> Result<Option<i64>, ApiError> {
        match self.days.as_str() {
            "" => Ok(Some(14)),
            "all" => Ok(None),
            text => match text.parse() {
                Ok(days @ 1..=3650) => Ok(Some(days)),
                _ => Err(ApiError::validation(
                    "`days` is a number from 1 to 3650, or `all`",
                )),
            },
        }
    }

    fn offset(&self) -> Result<usize, ApiError> {
        if self.offset.is_empty() {
            return Ok(0);
        }
        let wrong = |_| ApiError::validation("`offset` is a number");
        self.offset.parse().map_err(wrong)
    }

    fn fits(&self, run: &RunLine) -> bool {
        let is = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        (self.story.is_empty() || run.keys.contains(&self.story))
            && is(&self.phase, &run.phase)
            && is(&self.runner, &run.runner)
            && is(&self.verdict, run.ending.sort)
    }

    fn is_filtered(&self) -> bool {
        let fields = [&self.story, &self.phase, &self.runner, &self.verdict];
        fields.iter().any(|field| !field.is_empty())
    }

    /// Returns the filters as they stand in an address.
    fn query(&self, with_by: bool) -> String {
        let pairs = [
            ("q", &self.q),
            ("days", &self.days),
            ("story", &self.story),
            ("phase", &self.phase),
            ("runner", &self.runner),
            ("verdict", &self.verdict),
            ("by", &self.by),
        ];
        let pairs = pairs
            .iter()
            .filter(|(name, value)| !value.is_empty() && (with_by || *name != "by"));
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={}", show::encoded(value)))
            .collect();
        pairs.join("&")
    }
}

async fn gather(server: &Server, wanted: Wanted) -> Result<Content, ApiError> {
    let now = show::now();
    let from = wanted
        .since()?
        .map(|days| (now.div_euclid(DAY) - days + 1) * DAY);
    let period = spent::period(server, from).await?;
    let options = options(&period.runs);
    let mut runs = period.runs;
    runs.retain(|run| wanted.fits(run));
    let total = spent::total(&runs);
    let (by, parts) = match wanted.by.as_str() {
        "story" => ("story", spent::by(&runs, |run| run.keys.clone())),
        "runner" => ("runner", spent::by(&runs, |run| vec![run.runner.clone()])),
        _ => ("phase", spent::by(&runs, |run| vec![run.phase.clone()])),
    };
    let oldest = runs.last().map_or(now, |run| run.queued_at);
    let drawn = from
        .unwrap_or(oldest)
        .max((now.div_euclid(DAY) - DAYS + 1) * DAY);
    let days = spent::days(&runs, drawn, now);
    let (days, lines) = plot(days);
    let (found, first) = (runs.len(), wanted.offset()?.min(runs.len()));
    let page: Vec<RunLine> = runs.into_iter().skip(first).take(PAGE).collect();
    let shown = page.len();
    let search = search(server, &wanted.q, from).await?;
    Ok(Content {
        is_filtered: wanted.is_filtered(),
        from,
        saved: spent_on_cache(&total),
        total,
        is_cut: period.is_cut,
        most: spent::MOST,
        options,
        days,
        lines,
        by,
        rest: parts.len().saturating_sub(PARTS),
        parts: parts.into_iter().take(PARTS).collect(),
        runs: by_day(page),
        first,
        shown,
        found,
        next: (first + shown < found).then_some(first + shown),
        previous: (first > 0).then(|| first.saturating_sub(PAGE)),
        search,
        query: wanted.query(true),
        query_by: wanted.query(false),
        wanted,
    })
}

/// Returns how much of what went in came from the cache, in percent.
fn spent_on_cache(total: &Spending) -> i64 {
    let all = total.tokens.input + total.tokens.cached;
    if all == 0 {
        0
    } else {
        total.tokens.cached * 100 / all
    }
}

fn options(runs: &[RunLine]) -> Options {
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names.dedup();
        names
    };
    Options {
        stories: sorted(runs.iter().flat_map(|run| run.keys.clone()).collect()),
        phases: sorted(runs.iter().map(|run| run.phase.clone()).collect()),
        runners: sorted(runs.iter().map(|run| run.runner.clone()).collect()),
    }
}

fn by_day(runs: Vec<RunLine>) -> Vec<Day> {
    let mut days: Vec<Day> = Vec::new();
    for run in runs {
        let at = run.queued_at.div_euclid(DAY) * DAY;
        match days.last_mut().filter(|day| day.at == at) {
            Some(day) => day.runs.push(run),
            None => days.push(Day {
                at,
                runs: vec![run],
            }),
        }
    }
    days
}

/// Searches prompts and logs.
async fn search(
    server: &Server,
    text: &str,
    since: Option<i64>,
) -> Result<Option<Found>, ApiError> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let (store, project) = (&server.site.store, &server.site.project);
    // What somebody else has locked is told as not indexed.
    let _ = store.index(project, INDEXED).await;
    let found = store.search(project, text, HITS, since).await?;
    let missing = store.unindexed(project).await?;
    Ok(Some(Found {
        hits: found.hits.iter().map(hit).collect(),
        has_more: found.more,
        unindexed: missing.passages + missing.records,
    }))
}

fn hit(hit: &Hit) -> HitShown {
    let snippet = hit.snippet.clone();
    match &hit.place {
        HitPlace::Prompt {
            prompt,
            prompts,
            at,
            ..
        } => HitShown {
            icon: "script",
            what: format!("Prompt {prompt}"),
            url: format!("/prompts/{prompt}"),
            snippet,
            note: match prompts {
                1 => format!("byte {at}"),
                more => format!("in {more} prompts"),
            },
        },
        HitPlace::Log { run, seq, stream } => HitShown {
            icon: "term",
            what: format!("Run {run}"),
            url: format!("/runs/{run}"),
            snippet,
            note: format!("{}, record {seq}", stream.as_str()),
        },
        _ => HitShown {
            icon: "file",
            what: "Somewhere else".to_owned(),
            url: "/history".to_owned(),
            snippet,
            note: String::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_keep_their_place_in_the_address() {
        let wanted = Wanted {
            story: "1-1-ä b".to_owned(),
            by: "runner".to_owned(),
            ..Wanted::default()
        };
        assert_eq!(wanted.query(false), "story=1-1-%C3%A4%20b");
        assert_eq!(wanted.query(true), "story=1-1-%C3%A4%20b&by=runner");
    }
}
