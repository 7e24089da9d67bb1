//! The sprint: the cycle that runs as a schedule, the board, and every batch.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use callsheet::sprint::{Board, Entry, Epics, Kind, Status};
use callsheet_store::{BatchPage, Wait};
use serde::{Deserialize, Serialize};

use super::Frame;
use crate::access::May;
use crate::error::ApiError;
use crate::extract::Query;
use crate::server::Server;
use crate::site::{Site, SiteSettings};
use crate::view::batch::{BatchDetail, BatchRow, BatchStats, History};
use crate::view::name::name_of;
use crate::view::schedule::{self, COLUMNS, Schedule};
use crate::view::sprint::no_board;

/// How many batches the list has.
const BATCHES: usize = 12;

/// How many stories that are done are shown as cards.
const DONE: usize = 6;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new().route("/sprint", get(page))
}

#[derive(Debug, Default, Deserialize)]
struct Wanted {
    /// A past batch; the newest unless it says so.
    batch: Option<String>,
    /// Stories of this epic only.
    epic: Option<String>,
}

/// What the page shows.
#[derive(Default, Serialize)]
struct Content {
    batch: Option<BatchRow>,
    stats: Option<BatchStats>,
    /// Whether an older batch than the newest is shown.
    is_past: bool,
    /// Whether every cycle of the batch is shown.
    is_whole: bool,
    is_running: bool,
    /// `idle`, `running` or `stopping`.
    doing: &'static str,
    /// The keys of the stories that are worked on.
    current: Vec<String>,
    schedules: Vec<Schedule>,
    columns: Vec<Column>,
    batches: Vec<BatchEntry>,
    more: i64,
    board: Option<BoardShown>,
    /// Why there is no board.
    missing: Option<String>,
    runner: Option<String>,
    review_model: Option<String>,
    review_after: u32,
    cycles: u32,
    budget: Option<f64>,
    spent: Spent,
}

#[derive(Default, Serialize)]
struct Spent {
    tokens: u64,
    cost: f64,
}

impl Spent {
    fn of(stats: &BatchStats) -> Self {
        Self {
            tokens: stats.tokens,
            cost: stats.cost_usd,
        }
    }
}

/// A column of the schedule.
#[derive(Serialize)]
struct Column {
    name: &'static str,
    usual: Option<i64>,
}

/// A batch in the list.
#[derive(Serialize)]
struct BatchEntry {
    batch: BatchRow,
    stats: BatchStats,
    took: Option<i64>,
}

#[derive(Serialize)]
struct BoardShown {
    path: String,
    stories: usize,
    done: usize,
    blocked: usize,
    epic: Option<String>,
    epics: Vec<EpicShown>,
    columns: Vec<StateShown>,
    unknown: Vec<Card>,
}

#[derive(Clone, Default, Serialize)]
struct EpicShown {
    id: String,
    stories: usize,
    done: usize,
}

/// A state with its stories, in groups by epic.
#[derive(Serialize)]
struct StateShown {
    state: &'static str,
    count: usize,
    groups: Vec<Group>,
    /// Those that are left out: they are done for long.
    folded: Vec<Card>,
}

#[derive(Serialize)]
struct Group {
    epic: String,
    cards: Vec<Card>,
}

/// A story on the board.
#[derive(Clone, Default, Serialize)]
struct Card {
    key: String,
    short: String,
    title: String,
    word: String,
    epic: String,
    is_live: bool,
    is_bad: bool,
    note: String,
    /// The states that it may be set to.
    allowed: Vec<&'static str>,
    /// Those that are a step back.
    back: Vec<&'static str>,
}

async fn page(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    wanted: Result<Query<Wanted>, ApiError>,
) -> Response {
    let content = async {
        let Query(wanted) = wanted?;
        let settings = server.settings()?;
        server
            .blocking(move |site| gather(site, &settings, &wanted))
            .await
    };
    match content.await {
        Ok(content) => {
            let title = match &content.batch {
                Some(batch) if content.is_running => match batch.max_cycles {
                    Some(most) => format!("Sprint, cycle {} of {most}", batch.cycles_completed + 1),
                    None => format!("Sprint, cycle {}", batch.cycles_completed + 1),
                },
                _ => "Sprint".to_owned(),
            };
            server.page("sprint.html", &Frame::new("sprint", &title, may), &content)
        }
        Err(error) => server.failed(may, &error),
    }
}

/// Gathers everything. This blocks.
fn gather(site: &Site, settings: &SiteSettings, wanted: &Wanted) -> Result<Content, ApiError> {
    let page = BatchPage {
        offset: 0,
        limit: BATCHES,
    };
    let found = site.store.batches(&site.project, page).wait()?;
    let stopping = found.batches.first().is_some_and(|one| one.stop.is_some());
    let read = |batch| History::read(&site.store, &site.project, batch).map(History::detail);
    let details: Vec<BatchDetail> = found
        .batches
        .into_iter()
        .map(read)
        .collect::<Result<_, _>>()?;
    let past = match &wanted.batch {
        Some(id) => Some(read(site.store.batch(&site.project, id).wait()?)?),
        None => None,
    };
    let newest = details.first();
    let is_running = newest.is_some_and(|one| one.batch.state == "running");
    let shown = past.as_ref().or(newest);
    let is_past =
        past.is_some() && shown.map(|one| &one.batch.id) != newest.map(|one| &one.batch.id);
    let mut schedules = shown.map(schedule::schedules).unwrap_or_default();
    if !is_past && wanted.batch.is_none() {
        // Those that run, or the last one that did.
        let open = schedules.iter().filter(|one| !one.is_over).count();
        schedules.truncate(open.max(1));
    }
    let now = newest.filter(|_| is_running).map(worked_on);
    let now = now.unwrap_or_default();
    let (board, missing) = match read_board(site, settings) {
        Ok((board, path)) => {
            name_rows(&mut schedules, &Epics::of(&board));
            let shown = shown_board(&board, path, wanted, &now, &details);
            (Some(shown), None)
        }
        Err(error) => (None, Some(error.message().to_owned())),
    };
    let sprint = &settings.sprint;
    let stats = shown.map(|one| one.stats.clone());
    Ok(Content {
        spent: stats.as_ref().map(Spent::of).unwrap_or_default(),
        batch: shown.map(|one| one.batch.clone()),
        stats,
        is_past,
        is_whole: wanted.batch.is_some(),
        is_running,
        doing: doing(is_running, stopping),
        current: now,
        schedules,
        columns: columns(&details),
        more: found.total - i64::try_from(details.len()).unwrap_or(0),
        batches: details.iter().map(line).collect(),
        board,
        missing,
        runner: sprint.runner.clone().or_else(|| settings.runner.clone()),
        review_model: sprint.review_model.clone(),
        review_after: sprint.haiku_after_review,
        cycles: sprint.default_max_cycles.max(1),
        budget: sprint.batch_budget.cost_usd,
    })
}

fn doing(is_running: bool, is_stopping: bool) -> &'static str {
    match (is_running, is_stopping) {
        (false, _) => "idle",
        (true, false) => "running",
        (true, true) => "stopping",
    }
}

/// Returns the columns of schedules, with how long each phase usually takes.
fn columns(details: &[BatchDetail]) -> Vec<Column> {
    let columns = COLUMNS.iter().zip(schedule::usual(details));
    let columns = columns.map(|((_, name), usual)| Column { name, usual });
    columns.collect()
}

/// Reads the board. This blocks.
fn read_board(site: &Site, settings: &SiteSettings) -> Result<(Board, String), ApiError> {
    let file = settings.board(&site.root).map_err(no_board)?;
    Ok((file.read()?, file.path().to_owned()))
}

/// Gives the stories of schedules the names that their keys say.
fn name_rows(schedules: &mut [Schedule], epics: &Epics) {
    for row in schedules.iter_mut().flat_map(|one| &mut one.rows) {
        let short = epics.place(&row.key).short;
        (row.short, row.title) = name_of(&row.key, &short);
    }
}

/// Returns the keys of the stories that a batch works on.
fn worked_on(batch: &BatchDetail) -> Vec<String> {
    let open = batch
        .stories
        .iter()
        .filter(|story| story.ended_at.is_none());
    open.map(|story| story.story_key.clone()).collect()
}

fn line(detail: &BatchDetail) -> BatchEntry {
    let batch = detail.batch.clone();
    BatchEntry {
        took: batch.ended_at.map(|at| at - batch.started_at),
        stats: detail.stats.clone(),
        batch,
    }
}

fn shown_board(
    board: &Board,
    path: String,
    wanted: &Wanted,
    now: &[String],
    details: &[BatchDetail],
) -> BoardShown {
    let epics = Epics::of(board);
    let mut seen: Vec<EpicShown> = Vec::new();
    let mut cards: BTreeMap<Status, Vec<Card>> = BTreeMap::new();
    let mut unknown = Vec::new();
    let (mut stories, mut done, mut blocked) = (0, 0, 0);
    for entry in board.entries().iter().filter(|one| one.kind == Kind::Story) {
        let card = card(entry, &epics, now, details);
        let is_done = entry.word.status == Some(Status::Done);
        stories += 1;
        done += usize::from(is_done);
        blocked += usize::from(entry.word.status == Some(Status::Blocked));
        let at = seen.iter().position(|epic| epic.id == card.epic);
        let at = at.unwrap_or_else(|| {
            seen.push(EpicShown {
                id: card.epic.clone(),
                ..EpicShown::default()
            });
            seen.len() - 1
        });
        seen[at].stories += 1;
        seen[at].done += usize::from(is_done);
        if wanted.epic.as_ref().is_some_and(|epic| *epic != card.epic) {
            continue;
        }
        match entry.word.status {
            Some(status) => cards.entry(status).or_default().push(card),
            None => unknown.push(card),
        }
    }
    let order = [
        Status::Backlog,
        Status::ReadyForDev,
        Status::InProgress,
        Status::Review,
        Status::Blocked,
        Status::Done,
    ];
    let columns = order.map(|status| state(status, cards.remove(&status).unwrap_or_default()));
    BoardShown {
        path,
        stories,
        done,
        blocked,
        epic: wanted.epic.clone(),
        epics: seen,
        columns: columns.into(),
        unknown,
    }
}

/// Returns a column of the board; of what is done only the last ones are shown in full.
fn state(status: Status, mut cards: Vec<Card>) -> StateShown {
    let count = cards.len();
    let folded = if status == Status::Done && count > DONE {
        cards.drain(..count - DONE).collect()
    } else {
        Vec::new()
    };
    let mut groups: Vec<Group> = Vec::new();
    for card in cards {
        match groups.last_mut().filter(|group| group.epic == card.epic) {
            Some(group) => group.cards.push(card),
            None => groups.push(Group {
                epic: card.epic.clone(),
                cards: vec![card],
            }),
        }
    }
    StateShown {
        state: status.as_str(),
        count,
        groups,
        folded,
    }
}

fn card(entry: &Entry, epics: &Epics, now: &[String], details: &[BatchDetail]) -> Card {
    let place = epics.place(&entry.key);
    let (short, title) = name_of(&entry.key, &place.short);
    let mut rows = details.iter().flat_map(|one| &one.stories);
    let last = rows.find(|story| story.story_key == entry.key);
    let from = entry.word.status;
    let (mut allowed, mut back) = (Vec::new(), Vec::new());
    for to in Status::ALL.into_iter().filter(|to| Some(*to) != from) {
        if entry.may_become(to, false, entry.line).is_ok() {
            allowed.push(to.as_str());
        } else {
            back.push(to.as_str());
        }
    }
    let is_live = now.contains(&entry.key);
    let note = last.map(|story| {
        let command = story.commands.iter().rev().find(|one| !one.background);
        let phase = command.map(|one| format!("{} ×{}", words(one.phase), one.attempt));
        let tokens = (story.tokens > 0).then(|| {
            let tokens = i64::try_from(story.tokens).unwrap_or(i64::MAX);
            format!("{} tok.", super::show::tokens(tokens))
        });
        let parts: Vec<String> = phase.into_iter().chain(tokens).collect();
        parts.join(" · ")
    });
    Card {
        key: entry.key.clone(),
        short,
        title,
        word: entry.word.text.clone(),
        epic: place.epic,
        is_live,
        is_bad: from == Some(Status::Blocked),
        note: note.unwrap_or_default(),
        allowed,
        back,
    }
}

/// Returns the short name of a phase for people.
fn words(phase: &str) -> String {
    let column = COLUMNS.iter().find(|(name, _)| *name == phase);
    column.map_or_else(|| phase.replace('-', " "), |(_, name)| name.to_lowercase())
}
