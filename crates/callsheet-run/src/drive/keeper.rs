//! Keeps a claim while something else takes its time: a set-up, a check, facts of a large repository.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use callsheet_store::{Claim, Store, Wait};

use super::LEASE;

/// How often the store is asked whether somebody wants the run to stop.
const ASK: Duration = Duration::from_millis(250);

/// Does some work while the claim is renewed; `work` is told whether somebody asked for the run to stop.
///
/// A claim that is lost counts as such a request: whatever the work comes to, nobody takes it any more.
pub(crate) fn while_kept<T>(
    store: &Store,
    claim: &Claim,
    work: impl FnOnce(&AtomicBool) -> T,
) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (done, waiting) = channel::<()>();
        let asked = &stop;
        scope.spawn(move || {
            let mut beat = Instant::now();
            while waiting.recv_timeout(ASK) == Err(RecvTimeoutError::Timeout) {
                // The lease outlives a store that cannot be reached for a while.
                if let Ok(true) = store.stop_requested(claim).wait() {
                    asked.store(true, Ordering::Relaxed);
                }
                if beat.elapsed() >= LEASE / 3 {
                    beat = Instant::now();
                    let _ = store.heartbeat(claim, LEASE).wait();
                }
            }
        });
        let result = work(&stop);
        drop(done);
        result
    })
}
