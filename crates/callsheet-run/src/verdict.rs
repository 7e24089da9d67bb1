//! How a run ended: failure classes, and what each of them means for the account and the attempt.

use serde::{Deserialize, Serialize};

/// Why a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A usage window is used up.
    Quota,
    /// The provider is busy: 429, 5xx or 529 after all retries.
    Overload,
    /// The credentials were refused or are missing.
    Auth,
    /// The context window is full.
    Context,
    /// The provider did not understand the request, or knows no such model.
    Request,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// The money limit of the run is spent.
    Budget,
    /// The turn limit of the run is reached.
    Turns,
    /// The agent asked for a tool and did not get it.
    Denied,
    /// Somebody stopped the run.
    Cancelled,
    /// The process ended, or was ended, without a final event.
    Incomplete,
    /// The machine is at fault: a missing program, a full disk, a bad flag.
    Environment,
    /// None of the others.
    Unknown,
}

/// What follows from a failure, beyond this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The account waits; the attempt is not charged.
    Park,
    /// The account is closed until a person opens it; the attempt is not charged.
    StopAccount,
    /// The runner waits, because the machine has to be mended; the attempt is not charged, and the account stays as it is.
    Pause,
    /// The attempt is charged, and nothing else happens.
    Charge,
    /// Nothing: somebody wanted it so.
    Nothing,
}

impl Class {
    /// Returns the word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::Overload => "overload",
            Self::Auth => "auth",
            Self::Context => "context",
            Self::Request => "request",
            Self::Network => "network",
            Self::Budget => "budget",
            Self::Turns => "turns",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Incomplete => "incomplete",
            Self::Environment => "environment",
            Self::Unknown => "unknown",
        }
    }

    /// Returns what follows from a failure of this class.
    pub fn consequence(self) -> Consequence {
        match self {
            Self::Quota | Self::Overload => Consequence::Park,
            Self::Auth => Consequence::StopAccount,
            Self::Environment | Self::Network => Consequence::Pause,
            Self::Cancelled => Consequence::Nothing,
            Self::Context
            | Self::Request
            | Self::Budget
            | Self::Turns
            | Self::Denied
            | Self::Incomplete
            | Self::Unknown => Consequence::Charge,
        }
    }

    /// Returns the class of a status that a model server answered with.
    pub fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Auth,
            402 => Self::Quota,
            413 => Self::Context,
            408 => Self::Network,
            429 | 500..=599 => Self::Overload,
            400..=499 => Self::Request,
            _ => Self::Unknown,
        }
    }
}

/// How a process ended, and what it wrote to stderr last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The exit code; nothing if a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The end of what it wrote to stderr, some kilobytes at most.
    pub stderr: String,
}

impl Ending {
    /// Tells whether the process ended by itself, with 0.
    pub fn is_clean(&self) -> bool {
        self.exit_code == Some(0)
    }
}

/// What the rule of an adapter says of a run: the final event and the exit code together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether it succeeded.
    pub outcome: Outcome,
    /// Why it did not.
    pub class: Option<Class>,
    /// When the usage window starts anew, in seconds since 1970, where the CLI told it.
    pub resets_at: Option<i64>,
}

/// Whether a run succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// By the rule of its adapter.
    Succeeded,
    /// For the reason that the class tells.
    Failed,
}

impl Verdict {
    /// Makes the verdict of a success.
    pub fn success() -> Self {
        Self {
            outcome: Outcome::Succeeded,
            class: None,
            resets_at: None,
        }
    }

    /// Makes the verdict of a failure.
    pub fn failure(class: Class) -> Self {
        Self {
            outcome: Outcome::Failed,
            class: Some(class),
            resets_at: None,
        }
    }

    /// Adds when the usage window starts anew.
    #[must_use]
    pub fn until(mut self, resets_at: Option<i64>) -> Self {
        self.resets_at = resets_at;
        self
    }
}
