//! A live line for work that takes long enough to wonder, on a terminal and nowhere else.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::output::terminal::{is_watched, print_moving};

/// Nobody wonders before this.
const PATIENCE: Duration = Duration::from_millis(400);

/// How often the line moves.
const STEP: Duration = Duration::from_millis(100);

/// Does some work, with a live line on stderr while it lasts.
pub(crate) fn during<R>(what: &str, work: impl FnOnce() -> R) -> R {
    if !is_watched() {
        return work();
    }
    let started = Instant::now();
    let (done, waiting) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut wait = PATIENCE;
            let mut shown = false;
            while waiting.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let seconds = started.elapsed().as_secs_f32();
                print_moving(&format!("{what} … {seconds:.1} s"));
                (wait, shown) = (STEP, true);
            }
            if shown {
                print_moving("");
            }
        });
        let result = work();
        drop(done);
        result
    })
}
