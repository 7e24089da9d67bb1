//! Which tasks have to be done first.

use serde_json::json;

use crate::board::Board;

#[test]
fn a_task_waits_for_another() {
    let board = Board::new();
    let (one, two) = (board.add("One", &[]), board.add("Two", &[]));
    insta::assert_snapshot!(board.task(&["depend", &two, "--on", &one]), @"
    exit: 0
    --- stderr
    task [ID1] depends on [ID2]
    ");
    assert_eq!(board.status(&two), "blocked blocked_by_dependencies");
    insta::assert_snapshot!(board.task(&["show", &two]), @"
    exit: 0
    --- stdout
    title      Two
    status     blocked
    reasons    blocked_by_dependencies
    write      src/**
    base       main
    depends    [ID2] (not done)
    added      [TIME]
    ");
    // What is done unblocks.
    let outcome = json!({"status": "completed", "checks": [{"name": "test", "required": true, "status": "passed"}]});
    let run = board.finish(&one, &outcome);
    assert_eq!(board.status(&one), "ready merge_pending");
    assert_eq!(board.status(&two), "blocked blocked_by_dependencies");
    board.annotate(run, "merge", "main", json!({"commit": "0123"}));
    assert_eq!(board.status(&one), "done");
    assert_eq!(board.status(&two), "open");
    insta::assert_snapshot!(board.task(&["depend", &two, "--on", &one, "--remove", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.task/1",
      "id": "[ID1]",
      "title": "Two",
      "description": null,
      "write_scope": [
        "src/**"
      ],
      "exclude": [],
      "done_when": [],
      "base": "main",
      "depends": [],
      "status": "open",
      "reasons": [],
      "runs": [],
      "created_at": [TIME],
      "cancelled_at": null
    }
    --- stderr
    task [ID1] does not depend on [ID2] any more
    "#);
}

#[test]
fn what_cannot_be_waited_for() {
    let board = Board::new();
    let (one, two) = (board.add("One", &[]), board.add("Two", &[]));
    let three = board.add("Three", &["--depends", &two]);
    let mut output = String::new();
    for args in [
        &["depend", &two, "--on", &one][..],
        &["depend", &two, "--on", &one],
        &["depend", &one, "--on", &one],
        &["depend", &one, "--on", &three],
        &["depend", &one, "--on", "zzzz", &three],
        &["depend", &one, "--on", &two, "--remove"],
        &["depend", &one],
    ] {
        output.push_str(&format!("{}\n\n", board.task(args)));
    }
    insta::assert_snapshot!(output, @"
    exit: 0
    --- stderr
    task [ID1] depends on [ID2]

    exit: 2
    --- stderr
    error: task `[ID1]` already depends on `[ID2]`

    exit: 2
    --- stderr
    error: task `[ID2]` cannot depend on itself

    exit: 2
    --- stderr
    error: task `[ID2]` cannot depend on `[ID3]`, because that closes a cycle: `[ID2]` → `[ID3]` → `[ID1]` → `[ID2]`

    exit: 2
    --- stderr
    error: no task `zzzz`
    hint: `callsheet task list` lists them

    exit: 2
    --- stderr
    error: task `[ID2]` does not depend on `[ID1]`

    exit: 2
    --- stderr
    error: the following required arguments were not provided:
      --on <ID>...

    Usage: callsheet task depend --on <ID>... <ID>

    For more information, try '--help'.
    ");
    assert_eq!(board.status(&one), "open");
}
