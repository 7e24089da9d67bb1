//! `supervise`: the process between this program and an agent. People never call it; see `callsheet_run::supervisor`.

use std::process::ExitCode;

use callsheet_run::supervisor;

use crate::failure::Failure;

/// Look after one agent, as standard input says
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        supervisor::supervise()?;
        Ok(ExitCode::SUCCESS)
    }
}
