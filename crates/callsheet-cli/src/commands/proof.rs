//! `proof`: what is known of a task's run, as facts and references, without a verdict.

use std::process::ExitCode;

use callsheet::task::proof;
use callsheet_run::tasks::View;
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::{run, tasks, time};

/// Print the proof of a run: prompt hash, scope, checks, changed files, result and decisions
///
/// It is a JSON document with facts and references, and without a verdict. With the same store, `callsheet verify RUN` proves what it refers to.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet proof 1m7f6zd4
  callsheet proof 1m7f6zd4 | jq .scope_violations")]
pub(crate) struct Args {
    /// The id of a run that is over
    #[arg(value_name = "RUN")]
    run: String,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let opened = run::open_some(project, out)?;
        let (run, _) = tasks::finished(&opened, &self.run)?;
        let annotations = tasks::annotations(&opened, &run)?;
        let mut document = tasks::document(&opened, &run)?;
        let ends =
            ["start_head", "result"].map(|field| document[field].as_str().map(str::to_owned));
        let [Some(start), Some(result)] = ends else {
            return print(&run, &document, &annotations, out);
        };
        // Without the commits nobody can count; the proof says so by null.
        if let Some(stat) = View::of(project.root()).diff_stat(&start, &result) {
            document["diff_stat"] = json!(stat);
        }
        print(&run, &document, &annotations, out)
    }
}

fn print(
    run: &callsheet_store::Run,
    document: &serde_json::Value,
    annotations: &[callsheet_store::Annotation],
    out: Output,
) -> Result<ExitCode, Failure> {
    let request = run.request.clone().unwrap_or_default();
    let proof = proof(&request, document, &json!(annotations), time::now());
    out.document(&proof)?;
    Ok(ExitCode::SUCCESS)
}
