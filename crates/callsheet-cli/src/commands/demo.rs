//! `demo`: the first-run experience, on real files in a directory of its own.

mod compose;
mod sprint;
mod tasks;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use callsheet_server::Options;
use clap::builder::PossibleValuesParser;

use self::sprint::Then;
use super::serve;
use crate::failure::Failure;
use crate::output::{Look, Output, write_file};
use crate::project::{Preference, Project};
use crate::run::AGENTS;

/// Run a whole sprint of five stories in a small project, with agents that need no model
///
/// The agents play a script. The project, its tests, the commits and what is observed are real. Everything happens in a
/// temporary directory, or in DIR, which must be new or empty. No key, no network.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 0 although one story ends blocked: that is part of the script. With `--runner`, it exits as `sprint run` does.

Examples:
  callsheet demo
  callsheet demo ~/callsheet-demo      keep the project in this directory
  callsheet demo --serve               look at it in the browser
  callsheet demo --runner claude       the same sprint with Claude Code, which needs an account
  callsheet demo --compose             how prompts are composed, sealed and proven")]
pub(crate) struct Args {
    /// The directory of the project [default: a new temporary one]
    dir: Option<PathBuf>,

    /// Compose and seal prompts instead, prove them, and run an agent on one
    #[arg(long, conflicts_with = "runner")]
    compose: bool,

    /// Run the sprint with this agent instead of the script
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(AGENTS))]
    runner: Option<String>,

    /// Add tasks in every state, and serve the dashboard of the project until you press Ctrl-C
    #[arg(long, conflicts_with_all = ["compose", "runner"])]
    serve: bool,

    /// The port of the dashboard; if it is taken, the next one that is free [default: 6419]
    #[arg(long, value_name = "PORT", requires = "serve")]
    port: Option<u16>,
}

/// Lists files of a demo: where each goes in the project, and the file here that has its text.
macro_rules! demo_files {
    ($folder:literal; $($path:literal => $file:literal),* $(,)?) => {
        [$(($path, include_str!(concat!($folder, $file)))),*]
    };
}
use demo_files;

impl Args {
    pub(crate) fn run(self, out: Output) -> Result<ExitCode, Failure> {
        let folder = match self.dir {
            Some(folder) => empty_folder(&folder)?,
            None => tempfile::Builder::new()
                .prefix("callsheet-demo-")
                .tempdir()
                .map_err(|cause| Failure::refused("cannot make a temporary folder", &cause))?
                .keep(),
        };
        if self.compose {
            compose::run(&folder, out)
        } else if self.serve {
            sprint::run(&folder, Then::Look, out)?;
            let mut options = Options::default();
            options.port = self.port.unwrap_or(options.port);
            serve::served(&own_project(&folder, out)?, options, out)
        } else {
            sprint::run(&folder, Then::End(self.runner.as_deref()), out)
        }
    }
}

/// Opens the project of a demo, which keeps what it makes in a file of its own.
fn own_project(folder: &Path, out: Output) -> Result<Project, Failure> {
    let built_in = false;
    let mut project = Project::find(Some(folder), Preference { built_in, out })?;
    if project.settings.store.take().is_some() {
        out.note("the demo seals into a file of its own; `CALLSHEET_STORE` is not used");
    }
    Ok(project)
}

/// Tells the story on stdout, which a document has for itself.
fn say(out: Output, text: &str) -> Result<(), Failure> {
    if out.json { Ok(()) } else { out.text(text) }
}

fn heading(text: &str) -> String {
    Look::Green.on(text)
}

fn empty_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let refused = |cause: std::io::Error| {
        Failure::refused(&format!("cannot make `{}`", folder.display()), &cause)
    };
    std::fs::create_dir_all(folder).map_err(refused)?;
    if std::fs::read_dir(folder).map_err(refused)?.next().is_some() {
        return Err(Failure::input(format!(
            "`{}` is not empty; nothing was changed",
            folder.display()
        )));
    }
    std::path::absolute(folder).map_err(refused)
}

/// Writes the files of a demo, with the directories above them.
fn write_files(folder: &Path, files: &[(&str, &str)]) -> Result<(), Failure> {
    for (path, text) in files {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent).map_err(|cause| {
                Failure::refused(&format!("cannot make `{}`", parent.display()), &cause)
            })?;
        }
        write_file(&file, text)?;
    }
    Ok(())
}
