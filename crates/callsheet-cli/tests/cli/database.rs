//! A PostgreSQL database of a test's own, on the server that `scripts/postgres` starts.

#![expect(
    clippy::unwrap_used,
    reason = "a server that cannot be used fails the test"
)]

use std::sync::atomic::{AtomicU32, Ordering};

use crate::project::skip;

/// The variable with the URL of a server on which databases may be made.
const SERVER: &str = "CALLSHEET_TEST_POSTGRES";

/// A database that goes when the test is over.
pub(crate) struct Database {
    pub(crate) server: String,
    pub(crate) name: String,
}

impl Database {
    /// Makes an empty database; none where there is no server, which is told and is a failure in CI.
    pub(crate) fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let Ok(server) = std::env::var(SERVER) else {
            skip(&format!(
                "`{SERVER}` is not set, see `scripts/postgres --help`"
            ));
            return None;
        };
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("callsheet_cli_{}_{count}", std::process::id());
        let database = Self { server, name };
        database.admin(&format!("create database {}", database.name));
        Some(database)
    }

    pub(crate) fn admin(&self, sql: &str) {
        let mut client = postgres::Client::connect(&self.server, postgres::NoTls).unwrap();
        client.batch_execute(sql).unwrap();
    }

    pub(crate) fn url(&self) -> String {
        let base = self.server.rsplit_once('/').unwrap().0;
        format!("{base}/{}", self.name)
    }

    pub(crate) fn password(&self) -> String {
        let login = self.server.split('@').next().unwrap();
        login.rsplit(':').next().unwrap().to_owned()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.admin(&format!("drop database {} with (force)", self.name));
    }
}
