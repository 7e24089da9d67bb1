//! Attention: what waits for a person, the oldest first.

use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use callsheet_store::{RunPage, RunState};
use serde::{Deserialize, Serialize};

use super::show;
use crate::access::May;
use crate::error::ApiError;
use crate::extract::Query;
use crate::server::Server;
use crate::view::accounts::{self, Account};
use crate::view::attention::{self, Waiting};
use crate::view::batch::{BatchRow, History, newest_batch};
use crate::view::decided::{self, Decision};
use crate::view::line::{self, RunLine};
use crate::view::schedule::{self, Dot};
use crate::view::spent::{self, DAY, Spending};

/// How many of the last decisions are shown.
const DECISIONS: usize = 8;

/// How many queued runs are shown.
const QUEUED: usize = 5;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new().route("/", get(page))
}

#[derive(Debug, Default, Deserialize)]
struct Wanted {
    /// `decide` or `merge`; all unless it says so.
    show: Option<String>,
}

/// What the page shows.
#[derive(Serialize)]
struct Content {
    show: &'static str,
    items: Vec<Waiting>,
    all: usize,
    decide: usize,
    merge: usize,
    oldest: Option<i64>,
    running: Vec<Going>,
    queued: Vec<RunLine>,
    accounts: Vec<Account>,
    decisions: Vec<Decision>,
    next: Option<(i64, String)>,
    today: Spending,
    decided_today: usize,
    events: i64,
    batch: Option<BatchRow>,
}

/// A run that goes on, with the phases of its story.
#[derive(Serialize)]
struct Going {
    run: RunLine,
    dots: Vec<Dot>,
}

async fn page(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    wanted: Result<Query<Wanted>, ApiError>,
) -> Response {
    let content = match wanted {
        Ok(Query(wanted)) => gather(&server, &wanted).await,
        Err(error) => Err(error),
    };
    server.answer("attention.html", ("attention", "Attention"), may, content)
}

async fn gather(server: &Server, wanted: &Wanted) -> Result<Content, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let items = attention::waiting(server).await?;
    let is_merge = |item: &Waiting| item.kind == "merge";
    let merge = items.iter().filter(|item| is_merge(item)).count();
    let (all, oldest) = (items.len(), items.iter().find_map(|item| item.since));
    let show = match wanted.show.as_deref() {
        Some("decide") => "decide",
        Some("merge") => "merge",
        _ => "all",
    };
    let items = items
        .into_iter()
        .filter(|item| show == "all" || is_merge(item) == (show == "merge"))
        .collect();
    let items = attention::with_lines(server, items).await?;
    let (batch, running) = going(server).await?;
    let queued = RunPage {
        state: Some(RunState::Queued),
        limit: QUEUED,
        ..RunPage::default()
    };
    let queued = line::lines(server, &store.runs(project, queued).await?).await?;
    let now = show::now();
    let today = spent::period(server, Some(now.div_euclid(DAY) * DAY)).await?;
    let accounts = accounts::accounts(server).await?;
    let decisions = decided::decisions(server, DECISIONS).await?;
    let waits = accounts.iter().filter_map(|account| {
        let until = account.standing.as_ref()?.until?;
        (until > now).then(|| (until, account.name.clone()))
    });
    let is_today = |decision: &&Decision| decision.at.div_euclid(DAY) == now.div_euclid(DAY);
    let says_something = |account: &Account| {
        account.standing.is_some() || !account.windows.is_empty() || account.running > 0
    };
    Ok(Content {
        show,
        items,
        all,
        decide: all - merge,
        merge,
        oldest,
        running,
        queued,
        next: waits.min(),
        accounts: accounts.into_iter().filter(says_something).collect(),
        today: spent::total(&today.runs),
        decided_today: decisions.iter().filter(is_today).count(),
        decisions,
        events: store.head(project).await?.seq,
        batch,
    })
}

/// Returns the newest batch, and the runs that go on.
async fn going(server: &Server) -> Result<(Option<BatchRow>, Vec<Going>), ApiError> {
    let newest = server.blocking(|site| {
        let read =
            newest_batch(site)?.map(|batch| History::read(&site.store, &site.project, batch));
        Ok(read.transpose()?.map(History::detail))
    });
    let batch = newest.await?;
    let schedules = batch.as_ref().map(schedule::schedules).unwrap_or_default();
    let running = server.site.store.running(&server.site.project).await?;
    let running = line::lines(server, &running).await?.into_iter();
    let running = running.map(|run| {
        let dots = run.keys.first().map(|key| schedule::dots(&schedules, key));
        Going {
            dots: dots.unwrap_or_default(),
            run,
        }
    });
    Ok((batch.map(|batch| batch.batch), running.collect()))
}
