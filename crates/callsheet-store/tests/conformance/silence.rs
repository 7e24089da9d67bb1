//! A server that accepts and says nothing, at once or later.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use callsheet_store::{Access, Location, Store, StoreError, Wait};

use crate::test_store::{TestStore, event, seqs};

/// Accepts and says nothing, for as long as the test lives.
fn mute() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept() {
            kept.push(stream);
        }
    });
    port
}

#[test]
fn a_server_that_never_answers_is_reported() {
    let url = format!("postgres://me:secret@127.0.0.1:{}/x", mute());
    let location = Location::parse(&format!("{url}?connect_timeout=1")).unwrap();
    for access in [Access::Read, Access::Existing, Access::Write] {
        let refused = Store::open(&location, access).unwrap_err();
        assert!(
            matches!(refused, StoreError::Unavailable { .. }),
            "{refused}"
        );
        assert_eq!(
            refused.to_string(),
            format!("the store `{location}` cannot be reached: no answer within 1 second")
        );
    }
}

/// Passes everything on between a server and its clients until it is told to be silent.
struct Between {
    port: u16,
    is_silent: Arc<AtomicBool>,
}

impl Between {
    fn new(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_silent = Arc::new(AtomicBool::new(false));
        let silent = Arc::clone(&is_silent);
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let server = TcpStream::connect(&server).unwrap();
                let ends = (client.try_clone().unwrap(), server.try_clone().unwrap());
                for (from, to) in [(client, server), (ends.1, ends.0)] {
                    let silent = Arc::clone(&silent);
                    thread::spawn(move || pass(from, to, &silent));
                }
            }
        });
        Self { port, is_silent }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, is_silent: &AtomicBool) {
    let mut bytes = [0; 4096];
    while let Ok(count) = from.read(&mut bytes) {
        if count == 0 {
            return;
        }
        // What it has read it keeps to itself.
        if !is_silent.load(Ordering::Relaxed) && to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn a_server_that_falls_silent_is_reported_and_work_goes_on() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    let (login, rest) = place.text().split_once('@').unwrap();
    let (host, name) = rest.split_once('/').unwrap();
    let between = Between::new(host.to_owned());
    let url = format!(
        "{login}@127.0.0.1:{}/{name}?answer_timeout=1&connect_timeout=2",
        between.port
    );
    let location = Location::parse(&url).unwrap();
    let store = Store::open(&location, Access::Write).unwrap();
    let project = store.project("demo").wait().unwrap();
    let append = || store.append_events(&project, vec![event(1)]).wait();
    append().unwrap();
    between.is_silent.store(true, Ordering::Relaxed);
    assert_eq!(
        append().unwrap_err().to_string(),
        format!("the store `{location}` cannot be reached: no answer within 6 seconds")
    );
    between.is_silent.store(false, Ordering::Relaxed);
    append().unwrap();
    assert_eq!(seqs(&store, &project).len(), 2);
}
