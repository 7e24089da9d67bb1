//! Adding, listing and showing tasks, and what is wrong with them.

use crate::board::Board;
use crate::project::Project;

#[test]
fn a_project_without_tasks() {
    let board = Board::new();
    insta::assert_snapshot!(board.task(&["list"]), @"
    exit: 0
    --- stderr
    note: there are no tasks in this project; `callsheet task add` adds one
    ");
    insta::assert_snapshot!(board.task(&["list", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.tasks/1",
      "tasks": []
    }
    --- stderr
    note: there are no tasks in this project; `callsheet task add` adds one
    "#);
    insta::assert_snapshot!(board.task(&["show", "1m7f6zd4"]), @"
    exit: 2
    --- stderr
    error: there are no tasks in this project
    hint: `callsheet task add` adds one
    ");
    assert!(!board.project.path(".callsheet").exists());
}

#[test]
fn a_task_is_added_and_listed() {
    let board = Board::new();
    board
        .project
        .file("login.md", "It fails.\n\n\u{1b}[31mOften.\n");
    let first = board.add("Fix the login", &[]);
    insta::assert_snapshot!(board.task(&[
        "add", "--title", " Test the login ", "--write", "tests/**", "src/*.rs", "--write", "docs/*.md",
        "--exclude", "**/*.env", "--description", "@login.md", "--done-when", "the tests pass", "nobody is logged out",
        "--depends", &first, "--json",
    ]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.task/1",
      "id": "[ID1]",
      "title": "Test the login",
      "description": "It fails.\n\n\u001b[31mOften.\n",
      "write_scope": [
        "tests/**",
        "src/*.rs",
        "docs/*.md"
      ],
      "exclude": [
        "**/*.env"
      ],
      "done_when": [
        "the tests pass",
        "nobody is logged out"
      ],
      "base": "main",
      "depends": [
        "[ID2]"
      ],
      "status": "blocked",
      "reasons": [
        "blocked_by_dependencies"
      ],
      "runs": [],
      "created_at": [TIME],
      "cancelled_at": null
    }
    "#);
    insta::assert_snapshot!(board.task(&["list"]), @"
    exit: 0
    --- stdout
    ID              STATUS   RUNS  TITLE           REASONS
    [ID1]  blocked     0  Test the login  blocked_by_dependencies
    [ID2]  open        0  Fix the login
    ");
}

#[test]
fn a_task_is_shown_as_it_is_listed() {
    let board = Board::new();
    board
        .project
        .file("login.md", "It fails.\n\n\u{1b}[31mOften.\n");
    let first = board.add("Fix the login", &[]);
    let second = board.add(
        "Test the login",
        &[
            "tests/**",
            "--exclude",
            "**/*.env",
            "--description",
            "@login.md",
            "--done-when",
            "the tests pass",
            "nobody is logged out",
            "--depends",
            &first,
        ],
    );
    let listed = board.project.run(&["task", "list", "--json"]).json();
    assert_eq!(listed["schema"], "callsheet.tasks/1");
    assert_eq!(listed["tasks"][1]["id"], first.as_str());
    let shown = board
        .project
        .run(&["task", "show", &second, "--json"])
        .json();
    assert_eq!(listed["tasks"][0], shown);
    insta::assert_snapshot!(board.task(&["show", &second]), @r"
    exit: 0
    --- stdout
    title      Test the login
    status     blocked
    reasons    blocked_by_dependencies
    write      src/**
               tests/**
    exclude    **/*.env
    done when  the tests pass
               nobody is logged out
    base       main
    depends    [ID1] (not done)
    added      [TIME]

    It fails.

    \u{1b}[31mOften.
    ");
    insta::assert_snapshot!(board.task(&["list", "--status", "open"]), @"
    exit: 0
    --- stdout
    ID              STATUS  RUNS  TITLE          REASONS
    [ID1]  open       0  Fix the login
    ");
    insta::assert_snapshot!(board.task(&["list", "--status", "done"]), @"exit: 0");
    let verified = board.project.run(&["verify"]);
    assert_eq!(verified.code(), Some(0), "{}", verified.text());
}

#[test]
fn what_a_task_needs() {
    let board = Board::new();
    let mut output = String::new();
    for args in [
        &["--write", "src/**"][..],
        &["--title", " ", "--write", "src/**"],
        &["--title", "a\nb", "--write", "src/**"],
        &["--title", "T"],
        &["--title", "T", "--write", ""],
        &["--title", "T", "--write", "src/**", "/etc/*"],
        &["--title", "T", "--write", "src/**", "--exclude", "!a"],
        &["--title", "T", "--write", "src/**", "--done-when", ""],
        &[
            "--title",
            "T",
            "--write",
            "src/**",
            "--description",
            "@nope.md",
        ],
        &["--title", "T", "--write", "src/**", "--depends", "1m7f6zd4"],
        &[
            "--title",
            "T",
            "--write",
            "src/**",
            "--depends",
            "not an id",
        ],
        &["--title", "T", "--write"],
    ] {
        let shown = board.task(&[&["add"], args].concat());
        output.push_str(&format!("{args:?}\n{shown}\n\n"));
    }
    insta::assert_snapshot!(output, @r#"
    ["--write", "src/**"]
    exit: 2
    --- stderr
    error: a task needs a title
    hint: `--title TEXT` says what it is called

    ["--title", " ", "--write", "src/**"]
    exit: 2
    --- stderr
    error: a task needs a title
    hint: `--title TEXT` says what it is called

    ["--title", "a\nb", "--write", "src/**"]
    exit: 2
    --- stderr
    error: the title has more than one line, or a control character
    hint: `--description TEXT` takes more than a line

    ["--title", "T"]
    exit: 2
    --- stderr
    error: a task needs a write scope
    hint: `--write GLOB…` says which paths may be written, such as `--write 'src/**'`

    ["--title", "T", "--write", ""]
    exit: 2
    --- stderr
    error: `--write[0]`: bad scope pattern ``: it is empty

    ["--title", "T", "--write", "src/**", "/etc/*"]
    exit: 2
    --- stderr
    error: `--write[1]`: bad scope pattern `/etc/*`: patterns are relative to the root; leave the leading `/` out

    ["--title", "T", "--write", "src/**", "--exclude", "!a"]
    exit: 2
    --- stderr
    error: `--exclude[0]`: bad scope pattern `!a`: a leading `!` negates in some tools and not in others; use an exclude list

    ["--title", "T", "--write", "src/**", "--done-when", ""]
    exit: 2
    --- stderr
    error: a text of `--done-when` is empty

    ["--title", "T", "--write", "src/**", "--description", "@nope.md"]
    exit: 2
    --- stderr
    error: nope.md: no such file or directory

    ["--title", "T", "--write", "src/**", "--depends", "1m7f6zd4"]
    exit: 2
    --- stderr
    error: no task `1m7f6zd4`
    hint: `callsheet task list` lists them

    ["--title", "T", "--write", "src/**", "--depends", "not an id"]
    exit: 2
    --- stderr
    error: `not an id` is not the id of a task
    hint: `callsheet task list` lists them

    ["--title", "T", "--write"]
    exit: 2
    --- stderr
    error: a value is required for '--write <GLOB>...' but none was supplied

    For more information, try '--help'.
    "#);
    let listed = board.project.run(&["task", "list", "--json"]).json();
    assert_eq!(listed["tasks"], serde_json::json!([]));
}

#[test]
fn the_base_of_a_task() {
    let board = Board::new();
    board.git(&["branch", "next"]);
    let base = |more: &[&str]| {
        let id = board.add("T", more);
        let shown = board.project.run(&["task", "show", &id, "--json"]);
        shown.json()["base"].clone()
    };
    assert_eq!(base(&[]), "main");
    assert_eq!(base(&["--base", "next"]), "next");
    insta::assert_snapshot!(board.task(&["add", "--title", "T", "--write", "a", "--base", "mian"]), @"
    exit: 2
    --- stderr
    error: no branch `mian`
    hint: did you mean `main`?
    ");
    board.git(&["switch", "--quiet", "--detach"]);
    insta::assert_snapshot!(board.task(&["add", "--title", "T", "--write", "a"]), @"
    exit: 2
    --- stderr
    error: no branch is checked out
    hint: `--base BRANCH` says which one the task starts from
    ");
    board
        .project
        .file("callsheet.toml", "[workspace]\nbase = \"next\"\n");
    assert_eq!(base(&[]), "next");
    assert_eq!(base(&["--base", "main"]), "main");
    board
        .project
        .file("callsheet.toml", "[workspace]\nbase = \"gone\"\n");
    insta::assert_snapshot!(board.task(&["add", "--title", "T", "--write", "a"]), @"
    exit: 2
    --- stderr
    error: no branch `gone`
    hint: there are `main`, `next`
    hint: the setting `workspace.base` names it
    ");
}

#[test]
fn a_folder_that_is_not_a_repository() {
    let mut project = Project::new();
    std::fs::remove_dir(project.path(".git")).unwrap();
    let path = std::env::var("PATH").unwrap();
    project.variable("PATH", &path);
    project.file("callsheet.toml", "");
    insta::assert_snapshot!(project.callsheet(&["task", "add", "--title", "T", "--write", "a"]), @"
    exit: 2
    --- stderr
    error: tasks need git: not a git repository
    hint: `git init` makes a repository
    ");
}

#[test]
fn ids_that_mean_nothing_or_too_much() {
    let board = Board::new();
    let id = board.add("One", &[]);
    board.add("Two", &[]);
    assert_eq!(board.status(&id), "open");
    assert_eq!(board.status(&id.to_uppercase()), "open");
    let mut output = String::new();
    for id in ["zzzz", "../x", "a-b", ""] {
        output.push_str(&format!("{}\n\n", board.task(&["show", id])));
    }
    insta::assert_snapshot!(output, @"
    exit: 2
    --- stderr
    error: no task `zzzz`
    hint: `callsheet task list` lists them

    exit: 2
    --- stderr
    error: `../x` is not the id of a task
    hint: `callsheet task list` lists them

    exit: 2
    --- stderr
    error: `a-b` is not the id of a task
    hint: `callsheet task list` lists them

    exit: 2
    --- stderr
    error: `` is not the id of a task
    hint: `callsheet task list` lists them
    ");
    let ambiguous = board.project.run(&["task", "show", &id[..1]]);
    let said = String::from_utf8_lossy(&ambiguous.stderr).into_owned();
    assert_eq!(ambiguous.code(), Some(2));
    assert!(
        said.starts_with(&format!(
            "error: more than one task begins with `{}`: `",
            &id[..1]
        )),
        "{said}"
    );
    assert!(said.ends_with("hint: write one more character\n"), "{said}");
    insta::assert_snapshot!(board.task(&["list", "--status", "finished"]), @"
    exit: 2
    --- stderr
    error: invalid value 'finished' for '--status <STATUS>'
      [possible values: open, ready, running, blocked, needs_review, failed, done, cancelled]

      tip: a similar value exists: 'failed'

    For more information, try '--help'.
    ");
}
