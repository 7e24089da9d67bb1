//! Listens to what anybody commits to the database.

use std::time::{Duration, Instant};

use super::{Pool, Session};
use crate::db::Shutdown;

/// How long to listen before looking for the sign.
const PAUSE: Duration = Duration::from_millis(100);

/// How often to say that there may be news although nobody told: a message may get lost between us and the server.
const ANYWAY: Duration = Duration::from_secs(2);

/// Calls `changed` whenever there may be news on a channel, until the sign.
pub(crate) fn watch(pool: &Pool, channel: &str, shutdown: &Shutdown, changed: &dyn Fn()) {
    while !shutdown.within(Duration::ZERO) {
        let listening = pool.try_dial().ok().and_then(|session| {
            session
                .connection
                .batch(&format!("listen {channel}"))
                .ok()?;
            Some(session)
        });
        // What came before we listened is news as well; and whoever reads while the server is gone hears why.
        changed();
        match listening {
            Some(session) => listen(session, shutdown, changed),
            None => {
                shutdown.within(PAUSE);
            }
        }
    }
}

/// Listens until the connection is lost or the sign is given.
fn listen(mut session: Session, shutdown: &Shutdown, changed: &dyn Fn()) {
    let mut last = Instant::now();
    while !shutdown.within(Duration::ZERO) && !session.connection.is_lost() {
        if session.connection.hear(PAUSE) || last.elapsed() >= ANYWAY {
            changed();
            last = Instant::now();
        }
    }
}
