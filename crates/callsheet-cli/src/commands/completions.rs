//! `completions`: what a shell needs to complete our commands.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;
use serde_json::json;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::Output;

/// Print the completion script of a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet completions bash > ~/.local/share/bash-completion/completions/callsheet
  callsheet completions fish > ~/.config/fish/completions/callsheet.fish")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    pub(crate) fn run(self, out: Output) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "callsheet", &mut script);
        if out.json {
            let (shell, script) = (self.shell.to_string(), String::from_utf8_lossy(&script));
            out.document(
                &json!({"schema": "callsheet.completions/1", "shell": shell, "script": script}),
            )?;
        } else {
            out.data(script)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
