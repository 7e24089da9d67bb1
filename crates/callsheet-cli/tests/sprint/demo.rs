//! `demo`: a whole sprint by agents that play a script, and what is left of it.

use crate::project::{Project, Run, finish};

/// What fits on one screen: lines and columns.
const SCREEN: (usize, usize) = (24, 100);

/// Runs the program in the project of the demo.
fn inside(project: &Project, args: &[&str]) -> Run {
    finish(project.command(args).current_dir(project.path("todo")))
}

/// Runs git in the project of the demo.
fn git(project: &Project, args: &[&str]) -> String {
    let run = finish(
        project
            .tool("git")
            .args(args)
            .current_dir(project.path("todo")),
    );
    assert_eq!(run.code(), Some(0), "{args:?}");
    run.text()
}

/// Puts `[COMMIT]` in the place of the beginning of every commit.
fn without_commits(project: &Project, text: &str) -> String {
    let commits = git(
        project,
        &["rev-list", "--all", "--abbrev-commit", "--abbrev=10"],
    );
    commits.lines().fold(text.to_owned(), |text, commit| {
        text.replace(commit, "[COMMIT]")
    })
}

fn shown(project: &Project, run: &Run) -> String {
    without_commits(project, &project.shown(run))
}

#[test]
fn the_demo_runs_a_sprint() {
    let project = Project::new();
    let run = project.run(&["demo", "todo"]);
    insta::assert_snapshot!("the_demo", shown(&project, &run));

    let output = run.text();
    let summary: Vec<&str> = output
        .lines()
        .skip_while(|line| !line.starts_with("STORY"))
        .collect();
    assert!(summary.len() < SCREEN.0, "{output}");
    for line in summary.iter().filter(|line| !line.starts_with("  cd ")) {
        assert!(line.chars().count() <= SCREEN.1, "{line}");
    }
    what_is_committed(&project);
    what_is_left(&project);
    what_it_proposes(&project, &summary);
}

/// Looks at the commits and at the work tree.
fn what_is_committed(project: &Project) {
    let log = [
        "log",
        "--format=%an <%ae> %s",
        "--name-status",
        "--no-renames",
    ];
    insta::assert_snapshot!("the_demo_commits", git(project, &log));
    insta::assert_snapshot!(git(project, &["status", "--short"]), @"
     D _bmad-output/implementation-artifacts/sprint-2-1-search-tasks-discovery-story.md
     D _bmad-output/implementation-artifacts/sprint-2-1-search-tasks.md
    ?? _bmad-output/archived-artifacts/sprint-2-1-search-tasks-discovery-story.md
    ?? _bmad-output/archived-artifacts/sprint-2-1-search-tasks.md
    ?? _bmad-output/implementation-artifacts/sprint-2-2-share-the-list-discovery-story.md
    ?? _bmad-output/implementation-artifacts/sprint-2-2-share-the-list.md
    ?? _bmad-output/implementation-artifacts/sprint-tech-spec-2-2-share-the-list.md
    ");
    let tests = finish(
        project
            .tool("sh")
            .arg("test.sh")
            .current_dir(project.path("todo")),
    );
    assert_eq!(tests.text(), "9 passed\n");
}

/// Looks at the board, the store, and what the next sprint would do.
fn what_is_left(project: &Project) {
    let before = include_str!("../../src/commands/demo/sprint/sprint-status.yaml");
    let board = project.read("todo/_bmad-output/implementation-artifacts/sprint-status.yaml");
    let expected = [
        ("1-1-add-a-task", "done"),
        ("1-2-list-open-tasks", "done"),
        ("1-3-finish-a-task", "done"),
        ("2-1-search-tasks", "done"),
        ("2-2-share-the-list", "blocked"),
    ]
    .iter()
    .fold(before.to_owned(), |board, (key, word)| {
        board.replace(&format!("{key}: backlog"), &format!("{key}: {word}"))
    });
    assert_eq!(board, expected);
    insta::assert_snapshot!(shown(project, &inside(project, &["sprint", "run"])), @"
    exit: 0
    --- stdout
    batch [ID4] all_done: nothing to do
    --- stderr
    batch [ID4] begins
    ");
}

/// Runs the commands that the demo proposes.
fn what_it_proposes(project: &Project, summary: &[&str]) {
    let next: Vec<&str> = summary
        .iter()
        .skip_while(|line| **line != "What to try next")
        .skip(2)
        .filter_map(|line| line.trim_start().split("  ").next())
        .collect();
    assert_eq!(next.len(), 4);
    assert_eq!((next[0], next[2]), ("git log --stat", "callsheet verify"));
    let args: Vec<&str> = next[1].split_whitespace().skip(1).collect();
    let output = inside(project, &args);
    assert_eq!(output.code(), Some(1), "two prompts differ");
    let output = output.text();
    let added: Vec<&str> = output
        .lines()
        .filter(|line| line.starts_with('+'))
        .collect();
    insta::assert_snapshot!(added.join("\n"), @"
    +## The run before
    +
    +This phase was tried before and did not succeed. These are the facts; the work tree is as that run left it. Look at what is there, keep what is good, and finish.
    +
    +- status: completed
    +- exit code: 0
    +- ended by: exit
    +- it changed what nobody may change in this project; undo that first:
    +  - acceptance/finish.sh
    +- changed files:
    +  - acceptance/finish.sh
    +  - commands/finish.sh
    ");
    let verified = inside(project, &["verify"]);
    assert_eq!(verified.code(), Some(0));
}

#[test]
fn the_demo_with_an_agent_that_is_not_installed() {
    let mut project = Project::new();
    let nowhere = "postgres://nobody:secret@127.0.0.1:1/none";
    project.variable("CALLSHEET_STORE", nowhere);
    let run = project.run(&["demo", "--runner", "claude", "todo"]);
    // Two agents fail at the same time, and either can be the first.
    let (said, failed) = (shown(&project, &run), "no program `claude` in `PATH`");
    let said: Vec<&str> = said
        .lines()
        .filter(|line| !line.ends_with(&format!(": {failed}")) || line.starts_with("error"))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    exit: 3
    --- stdout
    A to-do list in shell, with five stories in two epics, is in [ROOT]/todo
    claude takes them through all phases of a sprint:

    STORY                OUTCOME  REVIEWS  AGENTS  TOKENS  COMMIT
    1-1-add-a-task       open           0       2       0
    1-2-list-open-tasks  open           0       2       0
    batch [ID1] error: 0 cycles

    What to try next
      cd [ROOT]/todo
      callsheet doctor          whether the agent is there and logged in
      callsheet sprint run all  goes on where the sprint was left
      callsheet demo            the same with agents that need no model
    --- stderr
    note: the demo seals into a file of its own; `CALLSHEET_STORE` is not used
    batch [ID1] begins
    cycle 1: 1-1-add-a-task, 1-2-list-open-tasks
      create-story 1-1-add-a-task,1-2-list-open-tasks
      discovery 1-1-add-a-task,1-2-list-open-tasks
    error: no program `claude` in `PATH`
    ");
    assert!(project.path("todo/.callsheet/callsheet.db").is_file());
    assert!(!project.path("todo/agent.toml").exists(), "no script");
    let settings = project.read("todo/callsheet.toml");
    assert!(
        settings.ends_with("\n[sprint]\nrunner = \"claude\"\n"),
        "{settings}"
    );
}

#[test]
fn the_demo_knows_its_agents_before_it_makes_anything() {
    let project = Project::new();
    insta::assert_snapshot!(project.callsheet(&["demo", "--runner", "nobody", "todo"]), @"
    exit: 2
    --- stderr
    error: invalid value 'nobody' for '--runner <NAME>'
      [possible values: claude, codex, gemini, opencode]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(project.callsheet(&["demo", "--compose", "--runner", "claude", "todo"]), @"
    exit: 2
    --- stderr
    error: the argument '--compose' cannot be used with '--runner <NAME>'

    Usage: callsheet demo --compose <DIR>

    For more information, try '--help'.
    ");
    assert!(!project.path("todo").exists());
}
