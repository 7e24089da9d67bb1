//! The chain of events: what is gone is missed, and a head that was written down proves what was before it.

use std::thread;
use std::time::Duration;

use callsheet::{Event, Fingerprint};
use callsheet_store::{Finding, Head, Keep, Record, Store, Stream, Wait};
use serde_json::json;

use crate::on_both;
use crate::test_store::{TestStore, claim, event, findings};
use crate::{prompts, tasks};

on_both!(
    a_removed_prompt_is_missed,
    a_prompt_that_a_trigger_removes_is_missed,
    a_collected_prompt_is_not_missed,
    whatever_is_removed_is_missed,
    a_log_that_lost_its_end_is_missed,
    a_head_is_in_the_history_that_it_was_taken_from,
    a_cut_end_has_no_head,
    a_changed_history_has_other_heads,
    many_writers_make_one_chain,
);

fn found(what: String, detail: &str) -> Finding {
    Finding {
        what,
        detail: detail.to_owned(),
    }
}

/// Removes a prompt with everything that is only about it, as carefully as can be.
fn remove(place: &TestStore, id: &str) {
    let key = place.count(&format!("select key from prompt where id = '{id}'"));
    place.raw(&format!("delete from document where key = {key}"));
    for table in ["prompt_body", "prompt_source"] {
        place.raw(&format!(
            "delete from {table} where first = {key} and last = {key}"
        ));
        place.raw(&format!(
            "update {table} set last = last - 1 where last = {key}"
        ));
    }
    assert_eq!(
        place.raw(&format!("delete from prompt where key = {key}")),
        1
    );
}

fn a_removed_prompt_is_missed(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let (first, _) = prompts::seal(&store, &project, "One.");
    let (second, _) = prompts::seal(&store, &project, "Two.");
    assert_eq!(findings(&store), []);
    remove(place, second.id.as_str());
    let gone = |id, seq| {
        let detail = format!("event {seq} tells of it, and it is not there");
        found(format!("prompt {id}"), &detail)
    };
    assert!(findings(&store).contains(&gone(second.id, 2)));
    remove(place, first.id.as_str());
    let all = findings(&store);
    assert!(
        all.contains(&gone(first.id, 1)) && all.contains(&gone(second.id, 2)),
        "{all:?}"
    );
}

fn a_prompt_that_a_trigger_removes_is_missed(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    if place.is_sqlite() {
        place.raw(
            "create trigger steal after insert on event when new.kind = 'test:event' begin \
            delete from document; delete from prompt_body; delete from prompt_source; delete from prompt; end",
        );
    } else {
        place.raw(
            "create function steal() returns trigger language plpgsql as $$ begin if new.kind = 'test:event' then \
            delete from document; delete from prompt_body; delete from prompt_source; delete from prompt; end if; return new; end $$",
        );
        place.raw(
            "create trigger steal after insert on event for each row execute function steal()",
        );
    }
    let (sealed, _) = prompts::seal(&store, &project, "One.");
    store
        .append_events(&project, vec![event(1)])
        .wait()
        .unwrap();
    place.raw(if place.is_sqlite() {
        "drop trigger steal"
    } else {
        "drop trigger steal on event"
    });
    let what = format!("prompt {}", sealed.id);
    let all = findings(&store);
    assert!(all.iter().any(|finding| finding.what == what), "{all:?}");
}

fn a_collected_prompt_is_not_missed(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    for text in ["One.", "Two.", "Three."] {
        prompts::seal(&store, &project, text);
    }
    let keep = Keep {
        newest: Some(1),
        since: None,
    };
    let collected = store.collect(&project, keep).wait().unwrap();
    assert_eq!(collected.prompts.len(), 2);
    assert_eq!(findings(&store), []);
    prompts::seal(&store, &project, "One.");
    assert_eq!(findings(&store), []);
}

fn whatever_is_removed_is_missed(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let needed = tasks::add(&store, &project, "needed", &[]);
    let task = tasks::add(&store, &project, "first", &[needed]);
    let branch = (&json!({}), b"bundle".to_vec());
    store
        .put_branch(&project, task, None, branch)
        .wait()
        .unwrap();
    store
        .set_setting(&project, "scope.exclude", &json!(1))
        .wait()
        .unwrap();
    store
        .set_setting(&project, "scope.exclude", &json!(2))
        .wait()
        .unwrap();
    assert_eq!(findings(&store), []);
    let removed = [
        (
            "dependency",
            format!("the dependency of task {task} on {needed}"),
            2,
        ),
        ("branch", format!("the branch of task {task}"), 3),
        ("setting", "setting scope.exclude".to_owned(), 5),
        ("task", format!("task {task}"), 2),
    ];
    let mut wanted = Vec::new();
    for (table, what, seq) in removed {
        assert!(place.raw(&format!("delete from {table}")) > 0);
        wanted.push(found(
            what,
            &format!("event {seq} tells of it, and it is not there"),
        ));
        let all = findings(&store);
        assert!(
            wanted.iter().all(|finding| all.contains(finding)),
            "{all:?}"
        );
    }
}

fn a_log_that_lost_its_end_is_missed(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    place.queue(&store, &project, 1);
    let held = claim(&store, &project, "w", Duration::from_mins(1)).unwrap();
    let record = |stream| Record {
        stream,
        data: b"a line".to_vec(),
    };
    let records = [Stream::Meta, Stream::Stdout, Stream::Stdout].map(record);
    let spoke = Event::new("agent:text", [("text", json!("x"))], "it spoke");
    store
        .append_output(&held, records.to_vec(), vec![(Some(2), spoke)])
        .wait()
        .unwrap();
    assert_eq!(findings(&store), []);
    assert_eq!(place.raw("delete from log where seq = 3"), 1);
    assert_eq!(place.raw("update run set records = 2"), 1);
    let said = "has another number of records than its events say";
    let wanted = found(format!("run {}", held.run.id), said);
    assert_eq!(findings(&store), [wanted]);
}

fn head(store: &Store, name: &str) -> Head {
    let project = store.project(name).wait().unwrap();
    store.head(&project).wait().unwrap()
}

fn a_head_is_in_the_history_that_it_was_taken_from(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let mut heads = vec![head(&store, "demo"), head(&store, "other")];
    assert_eq!((heads[0].seq, heads[0].project.as_str()), (0, "demo"));
    for number in 0..3 {
        store
            .append_events(&project, vec![event(number), event(7)])
            .wait()
            .unwrap();
        store
            .append_events(&other, vec![event(number)])
            .wait()
            .unwrap();
        heads.extend([head(&store, "demo"), head(&store, "other")]);
    }
    assert_eq!(
        heads.iter().map(|head| head.seq).collect::<Vec<_>>(),
        [0, 0, 2, 1, 4, 2, 6, 3]
    );
    for (at, head) in heads.iter().enumerate() {
        assert_eq!(store.find_head(head.hash).wait(), Ok(Some(head.clone())));
        assert!(heads[at + 1..].iter().all(|later| later.hash != head.hash));
    }
    assert_eq!(store.find_head(Fingerprint::of("x")).wait(), Ok(None));
    assert_eq!(findings(&store), []);
}

fn a_cut_end_has_no_head(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    store
        .append_events(&project, vec![event(1), event(2)])
        .wait()
        .unwrap();
    let before = head(&store, "demo");
    store
        .append_events(&project, vec![event(3)])
        .wait()
        .unwrap();
    let noted = head(&store, "demo");
    place.raw("delete from event where seq = 3");
    place.raw("update project set events = 2");
    assert_eq!(findings(&store), [], "nothing else tells of it");
    assert_eq!(head(&store, "demo"), before);
    assert_eq!(store.find_head(noted.hash).wait(), Ok(None));
    assert_eq!(store.find_head(before.hash).wait(), Ok(Some(before)));
    // Whatever follows has another head.
    store
        .append_events(&project, vec![event(4)])
        .wait()
        .unwrap();
    assert_ne!(head(&store, "demo"), noted);
    assert_eq!(findings(&store), []);
}

fn a_changed_history_has_other_heads(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    store
        .append_events(&project, (0..4).map(event).collect())
        .wait()
        .unwrap();
    // Each event is right by itself; the two are not in their places.
    for (from, to) in [(2, 9), (3, 2), (9, 3)] {
        place.raw(&format!("update event set seq = {to} where seq = {from}"));
    }
    let named: Vec<String> = findings(&store).into_iter().map(|it| it.what).collect();
    assert_eq!(
        named,
        [2, 3, 4].map(|seq| format!("event {seq} of project demo"))
    );
}

fn many_writers_make_one_chain(place: &TestStore) {
    let stores: Vec<Store> = (0..4).map(|_| place.open()).collect();
    thread::scope(|scope| {
        for (at, store) in stores.iter().enumerate() {
            scope.spawn(move || {
                let project = store.project("demo").wait().unwrap();
                for number in 0..15 {
                    prompts::seal(store, &project, &format!("{at} {number}"));
                    store
                        .append_events(&project, vec![event(number)])
                        .wait()
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(findings(&stores[0]), []);
    assert_eq!(head(&stores[0], "demo").seq, 120);
}
