//! `sprint next`, `set` and `check`: what they print, what they change, and what they refuse.

use std::os::unix::fs::symlink;

use crate::project::Project;

/// Where most boards are.
const PLACE: &str = "_bmad-output/implementation-artifacts/sprint-status.yaml";

const BOARD: &str = "\
# the board of a small project
project: small
story_location: \"{project-root}/stories\"

development_status:
  epic-2a: contexted
  2a-1-login: drafted  # first: the form
  2a-10-logout: backlog
  2a-2-menu: superseded
  epic-2a-retrospective: optional

  epic-3: done
  3-1-search: 'review'
  3-2-a: done
  3-2-b: done
";

fn project() -> Project {
    let project = Project::new();
    project.file(PLACE, BOARD);
    project
}

/// Returns the lines that differ from the board, as they are now.
fn changes(project: &Project) -> Vec<String> {
    let now = project.read(PLACE);
    assert_eq!(now.lines().count(), BOARD.lines().count());
    let pairs = BOARD.split('\n').zip(now.split('\n'));
    let pairs = pairs.filter(|(old, new)| old != new);
    pairs.map(|(_, new)| new.to_owned()).collect()
}

#[test]
fn next_prints_a_pair() {
    let project = project();
    insta::assert_snapshot!(project.callsheet(&["sprint", "next"]), @"
    exit: 0
    --- stdout
    2a-1-login
    2a-10-logout
    --- stderr
    warning: _bmad-output/implementation-artifacts/sprint-status.yaml:9: skipping `2a-2-menu`: `superseded` is not a known status
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "next", "--json", "-q"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.sprint-next/1",
      "story_keys": [
        "2a-1-login",
        "2a-10-logout"
      ],
      "epic_id": "2a"
    }
    "#);
    assert!(
        !project.path(".callsheet").exists(),
        "reading leaves nothing behind"
    );
}

#[test]
fn next_says_when_there_is_nothing_to_do() {
    let project = Project::new();
    project.file(
        "docs/sprint-status.yaml",
        "development_status:\n  1-1: done\n  1-2:\n",
    );
    insta::assert_snapshot!(project.callsheet(&["sprint", "next"]), @"
    exit: 0
    --- stderr
    warning: docs/sprint-status.yaml:3: skipping `1-2`: it has no status
    note: nothing to do on the board `docs/sprint-status.yaml`
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "next", "--json", "-q"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.sprint-next/1",
      "story_keys": [],
      "epic_id": ""
    }
    "#);
}

#[test]
fn a_project_without_a_board() {
    let project = Project::new();
    insta::assert_snapshot!(project.callsheet(&["sprint", "next"]), @"
    exit: 2
    --- stderr
    error: this project has no `sprint-status.yaml`
    hint: looked in _bmad-output/implementation-artifacts, docs/sprint-artifacts, docs, docs/implementation-artifacts, _bmad-output, the root, docs/stories, .bmad-ephemeral, _bmad-output/sprint-artifacts, bmad-output/implementation-artifacts, docs/bmad
    hint: `board` in `[sprint]` of callsheet.toml names another place
    ");
    project.file("callsheet.toml", "[sprint]\nboard = \"plan/board.yaml\"\n");
    insta::assert_snapshot!(project.callsheet(&["sprint", "check"]), @"
    exit: 2
    --- stderr
    error: the board `plan/board.yaml` does not exist
    ");
    project.file("plan/board.yaml", "epics:\n  - id: 1\n");
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "1-1", "done"]), @"
    exit: 2
    --- stderr
    error: plan/board.yaml: no `development_status` at the top level; found `epics`
    ");
    project.file("plan/board.yaml", BOARD);
    insta::assert_snapshot!(project.callsheet(&["sprint", "next", "-q"]), @"
    exit: 0
    --- stdout
    2a-1-login
    2a-10-logout
    ");
}

#[test]
fn of_two_boards_the_usual_one_is_taken() {
    let project = project();
    project.file(
        "sprint-status.yaml",
        "development_status:\n  9-9: backlog\n",
    );
    project.file("docs/sprint-status.yaml", "nothing");
    let shown = project.callsheet(&["sprint", "set", "3-1", "done"]);
    insta::assert_snapshot!(shown, @"
    exit: 0
    --- stderr
    warning: using the board `_bmad-output/implementation-artifacts/sprint-status.yaml`, not `docs/sprint-status.yaml`, `sprint-status.yaml`; `board` in `[sprint]` says which
    3-1-search: review → done
    ");
    assert_eq!(changes(&project), ["  3-1-search: 'done'"]);
}

#[test]
fn set_changes_one_line() {
    let project = project();
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "2a-1", "in-progress"]), @"
    exit: 0
    --- stderr
    2a-1-login: drafted → in-progress
    ");
    assert_eq!(
        changes(&project),
        ["  2a-1-login: in-progress  # first: the form"]
    );
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "2a-1-login", "in-progress"]), @"
    exit: 0
    --- stderr
    2a-1-login is in-progress already
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "2a-10", "blocked", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.sprint-set/1",
      "key": "2a-10-logout",
      "from": "backlog",
      "to": "blocked",
      "changed": true
    }
    "#);
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "epic-2a-retrospective", "done"]), @"
    exit: 0
    --- stderr
    epic-2a-retrospective: optional → done
    ");
    assert_eq!(changes(&project).len(), 3);
}

#[test]
fn set_refuses_what_needs_an_order() {
    let project = project();
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "3-1", "backlog"]), @"
    exit: 2
    --- stderr
    error: _bmad-output/implementation-artifacts/sprint-status.yaml:13: `3-1-search` is `review`, which is past `backlog`
    hint: use `--force` to write it anyway
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "2a-2", "done"]), @"
    exit: 2
    --- stderr
    error: _bmad-output/implementation-artifacts/sprint-status.yaml:9: `2a-2-menu` is `superseded`, which is not a known status
    hint: use `--force` to write it anyway
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "3-2", "done"]), @"
    exit: 2
    --- stderr
    error: `3-2` could mean `3-2-a`, `3-2-b`
    hint: write the whole key
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "2a-1-logn", "done"]), @"
    exit: 2
    --- stderr
    error: _bmad-output/implementation-artifacts/sprint-status.yaml: no story named `2a-1-logn`
    hint: did you mean `2a-1-login`?
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "9-9", "done"]), @"
    exit: 2
    --- stderr
    error: _bmad-output/implementation-artifacts/sprint-status.yaml: no story named `9-9`
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "3-1", "finished"]), @"
    exit: 2
    --- stderr
    error: no status named `finished`
    hint: allowed are `backlog`, `ready-for-dev`, `in-progress`, `review`, `done`, `blocked`
    hint: `--force` writes any word as it is
    ");
    assert!(changes(&project).is_empty());
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "3-1", "backlog", "--force"]), @"
    exit: 0
    --- stderr
    3-1-search: review → backlog
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "2a-2", "done", "--force"]), @"
    exit: 0
    --- stderr
    2a-2-menu: superseded → done
    ");
    assert_eq!(
        changes(&project),
        ["  2a-2-menu: done", "  3-1-search: 'backlog'"]
    );
}

#[test]
fn a_board_behind_a_link_and_with_windows_line_ends_keeps_both() {
    let project = Project::new();
    let text = BOARD.replace('\n', "\r\n");
    project.file("shared/board.yaml", &text).file("docs/x", "");
    symlink(
        "../shared/board.yaml",
        project.path("docs/sprint-status.yaml"),
    )
    .unwrap();
    for state in ["done", "in-progress", "review"] {
        let run = project.run(&["sprint", "set", "3-1", state, "--force"]);
        assert_eq!(run.code(), Some(0));
        let expected = text.replace("'review'", &format!("'{state}'"));
        assert_eq!(project.read("shared/board.yaml"), expected);
    }
    assert_eq!(project.read("shared/board.yaml"), text);
    assert!(project.path("docs/sprint-status.yaml").is_symlink());
}

#[test]
fn a_malformed_board_is_refused_and_left_alone() {
    let project = Project::new();
    let text = "development_status:\n  1-1: done\n  1-2: backlog\n  1-1: review\n";
    project.file("sprint-status.yaml", text);
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "1-2", "done", "--force"]), @"
    exit: 2
    --- stderr
    error: sprint-status.yaml:4: `1-1` is in line 2 already
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "next"]), @"
    exit: 2
    --- stderr
    error: sprint-status.yaml:4: `1-1` is in line 2 already
    ");
    assert_eq!(project.read("sprint-status.yaml"), text);
}

#[test]
fn check_reports_what_is_odd() {
    let project = project();
    project.file(
        "_bmad-output/implementation-artifacts/sprint-2a-1-login.md",
        "# Login\n\nStatus: review\n",
    );
    insta::assert_snapshot!(project.callsheet(&["sprint", "check"]), @"
    exit: 1
    --- stdout
    _bmad-output/implementation-artifacts/sprint-status.yaml:7: `2a-1-login` is `drafted`, but `_bmad-output/implementation-artifacts/sprint-2a-1-login.md` says `review` in line 3; the board counts
    _bmad-output/implementation-artifacts/sprint-status.yaml:9: `2a-2-menu` is `superseded`, which is not a known status; it is never run
    _bmad-output/implementation-artifacts/sprint-status.yaml:12: `epic-3` is `done`, but `3-1-search` is `review`
    _bmad-output/implementation-artifacts/sprint-status.yaml:13: `3-1-search` is `review`, but it has no story file
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "check", "--json"]), @r#"
    exit: 1
    --- stdout
    {
      "schema": "callsheet.sprint-check/1",
      "board": "_bmad-output/implementation-artifacts/sprint-status.yaml",
      "findings": [
        {
          "line": 7,
          "key": "2a-1-login",
          "kind": "other-status",
          "message": "`2a-1-login` is `drafted`, but `_bmad-output/implementation-artifacts/sprint-2a-1-login.md` says `review` in line 3; the board counts"
        },
        {
          "line": 9,
          "key": "2a-2-menu",
          "kind": "unknown-word",
          "message": "`2a-2-menu` is `superseded`, which is not a known status; it is never run"
        },
        {
          "line": 12,
          "key": "epic-3",
          "kind": "contradiction",
          "message": "`epic-3` is `done`, but `3-1-search` is `review`"
        },
        {
          "line": 13,
          "key": "3-1-search",
          "kind": "no-file",
          "message": "`3-1-search` is `review`, but it has no story file"
        }
      ]
    }
    "#);
}

#[test]
fn check_warns_of_what_other_readers_refuse() {
    let project = Project::new();
    project.file(
        PLACE,
        "story_location: {project-root}/x\ndevelopment_status:\n  1-1: backlog\n",
    );
    insta::assert_snapshot!(project.callsheet(&["sprint", "check"]), @"
    exit: 1
    --- stdout
    _bmad-output/implementation-artifacts/sprint-status.yaml:1: the value of `story_location` is not valid YAML; put it in quotes
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "next"]), @"
    exit: 0
    --- stdout
    1-1
    --- stderr
    warning: _bmad-output/implementation-artifacts/sprint-status.yaml:1: the value of `story_location` is not valid YAML; put it in quotes
    ");
    project.file(PLACE, "development_status:\n  1-1: backlog\n");
    insta::assert_snapshot!(project.callsheet(&["sprint", "check"]), @"
    exit: 0
    --- stderr
    no problems in `_bmad-output/implementation-artifacts/sprint-status.yaml`
    ");
}

#[test]
fn a_list_of_stories_is_a_board_too() {
    let project = Project::new();
    project.file("docs/stories.yaml", "- id: login\n- id: menu\n");
    project.file("docs/stories/login-form.md", "---\nstatus: done\n---\n");
    insta::assert_snapshot!(project.callsheet(&["sprint", "next"]), @"
    exit: 0
    --- stdout
    menu
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "menu", "done"]), @"
    exit: 2
    --- stderr
    error: docs/stories.yaml:2: the story `menu` has no file in `docs/stories` that could have a status
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "set", "login", "review", "--force"]), @"
    exit: 0
    --- stderr
    login: done → review
    ");
    assert_eq!(
        project.read("docs/stories/login-form.md"),
        "---\nstatus: in-review\n---\n"
    );
}

#[test]
fn story_files_are_beside_a_board_that_is_somewhere_else() {
    let written = |directory: Option<&str>| {
        let project = Project::new();
        let board = "development_status:\n  1-1: backlog\n";
        project.file("docs/sprint-artifacts/sprint-status.yaml", board);
        if let Some(directory) = directory {
            project.file(&format!("{directory}/notes.md"), "");
        }
        let settings = "[runners.a]\nadapter = \"command\"\ncommand = [\"a\"]\n";
        project.file("callsheet.toml", settings);
        let shown = project.callsheet(&["sprint", "run", "1", "--dry-run", "--json"]);
        let line = shown
            .split('`')
            .find(|part| part.ends_with("sprint-1-1.md"));
        line.unwrap_or_default().to_owned()
    };
    assert_eq!(written(None), "docs/sprint-artifacts/sprint-1-1.md");
    let usual = "_bmad-output/implementation-artifacts";
    assert_eq!(written(Some(usual)), format!("{usual}/sprint-1-1.md"));
}
