//! Limits and money: the usage windows of accounts, who waits, and what stories, phases and days have cost.

use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use serde::{Deserialize, Serialize};

use super::show;
use crate::access::May;
use crate::error::ApiError;
use crate::extract::Query;
use crate::server::Server;
use crate::view::accounts::{self, Account};
use crate::view::spent::{self, DAY, Spending};

/// The periods that are offered, in days.
const PERIODS: [i64; 4] = [1, 7, 14, 30];

/// How many stories are listed.
const STORIES: usize = 30;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new().route("/limits", get(page))
}

#[derive(Debug, Default, Deserialize)]
struct Wanted {
    #[serde(default)]
    days: String,
}

/// What the page shows.
#[derive(Serialize)]
struct Content {
    days: i64,
    periods: [i64; 4],
    accounts: Vec<Account>,
    /// Runners that wait, and those that ran in the period.
    runners: Vec<RunnerShown>,
    waiting: usize,
    next: Option<(i64, String)>,
    total: Spending,
    today: Spending,
    by_account: Vec<Spending>,
    by_phase: Vec<Spending>,
    by_story: Vec<Spending>,
    rest: usize,
    by_day: Vec<Spending>,
    is_cut: bool,
    /// How many runs are added up then.
    most: usize,
}

#[derive(Serialize)]
struct RunnerShown {
    part: Spending,
    standing: Option<accounts::Waits>,
}

async fn page(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    wanted: Result<Query<Wanted>, ApiError>,
) -> Response {
    let content = async {
        let Query(wanted) = wanted?;
        gather(&server, &wanted).await
    };
    server.answer("limits.html", ("limits", "Limits"), may, content.await)
}

async fn gather(server: &Server, wanted: &Wanted) -> Result<Content, ApiError> {
    let days = wanted.days.parse().ok();
    let days = days.filter(|days| PERIODS.contains(days)).unwrap_or(7);
    let now = show::now();
    let today = now.div_euclid(DAY) * DAY;
    let from = today - (days - 1) * DAY;
    let period = spent::period(server, Some(from)).await?;
    let runs = &period.runs;
    let accounts = accounts::accounts(server).await?;
    let waits = accounts::runners(server).await?;
    let mut runners: Vec<RunnerShown> = spent::by(runs, |run| vec![run.runner.clone()])
        .into_iter()
        .map(|part| RunnerShown {
            part,
            standing: None,
        })
        .collect();
    for wait in waits {
        let at = runners.iter().position(|one| one.part.name == wait.name);
        match at {
            Some(at) => runners[at].standing = wait.standing,
            None => runners.push(RunnerShown {
                part: Spending {
                    name: wait.name,
                    ..Spending::default()
                },
                standing: wait.standing,
            }),
        }
    }
    let open = |until: Option<i64>| until.is_none_or(|until| until > now);
    let standings = accounts.iter().filter_map(|one| one.standing.as_ref());
    let standings = standings.chain(runners.iter().filter_map(|one| one.standing.as_ref()));
    let waiting = standings.filter(|one| open(one.until)).count();
    let next = accounts.iter().filter_map(|one| {
        let until = one.standing.as_ref()?.until?;
        (until > now).then(|| (until, one.name.clone()))
    });
    let next = next.min();
    let by_story = spent::by(runs, |run| run.keys.clone());
    let mut by_day = spent::days(runs, from, now);
    by_day.reverse();
    Ok(Content {
        days,
        periods: PERIODS,
        waiting,
        next,
        total: spent::total(runs),
        today: spent::total(runs.iter().filter(|run| run.queued_at >= today)),
        by_account: spent::by(runs, |run| run.account.iter().cloned().collect()),
        by_phase: spent::by(runs, |run| vec![run.phase.clone()]),
        rest: by_story.len().saturating_sub(STORIES),
        by_story: by_story.into_iter().take(STORIES).collect(),
        by_day,
        is_cut: period.is_cut,
        most: spent::MOST,
        accounts,
        runners,
    })
}
