//! One listener: each event once, in order, from a number on.

use std::collections::VecDeque;
use std::sync::Arc;

use callsheet_store::{Id, StoreError};
use tokio::sync::watch;

use super::Bus;
use super::bus::{Frame, LATEST};

/// How many events a listener takes at once.
const PAGE: usize = 200;

/// What a listener gets.
#[derive(Clone, Debug)]
pub(super) enum Heard {
    Event(Arc<Frame>),
    /// It is too far behind: everything up to this number has to be asked for anew.
    Refetch(i64),
}

/// A reader of events who has come to some number and goes on from there.
#[derive(Debug)]
pub(super) struct Listener {
    bus: Bus,
    head: watch::Receiver<i64>,
    seq: i64,
    /// What was stored when it began, which the bus may not know yet.
    stored: i64,
    page: VecDeque<Arc<Frame>>,
    run: Option<Id>,
}

impl Bus {
    /// Listens to events after a number, or from now on; of one run only, if one is named.
    pub(super) async fn listen(
        &self,
        since: Option<i64>,
        run: Option<Id>,
    ) -> Result<Listener, StoreError> {
        let stored = self.store.head(&self.project).await?.seq;
        let seq = match since.map(|since| since.max(0)) {
            // A number that does not exist yet comes from another store: nothing that is shown may be true.
            Some(since) if since > stored => stored - LATEST - 1,
            Some(since) => since,
            None => stored,
        };
        Ok(Listener {
            bus: self.clone(),
            head: self.head(),
            seq,
            stored,
            page: VecDeque::new(),
            run,
        })
    }
}

impl Listener {
    /// Waits for the next event; nothing after the bus is gone.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        loop {
            let heard = self.any().await?;
            match &heard {
                Heard::Event(frame) if self.run.is_some() && frame.run != self.run => {}
                _ => return Some(heard),
            }
        }
    }

    async fn any(&mut self) -> Option<Heard> {
        loop {
            if let Some(frame) = self.page.pop_front() {
                self.seq = frame.seq;
                return Some(Heard::Event(frame));
            }
            let head = (*self.head.borrow_and_update()).max(self.stored);
            if head - self.seq > LATEST {
                self.seq = head;
                return Some(Heard::Refetch(head));
            }
            if self.seq < head {
                // Whoever listens comes back, with the number that it has.
                self.page = self.bus.after(self.seq, PAGE).await.ok()?;
                if self.page.is_empty() {
                    return None;
                }
            } else {
                self.head.changed().await.ok()?;
            }
        }
    }
}
