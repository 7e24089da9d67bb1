//! The commands about sprints, as somebody meets them who has nothing yet, and while a sprint runs.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its project has nothing to test"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::desk::{Desk, has, wait_for};
use crate::project::{Project, Run};

const BOARD: &str = "_bmad-output/implementation-artifacts/sprint-status.yaml";
const CONTEXT: &str = "_bmad-output/planning-artifacts/project-context.md";
const FROZEN: &str = "_bmad-output/planning-artifacts/sprint-project-context.md";

/// An agent that says in every phase that all is well.
const SCENE: &str = r#"
[[scenes]]
steps = [{ say = "ZERO ISSUES\n[TECH-SPEC-DECISION: SKIP]\n[DEV-STORY-COMPLETE: YES]\n[NO-CHANGES-TO-COMMIT]" }]
"#;

fn board(stories: &str) -> String {
    format!("development_status:\n  epic-1: backlog\n{stories}")
}

/// Returns every file below a directory, with its bytes and when it was changed.
fn files(root: &Path) -> BTreeMap<PathBuf, (SystemTime, Option<Vec<u8>>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut files(&path));
        }
        let changed = path.metadata().unwrap().modified().unwrap();
        found.insert(path.clone(), (changed, fs::read(&path).ok()));
    }
    found
}

#[test]
fn a_directory_without_a_board() {
    let project = Project::new();
    let before = files(project.root());
    let missing = "\
exit: 2
--- stderr
error: this project has no `sprint-status.yaml`
hint: looked in _bmad-output/implementation-artifacts, docs/sprint-artifacts, docs, docs/implementation-artifacts, _bmad-output, the root, docs/stories, .bmad-ephemeral, _bmad-output/sprint-artifacts, bmad-output/implementation-artifacts, docs/bmad
hint: `board` in `[sprint]` of callsheet.toml names another place
";
    for words in [
        &["run"][..],
        &["run", "--dry-run"],
        &["run", "--json"],
        &["status"],
        &["status", "--json"],
        &["archive", "1-1"],
        &["next"],
        &["check"],
        &["-q", "set", "1-1", "done"],
    ] {
        let words = [&["sprint"], words].concat();
        assert_eq!(project.callsheet(&words), missing, "{words:?}");
    }
    assert_eq!(files(project.root()), before);
}

#[test]
fn a_directory_without_a_store() {
    let project = Project::new();
    let before = files(project.root());
    insta::assert_snapshot!(project.callsheet(&["sprint", "stop"]), @"
    exit: 0
    --- stdout
    idle: no batch is running
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "stop", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.sprint-stop/1",
      "status": "idle",
      "batch": null
    }
    "#);
    insta::assert_snapshot!(project.callsheet(&["sprint", "batches"]), @"
    exit: 0
    --- stderr
    note: no sprint was run here yet; `callsheet sprint run` begins one
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "batches", "-q"]), @"exit: 0");
    insta::assert_snapshot!(project.callsheet(&["sprint", "batches", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.sprint-batches/1",
      "total": 0,
      "batches": []
    }
    --- stderr
    note: no sprint was run here yet; `callsheet sprint run` begins one
    "#);
    insta::assert_snapshot!(project.callsheet(&["sprint", "report"]), @"
    exit: 2
    --- stderr
    error: no sprint was run here yet
    hint: `callsheet sprint run` begins one
    ");
    insta::assert_snapshot!(project.callsheet(&["sprint", "report", "--json"]), @"
    exit: 2
    --- stderr
    error: no sprint was run here yet
    hint: `callsheet sprint run` begins one
    ");
    assert_eq!(files(project.root()), before);
}

/// Makes a project with an agent for whom all is well, and a board.
fn well(board: &str) -> Desk {
    let desk = Desk::with_script(SCENE);
    desk.project.file(BOARD, board);
    desk.project.file(CONTEXT, "It does nothing.\n");
    desk
}

#[test]
fn a_board_without_stories() {
    let desk = well("development_status:\n");
    let show = |words: &[&str]| desk.project.callsheet(&[&["sprint"], words].concat());
    insta::assert_snapshot!(show(&["status"]), @"
    exit: 0
    --- stdout
    idle
    --- stderr
    note: the board `_bmad-output/implementation-artifacts/sprint-status.yaml` has no stories
    ");
    insta::assert_snapshot!(show(&["status", "-q"]), @"
    exit: 0
    --- stdout
    idle
    ");
    insta::assert_snapshot!(show(&["run", "--dry-run"]), @"
    exit: 0
    --- stderr
    note: no story on the board can run
    ");
    insta::assert_snapshot!(show(&["run", "--dry-run", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.sprint-dry-run/1",
      "bytes": 0,
      "prompts": []
    }
    --- stderr
    note: no story on the board can run
    "#);
    insta::assert_snapshot!(show(&["archive", "1-1"]), @"
    exit: 2
    --- stderr
    error: _bmad-output/implementation-artifacts/sprint-status.yaml: no story named `1-1`
    ");
}

#[test]
fn a_sprint_without_stories() {
    let desk = well("development_status:\n");
    let show = |words: &[&str]| desk.project.callsheet(&[&["sprint"], words].concat());
    insta::assert_snapshot!(show(&["run"]), @"
    exit: 0
    --- stdout
    batch [ID1] all_done: nothing to do
    --- stderr
    batch [ID1] begins
    ");
    insta::assert_snapshot!(show(&["run", "-q"]), @"
    exit: 0
    --- stdout
    batch [ID2] all_done: nothing to do
    ");
    insta::assert_snapshot!(show(&["batches"]), @"
    exit: 0
    --- stdout
    BATCH           STARTED               STATUS    CYCLES  DONE
    [ID2]  [TIME]  all_done       0   0/0
    [ID1]  [TIME]  all_done       0   0/0
    ");
    insta::assert_snapshot!(show(&["batches", "-n", "1"]), @"
    exit: 0
    --- stdout
    BATCH           STARTED               STATUS    CYCLES  DONE
    [ID2]  [TIME]  all_done       0   0/0
    --- stderr
    note: 1 more; `--offset 1` shows the next ones
    ");
    insta::assert_snapshot!(show(&["report", "nothing"]), @"
    exit: 2
    --- stderr
    error: no batch `nothing`
    hint: `callsheet sprint batches` lists what there is
    ");
}

#[test]
fn a_project_without_git() {
    let mut project = Project::new();
    fs::remove_dir(project.path(".git")).unwrap();
    let path = std::env::var("PATH").unwrap();
    project.variable("PATH", &path);
    project
        .file(
            "callsheet.toml",
            "[runners.agent]\nadapter = \"scripted\"\nscript = \"agent.toml\"\n",
        )
        .file("agent.toml", SCENE)
        .file(BOARD, board("  1-1-a: in-progress\n"))
        .file(CONTEXT, "It does nothing.\n");
    insta::assert_snapshot!(project.callsheet(&["sprint", "run"]), @"
    exit: 0
    --- stdout
    STORY  OUTCOME  REVIEWS  AGENTS  TOKENS  COMMIT
    1-1-a  done           1       3       0
    batch [ID1] all_done: 1 cycle
    --- stderr
    warning: this project is not in a git repository: stories are not committed, and nobody can tell what an agent changed
    batch [ID1] begins
    cycle 1: 1-1-a
      dev-story 1-1-a
      1-1-a: in-progress -> review
      code-review-1 1-1-a
      1-1-a: review -> done
      commit 1-1-a
    cycle 1 over, done: 1-1-a
    ");
}

/// Returns the titles of the prompts that a dry run printed; how long they are is tested with the recipes.
fn titles(run: &Run) -> Vec<String> {
    let text = run.text();
    let titles = text.lines().filter(|line| line.starts_with("=== "));
    titles
        .map(|line| line.split_once(": ").unwrap().0.to_owned())
        .collect()
}

/// Returns the titles of the prompts that a dry run prints, and what else it says.
#[track_caller]
fn dry(project: &Project, words: &[&str]) -> String {
    let before = files(project.root());
    let run = project.run(&[&["sprint", "run", "--dry-run"], words].concat());
    assert_eq!(files(project.root()), before);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    let said = said.lines().map(|line| {
        let count = line.split_once(" prompts, ");
        count.map_or(line, |(count, _)| count).to_owned()
    });
    let mut shown = vec![format!("exit: {}", run.code().unwrap())];
    shown.extend(titles(&run).into_iter().chain(said));
    shown.join("\n")
}

#[test]
fn a_dry_run_prints_every_prompt_and_writes_nothing() {
    let desk = Desk::with_script(SCENE);
    let project = &desk.project;
    project.file(BOARD, board("  1-1-a: backlog\n  1-2-b: in-progress\n"));
    insta::assert_snapshot!(dry(project, &[]), @"
    exit: 0
    === 1 generate-project-context
    === 2 sprint-create-story 1-1-a
    === 3 sprint-create-story-discovery 1-1-a
    === 4 sprint-story-review 1-1-a
    === 5 sprint-create-tech-spec 1-1-a
    === 6 sprint-tech-spec-review 1-1-a
    === 7 sprint-dev-story 1-1-a
    === 8 sprint-code-review 1-1-a
    === 9 sprint-dev-story 1-2-b
    === 10 sprint-code-review 1-2-b
    === 11 sprint-commit 1-1-a,1-2-b
    note: `_bmad-output/planning-artifacts/project-context.md` is not there yet: an agent writes it first, and the other prompts are shown without it
    11
    ");
    project.file(CONTEXT, "It does nothing.\n");
    insta::assert_snapshot!(dry(project, &["1"]), @"
    exit: 0
    === 1 sprint-create-story 1-1-a
    === 2 sprint-create-story-discovery 1-1-a
    === 3 sprint-story-review 1-1-a
    === 4 sprint-create-tech-spec 1-1-a
    === 5 sprint-tech-spec-review 1-1-a
    === 6 sprint-dev-story 1-1-a
    === 7 sprint-code-review 1-1-a
    === 8 sprint-dev-story 1-2-b
    === 9 sprint-code-review 1-2-b
    === 10 sprint-commit 1-1-a,1-2-b
    note: prompts are shown with `_bmad-output/planning-artifacts/project-context.md`; a sprint gives agents a copy of it, `_bmad-output/planning-artifacts/sprint-project-context.md`
    10
    ");
}

#[test]
fn a_dry_run_with_a_context_that_is_too_old() {
    let desk = well(&board("  1-1-a: backlog\n  1-2-b: in-progress\n"));
    let project = &desk.project;
    let old = SystemTime::now() - Duration::from_hours(25);
    File::options()
        .write(true)
        .open(project.path(CONTEXT))
        .unwrap()
        .set_modified(old)
        .unwrap();
    project.file(FROZEN, "It does nothing.\n");
    project.file(
        "_bmad-output/implementation-artifacts/sprint-1-2-b.md",
        "[TECH-SPEC-DECISION: SKIP]\n",
    );
    insta::assert_snapshot!(dry(project, &[]), @"
    exit: 0
    === 1 generate-project-context (in the background)
    === 2 sprint-create-story 1-1-a
    === 3 sprint-create-story-discovery 1-1-a
    === 4 sprint-story-review 1-1-a
    === 5 sprint-create-tech-spec 1-1-a
    === 6 sprint-tech-spec-review 1-1-a
    === 7 sprint-dev-story 1-1-a
    === 8 sprint-code-review 1-1-a
    === 9 sprint-dev-story 1-2-b
    === 10 sprint-code-review 1-2-b
    === 11 sprint-commit 1-1-a,1-2-b
    11
    ");
}

#[test]
fn a_dry_run_as_a_document() {
    let mut project = Project::new();
    // Nobody needs an agent to look at prompts.
    project.variable("PATH", "/nowhere");
    project
        .file(BOARD, board("  1-1-a: review\n"))
        .file(CONTEXT, "It does nothing.\n")
        .file(FROZEN, "It does nothing.\n");
    let run = project.run(&["sprint", "run", "--dry-run", "--json"]);
    assert_eq!(run.code(), Some(0));
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(said.ends_with(" bytes; nothing was started\n"), "{said}");
    let mut document = run.json();
    let mut bytes = 0;
    for prompt in document["prompts"].as_array_mut().unwrap() {
        for field in ["system", "prompt"] {
            let text = prompt[field].as_str().unwrap_or_default().to_owned();
            assert_eq!(prompt[format!("{field}_bytes")], text.len());
            bytes += text.len();
        }
        let prompt = prompt.as_object_mut().unwrap();
        prompt.retain(|field, _| {
            ![
                "system",
                "prompt",
                "fingerprint",
                "system_bytes",
                "prompt_bytes",
            ]
            .contains(&field.as_str())
        });
    }
    assert_eq!(document["bytes"].take(), json!(bytes));
    insta::assert_snapshot!(format!("{document:#}"), @r#"
    {
      "schema": "callsheet.sprint-dry-run/1",
      "bytes": null,
      "prompts": [
        {
          "phase": "sprint-code-review",
          "recipe": "sprint/code-review",
          "story_keys": [
            "1-1-a"
          ],
          "attempt": 1,
          "model": null,
          "background": false
        },
        {
          "phase": "sprint-commit",
          "recipe": "sprint/commit",
          "story_keys": [
            "1-1-a"
          ],
          "attempt": 1,
          "model": null,
          "background": false
        }
      ]
    }
    "#);
}

#[test]
fn a_dry_run_shows_whole_prompts() {
    let desk = well(&board("  1-1-a: review\n"));
    let shown = desk.project.run(&["sprint", "run", "--dry-run"]).text();
    assert!(
        shown.contains("\n--- system\n<file_injections rule="),
        "{shown}"
    );
    assert!(shown.contains("It does nothing.\n"), "{shown}");
    assert!(
        shown.contains("\n--- prompt\nCommand: sprint-code-review\nStory key: 1-1-a\n"),
        "{shown}"
    );
}

/// An agent that says when it is there, and then works for long.
const BUSY: &str =
    "[[scenes]]\nsteps = [{ write = { path = \"began\", text = \"x\" } }, { wait_ms = 60000 }]\n";

/// Makes a project, and starts a sprint whose agent is at work.
fn busy() -> (Desk, Child) {
    let desk = well(&board("  1-1-a: in-progress\n  1-2-b: backlog\n"));
    desk.project.file("agent.toml", BUSY);
    let running = begin(&desk);
    (desk, running)
}

/// Starts a sprint, and waits until an agent is at work.
fn begin(desk: &Desk) -> Child {
    let mut command = desk.project.command(&["sprint", "run"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let running = command.spawn().unwrap();
    wait_for("an agent is at work", || has(&desk.project.path("began")));
    running
}

#[test]
fn while_a_sprint_runs() {
    let (desk, mut running) = busy();
    let project = &desk.project;
    let show = |words: &[&str]| project.callsheet(&[&["sprint"], words].concat());
    insta::assert_snapshot!(show(&["status"]), @"
    exit: 0
    --- stdout
    STORY  STATUS
    1-1-a  in-progress
    1-2-b  backlog
    running: batch [ID1], working on 1-1-a, 1-2-b
    ");
    insta::assert_snapshot!(show(&["run"]), @"
    exit: 3
    --- stderr
    error: batch `[ID1]` is running in another process
    hint: `callsheet sprint status` shows what it does, `callsheet sprint stop` stops it
    ");
    insta::assert_snapshot!(show(&["run", "--dry-run"]), @"
    exit: 3
    --- stderr
    error: batch `[ID1]` is running in another process
    hint: `callsheet sprint status` shows what it does, `callsheet sprint stop` stops it
    ");
    insta::assert_snapshot!(show(&["batches"]), @"
    exit: 0
    --- stdout
    BATCH           STARTED               STATUS   CYCLES  DONE
    [ID1]  [TIME]  running       0   0/2
    ");
    insta::assert_snapshot!(show(&["report"]), @"
    exit: 0
    --- stdout
    STORY  OUTCOME  REVIEWS  AGENTS  TOKENS  COMMIT
    1-1-a  open           0       0       0
    1-2-b  open           0       0       0
    batch [ID1] running: 0 cycles
    ");
    insta::assert_snapshot!(show(&["stop", "--cancel"]), @"
    exit: 0
    --- stdout
    stopping batch [ID1] (cancel)
    ");
    assert_eq!(running.wait().unwrap().code(), Some(1));
    let status: Value = project.run(&["sprint", "status", "--json"]).json();
    assert_eq!(
        (&status["state"], &status["current_stories"]),
        (&json!("idle"), &json!([]))
    );
    desk.assert_clean();
}

#[test]
fn a_batch_that_was_cut_off_is_ended_where_somebody_says_so() {
    let (desk, mut running) = busy();
    let project = &desk.project;
    let show = |words: &[&str]| project.callsheet(&[&["sprint"], words].concat());
    running.kill().unwrap();
    running.wait().unwrap();
    insta::assert_snapshot!(show(&["stop", "--clean"]), @"
    exit: 0
    --- stdout
    stopped: batch [ID1] was cut off, and is over now
    ");
    insta::assert_snapshot!(show(&["stop", "--clean"]), @"
    exit: 0
    --- stdout
    idle: no batch is running
    ");
    insta::assert_snapshot!(show(&["batches"]), @"
    exit: 0
    --- stdout
    BATCH           STARTED               STATUS   CYCLES  DONE
    [ID1]  [TIME]  stopped       0   0/2
    ");
    let events = project.run(&["events", "--json"]).text();
    let ends = events.lines().filter(|line| line.contains("\"batch:end\""));
    assert_eq!(ends.count(), 1, "{events}");

    // Another batch takes up what it has left.
    fs::remove_file(project.path("began")).unwrap();
    let mut running = begin(&desk);
    assert_eq!(project.run(&["sprint", "stop", "--cancel"]).code(), Some(0));
    assert_eq!(running.wait().unwrap().code(), Some(1));
    let batches = project.run(&["sprint", "batches", "--json"]).json();
    assert_eq!(batches["total"], 2);
    let verified = project.run(&["verify"]);
    assert_eq!(verified.code(), Some(0), "{}", verified.text());
    desk.assert_clean();
}

#[test]
fn after_a_sprint_was_cut_off() {
    let (desk, mut running) = busy();
    let project = &desk.project;
    let show = |words: &[&str]| project.callsheet(&[&["sprint"], words].concat());
    running.kill().unwrap();
    running.wait().unwrap();
    insta::assert_snapshot!(show(&["status"]), @"
    exit: 0
    --- stdout
    STORY  STATUS
    1-1-a  in-progress
    1-2-b  backlog
    idle: last batch [ID1]
    --- stderr
    note: the last batch was cut off; `callsheet sprint run` goes on with it
    ");
    insta::assert_snapshot!(show(&["stop"]), @"
    exit: 0
    --- stdout
    idle: no batch is running
    ");
    insta::assert_snapshot!(show(&["batches"]), @"
    exit: 0
    --- stdout
    BATCH           STARTED               STATUS       CYCLES  DONE
    [ID1]  [TIME]  interrupted       0   0/2
    ");
    insta::assert_snapshot!(titles(&project.run(&["sprint", "run", "--dry-run"])).join("\n"), @"
    === 1 sprint-create-story 1-2-b
    === 2 sprint-create-story-discovery 1-2-b
    === 3 sprint-story-review 1-2-b
    === 4 sprint-create-tech-spec 1-2-b
    === 5 sprint-tech-spec-review 1-2-b
    === 6 sprint-dev-story 1-1-a
    === 7 sprint-code-review 1-1-a
    === 8 sprint-dev-story 1-2-b
    === 9 sprint-code-review 1-2-b
    === 10 sprint-commit 1-1-a,1-2-b
    ");

    fs::remove_file(project.path("began")).unwrap();
    let mut running = begin(&desk);
    assert_eq!(project.run(&["sprint", "stop", "--cancel"]).code(), Some(0));
    assert_eq!(running.wait().unwrap().code(), Some(1));
    insta::assert_snapshot!(show(&["status"]), @"
    exit: 0
    --- stdout
    STORY  STATUS
    1-1-a  in-progress
    1-2-b  backlog
    idle: last batch [ID1]
    --- stderr
    note: the last batch left stories unfinished; `callsheet sprint run` goes on with it
    ");
    desk.assert_clean();
}
