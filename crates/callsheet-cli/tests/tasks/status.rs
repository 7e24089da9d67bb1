//! What a task is at, from runs in a real store; and the end of tasks.

use callsheet_store::Wait;
use serde_json::json;

use crate::board::Board;

#[test]
fn a_task_follows_its_runs_and_what_was_decided_about_them() {
    let board = Board::new();
    let task = board.add("Fix the login", &[]);
    assert_eq!(board.status(&task), "open");
    let failed = board.finish(&task, &json!({"status": "failed", "class": "quota"}));
    assert_eq!(board.status(&task), "failed run_failed");
    let outcome = json!({
        "status": "completed",
        "checks": [{"name": "test", "required": true, "status": "failed"}],
        "violations": [{"id": "r.1", "path": "README.md", "reason": "outside_write"}],
    });
    let run = board.finish(&task, &outcome);
    let pending = "needs_review scope_violation_pending dod_failed merge_pending";
    assert_eq!(board.status(&task), pending);
    board.annotate(run, "violation", "r.1", json!({"approval": "approved"}));
    assert_eq!(board.status(&task), "failed dod_failed merge_pending");
    board.annotate(run, "check", "test", json!({"status": "passed"}));
    assert_eq!(board.status(&task), "ready merge_pending");
    let document = board.project.run(&["task", "show", &task, "--json"]).json();
    assert_eq!(document["runs"], json!([failed, run]));
    insta::assert_snapshot!(board.task(&["show", &task]), @"
    exit: 0
    --- stdout
    title      Fix the login
    status     ready
    reasons    merge_pending
    write      src/**
    base       main
    runs       [ID1]  failed (quota)
               [ID2]  completed
    added      [TIME]
    ");
    insta::assert_snapshot!(board.task(&["list"]), @"
    exit: 0
    --- stdout
    ID              STATUS  RUNS  TITLE          REASONS
    [ID3]  ready      2  Fix the login  merge_pending
    ");
    let verified = board.project.run(&["verify"]);
    assert_eq!(verified.code(), Some(0), "{}", verified.text());
}

#[test]
fn a_task_is_cancelled_when_nothing_runs_for_it() {
    let board = Board::new();
    let task = board.add("Fix the login", &[]);
    board.queue(&task);
    insta::assert_snapshot!(board.task(&["cancel", &task]), @"
    exit: 1
    --- stderr
    error: task `[ID1]` has a run that is not over: `[ID2]`
    hint: `callsheet stop [ID2]` ends it
    ");
    assert_eq!(board.status(&task), "open");
    let claim = board.claim();
    let (store, _) = board.store();
    let outcome = json!({"status": "cancelled"});
    assert!(store.finish_run(&claim, &outcome).wait().unwrap());
    insta::assert_snapshot!(board.task(&["cancel", &task]), @"
    exit: 0
    --- stderr
    task [ID1] is cancelled
    ");
    insta::assert_snapshot!(board.task(&["cancel", &task, "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.task/1",
      "id": "[ID1]",
      "title": "Fix the login",
      "description": null,
      "write_scope": [
        "src/**"
      ],
      "exclude": [],
      "done_when": [],
      "base": "main",
      "depends": [],
      "status": "cancelled",
      "reasons": [],
      "runs": [
        "[ID2]"
      ],
      "created_at": [TIME],
      "cancelled_at": [TIME]
    }
    --- stderr
    task [ID1] is cancelled already
    "#);
    insta::assert_snapshot!(board.task(&["show", &task]), @"
    exit: 0
    --- stdout
    title      Fix the login
    status     cancelled
    write      src/**
    base       main
    runs       [ID2]  cancelled
    added      [TIME]
    cancelled  [TIME]
    ");
    insta::assert_snapshot!(board.task(&["cancel", "zzzz"]), @"
    exit: 2
    --- stderr
    error: no task `zzzz`
    hint: `callsheet task list` lists them
    ");
}
