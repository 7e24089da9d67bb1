//! Playing a recorded run again: its bytes, then its end.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use callsheet::document::plain_words;
use serde::Deserialize;

use super::{Finale, script};
use crate::RunError;

/// `ending.json` of a recording. Who reads the output is the adapter's business, and not looked at here.
#[derive(Debug, Deserialize)]
struct Ending {
    exit_code: Option<u8>,
    signal: Option<i32>,
}

/// Plays a recording: prints its `stdout` and `stderr`, and returns how it ended.
pub fn play_recording(
    folder: &Path,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Finale, RunError> {
    let name = folder.join("ending.json");
    let text = std::fs::read(&name).map_err(|cause| cannot_read(&name, cause))?;
    let finale = serde_json::from_slice(&text)
        .map_err(|error| {
            let what = plain_words(&error.to_string(), "an object");
            format!("{}:{}: {what}", name.display(), error.line())
        })
        .and_then(|ending| finale(&ending).map_err(|why| format!("{}: {why}", name.display())))
        .map_err(RunError::Input)?;
    let name = folder.join("stdout");
    let mut stdout = File::open(&name).map_err(|cause| cannot_read(&name, cause))?;
    let name = folder.join("stderr");
    let stderr = match File::open(&name) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
        opened => Some(opened.map_err(|cause| cannot_read(&name, cause))?),
    };
    copy(&mut stdout, out)?;
    if let Some(mut stderr) = stderr {
        copy(&mut stderr, err)?;
    }
    Ok(finale)
}

fn finale(ending: &Ending) -> Result<Finale, String> {
    match (ending.exit_code, ending.signal) {
        (Some(code), None) => Ok(Finale::Exit(code)),
        (None, Some(signal)) if script::ends(signal) => Ok(Finale::Signal(signal)),
        (None, Some(signal)) => Err(format!("signal {signal} does not end a process")),
        _ => Err("exactly one of `exit_code` and `signal` is needed".to_owned()),
    }
}

fn copy(from: &mut File, to: &mut dyn Write) -> Result<(), RunError> {
    io::copy(from, to)
        .and_then(|_| to.flush())
        .map_err(super::cannot_print)
}

fn cannot_read(path: &Path, cause: io::Error) -> RunError {
    RunError::refused(format!("cannot read `{}`", path.display()), cause)
}
