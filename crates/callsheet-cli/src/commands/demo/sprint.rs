//! `demo`: a whole sprint in a small project, by agents that play a script or by one that is installed.
//!
//! What it tells about the sprint is what is on record of it. Only that a story is blocked on purpose is known beforehand.

use std::path::Path;
use std::process::ExitCode;

use callsheet_run::git;
use callsheet_store::Wait;
use serde_json::{Value, json};

use super::{demo_files, heading, own_project, say, tasks, write_files};
use crate::commands::init::{set_up, settings};
use crate::commands::sprint::{report, run};
use crate::failure::Failure;
use crate::output::{Output, one_line, write_file};
use crate::project::Project;
use crate::settings::FILE;
use crate::store;

const FILES: [(&str, &str); 13] = demo_files!["sprint/";
    "README.md" => "README.md",
    "todo.sh" => "todo.sh",
    "test.sh" => "test.sh",
    "commands/help.sh" => "help.sh",
    "tests/help.sh" => "test-help.sh",
    "acceptance/add.sh" => "accept-add.sh",
    "acceptance/list.sh" => "accept-list.sh",
    "acceptance/finish.sh" => "accept-finish.sh",
    "acceptance/search.sh" => "accept-search.sh",
    ".gitignore" => "gitignore",
    "_bmad-output/planning-artifacts/epics.md" => "epics.md",
    "_bmad-output/planning-artifacts/project-context.md" => "project-context.md",
    "_bmad-output/implementation-artifacts/sprint-status.yaml" => "sprint-status.yaml",
];

/// What the project sets: what no agent may touch.
const SCOPE: &str = include_str!("sprint/callsheet.toml");

/// The runner of the demo, and what it plays.
const RUNNER: &str = "demo";
const RUNNER_SETTINGS: &str = include_str!("sprint/runner.toml");
const SCRIPT: (&str, &str) = ("agent.toml", include_str!("sprint/agent.toml"));

/// The story that the script leaves to a person.
const BLOCKED: &str = "2-2-share-the-list";

/// How the demo goes on.
#[derive(Clone, Copy)]
pub(super) enum Then<'a> {
    /// It is over, whoever the agents were.
    End(Option<&'a str>),
    /// Tasks are added, and somebody looks at them.
    Look,
}

/// Makes the project, runs its sprint and tells what came of it.
pub(super) fn run(folder: &Path, then: Then<'_>, out: Output) -> Result<ExitCode, Failure> {
    let (runner, is_served) = match then {
        Then::End(runner) => (runner, false),
        Then::Look => (None, true),
    };
    make_project(folder, runner, is_served)?;
    let shown = folder.display();
    let who = match runner {
        None => "Agents that play a script take them".to_owned(),
        Some(runner) => format!("{runner} takes them"),
    };
    say(
        out,
        &format!(
            "A to-do list in shell, with five stories in two epics, is in {shown}\n{who} through all phases of a sprint:\n"
        ),
    )?;
    let project = own_project(folder, out)?;
    let ran = run::all(&project, runner.unwrap_or(RUNNER), out)?;
    let is_as_played = runner.is_none() && is_as_played(&ran.report);
    let next = next(&project, &ran.report)?;
    if is_served {
        say(out, &summary(&ran.report, is_as_played))?;
        say(out, "\nNow some tasks beside the sprint …\n")?;
        tasks::add(folder)?;
    } else if out.json {
        let root = shown.to_string();
        let commands: Vec<&String> = next.iter().map(|(command, _)| command).collect();
        out.document(&json!({
            "schema": "callsheet.demo-sprint/1", "root": root, "report": ran.report, "next": commands,
        }))?;
    } else {
        out.text(&summary(&ran.report, is_as_played))?;
        let heading = heading("What to try next");
        out.text(&format!("\n{heading}\n  cd {shown}\n{}", lines(&next)))?;
    }
    Ok(if is_as_played {
        ExitCode::SUCCESS
    } else {
        ran.exit()
    })
}

fn make_project(folder: &Path, runner: Option<&str>, is_served: bool) -> Result<(), Failure> {
    let who = match runner {
        None if is_served => format!("{RUNNER_SETTINGS}{}", tasks::SETTINGS),
        None => RUNNER_SETTINGS.to_owned(),
        Some(runner) => format!("\n[sprint]\nrunner = \"{runner}\"\n"),
    };
    write_file(&folder.join(FILE), settings(&format!("{SCOPE}{who}")))?;
    write_files(folder, &FILES)?;
    if runner.is_none() {
        write_files(folder, &[SCRIPT])?;
    }
    if is_served {
        write_files(folder, &tasks::FILES)?;
    }
    set_up(folder)?;
    git::begin(folder)
        .and_then(|()| git::identify(folder, "Callsheet Demo", "demo@example.com"))
        .map_err(|error| {
            Failure::from(error).hint("the demo needs git; `callsheet demo --compose` does not")
        })
}

/// Tells whether the sprint went as the script says.
fn is_as_played(document: &Value) -> bool {
    let mut stories = report::stories(document);
    stories.all(|story| {
        let expected = if story["story"] == BLOCKED {
            "blocked"
        } else {
            "done"
        };
        story["outcome"] == expected
    })
}

/// Returns what came of the sprint, and what happened on the way.
fn summary(document: &Value, is_as_played: bool) -> String {
    let table = report::table(document);
    let mut text = format!("\n{table}{}", report::total(document));
    let rows: Vec<(String, String)> = report::stories(document)
        .flat_map(|story| {
            let key = word(&story["story"]);
            let rows = happened(story, is_as_played).into_iter();
            rows.map(move |line| (key.clone(), line))
        })
        .collect();
    if !rows.is_empty() {
        text.push_str(&format!("\n{}\n", heading("What happened on the way")));
        text.push_str(&lines(&rows));
    }
    text
}

/// Returns what is worth telling about a story.
fn happened(story: &Value, is_as_played: bool) -> Vec<String> {
    let mut rows = violations(story);
    let reviews = phases(story).filter(|phase| phase["phase"] == "code-review");
    let found: Vec<String> = reviews
        .filter_map(|review| match review["severity"].as_str()? {
            "ZERO" => Some("found nothing".to_owned()),
            severity => Some(format!(
                "found and fixed {} issues",
                severity.to_lowercase()
            )),
        })
        .collect();
    if found.len() > 1 {
        rows.push(format!("code review {}", found.join(", then ")));
    }
    let outcome = word(&story["outcome"]);
    let reason = match word(&story["reason"]) {
        reason if reason.is_empty() => String::new(),
        reason => format!(": {reason}"),
    };
    match outcome.as_str() {
        "done" => {}
        // The sprint ended before the story did, and has said why.
        "open" => {}
        _ if is_as_played => rows.push(format!("{outcome} on purpose{reason}")),
        _ => rows.push(format!("{outcome}{reason}")),
    }
    rows
}

/// Returns what agents changed of a story and may not, and whether the next try took it back.
fn violations(story: &Value) -> Vec<String> {
    let phases: Vec<&Value> = phases(story).collect();
    let violated = phases.iter().enumerate().filter_map(|(at, phase)| {
        let (first, others) = phase["violations"].as_array()?.split_first()?;
        let more = match others.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let mut later = phases[at + 1..].iter();
        let next = later.find(|next| next["phase"] == phase["phase"]);
        let is_back = next.is_some_and(|next| next["violations"] == json!([]));
        let then = if is_back {
            ", was told, and took it back"
        } else {
            ""
        };
        Some(format!(
            "scope violation: changed `{}`{more}{then}",
            word(first)
        ))
    });
    violated.collect()
}

/// Returns the phases of a story that it waited for.
fn phases(story: &Value) -> impl Iterator<Item = &Value> {
    let phases = story["phases"].as_array().into_iter().flatten();
    phases.filter(|phase| phase["background"] == false)
}

/// Returns commands to try, each with what it shows.
fn next(project: &Project, document: &Value) -> Result<Vec<(String, String)>, Failure> {
    let pair = |command: &str, what: &str| (command.to_owned(), what.to_owned());
    if document["status"] == "error" {
        return Ok(vec![
            pair(
                "callsheet doctor",
                "whether the agent is there and logged in",
            ),
            pair(
                "callsheet sprint run all",
                "goes on where the sprint was left",
            ),
            pair("callsheet demo", "the same with agents that need no model"),
        ]);
    }
    let opened = store::open(project)?;
    let prompt = |run: &str| -> Result<_, Failure> {
        Ok(opened.store.run(&opened.project, run).wait()?.prompt)
    };
    let second = match tries(document) {
        Some((first, second)) => pair(
            &format!("callsheet diff {} {}", prompt(first)?, prompt(second)?),
            "what the second try was told",
        ),
        None => pair("callsheet runs", "which agents ran, and what came of it"),
    };
    Ok(vec![
        pair("git log --stat", "what the agents have committed"),
        second,
        pair(
            "callsheet verify",
            "proof that nothing on record was changed",
        ),
        pair("callsheet serve", "all of it in your browser"),
    ])
}

/// Returns the runs of a phase that violated its scope, and of its next try.
fn tries(document: &Value) -> Option<(&str, &str)> {
    report::stories(document).find_map(|story| {
        let phases: Vec<&Value> = phases(story).collect();
        phases.windows(2).find_map(|pair| {
            let is_violation = pair[0]["violations"]
                .as_array()
                .is_some_and(|paths| !paths.is_empty());
            let is_retry = is_violation && pair[0]["phase"] == pair[1]["phase"];
            let runs = pair[0]["run"].as_str().zip(pair[1]["run"].as_str());
            runs.filter(|_| is_retry)
        })
    })
}

/// Returns pairs as lines, the second parts below each other.
fn lines(pairs: &[(String, String)]) -> String {
    let width = pairs.iter().map(|(first, _)| first.chars().count()).max();
    let width = width.unwrap_or(0);
    let line = |(first, second): &(String, String)| format!("  {first:<width$}  {second}\n");
    pairs.iter().map(line).collect()
}

fn word(value: &Value) -> String {
    one_line(value.as_str().unwrap_or_default())
}
