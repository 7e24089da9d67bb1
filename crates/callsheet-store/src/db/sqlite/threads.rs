//! The threads that own the connections.
//!
//! The writer takes all jobs that wait into one transaction, so that one sync of the disk serves them all; each job
//! still fails alone. Nobody hears of a success before the commit.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::error::{is_busy, store_error};
use super::open::ReadConnection;
use super::watch::version_of;
use super::{File, Session};
use crate::StoreError;
use crate::db::{Job, Queue};

/// The most jobs that share a commit.
const GROUP: usize = 256;

/// How long to wait before a transaction is tried again: at first, and later. Everybody asks as often as those who wait
/// longer, so that a crowd of processes gets in one by one; SQLite's own way prefers whoever came last.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(1),
    Duration::from_millis(3),
    Duration::from_millis(10),
];

/// How often a read is repeated because the file changed below it.
const REPEATS: usize = 3;

/// The one that writes.
pub(crate) struct Writer {
    connection: Connection,
    file: File,
}

/// Why none of the jobs of a group are committed.
enum Lost {
    /// The transaction could not begin, so trying them one by one would only wait again.
    AtBegin(StoreError),
    /// Something broke the transaction as a whole.
    Later(StoreError),
}

impl Writer {
    /// Opens the file for writing.
    pub(crate) fn open(file: File) -> Result<Self, StoreError> {
        let connection = file.writer()?;
        // It waits for others in its own way, and only for a transaction to begin.
        let waits = connection.busy_timeout(Duration::ZERO);
        waits.map_err(|error| store_error(file.store(), &error))?;
        Ok(Self { connection, file })
    }

    /// Does jobs until the queue ends, and calls `committed` after each commit.
    pub(crate) fn work(&self, queue: &Queue, committed: &dyn Fn()) {
        while let Some(jobs) = queue.take(GROUP) {
            self.settle(jobs, committed);
        }
    }

    fn settle(&self, mut jobs: Vec<Box<dyn Job>>, committed: &dyn Fn()) {
        let before = self.connection.total_changes();
        match self.attempt(&mut jobs) {
            Ok(verdicts) => {
                // Whoever waits for news asks again, possibly by a job such as this one.
                if self.connection.total_changes() != before {
                    committed();
                }
                for (job, verdict) in jobs.into_iter().zip(verdicts) {
                    job.done(verdict);
                }
            }
            Err(Lost::Later(_)) if jobs.len() > 1 => {
                for job in jobs {
                    self.settle(vec![job], committed);
                }
            }
            Err(Lost::AtBegin(error) | Lost::Later(error)) => {
                for job in jobs {
                    job.done(Err(error.clone()));
                }
            }
        }
    }

    /// Runs jobs in one transaction and returns what became of each.
    fn attempt(&self, jobs: &mut [Box<dyn Job>]) -> Result<Vec<Result<(), StoreError>>, Lost> {
        self.begin().map_err(Lost::AtBegin)?;
        let mut verdicts = Vec::with_capacity(jobs.len());
        for job in jobs {
            verdicts.push(self.step(job.as_mut())?);
        }
        self.run("commit").map_err(|error| self.broken(error))?;
        Ok(verdicts)
    }

    /// Begins a transaction. As long as others commit theirs, this one has its turn to come, however many they are.
    fn begin(&self) -> Result<(), StoreError> {
        let mut pauses = PAUSES.into_iter();
        let mut waiting: Option<(Instant, Option<i64>)> = None;
        loop {
            let begun = execute(&self.connection, "begin immediate");
            let error = match begun {
                Err(error) if is_busy(&error) => error,
                other => return other.map_err(|error| store_error(self.file.store(), &error)),
            };
            let seen = || (Instant::now(), version_of(&self.connection));
            let (since, version) = *waiting.get_or_insert_with(seen);
            if since.elapsed() >= self.file.busy() {
                let now = seen();
                if now.1 == version {
                    return Err(store_error(self.file.store(), &error));
                }
                waiting = Some(now);
            }
            let [.., longest] = PAUSES;
            sleep(pauses.next().unwrap_or(longest));
        }
    }

    /// Runs one job so that its failure leaves the others alone.
    fn step(&self, job: &mut dyn Job) -> Result<Result<(), StoreError>, Lost> {
        let broken = |error| self.broken(error);
        self.run("savepoint job").map_err(broken)?;
        let verdict = job.run(&mut Session {
            connection: &self.connection,
            store: self.file.store(),
        });
        if let Err(error) = &verdict {
            // A full disk, for one, ends the whole transaction without asking.
            if self.connection.is_autocommit() {
                return Err(Lost::Later(error.clone()));
            }
            self.run("rollback to job").map_err(broken)?;
        }
        self.run("release job").map_err(broken)?;
        Ok(verdict)
    }

    fn broken(&self, error: StoreError) -> Lost {
        if !self.connection.is_autocommit() {
            // If this fails as well, so will the next begin, which is reported then.
            let _ = self.run("rollback");
        }
        Lost::Later(error)
    }

    fn run(&self, sql: &str) -> Result<(), StoreError> {
        run(&self.connection, self.file.store(), sql)
    }
}

/// Does jobs that only read until the queue ends.
pub(crate) fn read(file: &File, queue: &Queue) {
    let mut reader = None;
    while let Some(jobs) = queue.take(1) {
        for mut job in jobs {
            let verdict = look(file, &mut reader, job.as_mut());
            job.done(verdict);
        }
    }
}

/// Runs one job on a connection that shows what is in the file.
fn look(
    file: &File,
    reader: &mut Option<ReadConnection>,
    job: &mut dyn Job,
) -> Result<(), StoreError> {
    for _ in 0..REPEATS {
        if reader.as_ref().is_some_and(|open| !file.is_current(open)) {
            *reader = None;
        }
        let open = match reader {
            Some(open) => open,
            None => reader.insert(file.reader()?),
        };
        let verdict = snapshot(&open.connection, file, job);
        if file.is_current(open) {
            return verdict;
        }
    }
    let why = "changes while it is read, and its folder is read-only";
    Err(StoreError::unavailable(file.store(), why))
}

/// Runs one job on one state of the file.
fn snapshot(connection: &Connection, file: &File, job: &mut dyn Job) -> Result<(), StoreError> {
    let store = file.store();
    run(connection, store, "begin")?;
    let verdict = job.run(&mut Session { connection, store });
    if connection.is_autocommit() {
        return verdict;
    }
    verdict.and(run(connection, store, "rollback"))
}

fn run(connection: &Connection, store: &str, sql: &str) -> Result<(), StoreError> {
    execute(connection, sql).map_err(|error| store_error(store, &error))
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.raw_execute().map(|_| ())
}
