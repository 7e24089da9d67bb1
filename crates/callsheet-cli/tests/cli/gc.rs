//! `gc`: what goes when somebody asks for it, and what stays.

#![expect(
    clippy::unwrap_used,
    reason = "a store that cannot be looked into fails the test"
)]

use callsheet_store::{Access, Location, NewRun, RunKind, Store, Wait};

use crate::project::Project;
use crate::sealed::{database, seal, seal_by, shop};

fn ids(project: &Project) -> Vec<String> {
    let document = project.run(&["prompts", "--json"]).json();
    let prompts = document["prompts"].as_array().cloned().unwrap_or_default();
    prompts
        .iter()
        .filter_map(|prompt| prompt["id"].as_str().map(str::to_owned))
        .collect()
}

fn texts(project: &Project) -> i64 {
    let sql = "select count(*) from body";
    database(project)
        .query_row(sql, [], |row| row.get(0))
        .unwrap()
}

#[test]
fn the_newest_stay() {
    let project = shop();
    let kept = seal(&project, "a");
    let sealed = [
        seal(&project, "b"),
        seal(&project, "c"),
        seal_by(&project, &["pack", "src"]),
    ];
    let all = ids(&project);
    assert_eq!(all.len(), 4);
    insta::assert_snapshot!(project.callsheet(&["gc", "--keep", "2", "--dry-run"]), @"
    exit: 0
    --- stdout
    [ID1]
    [ID2]
    --- stderr
    would remove 2 prompts, 4 texts that only they carried, 116 bytes
    ");
    assert_eq!(ids(&project), all, "a dry run removes nothing");
    assert_eq!(
        project.run(&["gc", "--keep", "2", "--dry-run"]).text(),
        format!("{kept}\n{}\n", sealed[0])
    );
    insta::assert_snapshot!(project.callsheet(&["gc", "--keep", "2"]), @"
    exit: 0
    --- stdout
    [ID1]
    [ID2]
    --- stderr
    removed 2 prompts, 4 texts that only they carried, 116 bytes
    ");
    assert_eq!(ids(&project), all[..2]);
    insta::assert_snapshot!(project.callsheet(&["gc", "--keep", "2"]), @"
    exit: 0
    --- stderr
    removed 0 prompts, 0 texts that only they carried, 0 bytes
    ");
    insta::assert_snapshot!(project.callsheet(&["verify"]), @"
    exit: 0
    --- stderr
    5 events, 1 project, 2 prompts, 11 texts checked: nothing was changed
    ");
    for id in &all[..2] {
        // What they share with those that went is still there.
        assert_eq!(project.run(&["replay", id]).code(), Some(0));
        assert!(!project.run(&["show", id]).stdout.is_empty());
    }
    assert_eq!(project.run(&["show", &kept]).code(), Some(2));
    assert_eq!(
        project.run(&["why", "--text", "login.rs, a."]).code(),
        Some(1)
    );
    assert_eq!(
        project.run(&["why", "--text", "login.rs, c."]).code(),
        Some(0)
    );
}

#[test]
fn everything_can_go() {
    let project = shop();
    seal(&project, "a");
    seal(&project, "b");
    assert_eq!(project.run(&["gc", "--keep", "0", "-q"]).code(), Some(0));
    assert_eq!(ids(&project), [""; 0]);
    assert_eq!(texts(&project), 0);
    assert_eq!(project.run(&["verify"]).code(), Some(0));
    seal(&project, "again");
    assert_eq!(project.run(&["verify"]).code(), Some(0));
}

#[test]
fn what_is_young_enough_stays() {
    let project = shop();
    seal(&project, "a");
    seal(&project, "b");
    assert_eq!(project.run(&["gc", "--keep", "1d"]).text(), "");
    assert_eq!(
        project
            .run(&["gc", "--keep", "0", "--keep", "1h", "--dry-run"])
            .text(),
        ""
    );
    assert_eq!(
        project
            .run(&["gc", "--keep", "1", "--keep", "0s", "--dry-run"])
            .text()
            .lines()
            .count(),
        1
    );
    let document = project
        .run(&["gc", "--keep", "0", "--dry-run", "--json"])
        .json();
    assert_eq!(document["dry_run"], true);
    assert_eq!(document["prompts"].as_array().map(Vec::len), Some(2));
    assert_eq!(ids(&project).len(), 2);
}

#[test]
fn what_to_keep_has_to_be_said() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["gc", "--keep", "1"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `[ROOT]/.callsheet/callsheet.db`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    seal(&project, "a");
    insta::assert_snapshot!(project.callsheet(&["gc"]), @"
    exit: 2
    --- stderr
    error: the following required arguments were not provided:
      --keep <SPAN|N>

    Usage: callsheet gc --keep <SPAN|N>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(project.callsheet(&["gc", "--keep", "yesterday"]), @"
    exit: 2
    --- stderr
    error: `--keep yesterday` keeps nothing
    hint: write a span such as `90d` or `12h`, or a number of prompts
    ");
    assert_eq!(ids(&project).len(), 1);
}

#[test]
fn a_prompt_that_a_run_was_given_stays() {
    let project = shop();
    let given = seal(&project, "a");
    seal(&project, "b");
    {
        let place = Location::Sqlite(project.path(crate::sealed::STORE));
        let store = Store::open(&place, Access::Write).unwrap();
        let project = store.project(".").wait().unwrap();
        let new = NewRun {
            prompt: given.parse().unwrap(),
            kind: RunKind::First,
            parent: None,
            request: serde_json::Value::Null,
            task: None,
            batch: None,
        };
        store.queue_run(&project, new).wait().unwrap();
    }
    assert_eq!(project.run(&["gc", "--keep", "0", "-q"]).code(), Some(0));
    assert_eq!(ids(&project), [given]);
    assert_eq!(project.run(&["verify"]).code(), Some(0));
}
