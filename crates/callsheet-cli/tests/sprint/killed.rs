//! A sprint that is killed at any moment and continued ends as one that nobody disturbed.
//!
//! The rule for what agents did: of each phase, story and attempt exactly one run is completed, and the effect of that run is
//! there once. An effect that is there once more belongs to a run that was cut off before its end was on record: settled, and
//! not completed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::play::{Sprint, lines};

/// Five stories in two epics.
const STORIES: [(&str, &str); 5] = [
    ("1-1", "backlog"),
    ("1-2", "backlog"),
    ("1-3", "ready-for-dev"),
    ("2-1", "backlog"),
    ("2-2", "review"),
];

/// One critical story review, a tech spec, a code review that finds something, and a story that ends blocked.
const HOOK: &str = "if [ $phase = create-story ] && [ $story = 2-1 ]; then
    echo '# Story 2-1' > $impl/sprint-2-1.md
    echo '[TECH-SPEC-DECISION: REQUIRED]'
    ended
fi
if [ $phase = story-review ] && [ $story = 1-1 ] && [ $attempt -lt 3 ]; then
    echo '[CRITICAL-ISSUES-FOUND: YES]'
    ended
fi
if [ $phase = code-review ] && [ $story = 1-2 ] && [ $attempt = 1 ]; then
    echo fixed >> src/1-2.txt.tmp
    mv src/1-2.txt.tmp src/1-2.txt
    echo '- [HIGH] src/1-2.txt:1 it is wrong'
    echo 'HIGHEST SEVERITY: HIGH'
    ended
fi
if [ $phase = code-review ] && [ $story = 2-2 ]; then
    echo '- [CRITICAL] src/2-2.txt:1 it is missing'
    echo 'HIGHEST SEVERITY: CRITICAL'
    ended
fi";

const SCRIPT: &str = r#"
[[scenes]]
steps = [
    { read_prompt = true },
    { run = { command = ["sh", "OUT/agent.sh", "/dev/null"], say = "{output}" } },
]
"#;

fn project() -> Sprint {
    let sprint = Sprint::scripted(&STORIES, SCRIPT, "");
    sprint.hook(HOOK);
    sprint
}

/// What a sprint comes to: the board, the commits with all their files, and how often each agent completed.
#[derive(Debug, PartialEq)]
struct Outcome {
    board: String,
    commits: Vec<String>,
    completed: BTreeMap<String, usize>,
}

fn outcome(sprint: &Sprint) -> Outcome {
    let log = sprint.desk.git(&["log", "--reverse", "--format=%H %s"]);
    let own = log.lines().skip(3);
    let commits = own.map(|line| {
        let (commit, subject) = line.split_once(' ').unwrap();
        let tree = sprint.desk.git(&["ls-tree", "-r", commit]);
        // These name the directory of this one test.
        let files = tree.lines().filter(|line| !line.ends_with(".toml"));
        format!("{subject}\n{}", files.collect::<Vec<_>>().join("\n"))
    });
    let mut completed = BTreeMap::new();
    for run in sprint.desk.runs() {
        if run["status"] == "completed" {
            *completed.entry(name(&run)).or_default() += 1;
        }
    }
    Outcome {
        board: sprint.board(),
        commits: commits.collect(),
        completed,
    }
}

/// Returns how an agent names a run in its list of ends, without the id.
fn name(run: &Value) -> String {
    let phase = run["phase"].as_str().unwrap();
    let phase = phase.strip_prefix("sprint-").unwrap_or(phase);
    let stories = run["stories"].as_array().unwrap().iter();
    let stories: Vec<&str> = stories.map(|story| story.as_str().unwrap()).collect();
    format!("{phase} {} {}", stories.join(","), run["attempt"])
}

/// Fails where the effect of an agent is there more often than its runs explain.
fn check_effects(sprint: &Sprint) {
    let runs = sprint.desk.runs();
    let mut counted = BTreeMap::new();
    for line in lines(&sprint.out("ends")) {
        let (effect, id) = line.rsplit_once(' ').unwrap();
        let run = runs.iter().find(|run| run["id"] == *id).unwrap();
        assert_eq!(name(run), effect);
        if run["status"] == "completed" {
            *counted.entry(effect.to_owned()).or_insert(0) += 1;
        } else {
            assert_eq!(run["settled"], true, "{run:#}");
        }
    }
    assert_eq!(counted, outcome(sprint).completed);
}

/// Returns the supervisors of the agents that run.
fn supervisors(sprint: &Sprint) -> Vec<String> {
    let folders = std::fs::read_dir(sprint.desk.project.path(".callsheet/runs"));
    let folders = folders.into_iter().flatten().flatten();
    folders
        .filter_map(|folder| {
            let journal = std::fs::read_to_string(folder.path().join("journal")).ok()?;
            let first: Value = serde_json::from_str(journal.lines().next()?).ok()?;
            Some(first["process"]["pid"].to_string())
        })
        .collect()
}

/// Kills a sprint after a while, with the supervisors of its agents or without, and continues it to its end.
fn kill_after(after: Duration, with_supervisors: bool, whole: &Outcome) {
    let sprint = project();
    let mut child = sprint.start();
    std::thread::sleep(after);
    let mut pids = vec![child.id().to_string()];
    if with_supervisors {
        pids.extend(supervisors(&sprint));
    }
    // All at once, so that none of them can end another. Some may be gone.
    let killed = Command::new("kill").arg("-KILL").args(&pids).output();
    killed.unwrap();
    child.wait().unwrap();
    let run = sprint.run();
    let code = run.code();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    let case = format!("{after:?} {with_supervisors}\n{said}");
    // A sprint that was over has nothing left to do.
    assert!(matches!(code, Some(0 | 1)), "{code:?} {case}");
    assert_eq!(outcome(&sprint), *whole, "{case}");
    check_effects(&sprint);
    sprint.assert_clean();
}

/// How many tests share the kills.
const SHARES: u32 = 4;

/// Kills as many sprints as a share has, at moments that are spread over the time that a whole one takes.
fn share(share: u32) {
    let rounds = match std::env::var_os("CALLSHEET_TEST_LONG") {
        Some(_) => 100,
        None => 12,
    };
    let sprint = project();
    let since = Instant::now();
    sprint.ran(1);
    let took = since.elapsed();
    let whole = outcome(&sprint);
    check_effects(&sprint);
    for round in (share..rounds).step_by(SHARES as usize) {
        kill_after(took * round / rounds, round / SHARES % 2 == 1, &whole);
    }
}

#[test]
fn an_undisturbed_sprint_leaves_this() {
    let sprint = project();
    sprint.ran(1);
    insta::assert_snapshot!(sprint.words(), @"1-1: done, 1-2: done, 1-3: done, 2-1: done, 2-2: blocked");
    insta::assert_snapshot!(sprint.commits(), @"
    feat: implement 1-1,1-2
    _bmad-output/implementation-artifacts/sprint-1-1-discovery-story.md
    _bmad-output/implementation-artifacts/sprint-1-1.md
    _bmad-output/implementation-artifacts/sprint-1-2-discovery-story.md
    _bmad-output/implementation-artifacts/sprint-1-2.md
    _bmad-output/implementation-artifacts/sprint-status.yaml
    src/1-1.txt
    src/1-2.txt
    feat: implement 1-3
    _bmad-output/implementation-artifacts/sprint-status.yaml
    _bmad-output/implementation-artifacts/sprint-tech-spec-1-3.md
    src/1-3.txt
    feat: implement 2-1
    _bmad-output/implementation-artifacts/sprint-2-1-discovery-story.md
    _bmad-output/implementation-artifacts/sprint-2-1.md
    _bmad-output/implementation-artifacts/sprint-status.yaml
    _bmad-output/implementation-artifacts/sprint-tech-spec-2-1.md
    src/2-1.txt
    ");
    sprint.assert_clean();
}

#[test]
fn killed_and_continued_1() {
    share(0);
}

#[test]
fn killed_and_continued_2() {
    share(1);
}

#[test]
fn killed_and_continued_3() {
    share(2);
}

#[test]
fn killed_and_continued_4() {
    share(3);
}
