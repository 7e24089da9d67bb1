//! `play`: an agent without a model. The adapters `scripted` and `replay` start it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use callsheet_run::play::{Cue, play_recording, play_script};

use crate::failure::Failure;
use crate::run;

/// Play an agent: a script, or a recorded run
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The script, a TOML file
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,

    /// The directory of a recorded run
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "script",
        required_unless_present = "script"
    )]
    recording: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let (mut out, mut err) = (io::stdout().lock(), io::stderr());
        let recording = self.recording.unwrap_or_default();
        let finale = match &self.script {
            Some(file) => {
                let cue = Cue::of(&run::environment());
                play_script(file, Path::new("."), &cue, &mut out, &mut err)?
            }
            None => play_recording(&recording, &mut out, &mut err)?,
        };
        Ok(finale.perform())
    }
}
