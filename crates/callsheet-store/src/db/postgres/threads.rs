//! The threads that own the connections.
//!
//! A connection that is lost fails the job that was under way, because nobody can know how far the server got; the next
//! job gets a new one.

use std::sync::Arc;
use std::time::Duration;

use super::fault::Remedy;
use super::{Fault, Session};
use crate::StoreError;
use crate::db::{Job, Queue};
use crate::location::Server;

/// How often a job is tried in all.
const TRIES: usize = 6;

/// The way to a server.
#[derive(Clone)]
pub(crate) struct Link {
    server: Server,
    store: Arc<str>,
    busy: Duration,
}

impl Link {
    /// Names a server; `busy` is how long to wait for others who write.
    pub(crate) fn new(server: &Server, store: &Arc<str>, busy: Duration) -> Self {
        Self {
            server: server.clone(),
            store: Arc::clone(store),
            busy,
        }
    }

    /// Checks that the server answers and that its schema is that of this program, to which it is brought.
    ///
    /// Where there is no store yet, one is made only if `make` says so.
    pub(crate) fn check(&self, make: bool) -> Result<(), StoreError> {
        self.connect()?.migrate(make)
    }

    pub(super) fn connect(&self) -> Result<Session, StoreError> {
        Session::connect(&self.server, &self.store, self.busy)
    }
}

/// Does jobs until the queue ends.
pub(crate) fn work(link: &Link, queue: &Queue) {
    let mut session = None;
    while let Some(jobs) = queue.take(1) {
        for mut job in jobs {
            let verdict = settle(link, &mut session, job.as_mut());
            job.done(verdict);
        }
    }
}

fn settle(link: &Link, session: &mut Option<Session>, job: &mut dyn Job) -> Result<(), StoreError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let open = match session {
            Some(open) => open,
            None => session.insert(link.connect()?),
        };
        let verdict = open.transact(job.writes(), &mut |tx| job.run(tx));
        if open.client.is_closed() {
            *session = None;
        }
        match verdict {
            Ok(()) => return Ok(()),
            Err(fault) if tries < TRIES && helps(&fault, session) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
}

/// Applies a remedy and tells whether there is one.
fn helps(fault: &Fault, session: &mut Option<Session>) -> bool {
    match fault.remedy() {
        Remedy::None => return false,
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
