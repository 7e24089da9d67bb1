//! The callsheet program: arguments, progress, tables, error text.
//!
//! Everything that decides lives in the library `callsheet`; this crate turns arguments into its types and its results
//! into bytes on stdout and talk on stderr.

mod assignment;
mod cli;
mod commands;
mod failure;
mod index;
mod input;
mod live;
mod options;
mod output;
mod progress;
mod project;
mod report;
mod run;
mod sandbox;
mod schemas;
mod settings;
mod store;
mod table;
mod target;
mod tasks;
mod telemetry;
mod time;
mod travel;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::Cli;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::usage(error),
    };
    match std::panic::catch_unwind(|| cli.run()) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => failure.print(),
        Err(_) => failure::bug(),
    }
}
