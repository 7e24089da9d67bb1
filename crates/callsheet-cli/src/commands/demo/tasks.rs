//! What `demo --serve` adds to the sprint: tasks in every state, so that each page of the dashboard has something to show.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::demo_files;
use crate::failure::Failure;

/// The runners of the tasks and the check of their results, for the end of callsheet.toml.
pub(super) const SETTINGS: &str = include_str!("sprint/helpers.toml");

/// What the runners play.
pub(super) const FILES: [(&str, &str); 1] = demo_files!["sprint/"; "helper.toml" => "helper.toml"];

/// The runner with an account that works, and the one whose account has nothing left.
const HELPER: &str = "helper";
const BORROWED: &str = "borrowed";

/// What the agents are asked for, which the script knows by these titles.
const MERGED: &str = "Count what is open";
const WITH_HELPER: [&str; 3] = [
    "Sort the list by name",
    "Finish several tasks at once",
    "Drop what is finished",
];
const QUEUED: &str = "Show what is urgent first";
const LIMITED: &str = "Print dates with the tasks";

/// Adds the tasks and runs them, as somebody would do it by hand.
pub(super) fn add(folder: &Path) -> Result<(), Failure> {
    let run = |title: &str, runner: &str, more: &[&str]| {
        let title = format!("--title={title}");
        let mut args = vec!["run", &title, "--write", "commands/**", "tests/**"];
        args.extend(["--runner", runner]);
        args.extend(more);
        ask(folder, &args)
    };
    let merged = run(MERGED, HELPER, &[])?;
    ask(
        folder,
        &["merge", merged["task"].as_str().unwrap_or_default()],
    )?;
    for title in WITH_HELPER {
        run(title, HELPER, &[])?;
    }
    // What is queued before the account is parked stays queued as long as that is so.
    run(QUEUED, BORROWED, &["--queue"])?;
    run(LIMITED, BORROWED, &[])?;
    // The first search takes all texts into its index.
    ask(folder, &["search", "list"])?;
    Ok(())
}

/// Runs a command in the project and returns its document.
fn ask(folder: &Path, args: &[&str]) -> Result<Value, Failure> {
    let program = std::env::current_exe()
        .map_err(|cause| Failure::refused("cannot tell where callsheet is", &cause))?;
    let mut command = Command::new(program);
    command.arg("--root").arg(folder).arg("--json").args(args);
    // Whatever else is set, the demo keeps to the store in its folder.
    command.env_remove("CALLSHEET_STORE").stdin(Stdio::null());
    let done = command
        .output()
        .map_err(|cause| Failure::refused("cannot start callsheet", &cause))?;
    serde_json::from_slice(&done.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&done.stderr);
        Failure::missing(format!("the demo cannot go on:\n{}", said.trim_end()))
    })
}
