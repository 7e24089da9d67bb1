//! What a period has cost: by day, by phase, by story, by runner, by account.

use std::collections::BTreeMap;

use callsheet_store::{RunPage, RunState};
use serde::Serialize;

use super::line::{RunLine, Tokens, lines};
use crate::error::ApiError;
use crate::server::Server;

/// How many runs are read at once, and how many are looked at in all.
const PAGE: usize = 200;
pub(crate) const MOST: usize = 5000;

/// A day in milliseconds.
pub(crate) const DAY: i64 = 86_400_000;

/// A part of what a period has cost.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Spending {
    pub(crate) name: String,
    /// When a day begins.
    pub(crate) at: Option<i64>,
    pub(crate) runs: usize,
    /// How many of them are over, how many of those failed, and how many a provider refused, which is no failure of theirs.
    pub(crate) over: usize,
    pub(crate) failed: usize,
    pub(crate) parked: usize,
    pub(crate) tokens: Tokens,
    pub(crate) all: i64,
    pub(crate) cost: f64,
    /// How many runs have told a cost.
    pub(crate) told: usize,
    /// How long its agents worked.
    pub(crate) took: i64,
    /// How wide it is drawn, in percent of the largest.
    pub(crate) share: f64,
}

impl Spending {
    pub(crate) fn add(&mut self, run: &RunLine) {
        self.runs += 1;
        self.over += usize::from(run.finished_at.is_some());
        self.failed += usize::from(run.ending.sort == "failed");
        self.parked += usize::from(run.ending.sort == "parked");
        let tokens = run.tokens.unwrap_or_default();
        self.tokens.input += tokens.input;
        self.tokens.cached += tokens.cached;
        self.tokens.output += tokens.output;
        self.all += tokens.all();
        if let Some(cost) = run.cost {
            self.cost += cost;
            self.told += 1;
        }
        self.took += run.took.filter(|_| run.finished_at.is_some()).unwrap_or(0);
    }
}

/// Runs of a period, the newest first.
pub(crate) struct Period {
    pub(crate) runs: Vec<RunLine>,
    /// Whether there are more than were looked at.
    pub(crate) is_cut: bool,
}

/// Reads the runs of a period.
pub(crate) async fn period(server: &Server, since: Option<i64>) -> Result<Period, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let page = RunPage {
            before,
            state: None::<RunState>,
            limit: PAGE,
        };
        let runs = store.runs(project, page).await?;
        let is_last = runs.len() < PAGE;
        before = runs.last().map(|run| run.id);
        let kept: Vec<_> = runs
            .into_iter()
            .filter(|run| since.is_none_or(|since| run.queued_at >= since))
            .collect();
        let is_older = kept.len() < PAGE;
        found.extend(lines(server, &kept).await?);
        if is_last || is_older || found.len() >= MOST {
            let is_cut = !is_last && !is_older;
            return Ok(Period {
                runs: found,
                is_cut,
            });
        }
    }
}

/// Adds up everything.
pub(crate) fn total<'r>(runs: impl IntoIterator<Item = &'r RunLine>) -> Spending {
    let mut part = Spending::default();
    for run in runs {
        part.add(run);
    }
    part
}

/// Adds up by a name, the most tokens first. A run with several names counts for each in full.
pub(crate) fn by<'r>(
    runs: impl IntoIterator<Item = &'r RunLine>,
    names: impl Fn(&RunLine) -> Vec<String>,
) -> Vec<Spending> {
    let mut parts: BTreeMap<String, Spending> = BTreeMap::new();
    for run in runs {
        for name in names(run) {
            parts.entry(name).or_default().add(run);
        }
    }
    let parts = parts.into_iter();
    let mut parts: Vec<Spending> = parts
        .map(|(name, part)| Spending { name, ..part })
        .collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.all));
    widths(&mut parts);
    parts
}

/// Adds up by day, in UTC, the oldest first; days without a run are there, too.
pub(crate) fn days(runs: &[RunLine], from: i64, to: i64) -> Vec<Spending> {
    let first = from.div_euclid(DAY);
    let last = to.div_euclid(DAY);
    let mut parts: Vec<Spending> = (first..=last)
        .map(|day| Spending {
            at: Some(day * DAY),
            ..Spending::default()
        })
        .collect();
    for run in runs {
        let day = run.queued_at.div_euclid(DAY) - first;
        if let Some(part) = usize::try_from(day).ok().and_then(|day| parts.get_mut(day)) {
            part.add(run);
        }
    }
    widths(&mut parts);
    parts
}

fn widths(parts: &mut [Spending]) {
    let most = parts.iter().map(|part| part.all).max().unwrap_or(0);
    for part in parts {
        part.share = percent(part.all, most);
    }
}

/// Returns a part of a whole in percent.
#[expect(
    clippy::cast_precision_loss,
    reason = "it is drawn, a few hundred pixels wide"
)]
pub(crate) fn percent(part: i64, whole: i64) -> f64 {
    if whole <= 0 {
        return 0.0;
    }
    (part as f64 / whole as f64 * 1000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::line::Ending;

    fn run(at: i64, input: i64, cost: Option<f64>) -> RunLine {
        RunLine {
            queued_at: at,
            phase: "dev".to_owned(),
            tokens: Some(Tokens {
                input,
                cached: 0,
                output: 0,
            }),
            cost,
            ..RunLine::default()
        }
    }

    #[test]
    fn days_without_a_run_are_there() {
        let runs = [run(DAY, 10, Some(0.5)), run(3 * DAY + 5, 40, None)];
        let found = days(&runs, DAY, 3 * DAY + 9);
        let shown: Vec<_> = found
            .iter()
            .map(|day| (day.all, day.told, day.share))
            .collect();
        assert_eq!(shown, [(10, 1, 25.0), (0, 0, 0.0), (40, 0, 100.0)]);
    }

    #[test]
    fn what_a_provider_refused_is_no_failure() {
        let ended = |sort: &'static str, finished_at: Option<i64>| RunLine {
            ending: Ending {
                sort,
                ..Ending::default()
            },
            finished_at,
            ..RunLine::default()
        };
        let runs = [
            ended("running", None),
            ended("failed", Some(1)),
            ended("parked", Some(1)),
            ended("passed", Some(1)),
        ];
        let total = total(&runs);
        let counted = (total.runs, total.over, total.failed, total.parked);
        assert_eq!(counted, (4, 3, 1, 1));
    }

    #[test]
    fn the_largest_part_comes_first() {
        let runs = [run(0, 10, None), run(0, 40, None)];
        let parts = by(&runs, |run| vec![run.all_name()]);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].name, "40");
    }

    impl RunLine {
        fn all_name(&self) -> String {
            self.tokens.unwrap_or_default().all().to_string()
        }
    }
}
