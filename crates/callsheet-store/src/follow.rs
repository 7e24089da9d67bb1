//! Following a project: first what is stored, then what comes, without a gap between the two.
//!
//! A follower is told that there may be news and then reads them from the store by their numbers. So a slow or a late
//! one loses nothing, and nobody sees an event that is not stored.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::event::StoredEvent;
use crate::project::Project;
use crate::wait::{Wait, block_until};
use crate::{Store, StoreError};

/// How many events are read at once.
const BATCH: usize = 500;

/// A reader of events who has come to some number and goes on from there.
#[derive(Debug)]
pub struct Follower {
    store: Store,
    project: Project,
    seq: i64,
    news: watch::Receiver<u64>,
}

impl Store {
    /// Follows the events of a project with a number above `since`.
    pub fn follow(&self, project: &Project, since: i64) -> Result<Follower, StoreError> {
        Ok(Follower {
            news: self.news()?,
            store: self.clone(),
            project: project.clone(),
            seq: since,
        })
    }
}

impl Follower {
    /// Waits for events and returns the next ones, the oldest first.
    ///
    /// To give up waiting, drop the future: no event is lost by that. After an error the follower goes on where it
    /// was; whoever calls again decides how soon.
    pub async fn next(&mut self) -> Result<Vec<StoredEvent>, StoreError> {
        loop {
            let events = self.read().await?;
            if !events.is_empty() {
                return Ok(events);
            }
            self.changed().await?;
        }
    }

    /// Waits for events on this thread and returns the next ones; none if `timeout` passes without any.
    pub fn next_within(&mut self, timeout: Duration) -> Result<Vec<StoredEvent>, StoreError> {
        let deadline = Instant::now() + timeout;
        loop {
            let events = self.read().wait()?;
            if !events.is_empty() {
                return Ok(events);
            }
            match block_until(self.changed(), deadline) {
                Some(changed) => changed?,
                None => return Ok(Vec::new()),
            }
        }
    }

    /// Waits on this thread until there may be news of any kind; `false` if `timeout` passes without any.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, StoreError> {
        match block_until(self.changed(), Instant::now() + timeout) {
            Some(changed) => changed.map(|()| true),
            None => Ok(false),
        }
    }

    /// Returns the number of the last event that was handed out.
    pub fn seq(&self) -> i64 {
        self.seq
    }

    async fn read(&mut self) -> Result<Vec<StoredEvent>, StoreError> {
        // In this order: what is committed after the look at the store counts as news.
        self.news.mark_unchanged();
        let events = self
            .store
            .events_since(&self.project, self.seq, BATCH)
            .await?;
        if let Some(last) = events.last() {
            self.seq = last.seq;
        }
        Ok(events)
    }

    async fn changed(&mut self) -> Result<(), StoreError> {
        let name = self.store.location().to_string();
        let closed = |_| StoreError::unavailable(&name, "has been closed");
        self.news.changed().await.map_err(closed)
    }
}
