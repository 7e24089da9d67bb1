//! `init`: sets a project up, and never overwrites anything.

use std::path::Path;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::output::{Output, write_file};
use crate::project::{RECIPES, TEMPLATES};
use crate::settings::FILE;

/// The settings file of a new project.
const SETTINGS: &str = include_str!("init/callsheet.toml");

/// What git should not see.
const IGNORED: &str = ".callsheet/";

/// Set up a project: callsheet.toml, callsheet/ for recipes and templates, .callsheet/ ignored by git
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
            return Err(Failure::input(format!("`{}` is no folder", root.display())));
        }
        set_up(&root, out)?;
        out.say("next: `callsheet recipe list`, or `callsheet recipe eject layers --as mine` to write your own");
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes what is not there yet.
pub(crate) fn set_up(root: &Path, out: Output) -> Result<(), Failure> {
    let refused = |what: &str| {
        let what = format!("cannot make `{what}`");
        move |cause: std::io::Error| Failure::refused(&what, &cause)
    };
    if root.join(FILE).exists() {
        out.say(&format!("kept  {FILE}"));
    } else {
        write_file(&root.join(FILE), SETTINGS)?;
        out.say(&format!("wrote {FILE}"));
    }
    for folder in [RECIPES, TEMPLATES] {
        if root.join(folder).exists() {
            out.say(&format!("kept  {folder}/"));
        } else {
            std::fs::create_dir_all(root.join(folder)).map_err(refused(folder))?;
            out.say(&format!("made  {folder}/"));
        }
    }
    let ignore = root.join(".gitignore");
    let old = match std::fs::read_to_string(&ignore) {
        Ok(text) => text,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(cause) => return Err(Failure::refused("cannot read `.gitignore`", &cause)),
    };
    if old.lines().any(|line| {
        matches!(
            line.trim(),
            IGNORED | ".callsheet" | "/.callsheet/" | "/.callsheet"
        )
    }) {
        out.say("kept  .gitignore");
        return Ok(());
    }
    let gap = if old.is_empty() || old.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    write_file(&ignore, format!("{old}{gap}{IGNORED}\n"))?;
    out.say(&format!("added {IGNORED} to .gitignore"));
    Ok(())
}
