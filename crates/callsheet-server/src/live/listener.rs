//! One listener: what it missed from the store, then what comes, without a gap between the two.

use std::collections::VecDeque;
use std::sync::Arc;

use callsheet_store::{Id, StoreError};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::Bus;
use super::bus::Frame;

/// How many events are read at once.
const PAGE: usize = 200;

/// Whoever is further behind than this asks for the page anew, which is less to read.
const FAR: i64 = 5000;

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
    receiver: Receiver<Arc<Frame>>,
    seq: i64,
    /// Up to where the store has to be read before what comes may be taken; at most a page is in memory.
    behind: Option<i64>,
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
        // In this order: what is stored after the look at the head comes by the receiver.
        let receiver = self.subscribe();
        let head = self.store.head(&self.project).await?.seq;
        let since = since.map(|since| since.max(0));
        let seq = match since {
            // A number that does not exist yet comes from another store: nothing that is shown may be true.
            Some(since) if since > head => head - FAR - 1,
            Some(since) => since,
            None => head,
        };
        Ok(Listener {
            bus: self.clone(),
            receiver,
            seq,
            behind: (seq < head).then_some(head),
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
            if let Some(head) = self.behind {
                if head - self.seq > FAR {
                    self.seq = head;
                    self.behind = None;
                    return Some(Heard::Refetch(head));
                }
                if self.seq < head {
                    self.read().await?;
                    continue;
                }
                self.behind = None;
            }
            match self.receiver.recv().await {
                Ok(frame) if frame.seq <= self.seq => {}
                Ok(frame) if frame.seq == self.seq + 1 => {
                    self.seq = frame.seq;
                    return Some(Heard::Event(frame));
                }
                Ok(frame) => self.behind = Some(frame.seq),
                Err(RecvError::Lagged(_)) => {
                    let head = self.bus.store.head(&self.bus.project).await.ok()?;
                    self.behind = Some(head.seq);
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }

    async fn read(&mut self) -> Option<()> {
        let (store, project) = (&self.bus.store, &self.bus.project);
        // Whoever listens comes back, with the number that it has.
        let events = store.events_since(project, self.seq, PAGE).await.ok()?;
        self.page
            .extend(events.iter().map(|event| Arc::new(Frame::of(event))));
        (!self.page.is_empty()).then_some(())
    }
}
