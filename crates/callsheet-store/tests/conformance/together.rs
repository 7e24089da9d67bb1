//! Many who seal, queue and collect at once, with texts that some of them share: nobody waits for ever, and nothing breaks.

use std::sync::{Arc, Barrier};
use std::thread;

use callsheet_store::{Keep, NewRun, Project, RunKind, Store, StoreError, Wait};

use crate::on_both;
use crate::prompts::composed;
use crate::test_store::{TestStore, findings};

on_both!(
    sealers_never_wait_for_each_other_in_a_circle,
    a_prompt_that_is_given_to_a_run_is_not_half_removed,
);

/// How many seal at once.
const SEALERS: usize = 4;

/// Returns text that resembles no other.
fn noise(seed: usize) -> String {
    let mut state = seed as u64 + 1;
    let mut digit = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from(state >> 33 & 15).unwrap())
    };
    (0..400).map(|_| digit()).collect()
}

/// Every sealer has new texts in places that all of them have, and some that others seal at the same time.
fn sealers_never_wait_for_each_other_in_a_circle(place: &TestStore) {
    let project = place.open().project("demo").wait().unwrap();
    let barrier = Arc::new(Barrier::new(SEALERS));
    let sealer = |number: usize| {
        let (store, project) = (place.open(), project.clone());
        let barrier = Arc::clone(&barrier);
        move || -> Result<(), StoreError> {
            for round in 0..4 {
                let text = |file: usize| match file % 4 {
                    0 => noise(round * 100 + file),
                    _ => noise((number + 1) * 10_000 + round * 100 + file),
                };
                let files: Vec<(String, String)> = (0..24)
                    .map(|file| (format!("f{file}.md"), text(file)))
                    .collect();
                let files: Vec<(&str, &str)> = files
                    .iter()
                    .map(|(name, text)| (&**name, &**text))
                    .collect();
                let (_, seal) = composed(&files);
                barrier.wait();
                store.seal(&project, seal).wait()?;
            }
            Ok(())
        }
    };
    let running: Vec<_> = (0..SEALERS)
        .map(|number| thread::spawn(sealer(number)))
        .collect();
    for sealer in running {
        assert_eq!(sealer.join().unwrap(), Ok(()));
    }
    if !place.is_sqlite() {
        let circles = "select deadlocks from pg_stat_database where datname = current_database()";
        assert_eq!(place.count(circles), 0);
    }
    assert_eq!(findings(&place.open()), []);
    assert_eq!(
        place.count("select count(*) from prompt"),
        4 * SEALERS as i64
    );
}

/// Whoever queues a run of a prompt finds it whole, or not at all.
fn a_prompt_that_is_given_to_a_run_is_not_half_removed(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    for round in 0..10 {
        let made = |n: usize| {
            let (_, seal) = composed(&[("a.md", &format!("prompt {n} of round {round}"))]);
            store.seal(&project, seal).wait().unwrap().0
        };
        let prompts: Vec<_> = (0..3).map(made).collect();
        let collector = collector(place, &project);
        for prompt in &prompts {
            let new = NewRun {
                prompt: prompt.id,
                kind: RunKind::First,
                parent: None,
                request: serde_json::Value::Null,
                task: None,
                batch: None,
            };
            match store.queue_run(&project, new).wait() {
                Ok(_) => assert!(store.sealed(prompt).wait().is_ok()),
                Err(error) => assert_eq!(error.to_string(), format!("no prompt `{}`", prompt.id)),
            }
        }
        collector.join().unwrap();
    }
    assert_eq!(findings(&store), []);
}

fn collector(place: &TestStore, project: &Project) -> thread::JoinHandle<()> {
    let (store, project): (Store, Project) = (place.open(), project.clone());
    thread::spawn(move || {
        store.collect(&project, Keep::default()).wait().unwrap();
    })
}
