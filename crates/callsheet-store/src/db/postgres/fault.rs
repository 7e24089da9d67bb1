//! What a server complains about, in our words, and whether trying again helps.
//!
//! The texts are those of the server and of the client library; neither knows how to print a password.

use std::error::Error as _;

use postgres::error::SqlState;

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
    /// The same once more with statements prepared anew: the schema has changed below them.
    Prepare,
    /// The same on a new connection: this one was gone before anything was done on it.
    Reconnect,
}

impl Fault {
    /// Says what the server complains about.
    pub(super) fn new(store: &str, error: &postgres::Error) -> Self {
        let state = error.code();
        let remedy = if state == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
            || state == Some(&SqlState::T_R_DEADLOCK_DETECTED)
            // Somebody has written the same meanwhile; the next look sees it.
            || state == Some(&SqlState::UNIQUE_VIOLATION)
        {
            Remedy::Repeat
        } else if state == Some(&SqlState::FEATURE_NOT_SUPPORTED)
            && error.to_string().contains("cached plan")
        {
            Remedy::Prepare
        } else {
            Remedy::None
        };
        Self {
            error: told(store, error),
            remedy,
        }
    }

    /// Says why a transaction could not even begin.
    pub(super) fn at_begin(store: &str, error: &postgres::Error) -> Self {
        let lost = error.is_closed() || is_down(error);
        Self {
            error: told(store, error),
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

/// Returns the error for people of something that the server or the way to it refused.
pub(super) fn told(store: &str, error: &postgres::Error) -> StoreError {
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
        "53" => format!("has no room left: {said}"),
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
fn is_down(error: &postgres::Error) -> bool {
    let class = error.code().map(SqlState::code);
    let ends = class.is_some_and(|code| code.starts_with("57P") || code.starts_with("08"));
    let by_system = error
        .source()
        .is_some_and(|cause| cause.downcast_ref::<std::io::Error>().is_some());
    let by_library = error.as_db_error().is_none() && !error.to_string().contains("erializ");
    error.is_closed() || ends || by_system || by_library
}

/// Returns what the library says and why, on one line.
fn words(error: &postgres::Error) -> String {
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
