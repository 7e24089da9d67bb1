//! Runs of tasks in bundles: they take their task and their annotations along, and hostile ones are refused.

#![expect(
    clippy::unwrap_used,
    reason = "a run that cannot be made fails the test"
)]

use std::time::Duration;

use callsheet_store::{Access, Location, NewRun, NewTask, Project as Owner, RunKind, Store, Wait};
use serde_json::{Value, json};

use crate::bundles::{Files, pack, unpack};
use crate::project::Project;
use crate::run_bundle::changed;
use crate::sealed::{STORE, export, said, seal, shop};

fn open(project: &Project) -> (Store, Owner) {
    let store = Store::open(&Location::Sqlite(project.path(STORE)), Access::Write).unwrap();
    let owner = store.project(".").wait().unwrap();
    (store, owner)
}

/// Makes a finished run of a new task with an annotation; returns the ids of the task and of the run.
fn run_of_task(project: &Project, prompt: &str) -> [String; 2] {
    let (store, owner) = open(project);
    let task = NewTask {
        title: "Lock the account".to_owned(),
        body: json!({"write_scope": ["src/**"]}),
        depends: Vec::new(),
    };
    let task = store.add_task(&owner, task).wait().unwrap();
    let task = task.to_string();
    let id = another_run(project, prompt, &task);
    let run = id.parse().unwrap();
    let merged = store.annotate(&owner, run, "merge", "main", json!(7), |_, _| Ok(()));
    merged.wait().unwrap().unwrap();
    [task, id]
}

/// Makes a finished run of a task and returns its id.
fn another_run(project: &Project, prompt: &str, task: &str) -> String {
    let (store, owner) = open(project);
    let new = NewRun {
        prompt: prompt.parse().unwrap(),
        kind: RunKind::First,
        parent: None,
        request: Value::Null,
        task: Some(task.parse().unwrap()),
        batch: None,
    };
    let lease = Duration::from_mins(1);
    let claim = store
        .start_run(&owner, new, "worker", lease, |_| Ok(()))
        .wait();
    let claim = claim.unwrap().unwrap();
    store
        .finish_run(&claim, &json!({"status": "succeeded"}))
        .wait()
        .unwrap();
    claim.run.id.to_string()
}

#[test]
fn a_run_takes_its_task_along() {
    let (project, other) = (shop(), Project::named("elsewhere"));
    let prompt = seal(&project, "you");
    let [task, run] = run_of_task(&project, &prompt);
    let file = export(&project, &[&run]);
    let file = file.to_str().unwrap();
    assert_eq!(other.run(&["verify", file]).code(), Some(0));
    for _ in 0..2 {
        let imported = other.run(&["import", file]);
        assert_eq!(imported.code(), Some(0), "{}", said(&imported));
    }
    let verified = other.run(&["verify"]);
    assert_eq!(
        (verified.code(), said(&verified).as_str()),
        (
            Some(0),
            "1 annotation, 7 events, 1 project, 1 prompt, 1 run, 1 task, 6 texts checked: nothing was changed\n"
        )
    );
    let (store, owner) = open(&other);
    let found = store.task(&owner, &task).wait().unwrap();
    assert_eq!(found.title, "Lock the account");
    let run = store.run(&owner, &run).wait().unwrap();
    assert_eq!(run.task, Some(found.id));
}

/// A change of `run.json`: what becomes what.
const CHANGES: &[(&str, &str)] = &[
    ("\"title\":\"Lock the account\"", "\"title\":\" \""),
    ("Lock the account", "Lock \\u0000 it"),
    ("\"created_at\":1", "\"created_at\":2"),
    ("\"body\":{", "\"body\": {"),
    ("\"body\":{", "\"body\":{\"deep\":{deep},"),
    ("\"body\":{", "\"more\":1,\"body\":{"),
    ("\"kind\":\"merge\"", "\"kind\":\"\\u0000\""),
    ("\"annotations\":[{\"at\":", "\"annotations\":[{\"at\":-"),
    ("\"value\":7", "\"value\":{deep}"),
    ("\"value\":7", "\"value\":7,\"more\":1"),
    ("\"annotations\":[", "\"annotations\":[{again},"),
    ("{annotations}", ""),
    ("{annotations}", ",\"annotations\":[]"),
];

#[test]
fn hostile_tasks_are_refused_and_named() {
    let (project, other) = (shop(), Project::named("elsewhere"));
    let prompt = seal(&project, "you");
    let [task, run] = run_of_task(&project, &prompt);
    let files = unpack(&std::fs::read(export(&project, &[&run])).unwrap());
    let document = files.iter().find(|(path, _)| path.ends_with("run.json"));
    let document = String::from_utf8(document.unwrap().1.clone()).unwrap();
    let annotations = &document[document.find(",\"annotations\"").unwrap()..document.len() - 2];
    let again = &annotations[",\"annotations\":[".len()..annotations.len() - 1];
    let deep = "[".repeat(200) + &"]".repeat(200);
    let full = |text: &str| {
        let text = text.replace("{deep}", &deep).replace("{again}", again);
        text.replace("{annotations}", annotations)
    };
    let said_of = |files: &Files| {
        other.file("b.tar.zst", pack(files));
        let output = said(&other.run(&["import", "b.tar.zst"]));
        let proven = other.run(&["verify", "b.tar.zst"]);
        assert_eq!(proven.code(), Some(1), "{output}");
        assert!(!other.path(STORE).exists());
        output.replace(&run, "RUN").replace(&task, "TASK")
    };
    let mut output = String::new();
    for (from, to) in CHANGES {
        output += &said_of(&changed(&files, "run.json", true, |text| {
            assert!(text.contains(&full(from)), "{text}");
            text.replacen(&full(from), &full(to), 1)
        }));
    }
    output += &said_of(&changed(&files, "bundle.json", false, |text| {
        text.replace("bundle/3", "bundle/2")
    }));
    let second = another_run(&project, &prompt, &task);
    let two = unpack(&std::fs::read(export(&project, &[&run, &second])).unwrap());
    let last = second.clone().max(run.clone());
    let name = format!("{last}/run.json");
    let said = said_of(&changed(&two, &name, true, |text| {
        text.replacen("Lock the account", "Unlock the account", 1)
    }));
    output += &said.replace(&last, "RUN");
    insta::assert_snapshot!(output, @"
    error: b.tar.zst: `runs/RUN/run.json`: its task has a title that no store can keep
    error: b.tar.zst: `runs/RUN/run.json`: its task has a title that no store can keep
    error: b.tar.zst: `runs/RUN/run.json`: the id of its task is not that of its time
    error: b.tar.zst: `runs/RUN/run.json`: it is not in canonical form
    error: b.tar.zst: `runs/RUN/run.json`: recursion limit exceeded at line 1 column 135
    error: b.tar.zst: `runs/RUN/run.json`: unknown field `more`, expected one of `id`, `title`, `body`, `created_at` at line 1 column 337
    error: b.tar.zst: `runs/RUN/run.json`: it has an annotation that no store can keep
    error: b.tar.zst: `runs/RUN/run.json`: it has an annotation that no store can keep
    error: b.tar.zst: `runs/RUN/run.json`: recursion limit exceeded at line 1 column 128
    error: b.tar.zst: `runs/RUN/run.json`: unknown field `more`, expected one of `at`, `kind`, `name`, `value` at line 1 column 473
    error: b.tar.zst: run RUN: it has 2 annotations, and 1 events that tell of one
    error: b.tar.zst: run RUN: it has 0 annotations, and 1 events that tell of one
    error: b.tar.zst: `runs/RUN/run.json`: it is not in canonical form
    error: b.tar.zst: its schema is `callsheet.bundle/2`, but its contents are those of `callsheet.bundle/3`
    error: b.tar.zst: run RUN: its task is another one than that of a run before it
    ");
}
