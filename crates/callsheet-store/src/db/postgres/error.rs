//! Errors of a server, in our words, and whether trying again helps.
//!
//! The texts are those of the server and of the client library; neither knows how to print a password.

use std::error::Error as _;
use std::time::Duration;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::connection::ConnectionError;
use crate::StoreError;
use crate::location::cause;

/// Why a transaction failed.
#[derive(Clone, Debug)]
pub(super) struct TransactionError {
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

impl TransactionError {
    /// Says what the server complains about.
    pub(super) fn new(store: &str, failure: &ConnectionError) -> Self {
        let state = failure.code();
        let remedy = if state == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
            || state == Some(&SqlState::T_R_DEADLOCK_DETECTED)
            // Somebody has written the same meanwhile; the next look sees it.
            || state == Some(&SqlState::UNIQUE_VIOLATION)
        {
            Remedy::Repeat
        } else if state == Some(&SqlState::LOCK_NOT_AVAILABLE) {
            Remedy::Wait
        } else if state == Some(&SqlState::FEATURE_NOT_SUPPORTED)
            && failure.message().contains("cached plan")
        {
            Remedy::Prepare
        } else {
            Remedy::None
        };
        Self {
            error: store_error(store, failure),
            remedy,
        }
    }

    /// Says why a transaction could not even begin.
    pub(super) fn at_begin(store: &str, failure: &ConnectionError) -> Self {
        let lost = matches!(failure, ConnectionError::Said(error) if is_down(error));
        Self {
            error: store_error(store, failure),
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

    /// Returns the error of a transaction that is not tried again, after all the time and tries that it took.
    pub(super) fn given_up(self, store: &str, waited: Duration, tries: u32) -> StoreError {
        let why = match (self.remedy, &self.error) {
            (Remedy::Wait, _) => format!(
                "is locked: another transaction holds what this one needs, and did not let go within {}; \
                try again when it is done, or end the session that holds it (see `pg_stat_activity`)",
                seconds(waited)
            ),
            (Remedy::Repeat, StoreError::Unavailable { .. }) => format!(
                "is busy: {tries} times in {}, others changed the same at the same time; try again",
                seconds(waited)
            ),
            _ => return self.error,
        };
        StoreError::unavailable(store, why)
    }

    /// Returns what may help.
    pub(super) fn remedy(&self) -> Remedy {
        self.remedy
    }
}

impl From<TransactionError> for StoreError {
    fn from(error: TransactionError) -> Self {
        error.error
    }
}

impl ConnectionError {
    /// Returns the code of what the server says.
    fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Said(error) | Self::Cancelled(error, _) => error.code(),
            _ => None,
        }
    }

    /// Returns what the server says.
    fn message(&self) -> &str {
        match self {
            Self::Said(error) | Self::Cancelled(error, _) => {
                error.as_db_error().map_or("", |db| db.message())
            }
            _ => "",
        }
    }

    /// Tells whether a server takes nobody more at this moment, and will again.
    pub(super) fn is_crowded(&self) -> bool {
        let crowded = [SqlState::TOO_MANY_CONNECTIONS, SqlState::CANNOT_CONNECT_NOW];
        self.code().is_some_and(|code| crowded.contains(code))
    }
}

/// Returns the error for people of something that the server or the way to it refused.
pub(super) fn store_error(store: &str, failure: &ConnectionError) -> StoreError {
    let error = match failure {
        ConnectionError::Said(error) => error,
        ConnectionError::Cancelled(_, limit) => {
            let why = cancelled(failure.message(), *limit);
            return StoreError::unavailable(store, why);
        }
        ConnectionError::Silent(limit) => {
            let why = format!("cannot be reached: no answer within {}", seconds(*limit));
            return StoreError::unavailable(store, why);
        }
        ConnectionError::Tls(why) => {
            let why = format!("cannot be reached: {why}");
            return StoreError::unavailable(store, why);
        }
        ConnectionError::NoPassword(why) => {
            let why = match why {
                Some(why) => format!("asks for a password: {why}"),
                None => "asks for a password, and there is none: not in the URL, and not in your password file".to_owned(),
            };
            return StoreError::unavailable(store, why);
        }
        ConnectionError::System(error) => {
            let why = format!("cannot be reached: {error}");
            return StoreError::unavailable(store, why);
        }
    };
    let Some(db) = error.as_db_error() else {
        if is_down(error) {
            let why = format!("cannot be reached: {}", error_text(error));
            return StoreError::unavailable(store, why);
        }
        let why = format!("an answer cannot be understood: {}", error_text(error));
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
        "08" | "57" | "58" => format!("cannot be reached: {said}"),
        "40" => "is busy: others changed the same at the same time; try again".to_owned(),
        "55" => "is locked: another transaction holds what this one needs".to_owned(),
        _ => {
            let why = format!("a rule of the schema does not hold: {said}");
            return StoreError::damaged(store, why);
        }
    };
    StoreError::unavailable(store, why)
}

/// Says why the server has cancelled a statement that may take so long.
///
/// The server may say so in any language. In English it is known when somebody asked for it, and all else is time.
fn cancelled(said: &str, limit: Duration) -> String {
    if said == "canceling statement due to user request" {
        return "cancelled a statement because somebody asked the server to; try again".to_owned();
    }
    format!(
        "cancelled a statement that took longer than {}; \
        try again when the server has less to do, or allow more with `answer_timeout=SECONDS` in the URL",
        seconds(limit)
    )
}

/// Returns a time for people.
pub(super) fn seconds(time: Duration) -> String {
    let tenths = (time.as_secs_f64() * 10.0).round() / 10.0;
    let unit = if (tenths - 1.0).abs() < 0.01 {
        "second"
    } else {
        "seconds"
    };
    format!("{tenths} {unit}")
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
fn error_text(error: &Error) -> String {
    match error.source() {
        Some(why) => cause(&why),
        None => cause(error),
    }
}
