//! What is known of the runs of a task, as the facts that its status follows from.

use std::collections::{BTreeMap, BTreeSet};

use callsheet::task::{CheckFact, CheckStatus, RunFacts, RunOutcome, TaskFacts};
use callsheet_store::{Run, RunState};
use serde::Deserialize;
use serde_json::{Value, json};

use super::chain::{self, Link};
use super::status::{Loaded, Merged};
use super::violations;
use crate::RunError;

/// Returns the facts of tasks, but for what they depend on.
pub(super) fn facts(loaded: &[Loaded], merged: &impl Merged) -> Result<Vec<TaskFacts>, RunError> {
    let histories: Vec<History<'_>> = loaded.iter().map(History::new).collect();
    let is_merged = ask_merged(&histories, merged)?;
    let facts = histories.iter().map(|history| {
        let mut runs: Vec<RunFacts> = history.runs.iter().map(run_facts).collect();
        for (run, facts) in history.runs.iter().zip(&mut runs) {
            let is_there = |field: &str| {
                let work = run.work(field);
                work.is_some_and(|work| is_merged.contains(&(history.base, work)))
            };
            facts.head_merged = is_there("head");
            facts.result_merged = is_there("result") || run.document["merge"].is_object();
        }
        // What became of the work of a cancelled task changes nothing.
        if !history.cancelled {
            violations::add(&history.runs, &mut runs, merged)?;
        }
        Ok(TaskFacts {
            cancelled: history.cancelled,
            blocked: false,
            runs,
        })
    });
    facts.collect()
}

/// The runs of a task, with what they build on.
pub(super) struct History<'a> {
    cancelled: bool,
    base: &'a str,
    pub(super) runs: Vec<Linked<'a>>,
}

/// A run with what it builds on.
pub(super) struct Linked<'a> {
    run: &'a Run,
    pub(super) document: &'a Value,
    pub(super) link: Link<'a>,
}

impl<'a> History<'a> {
    fn new(loaded: &'a Loaded) -> Self {
        let documents: Vec<&Value> = loaded.runs.iter().map(|run| &run.document).collect();
        let links = chain::links(&documents);
        let runs = loaded.runs.iter().zip(links).map(|(one, link)| Linked {
            run: &one.run,
            document: &one.document,
            link,
        });
        Self {
            cancelled: loaded.task.cancelled_at.is_some(),
            base: loaded.task.body["base"].as_str().unwrap_or_default(),
            runs: runs.collect(),
        }
    }
}

impl<'a> Linked<'a> {
    /// Returns the work that ends at a commit of the run; there is none where that is where the work began.
    fn work(&self, field: &str) -> Option<(&'a str, &'a str)> {
        let (origin, commit) = (self.link.origin?, chain::commit(self.document, field)?);
        (origin != commit).then_some((origin, commit))
    }
}

type Work<'a> = (&'a str, (&'a str, &'a str));

/// Returns the work that is merged into its base; each base is asked once.
fn ask_merged<'a>(
    histories: &[History<'a>],
    merged: &impl Merged,
) -> Result<BTreeSet<Work<'a>>, RunError> {
    let mut asked: BTreeMap<&str, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for history in histories.iter().filter(|history| !history.cancelled) {
        let runs = history.runs.iter();
        let work = runs.flat_map(|run| {
            ["head", "result"]
                .into_iter()
                .filter_map(|field| run.work(field))
        });
        asked.entry(history.base).or_default().extend(work);
    }
    let mut found = BTreeSet::new();
    for (base, work) in asked.into_iter().filter(|(base, _)| !base.is_empty()) {
        let work: Vec<(&str, &str)> = work.into_iter().collect();
        let answers = merged.merged(base, &work)?;
        let work = work.into_iter().zip(answers);
        found.extend(work.filter(|(_, is)| *is).map(|(work, _)| (base, work)));
    }
    Ok(found)
}

fn run_facts(one: &Linked<'_>) -> RunFacts {
    if one.run.state != RunState::Finished {
        return RunFacts {
            running: one.run.state == RunState::Running,
            ..RunFacts::default()
        };
    }
    let outcome = match one.document["status"].as_str() {
        Some("completed") => RunOutcome::Completed,
        Some("cancelled") => RunOutcome::Cancelled,
        _ => RunOutcome::Failed,
    };
    RunFacts {
        outcome: Some(outcome),
        checks: checks(one),
        ..RunFacts::default()
    }
}

/// What decides of a check; what is not known counts against the task.
#[derive(Deserialize)]
struct Check {
    #[serde(default)]
    name: Value,
    #[serde(default)]
    required: Value,
    #[serde(default)]
    status: Value,
}

/// Returns the checks of a finished run, those included that were asked for and have no result.
fn checks(one: &Linked<'_>) -> Vec<CheckFact> {
    let read = |list: &Value| -> Vec<Check> {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(|check| Check::deserialize(check).ok())
            .collect()
    };
    let results = read(&one.document["checks"]);
    let request = one.run.request.as_ref();
    let asked = request.map_or_else(Vec::new, |request| read(&request["checks"]));
    let without_result = |check: &&Check| results.iter().all(|result| result.name != check.name);
    let pending = asked.iter().filter(without_result).map(|check| CheckFact {
        required: check.required != json!(false),
        status: CheckStatus::Pending,
    });
    let known = results.iter().map(|check| CheckFact {
        required: check.required != json!(false),
        status: CheckStatus::deserialize(&check.status).unwrap_or_default(),
    });
    known.chain(pending).collect()
}
