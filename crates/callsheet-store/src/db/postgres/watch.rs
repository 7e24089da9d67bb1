//! Listens to what anybody commits to the database.

use std::time::{Duration, Instant};

use postgres::fallible_iterator::FallibleIterator as _;

use super::{Link, Session};
use crate::db::Stop;

/// How long to listen before looking for the sign.
const PAUSE: Duration = Duration::from_millis(100);

/// How often to say that there may be news although nobody told: a message may get lost between us and the server.
const ANYWAY: Duration = Duration::from_secs(2);

/// Calls `changed` whenever there may be news on a channel, until the sign.
pub(crate) fn watch(link: &Link, channel: &str, stop: &Stop, changed: &dyn Fn()) {
    while !stop.within(Duration::ZERO) {
        let listening = link.connect().ok().and_then(|mut session| {
            let listen = format!("listen {channel}");
            session.client.batch_execute(&listen).ok()?;
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
    while !stop.within(Duration::ZERO) && !session.client.is_closed() {
        let mut notes = session.client.notifications();
        let heard = notes.timeout_iter(PAUSE).next();
        match heard {
            Ok(Some(_)) => {
                // One call is enough for all that have arrived.
                while let Ok(Some(_)) = notes.iter().next() {}
                changed();
                told = Instant::now();
            }
            Ok(None) if told.elapsed() >= ANYWAY => {
                changed();
                told = Instant::now();
            }
            Ok(None) => {}
            Err(_) => return,
        }
    }
}
