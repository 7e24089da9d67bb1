//! The clocks of a run: how long until it starts, falls silent, lingers after its end, or has taken too long.
//!
//! Times are handed in, so a test needs no clock.

use std::time::Duration;

use serde::Serialize;

use crate::Limits;

/// What ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Expired {
    /// There was no output at all.
    Start,
    /// There was no output for too long.
    Idle,
    /// The process was still there after its final event.
    Exit,
    /// The run took too long.
    Total,
    /// The run wrote too much.
    Output,
}

impl Expired {
    /// Returns what happened, for people.
    pub fn sentence(self, limits: &Limits) -> String {
        match self {
            Self::Start => format!("no output within {} s", limits.start_s),
            Self::Idle => format!("no output for {} s", limits.idle_s),
            Self::Exit => format!("still there {} s after its final event", limits.exit_s),
            Self::Total => format!("not done within {} s", limits.total_s),
            Self::Output => format!(
                "wrote more than {} MB; what is beyond is not kept",
                limits.output_mb
            ),
        }
    }
}

/// When things happened, counted from the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clocks {
    /// When there was output last.
    output: Option<Duration>,
    /// When the final event came.
    finished: Option<Duration>,
    /// How many bytes there are, whether they were read or not.
    written: u64,
}

impl Clocks {
    /// Notes that there was output.
    pub(super) fn wrote(&mut self, now: Duration) {
        self.output = Some(now);
    }

    /// Notes how many bytes there are; a flood may be far ahead of whoever reads it.
    pub(super) fn has_written(&mut self, bytes: u64) {
        self.written = bytes;
    }

    /// Notes that the final event came; one that comes after it does not move the clock.
    pub(super) fn finished(&mut self, now: Duration) {
        self.finished.get_or_insert(now);
    }

    /// Returns what has run out, if anything.
    pub(super) fn expired(&self, now: Duration, limits: &Limits) -> Option<Expired> {
        let past = |since: Duration, seconds| now >= since + Duration::from_secs(seconds);
        if past(Duration::ZERO, limits.total_s) {
            return Some(Expired::Total);
        }
        if self.written > limits.output_bytes() {
            return Some(Expired::Output);
        }
        match (self.finished, self.output) {
            (Some(finished), _) if past(finished, limits.exit_s) => Some(Expired::Exit),
            (Some(_), _) => None,
            (None, Some(output)) if past(output, limits.idle_s) => Some(Expired::Idle),
            (None, None) if past(Duration::ZERO, limits.start_s) => Some(Expired::Start),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        start_s: 5,
        idle_s: 10,
        exit_s: 3,
        total_s: 100,
        output_mb: 1,
    };

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn each_clock_runs_out_in_its_own_time() {
        let mut clocks = Clocks::default();
        assert_eq!(clocks.expired(s(4), &LIMITS), None);
        assert_eq!(clocks.expired(s(5), &LIMITS), Some(Expired::Start));
        clocks.wrote(s(4));
        assert_eq!(clocks.expired(s(13), &LIMITS), None);
        assert_eq!(clocks.expired(s(14), &LIMITS), Some(Expired::Idle));
        clocks.finished(s(14));
        clocks.finished(s(16));
        assert_eq!(clocks.expired(s(16), &LIMITS), None);
        assert_eq!(clocks.expired(s(17), &LIMITS), Some(Expired::Exit));
        assert_eq!(clocks.expired(s(100), &LIMITS), Some(Expired::Total));
    }

    #[test]
    fn a_flood_runs_out_of_bytes() {
        let mut clocks = Clocks::default();
        clocks.has_written(1_000_000);
        assert_eq!(clocks.expired(s(1), &LIMITS), None);
        clocks.has_written(1_000_001);
        assert_eq!(clocks.expired(s(1), &LIMITS), Some(Expired::Output));
    }
}
