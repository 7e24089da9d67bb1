use callsheet::task::TaskReason;
use callsheet_store::{RunKind, RunState};

use super::*;

/// What a test says of the repository.
#[derive(Default)]
struct Said {
    /// The commits that are on the base.
    merged: Vec<&'static str>,
    /// The paths that differ between two commits.
    changed: BTreeMap<(&'static str, &'static str), Vec<&'static str>>,
}

impl Merged for Said {
    fn merged(&self, base: &str, work: &[(&str, &str)]) -> Result<Vec<bool>, RunError> {
        assert_eq!(base, "main");
        let is_merged = |(_, commit): &(&str, &str)| self.merged.contains(commit);
        Ok(work.iter().map(is_merged).collect())
    }

    fn changed(&self, from: &str, to: &str) -> Result<Option<BTreeSet<String>>, RunError> {
        let found = self.changed.get(&(from, to));
        Ok(found.map(|paths| paths.iter().map(ToString::to_string).collect()))
    }
}

fn id(number: usize) -> Id {
    format!("1m7f6zd4n3x{number:03}").parse().unwrap()
}

fn task(number: usize, depends: &[usize]) -> Task {
    Task {
        id: id(number),
        title: format!("Task {number}"),
        body: json!({"write_scope": ["src/**"], "base": "main"}),
        created_at: 0,
        cancelled_at: None,
        depends: depends.iter().copied().map(id).collect(),
    }
}

/// Returns a finished run with what was observed, as its document shows it.
fn finished(outcome: Value) -> TaskRun {
    run("finished", json!({}), outcome, &json!([]))
}

fn run(state: &str, request: Value, outcome: Value, annotations: &Value) -> TaskRun {
    let states = [RunState::Queued, RunState::Running, RunState::Finished];
    let run = Run {
        id: id(500),
        project: ".".to_owned(),
        prompt: id(501),
        kind: RunKind::First,
        parent: None,
        state: states
            .into_iter()
            .find(|one| one.as_str() == state)
            .unwrap(),
        worker: None,
        attempt: 1,
        queued_at: 0,
        started_at: None,
        lease_until: None,
        finished_at: None,
        outcome: Some(outcome),
        records: 0,
        request: Some(request),
        stop_requested_at: None,
        imported_at: None,
        task: Some(id(1)),
        batch: None,
    };
    let document = task::annotated(&crate::document::document(&run), annotations);
    TaskRun { run, document }
}

/// Returns a run that completed, with its commits and a check that passed.
fn completed(start: &str, head: &str, result: &str) -> TaskRun {
    finished(json!({
        "status": "completed", "start_head": start, "head": head, "result": result,
        "checks": [{"name": "test", "required": true, "status": "passed"}],
    }))
}

/// Returns the same with a violation of a path.
fn violating(mut run: TaskRun, path: &str, reason: &str) -> TaskRun {
    run.document["violations"] =
        json!([{"id": "r.1", "path": path, "reason": reason, "approval": "pending"}]);
    run
}

/// Returns the status of a task with these runs, and its reasons.
fn derived(runs: Vec<TaskRun>, said: &Said) -> String {
    let task = task(1, &[]);
    let states = states(vec![Loaded { task, runs }], said).unwrap();
    shown(&states[0].derived)
}

fn shown(derived: &Derived) -> String {
    let words = derived.reasons.iter().map(|reason| reason.as_str());
    let words: Vec<&str> = [derived.status.as_str()].into_iter().chain(words).collect();
    words.join(" ")
}

fn merged(merged: &[&'static str]) -> Said {
    Said {
        merged: merged.to_vec(),
        ..Said::default()
    }
}

#[test]
fn the_state_and_the_ending_of_runs_count() {
    for (state, outcome, expected) in [
        ("queued", json!(null), "open"),
        ("running", json!(null), "running"),
        (
            "finished",
            json!({"status": "completed"}),
            "ready dod_pending merge_pending",
        ),
        ("finished", json!({"status": "failed"}), "failed run_failed"),
        ("finished", json!({"status": "cancelled"}), "open"),
        // A run that says nothing of its ending did not complete.
        ("finished", json!({}), "failed run_failed"),
    ] {
        let one = run(state, json!({}), outcome.clone(), &json!([]));
        assert_eq!(
            derived(vec![one], &Said::default()),
            expected,
            "{state} {outcome}"
        );
    }
}

#[test]
fn checks_that_were_asked_for_and_have_no_result_are_pending() {
    let check = |name: &str, required: bool| json!({"name": name, "required": required, "command": ["./x"]});
    let passed = json!({"name": "test", "required": true, "status": "passed"});
    let with = |asked: Value, results: Value, annotations: Value| {
        let outcome = json!({"status": "completed", "checks": results});
        let one = run("finished", json!({"checks": asked}), outcome, &annotations);
        derived(vec![one], &Said::default())
    };
    let asked = json!([check("test", true), check("lint", true)]);
    assert_eq!(
        with(asked.clone(), json!([passed]), json!([])),
        "ready dod_pending merge_pending"
    );
    let again = json!([{"at": 1, "kind": "check", "name": "lint", "value": {"required": true, "status": "passed"}}]);
    assert_eq!(with(asked, json!([passed]), again), "ready merge_pending");
    let optional = json!([check("test", true), check("lint", false)]);
    assert_eq!(
        with(optional, json!([passed]), json!([])),
        "ready merge_pending"
    );
    // What cannot be read counts against the task.
    let odd = json!([passed, {"name": "odd", "status": "perhaps"}]);
    assert_eq!(
        with(json!([]), odd, json!([])),
        "ready dod_pending merge_pending"
    );
}

#[test]
fn work_is_merged_by_its_commits_or_by_an_annotation() {
    let one = || vec![completed("b1", "h1", "k1")];
    assert_eq!(derived(one(), &merged(&[])), "ready merge_pending");
    assert_eq!(
        derived(one(), &merged(&["h1"])),
        "needs_review merge_pending"
    );
    assert_eq!(derived(one(), &merged(&["h1", "k1"])), "done");
    let mut run = completed("b1", "h1", "k1");
    run.document["merge"] = json!({"commit": "m1", "at": 5});
    assert_eq!(derived(vec![run], &merged(&[])), "done");
}

#[test]
fn a_run_that_changed_nothing_is_not_merged_because_its_base_is() {
    let said = merged(&["b1", "k1"]);
    assert_eq!(
        derived(vec![completed("b1", "b1", "b1")], &said),
        "ready merge_pending"
    );
    // What was not committed is not on the base, though the commit below it is.
    assert_eq!(
        derived(vec![completed("b1", "b1", "k2")], &said),
        "ready merge_pending"
    );
    // A later run that adds nothing rests on the work of the one before it.
    let runs = vec![completed("b1", "k1", "k1"), completed("k1", "k1", "k1")];
    assert_eq!(derived(runs, &said), "done");
}

#[test]
fn a_later_run_takes_a_violation_back() {
    let first = || violating(completed("b1", "h1", "h1"), "README.md", "outside_write");
    let second = || completed("h1", "h2", "h2");
    let pending = "needs_review scope_violation_pending merge_pending";
    let said = |paths: &[&'static str], merged: &[&'static str]| Said {
        merged: merged.to_vec(),
        changed: BTreeMap::from([(("b1", "h1"), vec![]), (("b1", "h2"), paths.to_vec())]),
    };
    // No run takes back what was seen of itself.
    assert_eq!(derived(vec![first()], &said(&[], &[])), pending);
    let both = || vec![first(), second()];
    assert_eq!(derived(both(), &said(&["README.md"], &[])), pending);
    assert_eq!(
        derived(both(), &said(&["src/a"], &[])),
        "ready merge_pending"
    );
    // It stays so when both are merged.
    assert_eq!(derived(both(), &said(&["src/a"], &["h1", "h2"])), "done");
    // What cannot be told was not taken back.
    assert_eq!(derived(both(), &merged(&[])), pending);
    // What happened elsewhere is not in any result.
    for reason in [
        "main_checkout",
        "branch_switched",
        "worktree_missing",
        "odd",
    ] {
        let first = violating(completed("b1", "h1", "h1"), "README.md", reason);
        assert_eq!(
            derived(vec![first, second()], &said(&[], &[])),
            pending,
            "{reason}"
        );
    }
}

#[test]
fn a_branch_that_is_made_anew_leaves_violations_behind_unless_they_are_merged() {
    let runs = || {
        vec![
            violating(completed("b1", "h1", "h1"), "README.md", "excluded_path"),
            completed("b2", "h2", "h2"),
        ]
    };
    let said = |merged: &[&'static str]| Said {
        merged: merged.to_vec(),
        changed: BTreeMap::from([(("b2", "h2"), vec!["src/a"])]),
    };
    assert_eq!(derived(runs(), &said(&[])), "ready merge_pending");
    assert_eq!(derived(runs(), &said(&["h2"])), "done");
    assert_eq!(
        derived(runs(), &said(&["h1", "h2"])),
        "needs_review scope_violation_pending"
    );
}

#[test]
fn decisions_count() {
    let outcome = json!({"status": "completed", "violations": [
        {"id": "r.1", "path": "a", "reason": "outside_write"}, {"id": "r.2", "path": "b", "reason": "outside_write"},
    ]});
    let decided = |words: &[&str]| {
        let annotations: Vec<Value> = (1..).zip(words).map(|(number, word)| {
            json!({"at": number, "kind": "violation", "name": format!("r.{number}"), "value": {"approval": word}})
        }).collect();
        let one = run("finished", json!({}), outcome.clone(), &json!(annotations));
        derived(vec![one], &Said::default())
    };
    for (words, expected) in [
        (
            vec![],
            "needs_review scope_violation_pending dod_pending merge_pending",
        ),
        (
            vec!["approved"],
            "needs_review scope_violation_pending dod_pending merge_pending",
        ),
        (
            vec!["approved", "approved"],
            "ready dod_pending merge_pending",
        ),
        (
            vec!["approved", "rejected"],
            "needs_review scope_violation_rejected dod_pending merge_pending",
        ),
    ] {
        assert_eq!(decided(&words), expected, "{words:?}");
    }
}

#[test]
fn a_dependency_that_is_done_unblocks() {
    let done = || vec![completed("b1", "h1", "h1")];
    let loaded = |task: Task, runs: Vec<TaskRun>| Loaded { task, runs };
    let said = merged(&["h1"]);
    let statuses = |loaded: Vec<Loaded>| -> Vec<String> {
        let states = states(loaded, &said).unwrap();
        states.iter().map(|state| shown(&state.derived)).collect()
    };
    // The one that is needed may have been added later.
    assert_eq!(
        statuses(vec![
            loaded(task(1, &[2, 3]), vec![]),
            loaded(task(2, &[3]), done()),
            loaded(task(3, &[]), done()),
            loaded(task(4, &[1]), done()),
        ]),
        ["open", "done", "done", "blocked blocked_by_dependencies"]
    );
    let both = [
        loaded(task(1, &[2, 3, 4]), vec![]),
        loaded(task(2, &[]), vec![]),
        loaded(task(3, &[]), done()),
    ];
    let found = states(both.into(), &said).unwrap();
    assert_eq!(found[0].waits_for, [id(2), id(4)]);
    let cancelled = Task {
        cancelled_at: Some(1),
        ..task(2, &[])
    };
    assert_eq!(
        statuses(vec![
            loaded(task(1, &[2]), vec![]),
            loaded(cancelled, done()),
            loaded(task(3, &[900]), vec![]),
        ]),
        [
            "blocked blocked_by_dependencies",
            "cancelled",
            "blocked blocked_by_dependencies"
        ]
    );
    // The store refuses a cycle; should there be one, nobody in it is done.
    assert_eq!(
        statuses(vec![
            loaded(task(1, &[2]), done()),
            loaded(task(2, &[1]), done()),
            loaded(task(3, &[3]), done()),
        ]),
        ["blocked blocked_by_dependencies"; 3]
    );
}

#[test]
fn a_long_chain_of_tasks_is_followed_to_its_end() {
    let done = || vec![completed("b1", "h1", "h1")];
    let loaded = (0..900).map(|number| Loaded {
        task: task(
            number,
            if number < 899 {
                vec![number + 1]
            } else {
                vec![]
            }
            .as_slice(),
        ),
        runs: done(),
    });
    let states = states(loaded.collect(), &merged(&["h1"])).unwrap();
    assert!(
        states
            .iter()
            .all(|state| state.derived.status == TaskStatus::Done)
    );
    assert_eq!(states[0].task.id, id(0));
}

#[test]
fn the_repository_is_not_asked_about_a_cancelled_task() {
    struct Never;
    impl Merged for Never {
        fn merged(&self, _: &str, _: &[(&str, &str)]) -> Result<Vec<bool>, RunError> {
            panic!("nobody asks");
        }
        fn changed(&self, _: &str, _: &str) -> Result<Option<BTreeSet<String>>, RunError> {
            panic!("nobody asks");
        }
    }
    let task = Task {
        cancelled_at: Some(1),
        ..task(1, &[])
    };
    let runs = vec![
        violating(completed("b1", "h1", "h1"), "a", "outside_write"),
        completed("h1", "h2", "h2"),
    ];
    let states = states(vec![Loaded { task, runs }], &Never).unwrap();
    assert_eq!(shown(&states[0].derived), "cancelled");
}

#[test]
fn a_document_has_what_is_known_whatever_the_body_is() {
    let one = TaskState {
        runs: vec![completed("b1", "h1", "h1")],
        task: Task {
            body: json!({"description": "It fails.", "write_scope": ["src/**"], "exclude": [], "done_when": ["tests pass"], "base": "main"}),
            ..task(1, &[2])
        },
        waits_for: vec![id(2)],
        derived: Derived {
            status: TaskStatus::Blocked,
            reasons: vec![TaskReason::BlockedByDependencies],
        },
    };
    insta::assert_snapshot!(super::super::document(&one), @r#"{"schema":"callsheet.task/1","id":"1m7f6zd4n3x001","title":"Task 1","description":"It fails.","write_scope":["src/**"],"exclude":[],"done_when":["tests pass"],"base":"main","depends":["1m7f6zd4n3x002"],"status":"blocked","reasons":["blocked_by_dependencies"],"runs":["1m7f6zd4n3x500"],"created_at":0,"cancelled_at":null}"#);
    let odd = TaskState {
        task: Task {
            body: json!([1]),
            ..task(1, &[])
        },
        ..one
    };
    insta::assert_snapshot!(super::super::document(&odd), @r#"{"schema":"callsheet.task/1","id":"1m7f6zd4n3x001","title":"Task 1","description":null,"write_scope":[],"exclude":[],"done_when":[],"base":null,"depends":[],"status":"blocked","reasons":["blocked_by_dependencies"],"runs":["1m7f6zd4n3x500"],"created_at":0,"cancelled_at":null}"#);
}
