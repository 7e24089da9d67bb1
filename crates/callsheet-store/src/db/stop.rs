//! A sign by which a thread that only waits learns that it is over.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Down until it is given, and then up for good.
#[derive(Default)]
pub(crate) struct Stop {
    given: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Gives the sign.
    pub(crate) fn give(&self) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for the sign and tells whether it has come.
    pub(crate) fn within(&self, time: Duration) -> bool {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(given, time, |given| !*given);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
