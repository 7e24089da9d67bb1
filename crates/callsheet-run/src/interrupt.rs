//! Ctrl-C and its kin: counted, so that a run can be stopped politely first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::RunError;

/// Counts how often this process was asked to stop.
#[derive(Debug)]
pub struct Interrupts {
    asked: Arc<AtomicBool>,
    count: usize,
}

impl Interrupts {
    /// Begins to count; from here on no such signal ends this process.
    pub fn catch() -> Result<Self, RunError> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&asked))
                .map_err(|cause| RunError::refused("cannot listen for signals", cause))?;
        }
        Ok(Self { asked, count: 0 })
    }

    /// Returns how often it was asked so far.
    pub fn count(&mut self) -> usize {
        self.count += usize::from(self.asked.swap(false, Ordering::Relaxed));
        self.count
    }
}
