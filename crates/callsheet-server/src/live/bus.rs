//! The one event bus of the server.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use callsheet_store::{Id, Project, Store, StoreError, StoredEvent};
use serde_json::Value;
use tokio::sync::broadcast;

/// How many events wait for a slow listener, before it has to read them from the store.
const WAITING: usize = 1024;

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

/// Who hears of events.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    pub(super) store: Store,
    pub(super) project: Project,
    sender: broadcast::Sender<Arc<Frame>>,
}

impl Bus {
    /// Begins to follow a project.
    pub(crate) async fn follow(store: &Store, project: &Project) -> Result<Self, StoreError> {
        let (sender, _) = broadcast::channel(WAITING);
        let bus = Self {
            store: store.clone(),
            project: project.clone(),
            sender,
        };
        let since = store.head(project).await?.seq;
        let mut follower = store.follow(project, since)?;
        let sender = bus.sender.clone();
        tokio::spawn(async move {
            loop {
                match follower.next().await {
                    Ok(events) => {
                        for event in &events {
                            // Nobody may be listening.
                            let _ = sender.send(Arc::new(Frame::of(event)));
                        }
                    }
                    // A server that cannot be reached comes back; whoever is behind reads what it missed.
                    Err(_) => tokio::time::sleep(AGAIN).await,
                }
            }
        });
        Ok(bus)
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Arc<Frame>> {
        self.sender.subscribe()
    }
}
