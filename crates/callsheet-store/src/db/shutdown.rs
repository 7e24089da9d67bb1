//! The shutdown signal for threads that only wait.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Not given at first, and then given for good.
#[derive(Default)]
pub(crate) struct Shutdown {
    given: Mutex<bool>,
    changed: Condvar,
}

impl Shutdown {
    /// Gives the signal.
    pub(crate) fn give(&self) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for the signal and tells whether it was given.
    pub(crate) fn within(&self, time: Duration) -> bool {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(given, time, |given| !*given);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
