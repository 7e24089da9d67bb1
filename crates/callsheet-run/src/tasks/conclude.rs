//! The end of a task's run: what git, the checks and the scope say, in this order.

use std::collections::BTreeMap;
use std::path::Path;

use callsheet::scope::ScopeGlobs;
use callsheet_store::Run;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::facts::{self, Changes, Start};
use super::judge::{Seen, judge};
use super::tidy::{Left, tidy};
use super::{Terms, facts::tree_now};
use crate::checks::{self, Checked};
use crate::sandbox::Sandbox;
use crate::workspace::{Checkout, Ground};
use crate::{RunError, drive};

/// What was there before the agent, kept in the directory of the run until it has ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Before {
    pub(crate) start: Start,
    pub(crate) main: Option<Checkout>,
}

impl Before {
    /// Looks at the worktree and the main checkout; `folder` is the private directory of the run.
    pub(crate) fn look(
        ground: &Ground,
        terms: &Terms,
        folder: &Path,
        home: &Path,
    ) -> Result<Self, RunError> {
        let exclude = globs(&terms.scope.exclude)?;
        Ok(Self {
            start: facts::before(ground, folder, &exclude)?,
            main: main(ground, terms, home)?,
        })
    }
}

/// What checks need beyond the worktree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) program: &'a Path,
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) sandbox: Option<&'a Sandbox>,
}

/// A run that has ended, with where its evidence is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) run: &'a Run,
    pub(crate) terms: &'a Terms,
    pub(crate) ground: &'a Ground,
    /// The private directory of the run.
    pub(crate) folder: &'a Path,
    /// The directory of what the program keeps for the project.
    pub(crate) home: &'a Path,
    /// Whether the agent was in a sandbox.
    pub(crate) sandboxed: bool,
    /// Why checks are not run, where they are not.
    pub(crate) unchecked: Option<&'a str>,
}

/// Collects the facts, runs the checks and judges by the scope; returns what goes into the outcome of the run.
pub(crate) fn conclude(
    ended: &Ended<'_>,
    before: &Before,
    bench: Option<&Bench<'_>>,
    watch: &mut dyn drive::CheckWatcher,
) -> Result<Value, RunError> {
    let terms = ended.terms;
    let run = ended.run.id.to_string();
    let exclude = globs(&terms.scope.exclude)?;
    let look = || {
        let judged_by = (&exclude, terms, run.as_str());
        facts::after(ended.ground, ended.folder, &before.start, judged_by)
    };
    let changes = once(&ended.folder.join("after.json"), look)?;
    let checked = check_all(ended, &changes, bench, watch)?;
    let by_checks = take_back(ended, &changes)?;
    let touched = match (&before.main, main(ended.ground, terms, ended.home)?) {
        (Some(before), Some(after)) => before.differences(&after),
        _ => Vec::new(),
    };
    let seen = Seen {
        changes: &changes,
        branch: Some(ended.ground.own_branch()),
        main: &touched,
        sandboxed: ended.sandboxed,
    };
    let found = judge(&seen, terms).map_err(|error| RunError::Input(error.to_string()))?;
    let violations: Vec<Value> = found
        .iter()
        .enumerate()
        .map(|(at, one)| json!({"id": format!("{run}.{}", at + 1), "path": one.path, "reason": one.reason}))
        .collect();
    let mut outcome = json!(changes);
    outcome["checks"] = json!(checked);
    outcome["violations"] = json!(violations);
    outcome["changed_by_checks"] = json!(by_checks);
    outcome["main"] = json!({"changed": touched});
    Ok(outcome)
}

/// Looks at what an agent left, unless somebody has noted it who was killed while checks ran: they may have changed it.
fn once(
    note: &Path,
    look: impl FnOnce() -> Result<Changes, RunError>,
) -> Result<Changes, RunError> {
    let noted = std::fs::read_to_string(note).unwrap_or_default();
    if let Ok((is_there, changes)) = serde_json::from_str(&noted) {
        return Ok(Changes {
            is_there,
            ..changes
        });
    }
    let changes = look()?;
    let text = json!((changes.is_there, &changes)).to_string();
    callsheet_store::write_private(note, text)
        .map_err(|cause| RunError::refused("cannot write the facts of the run", cause))?;
    Ok(changes)
}

/// Takes back what checks changed; returns the paths.
fn take_back(ended: &Ended<'_>, changes: &Changes) -> Result<Vec<String>, RunError> {
    let Some(tree) = changes.tree.as_deref().filter(|_| ended.ground.is_there()) else {
        return Ok(Vec::new());
    };
    let left = Left {
        tree,
        name: ended.run.id.as_str(),
        known: None,
    };
    tidy(ended.ground, ended.folder, &left)
}

/// Returns what goes into the outcome of a run of which nothing can be told.
pub(crate) fn nothing(terms: &Terms, why: &str) -> Value {
    let pending = |check| Checked::pending(check, why);
    let checks: Vec<Checked> = terms.checks.iter().map(pending).collect();
    json!({"checks": checks, "violations": []})
}

fn globs(patterns: &[String]) -> Result<ScopeGlobs, RunError> {
    ScopeGlobs::new("exclude", patterns).map_err(|error| RunError::Input(error.to_string()))
}

/// Looks at the main checkout, where the agent does not work in it.
fn main(ground: &Ground, terms: &Terms, home: &Path) -> Result<Option<Checkout>, RunError> {
    if terms.in_place {
        return Ok(None);
    }
    Checkout::look(ground.repository().top(), home).map(Some)
}

fn check_all(
    ended: &Ended<'_>,
    changes: &Changes,
    bench: Option<&Bench<'_>>,
    watch: &mut dyn drive::CheckWatcher,
) -> Result<Vec<Checked>, RunError> {
    let run = ended.run.id.to_string();
    let unchecked = match (ended.unchecked, bench) {
        (Some(why), _) => Some(why),
        (None, None) => Some("callsheet ended before the checks did"),
        (None, Some(_)) if !changes.is_there => Some("the worktree is not there any more"),
        _ => None,
    };
    let mut all = Vec::new();
    let mut known = changes.tree.clone();
    for check in &ended.terms.checks {
        let (None, Some(bench)) = (unchecked, bench) else {
            all.push(Checked::pending(check, unchecked.unwrap_or_default()));
            continue;
        };
        if watch.is_stopped() {
            all.push(Checked::pending(check, "the run was stopped"));
            continue;
        }
        watch.begins(&check.name);
        // A check may change files, and the next one runs on what it left.
        let tree = known
            .take()
            .map_or_else(|| tree_now(ended.ground, ended.folder), Ok)?;
        let context = checks::CheckContext {
            program: bench.program,
            ground: ended.ground,
            folder: ended.folder,
            run: &run,
            environment: bench.environment,
            sandbox: bench.sandbox,
        };
        let checked = checks::run(check, &context, Some(tree), &mut || watch.is_stopped())?;
        watch.ended(&checked);
        all.push(checked);
    }
    Ok(all)
}
