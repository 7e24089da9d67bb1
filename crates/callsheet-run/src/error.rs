//! The one error type of this crate: what a caller can branch on, and a sentence.

use std::fmt;
use std::io;
use std::time::Duration;

use callsheet_store::StoreError;

/// Why a run could not be started, driven or looked at.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// Something a person wrote is wrong: a runner, a script, an adapter's name.
    Input(String),
    /// There is no such thing.
    Unknown {
        /// What was looked for, such as `runner`.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The machine refused: a file, a process, git.
    Refused {
        /// What was tried.
        what: String,
        /// What the system said.
        cause: io::Error,
    },
    /// A program that was asked something ended badly.
    Failed {
        /// The program, as a user would name it.
        what: String,
        /// Its exit code; nothing if a signal ended it.
        code: Option<i32>,
        /// The first line that it said on its standard error.
        said: String,
    },
    /// A program that was asked something took longer than it may, and was ended with all that it started.
    TimedOut {
        /// The program, as a user would name it.
        what: String,
        /// How long it may take.
        after: Duration,
    },
    /// A program that was asked something printed more than it may, and was ended with all that it started.
    TooMuch {
        /// The program, as a user would name it.
        what: String,
        /// How many bytes it may print.
        most: u64,
    },
    /// Nothing is started now: the account is parked or stopped, a limit is reached, or there is no sandbox.
    NotNow(String),
    /// The store refused.
    Store(StoreError),
}

impl RunError {
    /// Makes the error of something that the machine refused.
    pub fn refused(what: impl Into<String>, cause: io::Error) -> Self {
        Self::Refused {
            what: what.into(),
            cause,
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(why) | Self::NotNow(why) => f.write_str(why),
            Self::Unknown { what, name, .. } => write!(f, "no {what} `{name}`"),
            Self::Refused { what, cause } => write!(f, "{what}: {cause}"),
            Self::Failed { what, code, said } => {
                match code {
                    Some(code) => write!(f, "`{what}` failed with exit code {code}")?,
                    None => write!(f, "`{what}` was ended by a signal")?,
                }
                if said.is_empty() {
                    return Ok(());
                }
                write!(f, ": {said}")
            }
            Self::TimedOut { what, after } => {
                write!(f, "`{what}` took longer than {} s", after.as_secs_f64())
            }
            Self::TooMuch { what, most } => {
                write!(f, "`{what}` printed more than {most} bytes")
            }
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
