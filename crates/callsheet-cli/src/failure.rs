//! What went wrong, for people and for exit codes. Hints are made here and nowhere else.

use std::io;
use std::process::ExitCode;

use callsheet::ErrorKind;
use callsheet_run::RunError;
use callsheet_store::StoreError;
use clap::Parser as _;

use crate::cli::Cli;
use crate::output::terminal::print_talk;
use crate::output::{Look, one_line};

/// The command ran fine and its verdict is negative.
pub(crate) const NEGATIVE: u8 = 1;
/// There is something to fix in the input.
pub(crate) const INPUT: u8 = 2;
/// The world refused: a file cannot be written, a folder cannot be read.
pub(crate) const REFUSED: u8 = 3;
/// The program itself is at fault.
const BUG: u8 = 70;

/// A failed command: its exit code, what is wrong, and what may help.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
}

impl Failure {
    /// Makes a failure that asks the user to fix something.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(INPUT, message)
    }

    /// Makes the failure of a command that ran fine.
    pub(crate) fn negative(message: impl Into<String>) -> Self {
        Self::new(NEGATIVE, message)
    }

    /// Makes the failure of something that is not there and should be.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self::new(REFUSED, message)
    }

    /// Makes the failure of an operation that the system refused.
    pub(crate) fn refused(what: &str, cause: &io::Error) -> Self {
        // A reader that has seen enough is not a failure.
        if cause.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(0, "");
        }
        Self::new(REFUSED, format!("{what}: {}", cause_text(cause)))
    }

    fn new(code: u8, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Returns the same for a library that asked for something: what a person wrote stays apart from what the machine refused.
    pub(crate) fn into_run_error(self) -> RunError {
        let lines: Vec<String> = std::iter::once(self.message).chain(self.causes).collect();
        let message = lines.join("\n  ");
        if self.code == INPUT {
            RunError::Input(message)
        } else {
            RunError::NotNow(message)
        }
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns what is wrong, with its hints, in one text.
    pub(crate) fn text(&self) -> String {
        let more = self.causes.iter().chain(&self.hints);
        let more = more.map(|line| format!("\n  {}", one_line(line)));
        std::iter::once(one_line(&self.message))
            .chain(more)
            .collect()
    }

    /// Prints the failure to stderr and returns its exit code.
    pub(crate) fn print(&self) -> ExitCode {
        if !self.message.is_empty() {
            let error = Look::Red.on("error");
            print_talk(&format!("{error}: {}", one_line(&self.message)));
            for cause in &self.causes {
                print_talk(&format!("  {}", one_line(cause)));
            }
            for hint in &self.hints {
                let title = Look::Cyan.on("hint");
                print_talk(&format!("{title}: {}", one_line(hint)));
            }
        }
        ExitCode::from(self.code)
    }
}

impl From<callsheet::Error> for Failure {
    fn from(error: callsheet::Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Unreadable | ErrorKind::Untrusted => REFUSED,
            _ => INPUT,
        };
        let mut failure = Self::new(code, error.headline());
        let causes = error.causes().iter();
        failure.causes = causes
            .flat_map(|cause| cause.lines().map(str::to_owned))
            .collect();
        match error
            .found()
            .and_then(|found| did_you_mean(found, error.allowed()))
        {
            Some(name) => failure.hint(format!("did you mean `{name}`?")),
            // A list of what is there instead would be long.
            None if error.kind() == ErrorKind::NoMatch => failure.hint(
                "globs are relative to the root, and skip hidden files and those that `.gitignore` or `.promptignore` names",
            ),
            // What the message lists already is not listed again.
            None if error
                .allowed()
                .iter()
                .all(|name| error.detail().contains(&format!("`{name}`"))) =>
            {
                failure
            }
            None => {
                let allowed: Vec<String> = error
                    .allowed()
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect();
                failure.hint(format!("allowed are {}", allowed.join(", ")))
            }
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            // A file is there and nothing is in it.
            StoreError::Unknown { what: "store", .. } => {
                Self::new(REFUSED, text).hint("`callsheet compose RECIPE --seal` fills a new one")
            }
            StoreError::Unknown {
                what, candidates, ..
            } if candidates.is_empty() => Self::input(text).hint(match what {
                "batch" => "`callsheet sprint batches` lists what there is",
                _ => "`callsheet prompts` lists what there is",
            }),
            StoreError::Unknown { .. } => Self::input(text).hint("write one more character"),
            StoreError::Refused { .. } => Self::input(text),
            StoreError::Newer { .. } => {
                Self::new(REFUSED, text).hint("a newer callsheet has written it; use that one")
            }
            StoreError::Older { .. } => Self::new(REFUSED, text).hint(
                "export what you need with that build (`callsheet export`), \
                then move the store away and import it here (`callsheet import`)",
            ),
            _ => Self::new(REFUSED, text),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let text = error.to_string();
        match error {
            RunError::Unknown { name, known, .. } => match did_you_mean(&name, &known) {
                Some(known) => Self::input(text).hint(format!("did you mean `{known}`?")),
                None if known.is_empty() => Self::input(text),
                None => Self::input(text).hint(format!("there are `{}`", known.join("`, `"))),
            },
            RunError::Input(why) => Self::input(why),
            RunError::Refused { what, cause } => Self::refused(&what, &cause),
            RunError::Store(error) => error.into(),
            _ => Self::missing(text),
        }
    }
}

/// Returns what the system said, without its number.
pub(crate) fn cause_text(cause: &io::Error) -> String {
    let text = cause.to_string().to_lowercase();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Returns the allowed name that is so close to `found` that it was probably meant.
pub(crate) fn did_you_mean<'a>(found: &str, allowed: &'a [String]) -> Option<&'a str> {
    let score = |name: &&String| strsim::damerau_levenshtein(found, name);
    let nearest = allowed.iter().min_by_key(score)?;
    let close = score(&nearest) <= found.chars().count() / 3
        || nearest.starts_with(found) && found.len() > 2;
    close.then_some(nearest.as_str())
}

/// Says that the program itself is at fault, and returns the exit code for it.
pub(crate) fn bug() -> ExitCode {
    Failure::new(BUG, "callsheet itself failed; this is a bug")
        .hint("please report it with the lines above")
        .print()
}

/// Prints what clap says and returns the exit code for it.
pub(crate) fn usage(error: clap::Error) -> ExitCode {
    // An argument can be the name of somebody's file; what is said of it is asked for again with names that can be shown.
    let args = std::env::args_os().map(|arg| one_line(&arg.to_string_lossy()));
    let error = Cli::try_parse_from(args).err().unwrap_or(error);
    // Help that nobody reads is not a failure either.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { INPUT } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let allowed = ["injection", "layers", "pack"].map(str::to_owned);
        assert_eq!(did_you_mean("layer", &allowed), Some("layers"));
        assert_eq!(did_you_mean("injcetion", &allowed), Some("injection"));
        assert_eq!(did_you_mean("inject", &allowed), Some("injection"));
        assert_eq!(did_you_mean("zzz", &allowed), None);
        let short = ["a.md", "n"].map(str::to_owned);
        assert_eq!(did_you_mean("zz.md", &short), None);
        assert_eq!(did_you_mean("m", &short), None);
    }
}
