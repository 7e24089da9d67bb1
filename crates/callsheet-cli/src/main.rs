//! The callsheet program: arguments, progress, tables, error text.
//!
//! Everything that decides lives in the library `callsheet`; this crate turns arguments into its types and its results
//! into bytes on stdout and talk on stderr.

mod cli;
mod commands;
mod failure;
mod input;
mod options;
mod output;
mod project;
mod report;
mod settings;
mod table;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::Cli;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error),
    };
    match cli.run() {
        Ok(code) => code,
        Err(failure) => failure.print(),
    }
}
