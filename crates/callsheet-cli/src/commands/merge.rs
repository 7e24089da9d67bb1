//! `merge`: brings the result of a task into its base, mechanically, or leaves everything as it was.

use std::process::ExitCode;

use callsheet::task::{CHECK, MERGE, TaskReason};
use callsheet_run::Interrupts;
use callsheet_run::checks::Checked;
use callsheet_run::merge::{Merged, message};
use callsheet_run::tasks::{Landing, Rerun, TaskRun, TaskState, Terms};
use callsheet_run::workspace::Workspace;
use callsheet_store::{RunState, Wait};
use serde_json::{Value, json};

use crate::failure::{Failure, NEGATIVE, REFUSED};
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::run;
use crate::store::Opened;
use crate::tasks::{self, Desk};
use crate::travel::Journey;

/// Merge the result of a task into its base branch, after its checks passed on the merged tree
///
/// The merge is mechanical: nothing is resolved. If there is a conflict, it is reported, and everything stays as it was. A
/// task with a scope violation that is pending or rejected is refused. Nothing is pushed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 0 if the base has the result, from this merge or from before; with 1 if there is a
conflict, a required check does not pass on the merged tree, or a violation is not approved; with 3
if there is nothing to merge, or local changes are in the way.

Examples:
  callsheet merge 1m7f6zd4
  callsheet merge 1m7f6zd4 --json | jq .commit")]
pub(crate) struct Args {
    /// The id of a task
    #[arg(value_name = "TASK")]
    task: String,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = tasks::open(project, out)?;
        let task = tasks::find(&opened, &self.task)?;
        let desk = Desk::of(project, out)?;
        let workspace = desk.workspace(project, &opened, &task, false)?;
        Journey::new(project, &opened, &workspace, &task).bring(out)?;
        let state = tasks::state(project, &opened, task.id)?;
        check(&state)?;
        let (newest, result, terms) = mergeable(&workspace, &state)?;
        if newest.document["status"] != "completed" {
            out.note(&format!(
                "run {} {}",
                newest.run.id,
                run::ending(&newest.document)
            ));
        }
        let (_, runs) = tasks::results(&opened, &task)?;
        desk.ready(project, &workspace, &terms, (Some(&result), &runs))?;
        let sandbox = tasks::check_sandbox(project, &workspace, false)?;
        let base = tasks::base(&task);
        let landing = Landing {
            rerun: Rerun {
                name: newest.run.id.as_str(),
                ground: workspace.ground(),
                program: &desk.program,
                environment: &desk.environment,
                sandbox: sandbox.as_ref(),
            },
            checks: &terms.checks,
            home: desk.site(project).home,
            base: &base,
            result: &result,
            own: &result,
            message: &message(task.id.as_str(), &task.title),
        };
        let mut waiting = tasks::Patience {
            interrupts: Interrupts::catch()?,
            out,
        };
        let (merged, checks) = landing.merge(&mut waiting)?;
        if let Merged::Done { commit, before } = &merged {
            let value = json!({"base": base, "commit": commit, "before": before, "result": result, "checks": checks});
            // What was found on the merged tree counts, whatever it was before.
            for checked in &checks {
                record(&opened, newest, (CHECK, &checked.name), json!(checked))?;
            }
            record(&opened, newest, (MERGE, &base), value)?;
        }
        print_merge(&state, (&base, &merged, &checks), out)
    }
}

fn nothing(state: &TaskState) -> Failure {
    Failure::missing(format!("task `{}` has nothing to merge", state.task.id)).hint(format!(
        "`callsheet run {}` has an agent work on it",
        state.task.id
    ))
}

/// Returns the newest run that came to something, what it came to, and its terms.
fn mergeable<'a>(
    workspace: &Workspace,
    state: &'a TaskState,
) -> Result<(&'a TaskRun, String, Terms), Failure> {
    let newest = tasks::newest(workspace, state)?;
    let (newest, result) = newest.ok_or_else(|| nothing(state))?;
    let first = state.runs.first();
    let began = first.and_then(|one| run::text(&one.document, "/start_head"));
    if began.as_ref() == Some(&result) {
        return Err(nothing(state));
    }
    let terms = Terms::of(&newest.run).ok_or_else(|| nothing(state))?;
    if terms.in_place {
        return Err(Failure::missing(format!(
            "run `{}` worked in the main checkout, so there is nothing to merge",
            newest.run.id
        ))
        .hint("`git commit` keeps what it left there"));
    }
    Ok((newest, result, terms))
}

/// Refuses a task that may not be merged.
fn check(state: &TaskState) -> Result<(), Failure> {
    let id = state.task.id;
    if state.task.cancelled_at.is_some() {
        return Err(Failure::missing(format!("task `{id}` is cancelled")));
    }
    let mut runs = state.runs.iter().map(|one| &one.run);
    if let Some(open) = runs.find(|run| run.state != RunState::Finished) {
        let run = open.id;
        return Err(
            Failure::missing(format!("task `{id}` has a run that is not over: `{run}`"))
                .hint(format!("`callsheet stop {run}` ends it")),
        );
    }
    let reasons = &state.derived.reasons;
    let kept = [
        TaskReason::ScopeViolationPending,
        TaskReason::ScopeViolationRejected,
    ];
    if !kept.iter().any(|reason| reasons.contains(reason)) {
        return Ok(());
    }
    let against = undecided(state);
    Err(Failure::negative(format!(
        "task `{id}` has scope violations that are not approved: {}",
        against.join(", ")
    ))
    .hint("`callsheet approve VIOLATION` lets the change pass; `callsheet retry RUN` can take it back"))
}

/// Returns the violations that nobody approved, each with its path.
fn undecided(state: &TaskState) -> Vec<String> {
    let all = state
        .runs
        .iter()
        .filter_map(|one| one.document["violations"].as_array());
    all.flatten()
        .filter(|one| one["approval"] != "approved")
        .map(|one| {
            let word = |field: &str| one_line(one[field].as_str().unwrap_or_default());
            format!("{} {} ({})", word("id"), word("path"), word("approval"))
        })
        .collect()
}

fn record(
    opened: &Opened,
    newest: &TaskRun,
    (kind, name): (&str, &str),
    value: Value,
) -> Result<(), Failure> {
    let store = &opened.store;
    let kept = store.annotate(&opened.project, newest.run.id, kind, name, value, |_, _| {
        Ok(())
    });
    kept.wait()?.map_err(Failure::missing)
}

/// Says how the merge ended.
fn print_merge(
    state: &TaskState,
    (base, merged, checks): (&str, &Merged, &[Checked]),
    out: Output,
) -> Result<ExitCode, Failure> {
    let id = state.task.id;
    let mut document = json!({
        "schema": "callsheet.merge/1",
        "task": id,
        "base": base,
        "outcome": null,
        "commit": null,
        "conflicts": [],
        "reason": null,
        "checks": checks,
    });
    let (outcome, said, code) = match merged {
        Merged::Done { commit, .. } => {
            document["commit"] = json!(commit);
            (
                "merged",
                format!("task {id} is merged into {base}: {commit}"),
                0,
            )
        }
        Merged::Already { base: tip } => {
            document["commit"] = json!(tip);
            ("already", format!("{base} has all of task {id} already"), 0)
        }
        Merged::Conflict { paths } => {
            document["conflicts"] = json!(paths);
            let paths: Vec<String> = paths.iter().map(|path| one_line(path)).collect();
            let said = format!(
                "task {id} conflicts with {base} in {}; nothing has changed",
                paths.join(", ")
            );
            ("conflict", said, NEGATIVE)
        }
        Merged::Refused { why, .. } => {
            document["reason"] = json!(why);
            ("refused", format!("{why}; nothing has changed"), NEGATIVE)
        }
        Merged::Blocked { why } => {
            document["reason"] = json!(why);
            ("blocked", format!("{why}; nothing has changed"), REFUSED)
        }
    };
    document["outcome"] = json!(outcome);
    if out.json {
        out.document(&document)?;
        return Ok(ExitCode::from(code));
    }
    if code == 0 {
        out.say(&said);
        return Ok(ExitCode::SUCCESS);
    }
    let failure = if code == NEGATIVE {
        Failure::negative(said)
    } else {
        Failure::missing(said)
    };
    Err(failure)
}
