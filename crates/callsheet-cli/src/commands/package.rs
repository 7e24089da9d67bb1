//! `package`: packages of agents and workflows.

use std::path::PathBuf;
use std::process::ExitCode;

use callsheet::package::{Severity, check};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::report::count;

/// Check packages of agents and workflows
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet package check packages/story-writer
  callsheet package check . --json")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Name everything that is wrong with a package: files, schemas, and what does not fit together
    Check {
        /// The folder of the package
        folder: PathBuf,
    },
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let Command::Check { folder } = self.command;
        let issues = check(&project.open_folder(&folder)?);
        let errors = issues
            .iter()
            .filter(|issue| issue.severity == Severity::Error)
            .count();
        if out.json {
            out.document(
                &json!({"schema": "callsheet.package/1", "ok": errors == 0, "issues": issues}),
            )?;
        } else {
            let mut text = String::new();
            for issue in &issues {
                let severity = match issue.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                };
                text.push_str(&one_line(&format!("{severity}: {issue}")));
                if let Some(hint) = &issue.hint {
                    text.push_str(&one_line(&format!(" ({hint})")));
                }
                text.push('\n');
            }
            out.text(&text)?;
        }
        let warnings = issues.len() - errors;
        let found = format!("{}, {}", count(errors, "error"), count(warnings, "warning"));
        if errors == 0 {
            out.say(&format!("the package is in order: {found}"));
            return Ok(ExitCode::SUCCESS);
        }
        Err(Failure::negative(found))
    }
}
