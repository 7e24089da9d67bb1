//! What waits for a person, the oldest first: changes to decide about, checks that failed, stories that are blocked,
//! accounts and runners that wait, work that can be merged, and a sprint that was cut off.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use callsheet::sprint::{Epics, Kind, Status};
use callsheet::task::{TaskReason, TaskStatus};
use callsheet_run::tasks::{self, TaskState, View};
use callsheet_store::{BatchPage, RunState, Wait};
use serde::Serialize;
use serde_json::Value;

use super::accounts::{self, Account};
use super::batch::{BatchDetail, History};
use super::changes::{self, DiffLine};
use super::line::{self, CheckMark};
use super::name::name_of;
use crate::error::ApiError;
use crate::server::Server;
use crate::site::{Site, SiteSettings};

/// How many batches are looked at for the reason why a story is blocked.
const BATCHES: usize = 5;

/// How many lines of a change are shown.
const LINES: usize = 80;

/// How long a count is good enough while much happens.
const COUNTED: Duration = Duration::from_secs(2);

/// The last count: for which event, when, and how many.
#[derive(Debug, Default)]
pub(crate) struct Counted(Mutex<Option<(i64, Instant, usize)>>);

/// Something that waits for a person. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Waiting {
    /// What names it among all that waits.
    pub(crate) id: String,
    /// `scope`, `rejected`, `check`, `failed`, `blocked`, `standing`, `merge` or `sprint`.
    pub(crate) kind: &'static str,
    pub(crate) word: &'static str,
    pub(crate) shape: &'static str,
    pub(crate) tone: &'static str,
    pub(crate) since: Option<i64>,
    /// The short key of a story, or the name of an account or a runner.
    pub(crate) key: Option<String>,
    pub(crate) title: String,
    pub(crate) url: String,
    /// Why it waits, for people.
    pub(crate) why: String,
    pub(crate) task: Option<String>,
    pub(crate) run: Option<String>,
    /// The whole key of a story.
    pub(crate) story: Option<String>,
    pub(crate) until: Option<i64>,
    pub(crate) checks: Vec<CheckMark>,
    pub(crate) output: Option<String>,
    pub(crate) commit: Option<String>,
    pub(crate) changed: usize,
    pub(crate) violations: Vec<Outside>,
    /// The trees at the start and at the end of the run.
    #[serde(skip)]
    trees: Option<(String, String)>,
    pub(crate) write: Vec<String>,
    pub(crate) exclude: Vec<String>,
}

/// A change out of scope that nobody has decided about.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Outside {
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) reason: String,
    /// What sort of change it is, where the lines do not say it.
    pub(crate) note: String,
    pub(crate) added: usize,
    pub(crate) deleted: usize,
    pub(crate) lines: Vec<DiffLine>,
    /// Whether there are more lines.
    pub(crate) is_cut: bool,
}

/// Returns everything that waits, the oldest first.
pub(crate) async fn waiting(server: &Server) -> Result<Vec<Waiting>, ApiError> {
    let settings = server.settings();
    let mut found = server
        .blocking(move |site| {
            let mut found = of_tasks(site)?;
            // Settings that cannot be read are told where they matter: on the page of the settings.
            if let Ok(settings) = settings {
                found.extend(of_board(site, &settings)?);
            }
            Ok(found)
        })
        .await?;
    let now = crate::server::now();
    for account in accounts::accounts(server).await? {
        found.extend(standing(&account, "account", now));
    }
    for runner in accounts::runners(server).await? {
        found.extend(standing(&runner, "runner", now));
    }
    found.sort_by_key(|one| one.since);
    Ok(found)
}

/// Adds the lines of changes out of scope to what waits.
pub(crate) async fn with_lines(
    server: &Server,
    mut found: Vec<Waiting>,
) -> Result<Vec<Waiting>, ApiError> {
    server
        .blocking(move |site| {
            for one in &mut found {
                let Some((from, to)) = &one.trees else {
                    continue;
                };
                let differ = changes::between(&site.root, from, to).unwrap_or_default();
                for outside in &mut one.violations {
                    outside.look(&differ);
                }
            }
            Ok(found)
        })
        .await
}

impl Outside {
    /// Finds its lines among everything that differs.
    fn look(&mut self, differ: &[changes::Change]) {
        let Some(change) = differ.iter().find(|change| change.path == self.path) else {
            return;
        };
        let notes = [
            (change.new, "new"),
            (change.gone, "deleted"),
            (change.binary, "binary"),
        ];
        let notes = notes.iter().filter(|(is, _)| *is).map(|(_, note)| *note);
        self.note = notes.collect::<Vec<_>>().join(", ");
        (self.added, self.deleted) = (change.added, change.deleted);
        self.is_cut = change.more > 0 || change.lines.len() > LINES;
        self.lines = change.lines.iter().take(LINES).cloned().collect();
    }
}

/// Counts what waits; while much happens, a count of a moment ago will do.
pub(crate) async fn count(server: &Server) -> Result<usize, ApiError> {
    let head = server.site.store.head(&server.site.project).await?.seq;
    let known = *server
        .pages
        .counted
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some((seq, at, count)) = known
        && (seq == head || at.elapsed() < COUNTED)
    {
        return Ok(count);
    }
    let count = waiting(server).await?.len();
    *server
        .pages
        .counted
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = Some((head, Instant::now(), count));
    Ok(count)
}

/// Returns the tasks that wait. This blocks.
fn of_tasks(site: &Site) -> Result<Vec<Waiting>, ApiError> {
    let view = View::of(&site.root);
    let states = tasks::statuses(&site.store, &site.project, &view)?;
    Ok(states.iter().filter_map(of_task).collect())
}

fn of_task(state: &TaskState) -> Option<Waiting> {
    let over = |status| {
        matches!(
            status,
            TaskStatus::Done | TaskStatus::Cancelled | TaskStatus::Running | TaskStatus::Blocked
        )
    };
    // Somebody has dealt with it already: an agent is on its way.
    let is_queued = state
        .runs
        .iter()
        .any(|one| one.run.state != RunState::Finished);
    if is_queued || over(state.derived.status) {
        return None;
    }
    let last = state
        .runs
        .iter()
        .rev()
        .find(|one| one.run.state == RunState::Finished)?;
    let document = &last.document;
    let (kind, word, shape, tone) = sort_of(state)?;
    let violations = outside(state);
    let texts = |name: &str| list(&state.task.body[name]);
    Some(Waiting {
        id: state.task.id.to_string(),
        kind,
        word,
        shape,
        tone,
        since: last.run.finished_at,
        key: None,
        title: state.task.title.clone(),
        url: format!("/runs/{}", last.run.id),
        why: why(kind, state, &violations, document),
        task: Some(state.task.id.to_string()),
        run: Some(last.run.id.to_string()),
        checks: line::marks(document),
        output: output(document),
        commit: document["head"]
            .as_str()
            .map(|head| head.chars().take(7).collect()),
        changed: document["changed_files"].as_array().map_or(0, Vec::len),
        violations,
        trees: document["start_tree"].as_str().and_then(|from| {
            let to = document["end_tree"].as_str()?;
            Some((from.to_owned(), to.to_owned()))
        }),
        write: texts("write_scope"),
        exclude: texts("exclude"),
        ..Waiting::default()
    })
}

/// Tells what a task waits for: the kind, its word, its shape and its tone.
fn sort_of(state: &TaskState) -> Option<(&'static str, &'static str, &'static str, &'static str)> {
    let has = |reason| state.derived.reasons.contains(&reason);
    let sorts = [
        (
            TaskReason::ScopeViolationPending,
            ("scope", "Out of scope", "flag", "fail-c"),
        ),
        (
            TaskReason::RunFailed,
            ("failed", "Run failed", "fail", "fail-c"),
        ),
        (
            TaskReason::DodFailed,
            ("check", "Check failed", "fail", "fail-c"),
        ),
        (
            TaskReason::ScopeViolationRejected,
            ("rejected", "Rejected", "flag", "fail-c"),
        ),
        (
            TaskReason::MergePending,
            ("merge", "Ready to merge", "merge", ""),
        ),
    ];
    let mut sorts = sorts.into_iter();
    sorts.find(|(reason, _)| has(*reason)).map(|(_, sort)| sort)
}

fn list(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

/// Returns what nobody has decided about, of all runs of a task.
fn outside(state: &TaskState) -> Vec<Outside> {
    let runs = state.runs.iter();
    let violations =
        runs.flat_map(|one| one.document["violations"].as_array().into_iter().flatten());
    let pending =
        violations.filter(|one| !matches!(one["approval"].as_str(), Some("approved" | "rejected")));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    pending
        .map(|one| Outside {
            id: text(&one["id"]),
            path: text(&one["path"]),
            reason: text(&one["reason"]),
            ..Outside::default()
        })
        .collect()
}

fn why(kind: &str, state: &TaskState, violations: &[Outside], document: &Value) -> String {
    let attempts = state.runs.len();
    let of = if attempts > 1 {
        format!("attempt {attempts}")
    } else {
        "the run".to_owned()
    };
    match kind {
        "scope" => match violations.len() {
            1 => format!("{of} changed 1 file that no write pattern matches"),
            n => format!("{of} changed {n} files that no write pattern matches"),
        },
        "failed" => {
            let reason = document["reason"].as_str().or(document["class"].as_str());
            format!(
                "{of} failed: {}",
                reason.unwrap_or("it says nothing of why")
            )
        }
        "rejected" => "a change that you rejected is still there".to_owned(),
        _ => String::new(),
    }
}

/// Returns the last line that a check printed which failed.
fn output(document: &Value) -> Option<String> {
    let checks = document["checks"].as_array().into_iter().flatten();
    let failed = checks.filter(|check| check["status"] == "failed");
    let mut said = failed.filter_map(|check| check["output"].as_str());
    let last = said.next()?.trim_end().lines().last()?.to_owned();
    (!last.is_empty()).then_some(last)
}

/// Returns the stories that are blocked, and a sprint that was cut off. This blocks.
fn of_board(site: &Site, settings: &SiteSettings) -> Result<Vec<Waiting>, ApiError> {
    let page = BatchPage {
        offset: 0,
        limit: BATCHES,
    };
    let batches = site.store.batches(&site.project, page).wait()?.batches;
    let details: Vec<BatchDetail> = batches
        .into_iter()
        .map(|batch| History::read(&site.store, &site.project, batch).map(History::detail))
        .collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    if let Some(newest) = details
        .first()
        .filter(|one| one.batch.state == "interrupted")
    {
        found.push(Waiting {
            id: format!("batch-{}", newest.batch.id),
            kind: "sprint",
            word: "Cut off",
            shape: "stopped",
            tone: "warn-c",
            since: Some(newest.batch.started_at),
            title: "The sprint was cut off".to_owned(),
            url: "/sprint".to_owned(),
            why: "nobody works on the batch; starting the sprint goes on with it".to_owned(),
            ..Waiting::default()
        });
    }
    // A project without a board has no stories.
    let Ok(board) = settings.board(&site.root).and_then(|file| file.read()) else {
        return Ok(found);
    };
    let epics = Epics::of(&board);
    let blocked = board
        .entries()
        .iter()
        .filter(|entry| entry.kind == Kind::Story && entry.word.status == Some(Status::Blocked));
    found.extend(blocked.map(|entry| {
        let (short, title) = name_of(&entry.key, &epics.place(&entry.key).short);
        let mut stories = details.iter().flat_map(|detail| &detail.stories);
        let last = stories.find(|story| story.story_key == entry.key && story.status == "blocked");
        Waiting {
            id: format!("story-{}", entry.key),
            kind: "blocked",
            word: "Blocked",
            shape: "block",
            tone: "fail-c",
            since: last.and_then(|story| story.ended_at),
            key: Some(short),
            title,
            url: format!("/stories/{}", crate::pages::encoded(&entry.key)),
            why: last
                .and_then(|story| story.reason.clone())
                .unwrap_or_else(|| "somebody set it to `blocked` on the board".to_owned()),
            story: Some(entry.key.clone()),
            run: last.and_then(|story| story.commands.iter().rev().find_map(|one| one.run.clone())),
            ..Waiting::default()
        }
    }));
    Ok(found)
}

/// Returns an account or a runner that is closed; one that the next run tries needs nobody.
fn standing(account: &Account, what: &str, now: i64) -> Option<Waiting> {
    let waits = account.standing.as_ref()?;
    waits.is_closed(now).then(|| Waiting {
        id: format!("{what}-{}", account.name),
        kind: "standing",
        word: waits.word,
        shape: waits.shape,
        tone: waits.tone,
        since: Some(waits.since),
        title: format!("{what} {}", account.name),
        url: "/limits".to_owned(),
        why: waits.why.clone(),
        until: waits.until,
        ..Waiting::default()
    })
}
