//! Events: numbers without a gap, whoever appends, and one wire form.

use std::thread;

use callsheet::Event;
use callsheet_store::{EventFilter, NewEvent, Wait};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::on_both;
use crate::process::{Assignment, Process};
use crate::test_store::{TestStore, assert_gapless, event, findings, seqs};

on_both!(
    events_come_back_as_they_were,
    threads_get_numbers_without_a_gap,
    who_fails_leaves_the_others_alone,
    processes_get_numbers_without_a_gap,
    any_sequence_of_appends_is_numbered_through,
    odd_texts_survive_and_nul_is_refused,
    events_of_a_run_come_in_pages,
);

fn events_come_back_as_they_were(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let append = |events| store.append_events(&project, events).wait().unwrap();
    assert!(append(vec![]).is_empty());
    assert_eq!(append(vec![event(1), event(2)]), [1, 2]);
    assert_eq!(append((3..=250).map(event).collect()).last(), Some(&250));

    let run = place.queue(&store, &project, 1)[0];
    let about = NewEvent {
        run: Some(run),
        ..event(0)
    };
    assert_eq!(append(vec![about]), [253]);

    let since = |seq, limit| store.events_since(&project, seq, limit).wait().unwrap();
    let all = since(0, usize::MAX);
    assert_eq!(all.len(), 253);
    assert_eq!(all[6].event, event(7).event);
    assert_eq!(since(100, 3), all[100..103]);
    assert_eq!(since(253, 3), []);
    let wire = serde_json::to_value(&all[6]).unwrap();
    let payload = json!({"number": 7, "message": "it happened"});
    assert_eq!(
        wire,
        json!({"seq": 7, "type": "test:event", "payload": payload, "timestamp": all[6].at})
    );
    assert_eq!(
        serde_json::to_value(&all[252]).unwrap()["run"],
        run.as_str()
    );

    let other = store.project("other").wait().unwrap();
    assert_eq!(
        store.append_events(&other, vec![event(1)]).wait().unwrap(),
        [1]
    );
    let stranger = NewEvent {
        run: Some(run),
        ..event(0)
    };
    let refused = store.append_events(&other, vec![event(2), stranger]).wait();
    assert_eq!(refused.unwrap_err().to_string(), format!("no run `{run}`"));
    assert_eq!(seqs(&store, &other), [1]);
    let names: Vec<String> = store
        .projects()
        .wait()
        .unwrap()
        .into_iter()
        .map(|project| project.name)
        .collect();
    assert_eq!(names, ["demo", "other"]);
    assert_eq!(findings(&store), []);
}

fn threads_get_numbers_without_a_gap(place: &TestStore) {
    let store = place.open();
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let store = store.clone();
            thread::spawn(move || {
                let project = store.project("demo").wait().unwrap();
                let append = |number| {
                    let events = vec![event(number); 1 + number as usize % 3];
                    store.append_events(&project, events).wait().unwrap()
                };
                let mut got = Vec::new();
                for number in 0..25 {
                    got.extend(append(thread + number));
                }
                got
            })
        })
        .collect();
    let mut got: Vec<i64> = Vec::new();
    for thread in threads {
        let seqs = thread.join().unwrap();
        assert!(seqs.is_sorted());
        got.extend(seqs);
    }
    got.sort_unstable();
    let project = store.project("demo").wait().unwrap();
    assert_gapless(&got);
    assert_eq!(seqs(&store, &project), got);
    assert_eq!(findings(&store), []);
}

fn who_fails_leaves_the_others_alone(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let nobody = "0000000000000z".parse().unwrap();
    let strange = NewEvent {
        run: Some(nobody),
        ..event(0)
    };
    let mut text = event(0);
    text.event.kind.push(char::MIN);
    let bad = [strange, text];
    thread::scope(|scope| {
        for number in 0..8 {
            let (store, project, bad) = (&store, &project, &bad);
            scope.spawn(move || {
                for _ in 0..20 {
                    let good = vec![event(1), event(2)];
                    store.append_events(project, good).wait().unwrap();
                    // The number is taken before the text is refused.
                    let mixed = vec![event(3), bad[number % 2].clone()];
                    store.append_events(project, mixed).wait().unwrap_err();
                }
            });
        }
    });
    let there = seqs(&store, &project);
    assert_eq!(there.len(), 8 * 20 * 2);
    assert_gapless(&there);
    assert_eq!(findings(&store), []);
}

/// Appends as many events as it is told and says their numbers.
pub(crate) fn append_job(assignment: &Assignment) {
    let store = assignment.open();
    let project = store.project("demo").wait().unwrap();
    let count: i64 = assignment.argument.parse().unwrap();
    for number in 0..count {
        let seqs = store
            .append_events(&project, vec![event(number)])
            .wait()
            .unwrap();
        assignment.say(&seqs[0].to_string());
    }
}

fn processes_get_numbers_without_a_gap(place: &TestStore) {
    let others: Vec<_> = (0..4)
        .map(|_| Process::start("append", place, "50"))
        .collect();
    let mut got: Vec<i64> = others
        .into_iter()
        .flat_map(Process::finish)
        .map(|line| line.parse().unwrap())
        .collect();
    got.sort_unstable();
    assert_eq!(got.len(), 200);
    assert_gapless(&got);
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    assert_eq!(seqs(&store, &project), got);
    assert_eq!(findings(&store), []);
}

fn any_sequence_of_appends_is_numbered_through(place: &TestStore) {
    let store = place.open();
    let cases = std::cell::Cell::new(0);
    let steps = proptest::collection::vec((0..3_usize, 0..130_usize), 1..6);
    let mut runner = TestRunner::new(Config {
        cases: 12,
        failure_persistence: None,
        ..Config::default()
    });
    let tried = runner.run(&steps, |steps| {
        let case = cases.replace(cases.get() + 1);
        let projects: Vec<_> = (0..3)
            .map(|number| store.project(&format!("p{case}-{number}")).wait().unwrap())
            .collect();
        let mut counts = [0; 3];
        for (which, count) in steps {
            let events = (0..count).map(|number| event(number as i64)).collect();
            let got = store
                .append_events(&projects[which], events)
                .wait()
                .unwrap();
            let first = counts[which] + 1;
            counts[which] += count as i64;
            prop_assert_eq!(got, (first..=counts[which]).collect::<Vec<_>>());
        }
        for (project, count) in projects.iter().zip(counts) {
            prop_assert_eq!(seqs(&store, project), (1..=count).collect::<Vec<_>>());
        }
        Ok(())
    });
    tried.unwrap();
    assert_eq!(findings(&store), []);
}

fn odd_texts_survive_and_nul_is_refused(place: &TestStore) {
    let store = place.open();
    for name in [
        "'; drop table event; --",
        "$1",
        "ü \u{1F600}\n",
        "\\",
        "a".repeat(2000).as_str(),
    ] {
        let project = store.project(name).wait().unwrap();
        let text = format!("{name}\0\u{FFFF}");
        let odd = Event::new(
            name,
            [(text.clone(), json!([text, 0.1, -0.0, u64::MAX]))],
            name,
        );
        store
            .append_events(&project, vec![odd.clone().into()])
            .wait()
            .unwrap();
        let back = store.events_since(&project, 0, 1).wait().unwrap();
        assert_eq!(back[0].event, odd);
    }
    let nul = "a text with the character NUL cannot be stored";
    let refused = store.project("a\0b").wait().unwrap_err();
    assert_eq!(refused.to_string(), nul);
    assert_eq!(
        store.project("").wait().unwrap_err().to_string(),
        "a project needs a name"
    );
    let project = store.project("demo").wait().unwrap();
    let event = Event::new("a\0", [("b", json!(1))], "");
    let refused = store.append_events(&project, vec![event.into()]).wait();
    assert_eq!(refused.unwrap_err().to_string(), nul);
    assert!(seqs(&store, &project).is_empty());
    assert_eq!(findings(&store), []);
}

fn events_of_a_run_come_in_pages(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let run = place.queue(&store, &project, 1)[0];
    let about = |number| NewEvent {
        run: Some(run),
        ..event(number)
    };
    let events = vec![event(1), about(2), about(3), event(4), about(5), about(6)];
    let seqs = store.append_events(&project, events).wait().unwrap();
    let [queued, first] = [seqs[0] - 1, seqs[1]];

    let all = EventFilter::default();
    let pages = store
        .event_pages_of_run(run, all.clone(), 2)
        .wait()
        .unwrap();
    assert_eq!(pages.total, 5);
    assert_eq!(pages.starts, [queued, first + 1, first + 4]);
    assert_eq!(pages.last, first + 4);

    let some = |filter: &EventFilter, limit| {
        let found = store.some_events_of_run(run, filter.clone(), limit).wait();
        let numbers = found.unwrap().into_iter().map(|event| event.seq);
        numbers.collect::<Vec<i64>>()
    };
    assert_eq!(some(&all, 2), [queued, first]);
    let after = EventFilter {
        after: first,
        kinds: vec!["test:event".to_owned()],
        newest: true,
    };
    assert_eq!(some(&after, 2), [first + 4, first + 3]);
    let none = EventFilter {
        kinds: vec!["no:such".to_owned()],
        ..all
    };
    let pages = store.event_pages_of_run(run, none, 2).wait().unwrap();
    assert_eq!((pages.total, pages.starts, pages.last), (0, vec![], 0));
    let prompt = store.run(&project, run.as_str()).wait().unwrap().prompt;
    let runs = store.runs_of_prompt(&project, prompt).wait().unwrap();
    assert!(runs.iter().any(|found| found.id == run));
}
