//! Runs: what can be queued, and finding them again.

use std::time::Duration;

use callsheet_store::{Id, NewRun, RunFilter, RunKind, RunPage, RunState, StoreError, Wait};
use serde_json::{Value, json};

use crate::on_both;
use crate::prompts;
use crate::test_store::{TestStore, claim, findings};

on_both!(
    a_run_needs_its_prompt_and_its_parent,
    pages_go_from_new_to_old,
    a_run_is_found_by_a_unique_prefix,
    runs_are_found_by_what_they_are,
);

const LEASE: Duration = Duration::from_mins(1);

fn new(prompt: Id, kind: RunKind, parent: Option<Id>) -> NewRun {
    NewRun {
        prompt,
        kind,
        parent,
        request: Value::Null,
        task: None,
        batch: None,
    }
}

fn a_run_needs_its_prompt_and_its_parent(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let prompt = prompts::seal(&store, &project, "A task.").0.id;
    let strange = prompts::seal(&store, &other, "A task.").0.id;
    let queue = |prompt, kind, parent| store.queue_run(&project, new(prompt, kind, parent)).wait();
    let refused = |prompt, kind, parent| queue(prompt, kind, parent).unwrap_err().to_string();
    assert_eq!(
        refused(strange, RunKind::First, None),
        format!("no prompt `{strange}`")
    );
    let first = queue(prompt, RunKind::First, None).unwrap();
    assert_eq!(
        refused(prompt, RunKind::First, Some(first)),
        "a first run has no parent"
    );
    assert_eq!(
        refused(prompt, RunKind::Retry, None),
        "a run of kind `retry` needs a parent"
    );
    assert_eq!(
        refused(prompt, RunKind::Continue, Some(first)),
        format!("run `{first}` has not finished, so none can follow it")
    );
    let elsewhere = place.queue(&store, &other, 1)[0];
    assert_eq!(
        refused(prompt, RunKind::Retry, Some(elsewhere)),
        format!("no run `{elsewhere}`")
    );

    let claim = claim(&store, &project, "w", LEASE).unwrap();
    assert_eq!(claim.run.id, first);
    assert!(
        store
            .finish_run(&claim, &json!({"exit": 0}))
            .wait()
            .unwrap()
    );
    let second = queue(prompt, RunKind::Continue, Some(first)).unwrap();
    let run = store.run(&project, second.as_str()).wait().unwrap();
    assert_eq!((run.parent, run.kind), (Some(first), RunKind::Continue));
    assert_eq!((run.state, run.attempt), (RunState::Queued, 0));
    assert_eq!((run.project.as_str(), run.prompt), ("demo", prompt));

    let kinds: Vec<String> = store
        .events_since(&project, 0, 10)
        .wait()
        .unwrap()
        .into_iter()
        .map(|event| event.event.kind)
        .collect();
    assert_eq!(
        kinds,
        [
            "prompt:sealed",
            "run:queued",
            "run:started",
            "run:finished",
            "run:queued"
        ]
    );
    assert_eq!(findings(&store), []);
}

fn pages_go_from_new_to_old(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let mut wanted = place.queue(&store, &project, 13);
    place.queue(&store, &other, 2);
    wanted.extend(place.queue(&store, &project, 12));
    for _ in 0..5 {
        let claim = claim(&store, &project, "w", LEASE).unwrap();
        store.finish_run(&claim, &json!(0)).wait().unwrap();
    }
    let pages = |state, limit| {
        let mut page = RunPage {
            limit,
            state,
            ..RunPage::default()
        };
        let mut ids: Vec<Id> = Vec::new();
        loop {
            let runs = store.runs(&project, page).wait().unwrap();
            assert!(runs.len() <= limit);
            ids.extend(runs.iter().map(|run| run.id));
            match runs.last() {
                Some(last) => page.before = Some(last.id),
                None => return ids,
            }
        }
    };
    wanted.reverse();
    for limit in [1, 7, 100] {
        assert_eq!(pages(None, limit), wanted);
        assert_eq!(pages(Some(RunState::Finished), limit), wanted[20..]);
        assert_eq!(pages(Some(RunState::Queued), limit), wanted[..20]);
        assert_eq!(pages(Some(RunState::Running), limit), []);
    }
}

fn a_run_is_found_by_a_unique_prefix(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let ids = place.queue(&store, &project, 8);
    for id in &ids {
        assert_eq!(store.run(&project, id.as_str()).wait().unwrap().id, *id);
        let upper = id.to_string().to_uppercase();
        assert_eq!(store.run(&project, &upper).wait().unwrap().id, *id);
    }
    let StoreError::Unknown {
        what, candidates, ..
    } = store
        .run(&project, &ids[0].as_str()[..2])
        .wait()
        .unwrap_err()
    else {
        panic!("a prefix of all is ambiguous");
    };
    assert_eq!((what, candidates.len()), ("run", 5));
    for unknown in ["zzz", "", "i", "%", "1hf7yat00efp05x"] {
        let said = store.run(&project, unknown).wait().unwrap_err().to_string();
        assert_eq!(said, format!("no run `{unknown}`"));
    }
}

fn runs_are_found_by_what_they_are(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    place.queue(&store, &other, 1);
    let prompt = prompts::seal(&store, &project, "A task.").0.id;
    let queue = |kind, parent, request| {
        let run = NewRun {
            request,
            ..new(prompt, kind, parent)
        };
        store.queue_run(&project, run).wait().unwrap()
    };
    let first = queue(RunKind::First, None, json!({"runner": "a \"b\" ü"}));
    let claim = claim(&store, &project, "w", LEASE).unwrap();
    store.finish_run(&claim, &json!(0)).wait().unwrap();
    let retry = queue(RunKind::Retry, Some(first), json!({"runner": "c"}));
    let silent = queue(RunKind::First, None, Value::Null);
    let found = |state, kind, runner: Option<&str>, page| {
        let runner = runner.map(str::to_owned);
        let filter = RunFilter {
            state,
            kind,
            runner,
        };
        let (runs, total) = store.find_runs(&project, filter, page).wait().unwrap();
        let ids: Vec<Id> = runs.iter().map(|run| run.id).collect();
        (ids, total)
    };
    let all = (0, 10);
    assert_eq!(
        found(None, None, None, all),
        (vec![silent, retry, first], 3)
    );
    assert_eq!(found(None, None, None, (1, 1)), (vec![retry], 3));
    assert_eq!(found(None, None, None, (0, 0)), (vec![], 3));
    assert_eq!(found(None, None, None, (7, 2)), (vec![], 3));
    assert_eq!(
        found(Some(RunState::Queued), None, None, all),
        (vec![silent, retry], 2)
    );
    assert_eq!(
        found(None, Some(RunKind::First), None, all),
        (vec![silent, first], 2)
    );
    let quoted = Some("a \"b\" ü");
    assert_eq!(found(None, None, quoted, all), (vec![first], 1));
    assert_eq!(
        found(Some(RunState::Queued), None, quoted, all),
        (vec![], 0)
    );
    assert_eq!(found(None, None, Some("' or 1=1 --"), all), (vec![], 0));
}
