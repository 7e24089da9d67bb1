//! The one event bus of the server: the latest events, shared by all who listen.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use callsheet_store::{Id, Project, Store, StoreError, StoredEvent};
use serde_json::Value;
use tokio::sync::watch;

/// How many of the latest events are kept. Whoever is further behind asks for the page anew, which is less to read.
pub(super) const LATEST: i64 = 5000;

/// How many bytes of the latest events are kept. Whoever needs older ones reads them from the store.
const BYTES: usize = 16 << 20;

/// How long to wait before the store is asked again after an error.
const AGAIN: Duration = Duration::from_secs(1);

/// An event in its wire form, shared by all who get it.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) seq: i64,
    pub(crate) run: Option<Id>,
    /// `{"id", "seq", "type", "payload", "timestamp"}`, and `"run"` where it has one.
    pub(crate) json: Bytes,
}

impl Frame {
    pub(crate) fn of(event: &StoredEvent) -> Self {
        let wire = wire(event);
        Self {
            seq: event.seq,
            run: event.run,
            json: wire.to_string().into(),
        }
    }
}

/// Returns an event in its wire form.
pub(crate) fn wire(event: &StoredEvent) -> Value {
    let mut wire = serde_json::to_value(event).unwrap_or_default();
    wire["id"] = event.seq.into();
    wire
}

/// The latest events, without a gap.
#[derive(Debug, Default)]
struct Latest {
    frames: VecDeque<Arc<Frame>>,
    bytes: usize,
}

impl Latest {
    fn push(&mut self, frame: Frame) {
        let last = self.frames.back().map(|last| last.seq);
        if last.is_some_and(|last| last + 1 != frame.seq) {
            *self = Self::default();
        }
        let oldest = frame.seq - LATEST + 1;
        self.bytes += frame.json.len();
        self.frames.push_back(Arc::new(frame));
        while let Some(gone) =
            (self.frames).pop_front_if(|first| first.seq < oldest || self.bytes > BYTES)
        {
            self.bytes -= gone.json.len();
        }
    }

    /// Returns up to `most` events after a number; nothing if the next one is not here.
    fn after(&self, seq: i64, most: usize) -> Option<VecDeque<Arc<Frame>>> {
        let first = self.frames.front()?.seq;
        let from = usize::try_from(seq + 1 - first).ok()?;
        let frames = self.frames.iter().skip(from).take(most);
        Some(frames.cloned().collect()).filter(|frames: &VecDeque<_>| !frames.is_empty())
    }
}

fn lock(latest: &Mutex<Latest>) -> MutexGuard<'_, Latest> {
    latest.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who hears of events.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    pub(super) store: Store,
    pub(super) project: Project,
    latest: Arc<Mutex<Latest>>,
    /// The number of the last event.
    head: watch::Receiver<i64>,
}

impl Bus {
    /// Begins to follow a project.
    pub(crate) async fn follow(store: &Store, project: &Project) -> Result<Self, StoreError> {
        let since = store.head(project).await?.seq;
        let (sender, head) = watch::channel(since);
        let bus = Self {
            store: store.clone(),
            project: project.clone(),
            latest: Arc::default(),
            head,
        };
        let mut follower = store.follow(project, since)?;
        let latest = Arc::clone(&bus.latest);
        tokio::spawn(async move {
            loop {
                match follower.next().await {
                    Ok(events) => {
                        let frames: Vec<Frame> = events.iter().map(Frame::of).collect();
                        let last = frames.last().map(|frame| frame.seq);
                        for frame in frames {
                            lock(&latest).push(frame);
                        }
                        if let Some(last) = last {
                            sender.send_replace(last);
                        }
                    }
                    // A server that cannot be reached comes back, and this goes on from where it was.
                    Err(_) => tokio::time::sleep(AGAIN).await,
                }
            }
        });
        Ok(bus)
    }

    /// Tells whoever asks how far the events are.
    pub(super) fn head(&self) -> watch::Receiver<i64> {
        self.head.clone()
    }

    /// Returns up to `most` events after a number, from memory if they are there.
    pub(super) async fn after(
        &self,
        seq: i64,
        most: usize,
    ) -> Result<VecDeque<Arc<Frame>>, StoreError> {
        if let Some(frames) = lock(&self.latest).after(seq, most) {
            return Ok(frames);
        }
        let events = self.store.events_since(&self.project, seq, most).await?;
        let frames = events.iter().map(|event| Arc::new(Frame::of(event)));
        Ok(frames.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES, Bytes, Frame, Latest};

    fn frame(seq: i64, bytes: usize) -> Frame {
        Frame {
            seq,
            run: None,
            json: Bytes::from(vec![b' '; bytes]),
        }
    }

    /// Returns the first and the last number of what comes after a number, and how many these are.
    fn after(latest: &Latest, seq: i64, most: usize) -> Option<(i64, i64, usize)> {
        let frames = latest.after(seq, most)?;
        Some((frames.front()?.seq, frames.back()?.seq, frames.len()))
    }

    #[test]
    fn what_comes_after_a_number_is_there_or_has_to_be_read() {
        let mut latest = Latest::default();
        assert_eq!(after(&latest, 0, 9), None);
        for seq in 7..=9 {
            latest.push(frame(seq, 1));
        }
        assert_eq!(after(&latest, 5, 9), None);
        assert_eq!(after(&latest, 6, 9), Some((7, 9, 3)));
        assert_eq!(after(&latest, 7, 1), Some((8, 8, 1)));
        assert_eq!(after(&latest, 9, 9), None);
        assert_eq!(after(&latest, 12, 9), None);
    }

    #[test]
    fn memory_has_limits() {
        let mut latest = Latest::default();
        for seq in 1..=9000 {
            latest.push(frame(seq, 1));
        }
        assert_eq!(latest.frames.len(), 5000);
        assert_eq!(after(&latest, 4000, 2), Some((4001, 4002, 2)));
        assert_eq!(after(&latest, 3999, 2), None);
        for seq in 9001..=9020 {
            latest.push(frame(seq, 1 << 20));
        }
        assert!(latest.bytes <= BYTES);
        assert_eq!(after(&latest, 9004, 99), Some((9005, 9020, 16)));
        assert_eq!(after(&latest, 9003, 99), None);
    }

    #[test]
    fn nothing_stands_before_a_gap() {
        let mut latest = Latest::default();
        for seq in [1, 2, 5] {
            latest.push(frame(seq, 1));
        }
        assert_eq!(after(&latest, 1, 9), None);
        assert_eq!(after(&latest, 4, 9), Some((5, 5, 1)));
    }
}
