//! What a server complains about, in our words, and whether trying again helps.
//!
//! The texts are those of the server and of the client library; neither knows how to print a password.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::wire::Trouble;
use crate::StoreError;

/// Why a transaction failed.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    error: StoreError,
    remedy: Remedy,
}

/// What may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Nothing.
    None,
    /// The same once more: others were in the way.
    Repeat,
    /// The same once more, as long as those who hold a lock get on.
    Wait,
    /// The same once more with statements prepared anew: the schema has changed below them.
    Prepare,
    /// The same on a new connection: this one was gone before anything was done on it.
    Reconnect,
}

impl Fault {
    /// Says what the server complains about.
    pub(super) fn new(store: &str, trouble: &Trouble) -> Self {
        let state = trouble.code();
        let remedy = if state == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
            || state == Some(&SqlState::T_R_DEADLOCK_DETECTED)
            // Somebody has written the same meanwhile; the next look sees it.
            || state == Some(&SqlState::UNIQUE_VIOLATION)
        {
            Remedy::Repeat
        } else if state == Some(&SqlState::LOCK_NOT_AVAILABLE) {
            Remedy::Wait
        } else if state == Some(&SqlState::FEATURE_NOT_SUPPORTED)
            && trouble.message().contains("cached plan")
        {
            Remedy::Prepare
        } else {
            Remedy::None
        };
        Self {
            error: told(store, trouble),
            remedy,
        }
    }

    /// Says why a transaction could not even begin.
    pub(super) fn at_begin(store: &str, trouble: &Trouble) -> Self {
        let lost = matches!(trouble, Trouble::Said(error) if is_down(error));
        Self {
            error: told(store, trouble),
            remedy: if lost {
                Remedy::Reconnect
            } else {
                Remedy::None
            },
        }
    }

    /// Passes on what the work itself says.
    pub(super) fn of_work(error: StoreError) -> Self {
        Self {
            error,
            remedy: Remedy::None,
        }
    }

    /// Returns what may help.
    pub(super) fn remedy(&self) -> Remedy {
        self.remedy
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        fault.error
    }
}

impl Trouble {
    /// Returns the code of what the server says.
    fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Said(error) => error.code(),
            Self::Silent(_) | Self::System(_) => None,
        }
    }

    /// Returns what the server says.
    fn message(&self) -> &str {
        match self {
            Self::Said(error) => error.as_db_error().map_or("", |db| db.message()),
            Self::Silent(_) | Self::System(_) => "",
        }
    }

    /// Tells whether a server takes nobody more at this moment, and will again.
    pub(super) fn is_crowded(&self) -> bool {
        let crowded = [SqlState::TOO_MANY_CONNECTIONS, SqlState::CANNOT_CONNECT_NOW];
        self.code().is_some_and(|code| crowded.contains(code))
    }
}

/// Returns the error for people of something that the server or the way to it refused.
pub(super) fn told(store: &str, trouble: &Trouble) -> StoreError {
    let error = match trouble {
        Trouble::Said(error) => error,
        Trouble::Silent(limit) => {
            let seconds = limit.as_secs_f64();
            let why = format!("cannot be reached: no answer within {seconds} seconds");
            return StoreError::unavailable(store, why);
        }
        Trouble::System(error) => {
            let why = format!("cannot be reached: {error}");
            return StoreError::unavailable(store, why);
        }
    };
    let Some(db) = error.as_db_error() else {
        if is_down(error) {
            let why = format!("cannot be reached: {}", words(error));
            return StoreError::unavailable(store, why);
        }
        let why = format!("an answer cannot be understood: {}", words(error));
        return StoreError::damaged(store, why);
    };
    let said = db.message().replace('\n', " ");
    let why = match db.code().code().get(..2).unwrap_or_default() {
        "28" => format!("refused the login: {said}"),
        "3D" | "3F" => format!("is not there: {said}"),
        "42" if *db.code() == SqlState::INSUFFICIENT_PRIVILEGE => {
            format!("does not permit this: {said}")
        }
        "25" => format!("cannot be written: {said}"),
        "53" if *db.code() == SqlState::TOO_MANY_CONNECTIONS => {
            format!("takes no more connections: {said}")
        }
        "53" => format!("has no room left: {said}"),
        "57" if *db.code() == SqlState::QUERY_CANCELED => format!("took too long: {said}"),
        "08" | "57" | "58" => format!("cannot be reached: {said}"),
        "40" | "55" => "is locked by another process".to_owned(),
        _ => {
            let why = format!("a rule of the schema does not hold: {said}");
            return StoreError::damaged(store, why);
        }
    };
    StoreError::unavailable(store, why)
}

/// Tells whether the connection is gone or never was there.
fn is_down(error: &Error) -> bool {
    let class = error.code().map(SqlState::code);
    let ends = class.is_some_and(|code| code.starts_with("57P") || code.starts_with("08"));
    let by_system = error
        .source()
        .is_some_and(|cause| cause.downcast_ref::<std::io::Error>().is_some());
    let by_library = error.as_db_error().is_none() && !error.to_string().contains("erializ");
    error.is_closed() || ends || by_system || by_library
}

/// Returns what the library says and why, on one line.
fn words(error: &Error) -> String {
    let text = match error.source() {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    };
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_lowercase());
    first
        .into_iter()
        .chain(chars)
        .collect::<String>()
        .replace('\n', " ")
}
