//! The attempts at one thing: each with how it ended, and what changed in the prompt between two.

use callsheet::Manifest;
use callsheet::manifest::SectionRecord;
use callsheet_store::{Run, RunPage, RunState};
use serde::Serialize;
use serde_json::Value;

use super::attempt::{Attempt, attempts};
use crate::error::ApiError;
use crate::server::Server;

/// How many attempts are shown, the newest.
const MOST: usize = 12;

/// How many changes of a prompt are named.
const NAMED: usize = 3;

/// How many earlier runs tell how long one usually takes.
const PAST: usize = 100;

/// One attempt, and what its prompt has that the one before had not.
#[derive(Debug, Serialize)]
pub(crate) struct Take {
    pub(crate) nth: usize,
    pub(crate) run: Attempt,
    pub(crate) changes: Vec<Step>,
    /// How many changes are not named.
    pub(crate) more: usize,
    #[serde(skip)]
    pub(crate) document: Value,
}

/// A section that became larger or smaller.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) delta: i64,
}

/// Returns the attempts at what a run is for, the oldest first.
pub(crate) async fn takes(
    server: &Server,
    run: &Run,
    document: &Value,
) -> Result<Vec<Take>, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let runs = match (run.task, run.batch) {
        (Some(task), _) => store.runs_of_task(project, task).await?,
        (None, Some((batch, _))) => {
            let all = store.runs_of_batch(project, batch).await?;
            let same = |other: &Run| {
                let request = other.request.as_ref().unwrap_or(&Value::Null);
                request["phase"] == document["phase"] && request["stories"] == document["stories"]
            };
            all.into_iter().filter(same).collect()
        }
        (None, None) => line(server, run).await?,
    };
    let first = runs.len().saturating_sub(MOST);
    let shown = attempts(server, &runs[first..]).await?;
    let mut takes: Vec<Take> = Vec::new();
    let mut before: Option<(String, Manifest)> = None;
    for (at, (attempt, document)) in shown.into_iter().enumerate() {
        let prompt = store.prompt(project, &attempt.prompt).await?;
        let manifest = store.manifest(&prompt).await?;
        let mut changes = match &before {
            Some((id, old)) if *id != attempt.prompt => steps(old, &manifest),
            _ => Vec::new(),
        };
        let more = changes.len().saturating_sub(NAMED);
        changes.truncate(NAMED);
        before = Some((attempt.prompt.clone(), manifest));
        takes.push(Take {
            nth: first + at + 1,
            run: attempt,
            changes,
            more,
            document,
        });
    }
    Ok(takes)
}

/// Returns a run with those that it goes back to.
async fn line(server: &Server, run: &Run) -> Result<Vec<Run>, ApiError> {
    let mut runs = vec![run.clone()];
    while let Some(parent) = runs.last().and_then(|run| run.parent)
        && runs.len() < MOST
    {
        let (store, project) = (&server.site.store, &server.site.project);
        runs.push(store.run(project, parent.as_str()).await?);
    }
    runs.reverse();
    Ok(runs)
}

/// Returns the sections that differ, with how many bytes they have more; the largest difference first.
fn steps(old: &Manifest, new: &Manifest) -> Vec<Step> {
    let key = |section: &SectionRecord| (section.layer.clone(), section.name.clone());
    let size = |manifest: &Manifest, of: &(String, String)| {
        let found = manifest.sections.iter().find(|section| key(section) == *of);
        found.map(|section| {
            (
                section.fingerprint,
                i64::try_from(section.bytes).unwrap_or(i64::MAX),
            )
        })
    };
    let mut keys: Vec<(String, String)> = Vec::new();
    for section in new.sections.iter().chain(&old.sections) {
        if !keys.contains(&key(section)) {
            keys.push(key(section));
        }
    }
    let step = |of: (String, String)| {
        let (one, other) = (size(old, &of), size(new, &of));
        let same = one.map(|one| one.0) == other.map(|other| other.0);
        let delta = other.map_or(0, |other| other.1) - one.map_or(0, |one| one.1);
        // A file by its name, anything else by its layer.
        let (layer, name) = of;
        let name = name
            .rsplit_once('/')
            .map_or(layer, |(_, file)| file.to_owned());
        (!same).then_some(Step { name, delta })
    };
    let mut steps: Vec<Step> = keys.into_iter().filter_map(step).collect();
    steps.sort_by_key(|step| std::cmp::Reverse(step.delta.abs()));
    steps
}

/// Returns how long runs of this phase usually take: the median of those that are over.
pub(crate) async fn usual(server: &Server, attempt: &Attempt) -> Result<Option<i64>, ApiError> {
    let Some(phase) = &attempt.phase else {
        return Ok(None);
    };
    let page = RunPage {
        state: Some(RunState::Finished),
        limit: PAST,
        ..RunPage::default()
    };
    let runs = server.site.store.runs(&server.site.project, page).await?;
    let of_phase = runs.iter().filter(|run| {
        let named = run
            .request
            .as_ref()
            .and_then(|request| request["phase"].as_str());
        run.id.as_str() != attempt.id
            && named.is_some_and(|named| named.trim_start_matches("sprint-") == phase)
    });
    let mut took: Vec<i64> = of_phase
        .filter_map(|run| Some(run.finished_at? - run.started_at?))
        .collect();
    took.sort_unstable();
    // Two tell nothing.
    Ok(took.get(took.len() / 2).copied().filter(|_| took.len() > 2))
}
