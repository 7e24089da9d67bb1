//! A place for the store of one test, which goes when the test is over.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use callsheet::Event;
use callsheet_store::{
    Access, Claim, Finding, Id, Location, NewEvent, NewRun, Project, RunKind, Store, Wait,
};
use tempfile::TempDir;

use crate::prompts;

/// The variable with the URL of a server on which databases may be made.
const SERVER: &str = "CALLSHEET_TEST_POSTGRES";

/// Where a test keeps its store.
pub(crate) struct TestStore {
    text: String,
    folder: TempDir,
    server: Option<String>,
}

impl TestStore {
    /// Makes a place for a file.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".callsheet/callsheet.db");
        Self {
            text: path.to_str().unwrap().to_owned(),
            folder,
            server: None,
        }
    }

    /// Makes an empty database; none where there is no server, which is told and is a failure in CI.
    pub(crate) fn postgres() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let server = server()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("callsheet_{}_{count}", std::process::id());
        admin(&server, &format!("create database {name}"));
        let base = server.rsplit_once('/').unwrap().0;
        Some(Self {
            text: format!("{base}/{name}"),
            folder: tempfile::tempdir().unwrap(),
            server: Some(server),
        })
    }

    pub(crate) fn location(&self) -> Location {
        Location::parse(&self.text).unwrap()
    }

    /// Returns the place as a user would write it, with the password.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn file(&self) -> PathBuf {
        PathBuf::from(&self.text)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.server.is_none()
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(&self.location(), Access::Write).unwrap()
    }

    /// Connects to the server behind the back of the store.
    pub(crate) fn client(&self) -> postgres::Client {
        client(&self.text)
    }

    /// Runs a statement behind the back of the store and returns how many rows it changed.
    pub(crate) fn raw(&self, sql: &str) -> u64 {
        if self.is_sqlite() {
            let connection = rusqlite::Connection::open(&self.text).unwrap();
            return connection.execute(sql, []).unwrap() as u64;
        }
        self.client().execute(sql, &[]).unwrap()
    }

    /// Returns the numbers of one column.
    pub(crate) fn numbers(&self, sql: &str) -> Vec<i64> {
        if self.is_sqlite() {
            let connection = rusqlite::Connection::open(&self.text).unwrap();
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            return rows.map(Result::unwrap).collect();
        }
        let mut client = self.client();
        let sql = format!("select n::bigint from ({sql}) as found (n)");
        let rows = client.query(&sql, &[]).unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Returns one number.
    pub(crate) fn count(&self, sql: &str) -> i64 {
        self.numbers(sql)[0]
    }

    /// Returns the bytes of one value.
    pub(crate) fn bytes(&self, sql: &str) -> Vec<u8> {
        if self.is_sqlite() {
            let connection = rusqlite::Connection::open(&self.text).unwrap();
            return connection.query_row(sql, [], |row| row.get(0)).unwrap();
        }
        self.client().query_one(sql, &[]).unwrap().get(0)
    }

    /// Returns bytes as the database writes them.
    pub(crate) fn literal(&self, bytes: &[u8]) -> String {
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let digits = digits.concat();
        if self.is_sqlite() {
            format!("x'{digits}'")
        } else {
            format!("decode('{digits}', 'hex')")
        }
    }

    /// Says which schema the store has.
    pub(crate) fn set_schema(&self, schema: i64) {
        if self.is_sqlite() {
            self.raw(&format!("pragma user_version = {schema}"));
        } else {
            self.raw(&format!("update callsheet_schema set version = {schema}"));
        }
    }

    /// Queues some first runs.
    pub(crate) fn queue(&self, store: &Store, project: &Project, count: usize) -> Vec<Id> {
        let prompt = prompts::seal(store, project, "A task.").0.id;
        let new = NewRun {
            prompt,
            kind: RunKind::First,
            parent: None,
            request: serde_json::json!({"runner": "local"}),
            task: None,
            batch: None,
        };
        (0..count)
            .map(|_| store.queue_run(project, new.clone()).wait().unwrap())
            .collect()
    }
}

impl Drop for TestStore {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            let name = self.text.rsplit_once('/').unwrap().1;
            admin(server, &format!("drop database {name} with (force)"));
        }
    }
}

/// Returns the URL of the server, where there is one.
pub(crate) fn server() -> Option<String> {
    let server = std::env::var(SERVER).ok();
    if server.is_none() {
        skip(&format!(
            "`{SERVER}` is not set, see `scripts/postgres --help`"
        ));
    }
    server
}

/// Connects to a server and finds the tables of a store first.
pub(crate) fn client(url: &str) -> postgres::Client {
    let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
    client
        .batch_execute("set statement_timeout = 0; set default_transaction_read_only = off; set search_path = callsheet, public")
        .unwrap();
    client
}

fn admin(server: &str, sql: &str) {
    client(server).batch_execute(sql).unwrap();
}

/// Tells whoever reads the output of the test why it did nothing; in CI nothing is skipped.
pub(crate) fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "skipped: {why}");
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Makes an event with a number in it.
pub(crate) fn event(number: i64) -> NewEvent {
    Event::new("test:event", [("number", number.into())], "it happened").into()
}

/// Claims the queued run that waits longest.
pub(crate) fn claim(
    store: &Store,
    project: &Project,
    worker: &str,
    lease: Duration,
) -> Option<Claim> {
    store
        .claim_queued(project, worker, lease, |_, _| true)
        .wait()
        .unwrap()
}

/// Returns what verifying finds.
pub(crate) fn findings(store: &Store) -> Vec<Finding> {
    let (send, receive) = std::sync::mpsc::channel();
    store
        .verify(move |finding| send.send(finding).unwrap())
        .wait()
        .unwrap();
    receive.into_iter().collect()
}

/// Returns the numbers of all events of a project.
pub(crate) fn seqs(store: &Store, project: &Project) -> Vec<i64> {
    let events = store.events_since(project, 0, usize::MAX).wait().unwrap();
    events.iter().map(|event| event.seq).collect()
}

/// Fails unless numbers are 1, 2, 3 and so on.
#[track_caller]
pub(crate) fn assert_gapless(seqs: &[i64]) {
    let wanted: Vec<i64> = (1..).take(seqs.len()).collect();
    assert_eq!(seqs, wanted);
}
