//! Listens to what anybody commits to the database.

use std::time::{Duration, Instant};

use super::{Link, Session};
use crate::db::Stop;

/// How long to listen before looking for the sign.
const PAUSE: Duration = Duration::from_millis(100);

/// How often to say that there may be news although nobody told: a message may get lost between us and the server.
const ANYWAY: Duration = Duration::from_secs(2);

/// Calls `changed` whenever there may be news on a channel, until the sign.
pub(crate) fn watch(link: &Link, channel: &str, stop: &Stop, changed: &dyn Fn()) {
    while !stop.within(Duration::ZERO) {
        let listening = link.try_dial().ok().and_then(|session| {
            session.wire.batch(&format!("listen {channel}")).ok()?;
            Some(session)
        });
        // What came before we listened is news as well; and whoever reads while the server is gone hears why.
        changed();
        match listening {
            Some(session) => listen(session, stop, changed),
            None => {
                stop.within(PAUSE);
            }
        }
    }
}

/// Listens until the connection is lost or the sign is given.
fn listen(mut session: Session, stop: &Stop, changed: &dyn Fn()) {
    let mut told = Instant::now();
    while !stop.within(Duration::ZERO) && !session.wire.is_lost() {
        if session.wire.hear(PAUSE) || told.elapsed() >= ANYWAY {
            changed();
            told = Instant::now();
        }
    }
}
