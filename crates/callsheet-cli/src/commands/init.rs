//! `init`: sets a project up, and never overwrites anything.

use std::path::Path;
use std::process::ExitCode;

use callsheet::{Reason, Root, TEMPLATES};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, make_below, unwritten, write_below};
use crate::project::RECIPES;
use crate::schemas::Described;
use crate::settings::FILE;

/// The settings file of a new project.
const SETTINGS: &str = include_str!("init/callsheet.toml");

/// What git should not see.
const IGNORED: &str = ".callsheet/";

/// Set up a project: callsheet.toml, callsheet/ for recipes, templates and schemas, .callsheet/ ignored by git
///
/// Nothing is ever overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet init
  callsheet --root ../app init")]
pub(crate) struct Args {}

impl Args {
    pub(crate) fn run(self, root: Option<&Path>, out: Output) -> Result<ExitCode, Failure> {
        let here = std::env::current_dir()
            .map_err(|cause| Failure::refused("cannot tell the current folder", &cause))?;
        let root = root.map_or(here.clone(), |root| here.join(root));
        if !root.is_dir() {
            return Err(Failure::input(format!(
                "`{}` is not a folder",
                root.display()
            )));
        }
        let steps = set_up(&root)?;
        for (did, what) in &steps {
            out.say(&match *what {
                RECIPES | TEMPLATES => format!("{did:<5} {what}/"),
                _ if *did == "added" => format!("added {IGNORED} to {what}"),
                _ => format!("{did:<5} {what}"),
            });
        }
        if out.json {
            let steps: Vec<_> = steps
                .iter()
                .map(|(did, what)| json!({"did": did, "path": what}))
                .collect();
            out.document(
                &json!({"schema": "callsheet.init/1", "root": root.display().to_string(), "steps": steps}),
            )?;
        }
        out.say("next: `callsheet recipe list`, or `callsheet recipe new mine` to write your own");
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the settings file of a new project, with more settings at its end.
pub(crate) fn settings(more: &str) -> String {
    Described::Settings.linked(FILE, &format!("{SETTINGS}{more}"))
}

/// Writes what is not there yet; returns what was done to what.
pub(crate) fn set_up(root: &Path) -> Result<Vec<(&'static str, &'static str)>, Failure> {
    let mut steps = Vec::new();
    let opened = Root::open(root)?;
    if opened.has(FILE) {
        steps.push(("kept", FILE));
    } else {
        write_below(&opened, FILE, &settings(""))?;
        steps.push(("wrote", FILE));
    }
    for folder in [RECIPES, TEMPLATES] {
        let did = if opened.has(folder) { "kept" } else { "made" };
        // What is there may be a link that leads out, and is then nothing of the project.
        make_below(&opened, folder)?;
        steps.push((did, folder));
    }
    for described in Described::ALL {
        let did = if described.write(&opened)? {
            "wrote"
        } else {
            "kept"
        };
        steps.push((did, described.path()));
    }
    let old = match opened.read(".gitignore") {
        Ok(bytes) => String::from_utf8(bytes)
            .map_err(|_| Failure::input("`.gitignore` is not UTF-8 text"))?,
        Err(refusal) if refusal.reason == Reason::Missing => String::new(),
        Err(refusal) => return Err(unwritten(".gitignore", refusal.into())),
    };
    if old.lines().any(|line| {
        matches!(
            line.trim(),
            IGNORED | ".callsheet" | "/.callsheet/" | "/.callsheet"
        )
    }) {
        steps.push(("kept", ".gitignore"));
        return Ok(steps);
    }
    let gap = if old.is_empty() || old.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    write_below(&opened, ".gitignore", &format!("{old}{gap}{IGNORED}\n"))?;
    steps.push(("added", ".gitignore"));
    Ok(steps)
}
