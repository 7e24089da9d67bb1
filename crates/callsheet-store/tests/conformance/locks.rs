//! Who waits for whom on a server: projects do not wait for each other, and who waits too long is told why.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use callsheet_store::{Access, Location, Options, Store, StoreError, Wait};

use crate::prompts::{self, composed};
use crate::test_store::{TestStore, event, findings};

/// What a sealer of a project holds.
const PROJECT: &str =
    "select pg_advisory_xact_lock_shared(7227201901), pg_advisory_xact_lock(1129529676, $1)";

fn impatient(place: &TestStore) -> Store {
    let options = Options::default().busy_timeout(Duration::from_millis(200));
    Store::open_with(&place.location(), Access::Write, options).unwrap()
}

#[test]
fn sealing_does_not_wait_for_another_project() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    let store = impatient(&place);
    let busy = store.project("busy").wait().unwrap();
    let free = store.project("free").wait().unwrap();
    prompts::seal(&store, &busy, "One.");
    let key = place.count("select key from project where name = 'busy'") as i32;
    let mut client = place.client();
    let mut sealing = client.transaction().unwrap();
    sealing.query(PROJECT, &[&key]).unwrap();
    sealing
        .execute("select 1 from project where name = 'busy' for update", &[])
        .unwrap();
    // Texts that both have are not a reason to wait, either.
    prompts::seal(&store, &free, "One.");
    prompts::seal(&store, &free, "Two.");
    let (_, seal) = composed(&[("task.md", "Three.")]);
    let refused = store.seal(&busy, seal.clone()).wait().unwrap_err();
    assert_eq!(
        timeless(&refused),
        format!(
            "the store `{}` is locked: another transaction holds what this one needs, and did not let go within [N] seconds; \
            try again when it is done, or end the session that holds it (see `pg_stat_activity`)",
            place.location()
        )
    );
    sealing.commit().unwrap();
    store.seal(&busy, seal).wait().unwrap();
    assert_eq!(findings(&store), []);
}

/// One that collects many prompts may need minutes for a statement.
#[test]
fn sealing_waits_while_the_one_before_works_on_a_long_statement() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    let store = impatient(&place);
    let busy = store.project("busy").wait().unwrap();
    let key = place.count("select key from project where name = 'busy'") as i32;
    let (mut client, mut watcher) = (place.client(), place.client());
    let mut long = client.transaction().unwrap();
    long.query(PROJECT, &[&key]).unwrap();
    let cancel = long.cancel_token();
    thread::scope(|scope| {
        let working = scope.spawn(move || {
            long.batch_execute("select pg_sleep(3600)").unwrap_err();
            long.rollback().unwrap();
        });
        let works = "select 1 from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";
        while watcher.query(works, &[]).unwrap().is_empty() {}
        let (_, seal) = composed(&[("task.md", "One.")]);
        let sealing = scope.spawn(|| store.seal(&busy, seal).wait());
        // Each turn of waiting is a transaction of its own.
        let waits = "select virtualtransaction from pg_locks where not granted and locktype = 'advisory' \
            and database = (select oid from pg_database where datname = current_database())";
        let mut turns: Vec<String> = Vec::new();
        while turns.len() < 4 && !sealing.is_finished() {
            for row in watcher.query(waits, &[]).unwrap() {
                turns.push(row.get(0));
            }
            turns.dedup();
        }
        cancel.cancel_query(postgres::NoTls).unwrap();
        working.join().unwrap();
        assert!(sealing.join().unwrap().unwrap().1);
    });
    assert_eq!(findings(&store), []);
}

/// Returns a text without its times.
fn timeless(error: &StoreError) -> String {
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    let text = error.to_string();
    let (before, rest) = text.split_once(" within ").unwrap();
    let (number, after) = rest.split_once(' ').unwrap();
    assert!(number.parse::<f64>().unwrap() > 0.0, "{number}");
    format!(
        "{before} within [N] {}",
        after.replacen("second;", "seconds;", 1)
    )
}

/// Sealers of several projects seal texts that all of them have and texts of their own, in other orders.
#[test]
fn many_seal_in_many_projects() {
    const SEALERS: usize = 8;
    const PROJECTS: usize = 4;
    const ROUNDS: usize = 6;
    let Some(place) = TestStore::postgres() else {
        return;
    };
    drop(place.open());
    let barrier = Barrier::new(SEALERS);
    thread::scope(|scope| {
        for number in 0..SEALERS {
            let (place, barrier) = (&place, &barrier);
            scope.spawn(move || {
                let store = place.open();
                let name = format!("project {}", number % PROJECTS);
                let project = store.project(&name).wait().unwrap();
                for round in 0..ROUNDS {
                    let text = |file: usize| match file % 3 {
                        0 => format!("Text {file} of round {round}. ").repeat(30),
                        1 => format!("Text {file} of project {name}. ").repeat(30),
                        _ => {
                            format!("Text {file} of sealer {number} in round {round}. ").repeat(30)
                        }
                    };
                    let files: Vec<(String, String)> = (0..20)
                        .map(|file| (format!("{file}.md"), text(file)))
                        .collect();
                    let files: Vec<(&str, &str)> = files
                        .iter()
                        .map(|(name, text)| (&**name, &**text))
                        .collect();
                    let (_, seal) = composed(&files);
                    barrier.wait();
                    store.seal(&project, seal).wait().unwrap();
                }
            });
        }
    });
    let store = place.open();
    assert_eq!(findings(&store), []);
    assert_eq!(
        place.count("select count(*) from prompt"),
        (SEALERS * ROUNDS) as i64
    );
}

#[test]
fn a_sealer_that_waits_in_a_circle_tries_again() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let key = place.count("select key from project where name = 'demo'") as i32;
    let (_, seal) = composed(&[("task.md", "One.")]);
    let mut client = place.client();
    // The sealer is the one who notices.
    client.batch_execute("set deadlock_timeout = '1h'").unwrap();
    let mut other = client.transaction().unwrap();
    let source = "insert into source (name) values ('file:task.md')";
    other.execute(source, &[]).unwrap();
    thread::scope(|scope| {
        let sealing = scope.spawn(|| store.seal(&project, seal).wait());
        let waits = "select count(*) from pg_stat_activity where wait_event = 'transactionid' and datname = current_database()";
        while place.count(waits) == 0 {
            assert!(!sealing.is_finished(), "nothing to wait for");
        }
        // It has its project, and waits for the source.
        other.query(PROJECT, &[&key]).unwrap();
        other.commit().unwrap();
        assert!(sealing.join().unwrap().unwrap().1);
    });
    let circles = "select deadlocks from pg_stat_database where datname = current_database()";
    let since = Instant::now();
    while place.count(circles) == 0 {
        assert!(
            since.elapsed() < Duration::from_secs(30),
            "there was no circle"
        );
    }
    assert_eq!(findings(&store), []);
}

#[test]
fn a_statement_that_takes_too_long_or_is_cancelled_is_reported() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    let location = Location::parse(&format!("{}?answer_timeout=1", place.text())).unwrap();
    let store = Store::open(&location, Access::Write).unwrap();
    let project = store.project("demo").wait().unwrap();
    let mut client = place.client();
    client
        .batch_execute(
            "create function public.slow() returns trigger language plpgsql as \
            $$ begin perform pg_sleep(30); return new; end $$; \
            create trigger slow before insert on event for each row execute function public.slow()",
        )
        .unwrap();
    let append = |store: &Store| store.append_events(&project, vec![event(1)]).wait();
    assert_eq!(
        append(&store).unwrap_err().to_string(),
        format!(
            "the store `{location}` cancelled a statement that took longer than 1 second; try again when the server has less to \
            do, or allow more with `answer_timeout=SECONDS` in the URL"
        )
    );
    let patient = place.open();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| append(&patient).unwrap_err().to_string());
        let cancel = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'PgSleep' \
            and datname = current_database()";
        while client.query(cancel, &[]).unwrap().is_empty() {}
        assert_eq!(
            waiting.join().unwrap(),
            format!(
                "the store `{}` cancelled a statement because somebody asked the server to; try again",
                place.location()
            )
        );
    });
    client.batch_execute("drop trigger slow on event").unwrap();
    append(&store).unwrap();
}
