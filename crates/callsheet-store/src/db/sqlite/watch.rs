//! Notices what other processes commit to the file.
//!
//! What this process commits is announced by the writer; SQLite has no way to call, so this one asks.

use std::time::Duration;

use rusqlite::Connection;

use super::File;
use super::open::ReadConnection;
use crate::db::Shutdown;

/// How often the file is asked; the question costs a look at shared memory.
const PAUSE: Duration = Duration::from_millis(50);

/// Calls `changed` whenever the file may have changed, until the sign.
pub(crate) fn watch(file: &File, shutdown: &Shutdown, changed: &dyn Fn()) {
    let mut seen: Option<(ReadConnection, i64)> = None;
    while !shutdown.within(PAUSE) {
        let now = seen.as_ref().and_then(|(reader, version)| {
            let now = version_of(&reader.connection)?;
            (now == *version && file.is_current(reader)).then_some(now)
        });
        if now.is_some() {
            continue;
        }
        // Whoever is called reads for himself, and tells if that fails.
        seen = file.reader().ok().and_then(|reader| {
            let version = version_of(&reader.connection)?;
            Some((reader, version))
        });
        changed();
    }
}

/// Returns a number that changes when another connection commits something.
pub(super) fn version_of(connection: &Connection) -> Option<i64> {
    connection
        .query_row("pragma data_version", [], |row| row.get(0))
        .ok()
}
