//! Waiting for a limit: until the account or the runner is open again, or somebody stops the sprint.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callsheet::sprint::machine::ActionId;

use super::driver::Stage;
use crate::RunError;
use crate::drive::{closed_until, now};

/// How long a wait may be at most before it looks again.
const SLICE: Duration = Duration::from_millis(200);

/// How long is waited at first where nobody tells for how long, and at most.
const UNTOLD_S: (u64, u64) = (5, 300);

/// Something that is waited for.
pub(super) struct Waiting<'a> {
    pub(super) stage: &'a Stage<'a>,
    pub(super) action: ActionId,
    pub(super) resets_at: Option<i64>,
    pub(super) nth: u32,
}

impl Waiting<'_> {
    /// Waits, and tells how long it still takes.
    pub(super) fn wait(&self, stops: &AtomicUsize) -> Result<(), RunError> {
        let stage = self.stage;
        let started = now();
        let stated = self.resets_at.map(|seconds| seconds.saturating_mul(1000));
        let closed = closed_until(stage.store, stage.project)?;
        let (first, most) = UNTOLD_S;
        let doubled = first.saturating_mul(1 << self.nth.saturating_sub(1).min(10));
        let untold = i64::try_from(doubled.min(most) * 1000).unwrap_or(0);
        let (account, until) = match (stated, closed) {
            (Some(stated), closed) => (closed.map(|(name, _)| name), stated),
            (None, Some((name, until))) => (Some(name), until),
            (None, None) => (None, started + untold),
        };
        let account = account.unwrap_or_default();
        let mut shown = None;
        while stops.load(Ordering::Relaxed) == 0 {
            let left = until - now();
            if left <= 0 {
                break;
            }
            let seconds = u64::try_from(left).unwrap_or(0).div_ceil(1000);
            if shown != Some(seconds) {
                shown = Some(seconds);
                stage.crew.waiting(self.action, &account, seconds);
            }
            std::thread::sleep(SLICE.min(Duration::from_millis(u64::try_from(left).unwrap_or(0))));
        }
        Ok(())
    }
}
