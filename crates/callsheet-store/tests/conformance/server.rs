//! What a server, a database or a role sets by default, and what others keep in the same database.

use std::thread;
use std::time::Duration;

use callsheet_store::{Access, Location, Options, Store, StoreError, Wait};

use crate::lost::Server;
use crate::prompts;
use crate::test_store::{TestStore, assert_gapless, event, seqs, server};

fn open(url: &str, access: Access) -> Result<Store, StoreError> {
    Store::open(&Location::parse(url).unwrap(), access)
}

#[test]
fn what_is_set_by_default_has_no_say() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    let name = place.text().rsplit_once('/').unwrap().1;
    for setting in [
        "synchronous_commit = off",
        "default_transaction_isolation = 'serializable'",
        "default_transaction_read_only = on",
        "search_path = evil, public",
        "statement_timeout = 100",
        "lock_timeout = 1",
    ] {
        place.raw(&format!("alter database {name} set {setting}"));
    }
    let raw = |sql: &str| place.client().batch_execute(sql).unwrap();
    raw(
        "create schema evil; create table evil.project (x int); create table public.project (y int); \
        create table public.event (z int); create table public.seen (how text)",
    );
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    // Even what a trigger sets within the transaction does not outlast it.
    raw(
        "create function public.weaken() returns trigger language plpgsql as $$ begin \
        insert into public.seen values (current_setting('synchronous_commit')); \
        perform set_config('synchronous_commit', 'off', true); return new; end $$; \
        create constraint trigger last after insert on callsheet.event deferrable initially deferred \
        for each row execute function public.weaken(); \
        create trigger first before insert on callsheet.event for each row execute function public.weaken()",
    );
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..10 {
                    store
                        .append_events(&project, vec![event(number)])
                        .wait()
                        .unwrap();
                }
            });
        }
    });
    assert_gapless(&seqs(&store, &project));
    let seen = place.count("select count(*) from public.seen where how = 'on'");
    assert_eq!(
        (seen, place.count("select count(*) from public.seen")),
        (80, 80)
    );
    prompts::seal(&store, &project, "A task.");
}

#[test]
fn a_server_that_may_lose_what_it_acknowledged_is_refused() {
    if server().is_none() {
        return;
    }
    let server = Server::start(&["weak"]);
    let refused = open(&server.url, Access::Write).unwrap_err();
    let shown = Location::parse(&server.url).unwrap();
    assert_eq!(
        refused.to_string(),
        format!(
            "the store `{shown}` can lose what it has acknowledged: the server has `fsync = off`; \
            `durability=server` in the URL takes it as it is"
        )
    );
    let taken = format!("{}?durability=server", server.url);
    drop(open(&taken, Access::Write).unwrap());
    drop(open(&server.url, Access::Read).unwrap());
}

#[test]
fn a_database_may_have_several_stores_in_schemas_of_their_own() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    let store = |schema: &str| {
        let url = format!("{}?schema={schema}", place.text());
        let store = open(&url, Access::Write).unwrap();
        let project = store.project("demo").wait().unwrap();
        (store, project)
    };
    let (one, here) = store("one");
    let (two, there) = store("two");
    one.append_events(&here, vec![event(1)]).wait().unwrap();
    assert_eq!(seqs(&one, &here), [1]);
    assert!(seqs(&two, &there).is_empty());
    for access in [Access::Read, Access::Existing] {
        let missing = Store::open(&place.location(), access).unwrap_err();
        assert!(matches!(missing, StoreError::Unknown { .. }), "{missing}");
    }
}

#[test]
fn an_older_store_among_the_tables_of_others_is_refused() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    let elsewhere = format!("{}?schema=public", place.text());
    let store = open(&elsewhere, Access::Write).unwrap();
    let project = store.project("demo").wait().unwrap();
    store
        .append_events(&project, vec![event(1)])
        .wait()
        .unwrap();
    drop(store);
    place.raw("update public.callsheet_schema set version = 5");
    for access in [Access::Read, Access::Existing, Access::Write] {
        let refused = Store::open(&place.location(), access).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "the store `{}?schema=public` was made by an older build of callsheet: \
                its schema is 5, and this one needs 9",
                place.location()
            )
        );
    }
    let made = "select count(*) from pg_namespace where nspname = 'callsheet'";
    assert_eq!(place.count(made), 0);

    // One that is not older is another store, and one that is does not matter where there is a store.
    place.raw("update public.callsheet_schema set version = 9");
    let missing = Store::open(&place.location(), Access::Read).unwrap_err();
    assert!(matches!(missing, StoreError::Unknown { .. }), "{missing}");
    let store = place.open();
    let here = store.project("demo").wait().unwrap();
    assert!(seqs(&store, &here).is_empty());
    place.raw("update public.callsheet_schema set version = 5");
    drop(place.open());
    place.raw("update public.callsheet_schema set version = 9");
    let other = open(&elsewhere, Access::Read).unwrap();
    assert_eq!(seqs(&other, &project), [1], "nothing was touched");
}

#[test]
fn a_store_that_lost_its_number_is_not_made_anew() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    drop(place.open());
    place.raw("drop table callsheet_schema");
    for access in [Access::Read, Access::Existing, Access::Write] {
        let refused = Store::open(&place.location(), access).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "{}: the schema `callsheet` has the table `annotation` but not `callsheet_schema`, by which a store is known",
                place.location()
            )
        );
    }
}

#[test]
fn a_crowd_waits_for_its_turn() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    drop(place.open());
    let role = format!("crowd_{}", std::process::id());
    place.raw(&format!(
        "create role {role} login password 'secret' connection limit 3"
    ));
    for kind in ["tables", "sequences"] {
        place.raw(&format!(
            "grant all on all {kind} in schema callsheet to {role}"
        ));
    }
    place.raw(&format!("grant usage on schema callsheet to {role}"));
    let tail = place.text().split_once('@').unwrap().1;
    let url = format!("postgres://{role}:secret@{tail}");
    thread::scope(|scope| {
        for number in 0..30 {
            let url = &url;
            scope.spawn(move || {
                let store = open(url, Access::Write).unwrap();
                let project = store.project("demo").wait().unwrap();
                prompts::seal(&store, &project, &format!("Task {number}."));
            });
        }
    });
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    assert_eq!(seqs(&store, &project).len(), 30);
    drop(store);
    place.raw(&format!("drop owned by {role}"));
    place.raw(&format!("drop role {role}"));
}

#[test]
fn a_lock_that_is_passed_on_is_waited_for() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    let options = Options::default().busy_timeout(Duration::from_secs(1));
    let store = Store::open_with(&place.location(), Access::Write, options).unwrap();
    let project = store.project("demo").wait().unwrap();
    // Those who seal wait for each other, one after the other; together they take longer than anybody waits for one.
    let hold = "begin; select pg_advisory_xact_lock(7227201901); select pg_sleep(0.2); commit";
    let mut clients: Vec<_> = (0..12).map(|_| place.client()).collect();
    thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(move || client.batch_execute(hold).unwrap());
        }
        let held = "select count(*) from pg_locks where locktype = 'advisory'";
        while place.count(held) < 10 {}
        prompts::seal(&store, &project, "A task.");
    });
}
