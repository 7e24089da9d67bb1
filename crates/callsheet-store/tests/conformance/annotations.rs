//! Annotations: only ever added, in order, and a decision is made once however many decide.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use callsheet_store::{Annotation, Id, Project, Run, RunState, Store, Wait};
use serde_json::{Value, json};

use crate::on_both;
use crate::tasks;
use crate::test_store::{TestStore, assert_gapless, claim, findings, seqs};

on_both!(
    annotations_come_back_in_order,
    an_annotation_is_an_event_too,
    whoever_annotates_may_refuse,
    only_finished_runs_are_annotated,
    a_decision_is_made_once_however_many_decide,
);

const LONG: Duration = Duration::from_mins(1);

fn annotate(store: &Store, project: &Project, run: Id, what: (&str, &str, Value)) {
    let (kind, name, value) = what;
    let added = store.annotate(project, run, kind, name, value, |_, _| Ok(()));
    assert_eq!(added.wait(), Ok(Ok(())));
}

fn plain(annotations: &[Annotation]) -> Vec<(&str, &str, Value)> {
    let parts = annotations.iter();
    parts
        .map(|it| (it.kind.as_str(), it.name.as_str(), it.value.clone()))
        .collect()
}

fn annotations_come_back_in_order(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let task = tasks::add(&store, &project, "a", &[]);
    let [first, second, bare] = [(); 3].map(|()| tasks::finished(&store, &project, task));
    let strange = tasks::add(&store, &other, "b", &[]);
    let strange = tasks::finished(&store, &other, strange);
    let approved = ("violation", "x.1", json!({"approval": "approved"}));
    let checked = ("check", "test", json!({"output": "a\u{0}b", "n": 0.1}));
    let merged = ("merge", "main", Value::Null);
    annotate(&store, &project, first, approved.clone());
    annotate(&store, &project, second, merged.clone());
    annotate(&store, &project, first, checked.clone());
    annotate(&store, &other, strange, merged.clone());

    let runs = [first, bare, second, first, strange];
    let found = store.annotations(&project, &runs).wait().unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(plain(&found[&first]), [approved, checked]);
    assert_eq!(plain(&found[&second]), [merged]);
    assert!(found[&first].is_sorted_by_key(|it| it.at));
    assert_eq!(store.annotations(&project, &[]).wait(), Ok(BTreeMap::new()));
    assert_eq!(findings(&store), []);
    let verified = store.verify(|_| ()).wait().unwrap();
    assert_eq!(verified.checked["annotations"], 4);
}

fn an_annotation_is_an_event_too(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let task = tasks::add(&store, &project, "a", &[]);
    let run = tasks::finished(&store, &project, task);
    let before = store.run(&project, run.as_str()).wait().unwrap();
    annotate(&store, &project, run, ("check", "test", json!([1])));
    let found = store.annotations(&project, &[run]).wait().unwrap();
    let stored = store.events_of_run(run, 0, usize::MAX).wait().unwrap();
    let stored = stored.last().unwrap();
    assert_eq!(
        (stored.event.kind.as_str(), stored.at),
        ("run:annotated", found[&run][0].at)
    );
    assert_eq!(
        Value::from(stored.event.payload.clone()),
        json!({
            "run": run, "kind": "check", "name": "test", "value": [1],
            "message": format!("run {run} is annotated: check test"),
        })
    );
    let after = store.run(&project, run.as_str()).wait();
    assert_eq!(after, Ok(before), "the run itself does not change");
}

fn whoever_annotates_may_refuse(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let task = tasks::add(&store, &project, "a", &[]);
    let run = tasks::finished(&store, &project, task);
    annotate(&store, &project, run, ("violation", "1", json!("approved")));
    let before = seqs(&store, &project).len();
    let no = move |found: &Run, there: &[Annotation]| {
        assert_eq!((found.id, found.state), (run, RunState::Finished));
        assert_eq!(found.task, Some(task));
        assert_eq!(found.outcome, Some(json!({"exit": 0})));
        Err(format!("{} is {}", there[0].name, there[0].value))
    };
    let asked = store.annotate(&project, run, "violation", "1", json!("rejected"), no);
    assert_eq!(asked.wait(), Ok(Err("1 is \"approved\"".to_owned())));
    assert_eq!(seqs(&store, &project).len(), before);
    let found = store.annotations(&project, &[run]).wait().unwrap();
    assert_eq!(found[&run].len(), 1);
    assert_eq!(findings(&store), []);
}

fn only_finished_runs_are_annotated(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let run = place.queue(&store, &project, 1)[0];
    let ask = |project: &Project, kind: &str| {
        let asked = store.annotate(project, run, kind, "1", Value::Null, |_, _| Ok(()));
        asked.wait().unwrap_err().to_string()
    };
    let why = format!("run `{run}` has not finished, so it cannot be annotated");
    assert_eq!(ask(&project, "check"), why);
    let held = claim(&store, &project, "w", LONG).unwrap();
    assert_eq!(ask(&project, "check"), why);
    assert!(store.finish_run(&held, &json!(0)).wait().unwrap());
    assert_eq!(ask(&other, "check"), format!("no run `{run}`"));
    assert_eq!(
        ask(&project, "a\u{0}"),
        "a text with the character NUL cannot be stored"
    );
    assert_eq!(
        store.annotations(&project, &[run]).wait(),
        Ok(BTreeMap::new())
    );
    assert_eq!(findings(&store), []);
}

/// Each of many decides about each of some violations, unless somebody has.
fn a_decision_is_made_once_however_many_decide(place: &TestStore) {
    const DECIDERS: usize = 8;
    const VIOLATIONS: usize = 4;
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let task = tasks::add(&store, &project, "a", &[]);
    let run = tasks::finished(&store, &project, task);
    let barrier = Barrier::new(DECIDERS);
    let decide = |store: &Store, violation: usize, who: usize| {
        let name = format!("{run}.{violation}");
        let about = name.clone();
        let pending = move |_: &Run, there: &[Annotation]| {
            let decided = there.iter().any(|it| it.name == about);
            (!decided).then_some(()).ok_or_else(|| "decided".to_owned())
        };
        let asked = store.annotate(
            &project,
            run,
            "violation",
            &name,
            json!({"by": who}),
            pending,
        );
        asked.wait().unwrap().is_ok()
    };
    let won: Vec<Vec<usize>> = thread::scope(|scope| {
        let asked: Vec<_> = (0..DECIDERS)
            .map(|who| {
                let (store, decide, barrier) = (place.open(), &decide, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let all = (0..VIOLATIONS).map(|at| (at + who) % VIOLATIONS);
                    all.filter(|at| decide(&store, *at, who)).collect()
                })
            })
            .collect();
        asked.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let mut decided = won.concat();
    decided.sort_unstable();
    assert_eq!(decided, (0..VIOLATIONS).collect::<Vec<_>>());
    let found = store.annotations(&project, &[run]).wait().unwrap();
    for annotation in &found[&run] {
        let who = annotation.value["by"].as_u64().unwrap() as usize;
        let named = |at: &usize| annotation.name == format!("{run}.{at}");
        assert!(won[who].iter().any(named), "whoever is told won");
    }
    assert_eq!(found[&run].len(), VIOLATIONS);
    assert_gapless(&seqs(&store, &project));
    assert_eq!(findings(&store), []);
}
