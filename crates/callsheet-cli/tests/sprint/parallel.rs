//! Cycles side by side: worktrees of their own, merges in the order of the board, conflicts, and what a kill leaves.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its project has nothing to test"
)]

use std::process::Stdio;

use serde_json::Value;

use crate::desk::{Desk, wait_for};

const SETTINGS: &str =
    "runner = \"agent\"\n[runners.agent]\nadapter = \"scripted\"\nscript = \"agent.toml\"\n";

const ARTIFACTS: &str = "_bmad-output/implementation-artifacts";

/// What every agent does where a test says nothing else.
const REST: &str = r#"
[[scenes]]
phase = "dev-story"
steps = [{ write = { path = "src/{story}.txt", text = "{story}\n" } }]

[[scenes]]
phase = "code-review"
steps = [{ say = "ZERO ISSUES" }]

[[scenes]]
phase = "commit"
steps = [
    { run = { command = ["git", "add", "--all"] } },
    { run = { command = ["sh", "-c", "git diff --cached --quiet || git -c user.name=n -c user.email=e@x commit --quiet -m 'implement {stories}'"] } },
]
"#;

/// A project with a story in each of two epics, ready to be developed without a tech spec.
struct Sprint {
    desk: Desk,
}

impl Sprint {
    fn new(settings: &str, scenes: &str) -> Self {
        Self::with(settings, scenes, ".callsheet/\n")
    }

    fn with(settings: &str, scenes: &str, ignore: &str) -> Self {
        let desk = Desk::new(&format!("{SETTINGS}{settings}"));
        let board = "development_status:\n  epic-1: in-progress\n  1-1: ready-for-dev\n  epic-2: in-progress\n  2-1: ready-for-dev\n";
        desk.project
            .file(&format!("{ARTIFACTS}/sprint-status.yaml"), board)
            .file(
                "_bmad-output/planning-artifacts/project-context.md",
                "context\n",
            )
            .file("src/shared.txt", "base\n")
            .file("agent.toml", format!("{scenes}{REST}"))
            .file(".gitignore", ignore);
        for key in ["1-1", "2-1"] {
            desk.project
                .file(&format!("{ARTIFACTS}/{key}.md"), story(""));
        }
        desk.commit("board");
        Self { desk }
    }

    fn run(&self, more: &[&str]) -> crate::project::Run {
        let args = [&["sprint", "run", "all"], more].concat();
        self.desk.project.run(&args)
    }

    #[track_caller]
    fn run_two(&self) -> String {
        let run = self.run(&["--parallel", "2"]);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.code(), Some(0), "{said}");
        said
    }

    fn board(&self) -> String {
        let text = self
            .desk
            .project
            .read(&format!("{ARTIFACTS}/sprint-status.yaml"));
        let stories = text
            .lines()
            .filter(|line| line.contains("-1: ") && !line.contains("epic"));
        stories.map(str::trim).collect::<Vec<_>>().join(", ")
    }

    /// Returns the subjects of the base, the oldest first.
    fn subjects(&self) -> String {
        let args = ["log", "--first-parent", "--reverse", "--format=%s", "main"];
        self.desk.git(&args).replace('\n', ", ")
    }

    /// Returns when the agent of a phase ran: its start and its end, in milliseconds.
    fn span(&self, phase: &str, story: &str) -> (i64, i64) {
        let runs = self.desk.runs();
        let mut runs = runs
            .iter()
            .filter(|run| run["phase"] == format!("sprint-{phase}") && run["stories"][0] == story);
        let run = runs.next().unwrap();
        let time = |field: &str| run[field].as_i64().unwrap();
        (time("started_at"), time("finished_at"))
    }

    fn worktrees(&self) -> usize {
        self.desk
            .git(&["worktree", "list", "--porcelain"])
            .matches("worktree ")
            .count()
    }

    fn report(&self) -> Value {
        self.desk
            .project
            .run(&["sprint", "report", "--json"])
            .json()
    }
}

/// Returns a story file whose tech spec is not needed.
fn story(front: &str) -> String {
    format!("---\nstatus: ready-for-dev\n{front}---\n# Story\n\n[TECH-SPEC-DECISION: SKIP]\n")
}

/// Returns a step that waits until a line of shell succeeds.
fn until(what: &str) -> String {
    let line =
        format!("for i in $(seq 3000); do if {what}; then exit 0; fi; sleep 0.01; done; exit 1");
    let line = toml::Value::from(line);
    format!("{{ run = {{ command = [\"sh\", \"-c\", {line}] }} }}")
}

fn dev(story: &str, steps: &[String]) -> String {
    let steps = steps.join(", ");
    format!("[[scenes]]\nphase = \"dev-story\"\nstory = \"{story}\"\nsteps = [{steps}]\n")
}

fn writes(path: &str, text: &str) -> String {
    let text = toml::Value::from(text);
    format!("{{ write = {{ path = \"{path}\", text = {text} }} }}")
}

#[test]
fn two_epics_are_developed_at_the_same_time() {
    // Each developer waits for the other one: one after the other, neither would end.
    let scenes = dev(
        "1-1",
        &[
            writes("src/1-1.txt", "1-1\n"),
            until("test -e ../sprint-*-2/src/2-1.txt"),
        ],
    ) + &dev(
        "2-1",
        &[
            writes("src/2-1.txt", "2-1\n"),
            until("test -e ../sprint-*-1/src/1-1.txt"),
        ],
    );
    let sprint = Sprint::new("", &scenes);
    let said = sprint.run_two();
    let (one, two) = (
        sprint.span("dev-story", "1-1"),
        sprint.span("dev-story", "2-1"),
    );
    assert!(one.0 <= two.1 && two.0 <= one.1, "{one:?} {two:?}");
    assert_eq!(sprint.board(), "1-1: done, 2-1: done");
    assert_eq!(
        sprint.subjects(),
        "start, board, Merge stories: 1-1, Merge stories: 2-1"
    );
    // Nothing is left of the worktrees, their branches and what was kept meanwhile.
    assert_eq!(sprint.worktrees(), 1);
    assert_eq!(
        sprint.desk.git(&["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main"
    );
    // The files of the main checkout followed, and only the sprint's own are not committed.
    assert_eq!(sprint.desk.project.read("src/2-1.txt"), "2-1\n");
    let status = sprint
        .desk
        .git(&["status", "--porcelain", "--untracked-files=all"]);
    assert!(
        status.lines().all(|line| line.contains("_bmad-output/")),
        "{status}"
    );
    // What is said carries the cycle that it is about.
    for line in [
        "cycle 1: 1-1",
        "  [1] dev-story 1-1",
        "  [2] dev-story 2-1",
        "  [2] 2-1: review -> done",
    ] {
        assert!(said.lines().any(|said| said == line), "{line}\n{said}");
    }
    sprint.desk.assert_clean();
}

#[test]
fn cycles_are_merged_in_the_order_of_the_board_whichever_is_faster() {
    let committed = "git log --format=%s $(git for-each-ref --format='%(refname)' 'refs/heads/callsheet/sprint-*-2') | grep -q 'implement 2-1'";
    let sprint = Sprint::new(
        "",
        &dev("1-1", &[until(committed), writes("src/1-1.txt", "1-1\n")]),
    );
    sprint.run_two();
    let (slow, fast) = (
        sprint.span("dev-story", "1-1"),
        sprint.span("commit", "2-1"),
    );
    assert!(fast.1 <= slow.1 || fast.0 <= slow.1, "{slow:?} {fast:?}");
    assert_eq!(
        sprint.subjects(),
        "start, board, Merge stories: 1-1, Merge stories: 2-1"
    );
}

/// Both stories change the same line.
fn conflicting(resolve: &str) -> String {
    dev("1-1", &[writes("src/shared.txt", "one\n")])
        + &dev("2-1", &[writes("src/shared.txt", "two\n")])
        + &format!("[[scenes]]\nphase = \"resolve-conflict\"\nsteps = [{resolve}]\n")
}

#[test]
fn an_agent_resolves_a_conflict() {
    let line = toml::Value::from(
        "grep -q '<<<<<<<' src/shared.txt && printf 'one and two\\n' > src/shared.txt && git add src/shared.txt",
    );
    let resolve = format!("{{ run = {{ command = [\"sh\", \"-c\", {line}] }} }}");
    let sprint = Sprint::new("", &conflicting(&resolve));
    let said = sprint.run_two();
    assert!(
        said.contains("  [2] conflict in src/shared.txt\n"),
        "{said}"
    );
    assert_eq!(sprint.desk.project.read("src/shared.txt"), "one and two\n");
    assert_eq!(sprint.board(), "1-1: done, 2-1: done");
    assert_eq!(
        sprint.subjects(),
        "start, board, Merge stories: 1-1, Merge stories: 2-1"
    );
    assert_eq!(sprint.worktrees(), 1);
}

#[test]
fn a_conflict_that_nobody_resolves_blocks_the_story_and_leaves_the_base() {
    for resolve in [
        "{ say = \"done\" }",
        "{ run = { command = [\"git\", \"add\", \"src/shared.txt\"] } }",
        "{ run = { command = [\"git\", \"merge\", \"--abort\"] } }",
    ] {
        let sprint = Sprint::new("", &conflicting(resolve));
        let run = sprint.run(&["--parallel", "2"]);
        assert_eq!(run.code(), Some(1), "{run:?}");
        assert_eq!(sprint.board(), "1-1: done, 2-1: blocked");
        assert_eq!(sprint.desk.project.read("src/shared.txt"), "one\n");
        assert_eq!(sprint.subjects(), "start, board, Merge stories: 1-1");
        // The work is where the report says.
        let branch = sprint.report()["stories"][1]["branch"]
            .as_str()
            .unwrap()
            .to_owned();
        let shared = format!("{branch}:src/shared.txt");
        assert_eq!(sprint.desk.git(&["show", &shared]), "two");
        assert_eq!(sprint.worktrees(), 2);
    }
}

#[test]
fn a_check_that_fails_on_the_merged_tree_blocks_the_story_and_leaves_the_base() {
    let checks = "[[checks]]\nname = \"alone\"\ncommand = [\"sh\", \"-c\", \"test ! -e src/1-1.txt || test ! -e src/2-1.txt\"]\n";
    let sprint = Sprint::new(checks, "");
    let run = sprint.run(&["--parallel", "2"]);
    assert_eq!(run.code(), Some(1));
    assert_eq!(sprint.board(), "1-1: done, 2-1: blocked");
    assert!(!sprint.desk.project.path("src/2-1.txt").exists());
    assert_eq!(sprint.subjects(), "start, board, Merge stories: 1-1");
    let report = sprint.report();
    assert_eq!(
        report["stories"][1]["reason"],
        "checks failed on the merged tree: alone"
    );
}

#[test]
fn artifacts_that_git_ignores_get_there_and_come_back() {
    let seen = format!(
        "test -e {ARTIFACTS}/notes.md && test -e _bmad-output/planning-artifacts/sprint-project-context.md"
    );
    let scenes = dev(
        "1-1",
        &[
            until(&seen),
            writes(&format!("{ARTIFACTS}/notes.md"), "notes of 1-1\n"),
            writes(&format!("{ARTIFACTS}/deep/new.md"), "new\n"),
            writes("src/1-1.txt", "1-1\n"),
        ],
    ) + &dev(
        "2-1",
        &[
            writes(&format!("{ARTIFACTS}/notes.md"), "notes of 2-1\n"),
            writes("src/2-1.txt", "2-1\n"),
        ],
    );
    let sprint = Sprint::with("", &scenes, ".callsheet/\n_bmad-output/\n");
    sprint
        .desk
        .project
        .file(&format!("{ARTIFACTS}/notes.md"), "notes\n");
    let said = sprint.run_two();
    let read = |name: &str| sprint.desk.project.read(&format!("{ARTIFACTS}/{name}"));
    assert_eq!(read("notes.md"), "notes of 1-1\n");
    assert_eq!(read("deep/new.md"), "new\n");
    // Both changed it, so both are there.
    assert_eq!(read("notes-2.md"), "notes of 2-1\n");
    assert!(said.contains("notes-2.md"), "{said}");
    assert!(
        sprint
            .desk
            .project
            .path("_bmad-output/archived-artifacts/1-1.md")
            .exists()
    );
    assert_eq!(sprint.worktrees(), 1);
}

#[test]
fn an_artifact_that_is_not_committed_yet_is_no_obstacle() {
    let add = writes(&format!("{ARTIFACTS}/1-1.md"), &story("note: developed\n"));
    let sprint = Sprint::new("", &dev("1-1", &[add, writes("src/1-1.txt", "1-1\n")]));
    // One is not known to git, the other one was changed since the last commit.
    sprint
        .desk
        .git(&["rm", "--quiet", "--cached", &format!("{ARTIFACTS}/2-1.md")]);
    sprint.desk.git(&["commit", "--quiet", "-m", "untrack"]);
    sprint
        .desk
        .project
        .file(&format!("{ARTIFACTS}/1-1.md"), story("note: changed\n"));
    sprint.run_two();
    assert_eq!(sprint.board(), "1-1: done, 2-1: done");
    let archived = sprint
        .desk
        .project
        .read("_bmad-output/archived-artifacts/1-1.md");
    assert_eq!(archived, story("note: developed\n"));
    assert!(
        sprint
            .desk
            .project
            .path("_bmad-output/archived-artifacts/2-1.md")
            .exists()
    );
}

#[test]
fn a_kill_at_any_moment_is_continued_in_the_same_worktrees() {
    for runs in [1, 3, 5, 6] {
        let sprint = Sprint::new("[[checks]]\nname = \"fine\"\ncommand = [\"true\"]\n", "");
        for round in 0..2 {
            let args = ["sprint", "run", "all", "--parallel", "2"];
            let mut command = sprint.desk.project.command(&args);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            wait_for("some runs", || {
                let list = sprint.desk.project.run(&["runs", "--json", "-n", "1000"]);
                let listed = serde_json::from_slice::<Value>(&list.stdout).unwrap_or_default();
                let count = listed["runs"].as_array().map_or(0, Vec::len);
                count >= runs + round || child.try_wait().unwrap().is_some()
            });
            let _ = child.kill();
            child.wait().unwrap();
        }
        let last = sprint.run(&["--parallel", "2"]);
        assert_eq!(
            last.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&last.stderr)
        );
        assert_eq!(sprint.board(), "1-1: done, 2-1: done");
        assert_eq!(
            sprint.subjects(),
            "start, board, Merge stories: 1-1, Merge stories: 2-1"
        );
        assert_eq!(sprint.worktrees(), 1);
        sprint.desk.assert_clean();
    }
}

#[test]
fn what_a_stop_leaves_goes_on_in_its_worktree() {
    let scenes = dev(
        "1-1",
        &[
            writes("src/1-1.txt", "half\n"),
            "{ hang = true }".to_owned(),
        ],
    );
    let sprint = Sprint::new("", &scenes);
    let mut command = sprint
        .desk
        .project
        .command(&["sprint", "run", "all", "--parallel", "2"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let half = || {
        let entries = std::fs::read_dir(sprint.desk.project.path(".callsheet/worktrees"));
        let mut entries = entries.into_iter().flatten().flatten();
        entries.find(|entry| entry.path().join("src/1-1.txt").exists())
    };
    wait_for("the developer has begun", || half().is_some());
    let worktree = half().unwrap().file_name();
    let stopped = sprint.desk.project.run(&["sprint", "stop", "--cancel"]);
    assert_eq!(stopped.code(), Some(0), "{stopped:?}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    // The next batch has one cycle at a time, and goes on where the work is.
    let here = until(&format!("pwd | grep -q {}", worktree.to_string_lossy()));
    let scenes = dev(
        "1-1",
        &[
            here,
            until("grep -q half src/1-1.txt"),
            writes("src/1-1.txt", "1-1\n"),
        ],
    );
    sprint
        .desk
        .project
        .file("agent.toml", format!("{scenes}{REST}"));
    let run = sprint.run(&[]);
    assert_eq!(
        run.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    assert_eq!(sprint.board(), "1-1: done, 2-1: done");
    assert_eq!(sprint.desk.project.read("src/1-1.txt"), "1-1\n");
    assert_eq!(sprint.worktrees(), 1);
}

#[test]
fn stories_that_write_the_same_wait_for_each_other() {
    let sprint = Sprint::new("", "");
    for key in ["1-1", "2-1"] {
        let scope = story("write_scope: ['src/**']\n");
        sprint
            .desk
            .project
            .file(&format!("{ARTIFACTS}/{key}.md"), scope);
    }
    sprint.desk.commit("scopes");
    sprint.run_two();
    let (first, second) = (
        sprint.span("commit", "1-1"),
        sprint.span("dev-story", "2-1"),
    );
    assert!(first.1 <= second.0, "{first:?} {second:?}");
    assert_eq!(sprint.board(), "1-1: done, 2-1: done");
}

#[test]
fn what_a_story_declares_holds_for_its_developer() {
    let regret = "if [ -e src/2-1.txt ]; then rm src/2-1.txt; mkdir -p docs; echo text > docs/2-1.md; else echo 2-1 > src/2-1.txt; fi";
    for (parallel, scenes, end) in [
        ("1", String::new(), "blocked"),
        ("2", String::new(), "blocked"),
        ("1", dev("2-1", &[until(regret)]), "done"),
        ("2", dev("2-1", &[until(regret)]), "done"),
    ] {
        let sprint = Sprint::new("", &scenes);
        let scope = story("write_scope: ['docs/**']\n");
        sprint
            .desk
            .project
            .file(&format!("{ARTIFACTS}/2-1.md"), scope);
        sprint.desk.commit("scope");
        let run = sprint.run(&["--parallel", parallel]);
        assert_eq!(run.code(), Some(i32::from(end != "done")), "{run:?}");
        assert_eq!(sprint.board(), format!("1-1: done, 2-1: {end}"));
        let report = sprint.report();
        let phases = report["stories"][1]["phases"].as_array().unwrap();
        let violations = phases.iter().filter(|phase| phase["phase"] == "dev-story");
        let violations: Vec<String> = violations
            .map(|dev| dev["violations"].to_string())
            .collect();
        let found = "[\"src/2-1.txt\"]";
        let expected = match end {
            "done" => vec![found, "[]"],
            _ => vec![found, found, found],
        };
        assert_eq!(violations, expected);
        assert!(
            !sprint
                .desk
                .git(&["ls-tree", "-r", "--name-only", "main"])
                .contains("src/2-1.txt")
        );
    }
}

#[test]
fn what_stands_in_the_way_of_worktrees_is_said_first() {
    let sprint = Sprint::new("", "");
    sprint.desk.project.file("src/shared.txt", "changed\n");
    let refused = |sprint: &Sprint| sprint.desk.project.shown(&sprint.run(&["--parallel", "2"]));
    insta::assert_snapshot!(refused(&sprint), @"
    exit: 3
    --- stderr
    error: `src/shared.txt` in the main checkout differs from the last commit; commit or stash that first
    ");
    sprint
        .desk
        .git(&["checkout", "--quiet", "--detach", "--force"]);
    insta::assert_snapshot!(refused(&sprint), @"
    exit: 3
    --- stderr
    error: no branch is checked out, so there is nothing that cycles could be merged into
    ");
    std::fs::remove_dir_all(sprint.desk.project.path(".git")).unwrap();
    sprint.desk.git(&["init", "--quiet"]);
    insta::assert_snapshot!(refused(&sprint), @"
    exit: 3
    --- stderr
    error: `--parallel 2` needs a git repository with a commit
    ");
    insta::assert_snapshot!(sprint.desk.project.callsheet(&["sprint", "run", "--parallel", "17"]), @"
    exit: 2
    --- stderr
    error: invalid value '17' for '--parallel <N>': 17 is not in 1..=16

    For more information, try '--help'.
    ");
}

#[test]
fn one_cycle_at_a_time_has_no_worktree() {
    let sprint = Sprint::new("", "");
    let run = sprint.run(&["--parallel", "1"]);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.code(), Some(0), "{said}");
    assert!(said.contains("\n  dev-story 1-1\n"), "{said}");
    assert!(!sprint.desk.project.path(".callsheet/worktrees").exists());
    assert_eq!(
        sprint.subjects(),
        "start, board, implement 1-1, implement 2-1"
    );
    assert_eq!(sprint.report()["stories"][0]["branch"], Value::Null);
}

#[test]
fn a_change_of_a_person_is_in_the_way_of_a_merge_and_stays() {
    let both = "echo mine > ../../../src/shared.txt; echo one > src/shared.txt";
    let scenes = dev("1-1", &[until(both)]);
    // Outside of the sandbox, the agent can play the person.
    let sprint = Sprint::new("[sandbox]\nmode = false\n", &scenes);
    let run = sprint.run(&["--parallel", "2"]);
    assert_eq!(run.code(), Some(3), "{run:?}");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(said.contains("`src/shared.txt` in `"), "{said}");
    assert!(said.contains("` has local changes"), "{said}");
    assert_eq!(sprint.desk.project.read("src/shared.txt"), "mine\n");
    assert_eq!(sprint.subjects(), "start, board");
    // The next batch takes it up, and nothing is done twice.
    sprint.desk.git(&["checkout", "--quiet", "src/shared.txt"]);
    let runs = sprint.desk.runs().len();
    sprint.run_two();
    assert_eq!(sprint.desk.runs().len(), runs);
    assert_eq!(sprint.board(), "1-1: done, 2-1: done");
    assert_eq!(sprint.desk.project.read("src/shared.txt"), "one\n");
}
