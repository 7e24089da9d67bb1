//! Ctrl-C and its kin: counted, so that a run can be stopped politely first.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::RunError;

/// Whether such a signal came since the last look.
static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// How many came before the last look.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether they are caught.
static CAUGHT: Mutex<bool> = Mutex::new(false);

/// Counts how often this process was asked to stop, since the first who began to count: a request stands, whoever hears of it.
#[derive(Debug)]
pub struct Interrupts(());

impl Interrupts {
    /// Begins to count; from here on no such signal ends this process.
    pub fn catch() -> Result<Self, RunError> {
        let mut caught = CAUGHT.lock().unwrap_or_else(PoisonError::into_inner);
        if !*caught {
            for signal in [SIGINT, SIGTERM, SIGHUP] {
                signal_hook::flag::register(signal, Arc::clone(&ASKED))
                    .map_err(|cause| RunError::refused("cannot listen for signals", cause))?;
            }
            *caught = true;
        }
        Ok(Self(()))
    }

    /// Returns how often it was asked so far.
    pub fn count(&mut self) -> usize {
        let new = usize::from(ASKED.swap(false, Ordering::Relaxed));
        COUNT.fetch_add(new, Ordering::Relaxed) + new
    }
}
