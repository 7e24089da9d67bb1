//! Work for the threads that own a connection: a piece of work is sent over, its result comes back.
//!
//! A job may run more than once, because a transaction may have to be repeated; its result is handed out once, after
//! the commit.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Tx;
use crate::StoreError;

/// Work inside of a transaction, with somebody who waits for its result.
pub(crate) trait Job: Send {
    /// Tells whether the work may change something.
    #[cfg(feature = "postgres")]
    fn writes(&self) -> bool;

    /// Does the work and keeps its result.
    fn run(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError>;

    /// Hands out the result of the last run, or why there is none.
    fn done(self: Box<Self>, verdict: Result<(), StoreError>);
}

/// A closure as a job.
pub(crate) struct Closure<T, F> {
    #[cfg(feature = "postgres")]
    writes: bool,
    work: F,
    value: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Closure<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
{
    /// Makes a job and the place where its result arrives.
    pub(crate) fn job(
        #[cfg_attr(
            not(feature = "postgres"),
            expect(
                unused_variables,
                reason = "a file has a queue of its own for what writes"
            )
        )]
        writes: bool,
        work: F,
    ) -> (Box<dyn Job>, oneshot::Receiver<Result<T, StoreError>>) {
        let (reply, result) = oneshot::channel();
        let task = Self {
            #[cfg(feature = "postgres")]
            writes,
            work,
            value: None,
            reply,
        };
        (Box::new(task), result)
    }
}

impl<T, F> Job for Closure<T, F>
where
    T: Send,
    F: FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send,
{
    #[cfg(feature = "postgres")]
    fn writes(&self) -> bool {
        self.writes
    }

    fn run(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        // The thread outlives a bug in one job; whoever waits for it must not wait forever.
        let ran = catch_unwind(AssertUnwindSafe(|| (self.work)(tx)));
        let value = ran.unwrap_or_else(|_| {
            Err(StoreError::unavailable(
                tx.store(),
                "gave up a step that panicked",
            ))
        })?;
        self.value = Some(value);
        Ok(())
    }

    fn done(self: Box<Self>, verdict: Result<(), StoreError>) {
        let Self { value, reply, .. } = *self;
        let missing = || StoreError::refused("a step ended without a result");
        let result = verdict.and_then(|()| value.ok_or_else(missing));
        // Nobody has to wait: what is committed stays.
        let _ = reply.send(result);
    }
}

/// Jobs that wait for a thread, in order.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Box<dyn Job>>,
    closed: bool,
}

impl Queue {
    /// Adds a job; one that comes after the end is dropped, and so is its reply.
    pub(crate) fn push(&self, job: Box<dyn Job>) {
        let mut waiting = self.lock();
        if !waiting.closed {
            waiting.jobs.push_back(job);
            drop(waiting);
            self.arrived.notify_one();
        }
    }

    /// Waits for jobs and returns up to `most` of them; none at the end.
    pub(crate) fn take(&self, most: usize) -> Option<Vec<Box<dyn Job>>> {
        let mut waiting = self.lock();
        loop {
            if !waiting.jobs.is_empty() {
                let count = waiting.jobs.len().min(most);
                return Some(waiting.jobs.drain(..count).collect());
            }
            if waiting.closed {
                return None;
            }
            waiting = self
                .arrived
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the queue; what waits is still done.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
