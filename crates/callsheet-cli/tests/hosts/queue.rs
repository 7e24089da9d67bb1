//! A queue that two hosts work on while workers are killed and cables are pulled.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::chaos::Chaos;
use crate::team::{HOSTS, Team, Way, git, said, survivors};

/// An agent that leaves a line for every start, makes one file in its scope, and commits it for every other task.
const AGENT: &str = "scope=$(grep -o 'src/[0-9]*/' | sort -u | head -n 1); echo $CALLSHEET_RUN >> TALLY; \
    mkdir -p $scope; echo $CALLSHEET_RUN > ${scope}made; sleep 0.2; \
    case $scope in *[02468]/) git add --all && git commit -qm made;; esac";

#[test]
fn every_queued_run_is_executed_once_and_merges_on_either_host() {
    let Some(team) = Team::new(Way::Remote, AGENT) else {
        return;
    };
    go(&team, if is_long() { 500 } else { 40 });
}

#[test]
fn branches_travel_through_the_store_where_there_is_no_remote() {
    let Some(team) = Team::new(Way::Bundle, AGENT) else {
        return;
    };
    go(&team, if is_long() { 100 } else { 12 });
}

fn is_long() -> bool {
    std::env::var_os("CALLSHEET_TEST_LONG").is_some()
}

fn go(team: &Team, tasks: usize) {
    std::thread::scope(|scope| {
        for host in 0..HOSTS.len() {
            let numbers = (0..tasks).filter(move |number| number % HOSTS.len() == host);
            scope.spawn(move || numbers.for_each(|number| drop(team.queue(host, number))));
        }
    });
    let mut chaos = Chaos::new(team);
    chaos.until_done(Duration::from_mins(20));
    chaos.stop();
    assert!(chaos.kills > 0 && chaos.cuts > 0);
    let lost = check(team);
    retry(team, &lost);
    check(team);
    recheck(team);
    merge(team);
    for host in 0..HOSTS.len() {
        assert_nothing_left(team, host);
    }
}

/// Checks that no run was executed twice, and returns the tasks without a completed run, each with its newest run.
fn check(team: &Team) -> BTreeMap<String, Value> {
    let (tally, runs) = (team.tally(), team.runs(0));
    let mut lost = BTreeMap::new();
    for run in runs.iter().rev() {
        let times = tally.get(run["id"].as_str().unwrap()).copied().unwrap_or(0);
        assert_eq!(run["state"], "finished", "{run:#}");
        assert!(
            times <= 1,
            "executed {times} times: {run:#}\n{}",
            team.story()
        );
        let task = run["task"].as_str().unwrap().to_owned();
        if run["status"] == "completed" {
            assert_eq!(times, 1, "{run:#}");
            // Checks that a killed worker did not come to are run later.
            let checked = run["checks"][0]["status"] == "passed";
            assert!(checked || run["settled"] == true, "{run:#}");
            lost.remove(&task);
        } else {
            assert_eq!(run["status"], "failed", "{run:#}\n{}", team.story());
            lost.insert(task, run.clone());
        }
        assert_eq!(run["violations"], serde_json::json!([]), "{run:#}");
    }
    assert_eq!(survivors(&runs), Vec::<String>::new());
    for host in 0..HOSTS.len() {
        let verified = team.run(host, &["verify"]);
        assert_eq!(verified.code(), Some(0), "{}", said(&verified));
    }
    lost
}

/// Runs what was lost once more, each on the host that did not run it.
fn retry(team: &Team, lost: &BTreeMap<String, Value>) {
    std::thread::scope(|scope| {
        for host in 0..HOSTS.len() {
            let is_here = move |run: &&Value| ran_on(run) != Some(host);
            let mine = lost.values().filter(is_here);
            scope.spawn(move || {
                for run in mine {
                    let id = run["id"].as_str().unwrap();
                    let retried = team.run(host, &["retry", id]);
                    assert_eq!(retried.code(), Some(0), "{run:#}\n{}", said(&retried));
                }
            });
        }
    });
}

/// Runs checks that a killed worker did not come to, each on the host that did not run the task.
fn recheck(team: &Team) {
    for run in team.runs(0) {
        if run["status"] == "completed" && run["checks"][0]["status"] == "pending" {
            let host = 1 - ran_on(&run).unwrap();
            let checked = team.run(host, &["checks", "rerun", run["id"].as_str().unwrap()]);
            assert_eq!(checked.code(), Some(0), "{run:#}\n{}", said(&checked));
        }
    }
}

/// Returns the host that a run was on; where nobody knows any more, the first.
fn ran_on(run: &Value) -> Option<usize> {
    let on = run["worktree"].as_str().unwrap_or_default();
    HOSTS
        .iter()
        .position(|host| on.contains(&format!("/{host}/")))
        .or(Some(0))
}

/// Merges every task on the host that did not run it last, and brings both halves together.
fn merge(team: &Team) {
    let mut tasks = BTreeMap::new();
    for run in team.runs(0).iter().rev() {
        let task = run["task"].as_str().unwrap().to_owned();
        tasks.insert(task, ran_on(run).unwrap_or_default());
    }
    std::thread::scope(|scope| {
        for (host, name) in HOSTS.iter().enumerate() {
            // Every third one is merged where it ran.
            let tasks = tasks.iter().enumerate();
            let mine = tasks.filter_map(move |(at, (task, ran))| {
                let there = if at % 3 == 0 { *ran } else { 1 - *ran };
                (there == host).then_some(task)
            });
            scope.spawn(move || {
                for task in mine {
                    let merged = team.run(host, &["merge", task]);
                    assert_eq!(
                        merged.code(),
                        Some(0),
                        "{task} on {name}: {}",
                        said(&merged)
                    );
                }
            });
        }
    });
    bring_together(team, tasks.len());
}

/// Pulls each base branch into the other; both have everything then, and every task is done.
fn bring_together(team: &Team, tasks: usize) {
    let (ada, ben) = (team.clone_of(0), team.clone_of(1));
    git(
        &ada,
        &[
            "pull",
            "--quiet",
            "--no-rebase",
            "--no-edit",
            ben.to_str().unwrap(),
            "main",
        ],
    );
    git(
        &ben,
        &[
            "pull",
            "--quiet",
            "--no-rebase",
            "--no-edit",
            ada.to_str().unwrap(),
            "main",
        ],
    );
    for number in 0..tasks {
        for clone in [&ada, &ben] {
            let made = clone.join(format!("src/{number}/made"));
            assert!(made.is_file(), "{}", made.display());
        }
    }
    for host in 0..HOSTS.len() {
        let listed = team.done(host, &["task", "list", "--json"]).json();
        for task in listed["tasks"].as_array().unwrap() {
            let runs = || team.done(host, &["runs", "--json", "-n", "5000"]).text();
            assert_eq!(task["status"], "done", "{task:#}\n{}", runs());
        }
    }
}

/// Checks that a host has neither directories of runs nor anything that it has to hand over.
fn assert_nothing_left(team: &Team, host: usize) {
    let home = team.clone_of(host).join(".callsheet");
    let left = |name: &str| -> Vec<String> {
        let entries = std::fs::read_dir(home.join(name))
            .into_iter()
            .flatten()
            .flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.collect()
    };
    assert_eq!(left("runs"), Vec::<String>::new());
    let owed = left("worktrees")
        .into_iter()
        .filter(|name| name.ends_with(".unpublished"));
    assert_eq!(owed.collect::<Vec<_>>(), Vec::<String>::new());
}
