//! `approve` and `reject`: what a person decides about a change outside of a scope.

use std::process::ExitCode;

use callsheet_store::Wait;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::{run, tasks};

/// Approve a scope violation, so that it no longer keeps its task from being done
///
/// You decide once: a violation that is approved or rejected stays so.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 3 if somebody has decided already.

Examples:
  callsheet approve 1m7f6zd4jd20q7.1")]
pub(crate) struct Approve {
    /// The ids of violations, as `callsheet show RUN` prints them
    #[arg(value_name = "VIOLATION", required = true)]
    violations: Vec<String>,
}

/// Reject a scope violation: its task stays in review until the change is gone
///
/// You decide once: a violation that is approved or rejected stays so.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 3 if somebody has decided already.

Examples:
  callsheet reject 1m7f6zd4jd20q7.1")]
pub(crate) struct Reject {
    /// The ids of violations, as `callsheet show RUN` prints them
    #[arg(value_name = "VIOLATION", required = true)]
    violations: Vec<String>,
}

impl Approve {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        decide(project, &self.violations, "approved", out)
    }
}

impl Reject {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        decide(project, &self.violations, "rejected", out)
    }
}

fn decide(
    project: &Project,
    names: &[String],
    approval: &str,
    out: Output,
) -> Result<ExitCode, Failure> {
    let opened = tasks::open(project, out)?;
    let mut decided = Vec::new();
    for name in names {
        let unknown = || {
            Failure::input(format!("`{name}` is not the id of a violation"))
                .hint("`callsheet show RUN` prints the violations of a run")
        };
        let (run, number) = name.rsplit_once('.').ok_or_else(unknown)?;
        let run = run::find(&opened, run)?;
        let document = tasks::document(&opened, &run)?;
        let id = format!("{}.{number}", run.id);
        let violations = document["violations"].as_array().into_iter().flatten();
        let violation = violations.clone().find(|one| one["id"] == id.as_str());
        let path = violation.ok_or_else(unknown)?["path"].clone();
        let value = json!({"approval": approval});
        let only_once = {
            let id = id.clone();
            move |_: &callsheet_store::Run, before: &[callsheet_store::Annotation]| {
                let decided = before
                    .iter()
                    .find(|one| one.kind == "violation" && one.name == id);
                decided.map_or(Ok(()), |one| {
                    let how = one.value["approval"].as_str().unwrap_or_default();
                    Err(format!("violation `{id}` is {how} already"))
                })
            }
        };
        let store = &opened.store;
        let done = store.annotate(&opened.project, run.id, "violation", &id, value, only_once);
        done.wait()?.map_err(Failure::missing)?;
        out.say(&format!(
            "{approval} {id}: {}",
            one_line(path.as_str().unwrap_or_default())
        ));
        decided.push(json!({"id": id, "path": path, "approval": approval}));
    }
    if out.json {
        out.document(&json!({"schema": "callsheet.decisions/1", "violations": decided}))?;
    }
    Ok(ExitCode::SUCCESS)
}
