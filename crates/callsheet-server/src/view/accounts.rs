//! Accounts and runners: which of them wait, and how much of their usage windows is left.

use std::collections::BTreeMap;

use callsheet_run::account::{RUNNERS, SETTING, Standing, Standings};
use callsheet_store::{RunPage, StoredEvent};
use serde::Serialize;
use serde_json::Value;

use super::decided::newest;
use crate::error::ApiError;
use crate::server::Server;

/// How many of the newest runs tell which accounts there are.
const RUNS: usize = 200;

/// How many of the newest reports of windows are looked at.
const REPORTS: usize = 200;

/// What a window is called that the CLI does not name.
const NAMELESS: &str = "window";

/// An account or a runner.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Account {
    pub(crate) name: String,
    /// The runners that use it.
    pub(crate) runners: Vec<String>,
    /// How many runs it has now.
    pub(crate) running: usize,
    pub(crate) standing: Option<Waits>,
    pub(crate) windows: Vec<Window>,
}

/// Why something cannot be used as it is. Times are milliseconds since 1970.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Waits {
    pub(crate) why: String,
    pub(crate) class: &'static str,
    pub(crate) since: i64,
    /// Until when; nothing where it waits for a person.
    pub(crate) until: Option<i64>,
    pub(crate) times: u32,
    /// The one word for it on every page, with its shape and its tone.
    pub(crate) word: &'static str,
    pub(crate) shape: &'static str,
    pub(crate) tone: &'static str,
}

impl Waits {
    fn of(standing: &Standing, setting: &str, now: i64) -> Self {
        let closed = if setting == RUNNERS {
            "paused"
        } else {
            "parked"
        };
        let (word, shape, tone) = match standing.until {
            None => ("stopped", "block", "fail-c"),
            Some(until) if until > now => (closed, "clock", "warn-c"),
            // The next run shows whether it works again.
            Some(_) => ("to be tried", "run", ""),
        };
        Self {
            why: standing.why(),
            class: standing.class.as_str(),
            since: standing.since,
            until: standing.until,
            times: standing.times,
            word,
            shape,
            tone,
        }
    }

    /// Tells whether it keeps runs from starting.
    pub(crate) fn is_closed(&self, now: i64) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

/// A usage window, as the CLI reported it last.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Window {
    pub(crate) name: String,
    /// `allowed`, `warning` or `rejected`.
    pub(crate) status: String,
    /// How much of it is used, in percent.
    pub(crate) used: Option<f64>,
    pub(crate) resets_at: Option<i64>,
    pub(crate) at: i64,
}

/// Returns the accounts that runs have used and those that wait, by name.
pub(crate) async fn accounts(server: &Server) -> Result<Vec<Account>, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let mut found: BTreeMap<String, Account> = BTreeMap::new();
    let page = RunPage {
        limit: RUNS,
        ..RunPage::default()
    };
    let mut of_run = BTreeMap::new();
    for run in store.runs(project, page).await? {
        let document = callsheet_run::document::document(&run);
        let (Some(name), Some(runner)) =
            (document["account"].as_str(), document["runner"].as_str())
        else {
            continue;
        };
        let account = found.entry(name.to_owned()).or_default();
        if !account.runners.iter().any(|one| one == runner) {
            account.runners.push(runner.to_owned());
        }
        if run.state == callsheet_store::RunState::Running {
            account.running += 1;
        }
        of_run.insert(run.id, name.to_owned());
    }
    for (name, standing) in standings(server, SETTING).await? {
        found.entry(name).or_default().standing = Some(standing);
    }
    let is_report = |event: &StoredEvent| event.event.kind == "agent:limit";
    for event in newest(server, REPORTS, is_report).await? {
        let name = event.run.and_then(|run| of_run.get(&run));
        if let Some(account) = name.and_then(|name| found.get_mut(name)) {
            account.take(&event);
        }
    }
    for account in found.values_mut() {
        // A report without a name is about one of those that have one.
        if account.windows.len() > 1 {
            account.windows.retain(|window| window.name != NAMELESS);
        }
        account
            .windows
            .sort_by(|one, other| one.name.cmp(&other.name));
    }
    Ok(found
        .into_iter()
        .map(|(name, account)| Account { name, ..account })
        .collect())
}

/// Returns the runners that wait, by name.
pub(crate) async fn runners(server: &Server) -> Result<Vec<Account>, ApiError> {
    let standings = standings(server, RUNNERS).await?;
    let runners = standings.into_iter().map(|(name, standing)| Account {
        name,
        standing: Some(standing),
        ..Account::default()
    });
    Ok(runners.collect())
}

async fn standings(server: &Server, setting: &str) -> Result<BTreeMap<String, Waits>, ApiError> {
    let stored = server
        .site
        .store
        .setting(&server.site.project, setting)
        .await?;
    let standings: Standings = stored
        .and_then(|value| serde_json::from_value(value).ok())
        .unwrap_or_default();
    let now = crate::server::now();
    let waits = standings
        .into_iter()
        .map(|(name, standing)| (name, Waits::of(&standing, setting, now)));
    Ok(waits.collect())
}

impl Account {
    /// Takes in a report of a window, unless a newer one is known.
    fn take(&mut self, event: &StoredEvent) {
        let payload = &event.event.payload;
        let text = |name: &str| payload.get(name).and_then(Value::as_str);
        let name = text("window").unwrap_or(NAMELESS).to_owned();
        if self.windows.iter().any(|window| window.name == name) {
            return;
        }
        let resets_at = payload.get("resets_at").and_then(Value::as_i64);
        self.windows.push(Window {
            name,
            status: text("status").unwrap_or_default().to_owned(),
            used: payload
                .get("used")
                .and_then(Value::as_f64)
                .map(|used| (used * 100.0).clamp(0.0, 100.0)),
            resets_at: resets_at.map(|at| at.saturating_mul(1000)),
            at: event.at,
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_has_one_word() {
        let word = |setting: &str, until: Value| {
            let standing = json!({"class": "quota", "until": until, "since": 0, "times": 1});
            let standing: Option<Standing> = serde_json::from_value(standing).ok();
            standing.map(|standing| Waits::of(&standing, setting, 100).word)
        };
        assert_eq!(word(SETTING, Value::Null), Some("stopped"));
        assert_eq!(word(SETTING, json!(101)), Some("parked"));
        assert_eq!(word(RUNNERS, json!(101)), Some("paused"));
        assert_eq!(word(SETTING, json!(100)), Some("to be tried"));
    }
}
