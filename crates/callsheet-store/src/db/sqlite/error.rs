//! Errors of SQLite, in our words.

use rusqlite::ErrorCode;

use crate::StoreError;

/// Returns the error for people of something that SQLite refused.
pub(super) fn store_error(store: &str, error: &rusqlite::Error) -> StoreError {
    let why = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            return StoreError::damaged(store, "this file is not a database of Callsheet");
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            let why = format!("the database is damaged: {}", error_text(error));
            return StoreError::damaged(store, why);
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "is locked by another process".to_owned()
        }
        _ if is_full(error) => "cannot be written: the disk is full".to_owned(),
        Some(ErrorCode::ReadOnly) => "cannot be written: it is read-only".to_owned(),
        Some(ErrorCode::CannotOpen) => "cannot be opened".to_owned(),
        Some(ErrorCode::SystemIoFailure) => format!("cannot be used: {}", error_text(error)),
        Some(ErrorCode::OutOfMemory) => "cannot be used: there is no memory left".to_owned(),
        Some(ErrorCode::TooBig) => {
            return StoreError::refused("a value is larger than the store can keep");
        }
        Some(ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
            format!("does not permit this: {}", error_text(error))
        }
        _ => {
            let why = format!("a rule of the schema does not hold: {}", error_text(error));
            return StoreError::damaged(store, why);
        }
    };
    StoreError::unavailable(store, why)
}

/// Returns what SQLite says, on one line.
fn error_text(error: &rusqlite::Error) -> String {
    error.to_string().replace('\n', " ")
}

/// Tells whether the file could not be opened the way it was asked for.
pub(super) fn is_closed_to_us(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    ) || is_full(error)
}

/// Tells whether the disk has no room, also for the file that processes share.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    let shared = error.sqlite_error().map(|error| error.extended_code);
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || shared == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}

/// Tells whether somebody else is in the way, who will leave.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}
