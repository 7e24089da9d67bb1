//! The blocking API: waiting for an answer of the store without an async runtime.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The blocking side of the API: every answer of a [`Store`](crate::Store) can be awaited, or waited for on this thread.
///
/// ```
/// use callsheet_store::{Access, Location, Store, Wait};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let location = Location::Sqlite(folder.path().join("callsheet.db"));
/// let store = Store::open(&location, Access::Write)?;
/// let project = store.project("shop").wait()?;
/// assert!(store.events_since(&project, 0, 10).wait()?.is_empty());
/// # Ok::<(), callsheet_store::StoreError>(())
/// ```
pub trait Wait: Future + Sized {
    /// Waits on this thread until the future is ready. Don't call it from a task of an async runtime; await there.
    fn wait(self) -> Self::Output {
        let mut future = pin!(self);
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(value) => return value,
                Poll::Pending => thread::park(),
            }
        }
    }
}

impl<F: Future> Wait for F {}

/// Waits for a future on this thread, but not longer than until `deadline`.
pub(crate) fn block_until<F: Future>(future: F, deadline: Instant) -> Option<F::Output> {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return Some(value),
            Poll::Pending => {
                let left = deadline.checked_duration_since(Instant::now())?;
                thread::park_timeout(left);
            }
        }
    }
}
