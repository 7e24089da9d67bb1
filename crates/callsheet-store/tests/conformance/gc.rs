//! Collecting: only what nobody keeps goes, and what is left is whole.

use std::fs;
use std::time::Duration;

use callsheet::Seal;
use callsheet_store::{
    BatchStatus, Collected, Keep, NewRun, Progress, PromptFilter, RunKind, Wait,
};

use crate::on_both;
use crate::prompts::{composed, seal};
use crate::test_store::{TestStore, findings};
use crate::{batches, tasks};

on_both!(
    prompts_that_do_not_go_are_an_error,
    only_what_nobody_keeps_goes,
    what_is_shared_or_was_run_stays,
    what_a_run_of_a_task_was_given_stays,
    what_a_run_of_a_batch_was_given_stays,
    everything_can_go_and_come_again,
    many_prompts_go_step_by_step,
);

fn only_what_nobody_keeps_goes(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    seal(&store, &other, "Not mine.");
    let mut ids: Vec<_> = (0..6)
        .map(|n| seal(&store, &project, &format!("Task {n}.")).0.id)
        .collect();
    ids.sort();
    let keep = |newest: usize, since| Keep {
        newest: Some(newest),
        since,
    };
    let collected = store.collect(&project, keep(6, None)).wait();
    assert_eq!(collected.unwrap(), Collected::default());
    for (rules, why) in [
        (keep(99, None), "there are fewer"),
        (keep(1, Some(0)), "either rule keeps"),
    ] {
        let would = store.collectable(&project, rules).wait().unwrap();
        assert_eq!(would, Collected::default(), "{why}");
    }
    let two = keep(2, None);
    let would = store.collectable(&project, two).wait().unwrap();
    assert_eq!(would.prompts, ids[..4]);
    assert!(would.texts >= 4 && would.bytes > 0, "{would:?}");
    assert_eq!(store.collect(&project, two).wait().unwrap(), would);
    let left = store
        .prompts(&project, PromptFilter::default(), 10)
        .wait()
        .unwrap();
    assert_eq!(left.len(), 2);
    assert!(store.prompt(&project, ids[0].as_str()).wait().is_err());
    let theirs = store.prompts(&other, PromptFilter::default(), 10).wait();
    assert_eq!(theirs.unwrap().len(), 1);
    for prompt in left {
        assert!(store.sealed(&prompt).wait().unwrap().check().is_empty());
    }
    assert_eq!(findings(&store), []);
    let carriers = store.carriers(&project, "Task 0", 5, None).wait();
    assert_eq!(carriers.unwrap().prompts, []);
}

fn what_is_shared_or_was_run_stays(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let shared = "Rules that every prompt carries. ".repeat(30);
    let prompt = |task: &str| {
        let (_, seal) = composed(&[("rules.md", &shared), ("task.md", task)]);
        store.seal(&project, seal).wait().unwrap().0
    };
    let (first, second, third) = (prompt("First."), prompt("Second."), prompt("Third."));
    let new = NewRun {
        prompt: second.id,
        kind: RunKind::First,
        parent: None,
        request: serde_json::Value::Null,
        task: None,
        batch: None,
    };
    store.queue_run(&project, new).wait().unwrap();
    let nothing = Keep {
        newest: Some(0),
        since: None,
    };
    let gone = store.collect(&project, nothing).wait().unwrap().prompts;
    let mut expected = [first.id, third.id];
    expected.sort();
    assert_eq!(gone, expected);
    let kept = store.sealed(&second).wait().unwrap();
    assert!(kept.check().is_empty() && kept.replay().unwrap().is_equal());
    assert_eq!(findings(&store), []);
}

fn what_a_run_of_a_task_was_given_stays(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let task = tasks::add(&store, &project, "a", &[]);
    let run = tasks::finished(&store, &project, task);
    let annotated = store.annotate(&project, run, "merge", "main", true.into(), |_, _| Ok(()));
    annotated.wait().unwrap().unwrap();
    store.cancel_task(&project, task).wait().unwrap();
    let given = store.run(&project, run.as_str()).wait().unwrap().prompt;
    let loose = seal(&store, &project, "Another one.").0.id;
    let gone = store.collect(&project, Keep::default()).wait().unwrap();
    assert_eq!(gone.prompts, [loose]);
    let kept = store.prompt(&project, given.as_str()).wait().unwrap();
    assert!(store.sealed(&kept).wait().unwrap().check().is_empty());
    assert_eq!(findings(&store), []);
}

fn what_a_run_of_a_batch_was_given_stays(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let held = batches::start(&store, &project, "w", Duration::from_mins(1));
    let new = batches::run_of(&store, &project, Some((held.clone(), 1)));
    let run = store.queue_run(&project, new.clone()).wait().unwrap();
    let progress = Progress {
        entries: vec![serde_json::json!({"run": run})],
        events: vec![],
    };
    let end = store.end_batch(&held, 1, BatchStatus::Completed, progress);
    end.wait().unwrap();
    let loose = seal(&store, &project, "Another one.").0.id;
    let batch = held.batch.id;
    let runs = store.runs_of_batch(&project, batch).wait().unwrap();
    let journal = store.journal(&project, batch, 0).wait().unwrap();
    let gone = store.collect(&project, Keep::default()).wait().unwrap();
    assert_eq!(gone.prompts, [loose]);
    assert_eq!((runs.len(), runs[0].prompt), (1, new.prompt));
    assert_eq!(store.runs_of_batch(&project, batch).wait(), Ok(runs));
    assert_eq!(store.journal(&project, batch, 0).wait(), Ok(journal));
    assert_eq!(findings(&store), []);
}

fn everything_can_go_and_come_again(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let (_, seal) = composed(&[("a.md", &"again and again ".repeat(100))]);
    let (prompt, _) = store.seal(&project, seal.clone()).wait().unwrap();
    let gone = store.collect(&project, Keep::default()).wait().unwrap();
    assert_eq!(gone.prompts, [prompt.id]);
    for table in [
        "body",
        "prompt",
        "document",
        "prompt_body",
        "source",
        "prompt_source",
        "delta_base",
        "passage",
        "trigram",
    ] {
        assert_eq!(
            place.count(&format!("select count(*) from {table}")),
            0,
            "{table}"
        );
    }
    let (again, new) = store.seal(&project, seal.clone()).wait().unwrap();
    assert!(new);
    assert_eq!(store.sealed(&again).wait(), Ok(seal));
    assert_eq!(findings(&store), []);
}

/// Makes a prompt of tens of kilobytes that has nothing in common with those of other numbers.
pub(crate) fn large(number: u64) -> Seal {
    let mut text = format!("Task {number}.\n");
    let mut dice = number;
    for _ in 0..8_000 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push_str(&format!("{:x} ", dice >> 32));
    }
    composed(&[("task.md", &text)]).1
}

#[test]
fn a_file_becomes_as_small_as_what_is_left() {
    let place = TestStore::sqlite();
    let keep = |newest| Keep {
        newest: Some(newest),
        since: None,
    };
    let size = || fs::metadata(place.file()).unwrap().len();
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    for number in 0..12 {
        store.seal(&project, large(number)).wait().unwrap();
    }
    let all = store.collect(&project, keep(12)).wait().unwrap();
    assert_eq!(all.prompts, []);
    let before = size();
    assert_eq!(
        store
            .collect(&project, keep(2))
            .wait()
            .unwrap()
            .prompts
            .len(),
        10
    );
    let after = size();
    assert!(after < before / 2, "{before} bytes became {after}");
    assert_eq!(
        place.count("select freelist_count from pragma_freelist_count"),
        0
    );
    assert_eq!(findings(&store), []);
    drop(store);

    // A file that an older program has made cannot give single pages back.
    let connection = rusqlite::Connection::open(place.file()).unwrap();
    let older = "pragma auto_vacuum = none; vacuum";
    connection.execute_batch(older).unwrap();
    drop(connection);
    assert_eq!(place.count("select auto_vacuum from pragma_auto_vacuum"), 0);
    let store = place.open();
    for number in 20..26 {
        store.seal(&project, large(number)).wait().unwrap();
    }
    store.collect(&project, keep(1)).wait().unwrap();
    assert!(size() < before / 2, "{before} bytes became {}", size());
    assert_eq!(
        place.count("select freelist_count from pragma_freelist_count"),
        0
    );
    assert_eq!(place.count("select auto_vacuum from pragma_auto_vacuum"), 2);
    assert_eq!(findings(&store), []);
}

/// Whoever seals meanwhile waits for one step, not for all.
fn many_prompts_go_step_by_step(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let all: Vec<_> = (0..510)
        .map(|number| seal(&store, &project, &format!("Task {number}.")).0.id)
        .collect();
    let keep = Keep {
        newest: Some(3),
        since: None,
    };
    let would = store.collectable(&project, keep).wait().unwrap();
    let gone = store.collect(&project, keep).wait().unwrap();
    assert_eq!(gone, would);
    assert_eq!(gone.prompts.len(), 507);
    assert!(all[507..].iter().all(|id| !gone.prompts.contains(id)));
    let collections = "select count(*) from event where kind = 'prompt:collected'";
    assert_eq!(place.count(collections), 2);
    assert_eq!(findings(&store), []);
}

/// Whoever goes on as long as there are prompts to be removed would never end, and note each turn in the history.
fn prompts_that_do_not_go_are_an_error(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    seal(&store, &project, "A task.");
    if place.is_sqlite() {
        place.raw("create trigger stay before delete on prompt begin select raise(ignore); end");
    } else {
        place.raw(
            "create function stay() returns trigger language plpgsql as 'begin return null; end'",
        );
        place.raw(
            "create trigger stay before delete on prompt for each row execute function stay()",
        );
    }
    let error = store.collect(&project, Keep::default()).wait().unwrap_err();
    assert!(error.to_string().contains("cannot be removed"), "{error}");
    assert_eq!(place.count("select count(*) from event"), 1);
    assert_eq!(place.count("select count(*) from document"), 1);
}
