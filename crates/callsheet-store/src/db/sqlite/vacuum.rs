//! Giving room back to the disk that removed rows took.

use rusqlite::{Connection, OpenFlags};

use super::error::{is_busy, is_full, store_error};
use super::open::File;
use crate::StoreError;

/// How many pages are given back in one transaction: on a full disk, each makes the room that the next one needs.
const PAGES: i64 = 256;

/// What `pragma auto_vacuum` says of a file that can give pages back one by one.
const INCREMENTAL: i64 = 2;

impl File {
    /// Gives the room back that nothing takes any more. Where others are in the way, or the disk has no room to move
    /// pages, it is left for the next time.
    pub(crate) fn give_back(&self) -> Result<(), StoreError> {
        let connection = self.connect(self.path(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let given = match give_back(&connection) {
            Err(error) if is_busy(&error) || is_full(&error) => Ok(()),
            done => done.map_err(|error| store_error(self.store(), &error)),
        };
        self.keep_reserve();
        given
    }
}

fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("pragma synchronous = full")?;
    // What is in the log is in the way of everything that follows, and takes room of its own.
    checkpoint(connection)?;
    if number(connection, "pragma auto_vacuum")? != INCREMENTAL {
        connection.execute_batch("pragma auto_vacuum = incremental; vacuum")?;
    }
    let mut free = number(connection, "pragma freelist_count")?;
    while free > 0 {
        // Each row that is asked for is a page.
        let mut statement = connection.prepare(&format!("pragma incremental_vacuum({PAGES})"))?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        drop(rows);
        checkpoint(connection)?;
        let left = number(connection, "pragma freelist_count")?;
        if left >= free {
            break;
        }
        free = left;
    }
    checkpoint(connection)
}

/// Brings what the log has into the file, as far as nobody reads it, and cuts both to what they need.
fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))
}

fn number(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
    connection.query_row(sql, [], |row| row.get(0))
}
