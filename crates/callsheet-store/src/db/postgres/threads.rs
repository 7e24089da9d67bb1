//! The threads that do the jobs, and the connections that they share.
//!
//! A connection that is lost fails the job that was under way, because nobody can know how far the server got; the next
//! job gets a new one. A server that takes nobody more is asked again for a while.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::connection::ConnectionError;
use super::error::{Remedy, store_error};
use super::{Session, TransactionError};
use crate::StoreError;
use crate::db::{Job, Queue};
use crate::location::Server;

/// How often a job is tried in all.
const TRIES: u32 = 20;

/// How long to go on asking a server that takes nobody more, or waiting for a lock that others pass on.
const PATIENCE: Duration = Duration::from_mins(1);

/// The longest pause between two tries.
const LONGEST: Duration = Duration::from_millis(250);

/// A connection pool: the server, and the connections that nobody uses at this moment.
#[derive(Clone)]
pub(crate) struct Pool {
    server: Server,
    store: Arc<str>,
    busy: Duration,
    writes: bool,
    idle: Arc<Mutex<Vec<Session>>>,
}

impl Pool {
    /// Names a server; `busy` is how long to wait for others who write.
    pub(crate) fn new(server: &Server, store: &Arc<str>, busy: Duration, writes: bool) -> Self {
        Self {
            server: server.clone(),
            store: Arc::clone(store),
            busy,
            writes,
            idle: Arc::default(),
        }
    }

    /// Checks that the server answers and that its schema is that of this program, to which it is brought.
    ///
    /// Where there is no store yet, one is made only if `make` says so.
    pub(crate) fn check(&self, make: bool) -> Result<(), StoreError> {
        let mut session = self.dial()?;
        session.migrate(make)?;
        self.give_back(session);
        Ok(())
    }

    /// Makes the room usable again that removed rows took.
    pub(crate) fn vacuum(&self, tables: &[&str]) -> Result<(), StoreError> {
        self.dial()?.vacuum(tables)
    }

    /// Closes the connections that nobody uses.
    pub(crate) fn hang_up(&self) {
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        drop(idle);
    }

    /// Makes a connection of its own, and waits for a while where the server takes nobody more.
    fn dial(&self) -> Result<Session, StoreError> {
        let since = Instant::now();
        let mut tries = 0;
        loop {
            match self.try_dial() {
                Err(failure) if failure.is_crowded() && since.elapsed() < PATIENCE => {
                    tries += 1;
                    pause(tries);
                }
                Err(failure) => return Err(store_error(&self.store, &failure)),
                Ok(session) => {
                    session.refuse_encoding()?;
                    session.refuse_weak(self.writes)?;
                    return Ok(session);
                }
            }
        }
    }

    /// Makes a connection of its own, if the server takes it at once.
    pub(super) fn try_dial(&self) -> Result<Session, ConnectionError> {
        Session::connect(&self.server, &self.store, self.busy)
    }

    fn connect(&self) -> Result<Session, StoreError> {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        match idle {
            Some(session) if !session.connection.is_lost() => Ok(session),
            _ => self.dial(),
        }
    }

    fn give_back(&self, session: Session) {
        if !session.connection.is_lost() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(session);
        }
    }
}

/// Does jobs until the queue ends.
pub(crate) fn work(pool: &Pool, queue: &Queue) {
    while let Some(jobs) = queue.take(1) {
        for mut job in jobs {
            let mut session = None;
            let verdict = settle(pool, &mut session, job.as_mut());
            if let Some(session) = session {
                pool.give_back(session);
            }
            job.done(verdict);
        }
    }
    pool.hang_up();
}

fn settle(pool: &Pool, session: &mut Option<Session>, job: &mut dyn Job) -> Result<(), StoreError> {
    let since = Instant::now();
    let mut tries = 0;
    let mut holders = None;
    loop {
        tries += 1;
        let open = match session {
            Some(open) => open,
            None => session.insert(pool.connect()?),
        };
        let error = match open.transact(job.writes(), &mut |tx| job.run(tx)) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if open.connection.is_lost() {
            *session = None;
        }
        let helps = match error.remedy() {
            Remedy::Wait if since.elapsed() < PATIENCE => {
                is_passed_on(session.as_ref(), &mut holders)
            }
            _ => tries < TRIES && helps(&error, session),
        };
        if !helps {
            return Err(error.given_up(&pool.store, since.elapsed(), tries));
        }
        if error.remedy() == Remedy::Repeat {
            pause(tries);
        }
    }
}

/// Applies a remedy and tells whether there is one.
fn helps(error: &TransactionError, session: &mut Option<Session>) -> bool {
    match error.remedy() {
        Remedy::None | Remedy::Wait => return false,
        Remedy::Repeat => {}
        Remedy::Prepare => {
            if let Some(open) = session {
                open.statements.clear();
            }
        }
        Remedy::Reconnect => *session = None,
    }
    true
}

/// Tells whether nobody holds a lock who held one the last time: then it is passed on, and this one has its turn to come.
fn is_passed_on(session: Option<&Session>, holders: &mut Option<Vec<String>>) -> bool {
    let Some(now) = session.and_then(Session::holders) else {
        return false;
    };
    let before = holders.replace(now.clone());
    before.is_none_or(|before| !now.iter().any(|holder| before.contains(holder)))
}

/// Waits a little, and longer each time; not as long as others who wait, so that they do not all come back at once.
fn pause(tries: u32) {
    let most = Duration::from_millis(1) * 2_u32.saturating_pow(tries.min(10));
    sleep(most.min(LONGEST).mul_f64(crate::id::fraction()));
}
