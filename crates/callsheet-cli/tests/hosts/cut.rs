//! A host that is cut off for longer than its lease: its run is settled elsewhere, and its work is not lost.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::network::End;
use crate::team::{Team, Way, git, said, survivors};

/// An agent that leaves a line for every start and a file in its scope, and goes on for ever unless there is a file `go`.
const AGENT: &str = "scope=$(grep -o 'src/[0-9]*/' | sort -u | head -n 1); mkdir -p $scope; \
    echo $CALLSHEET_RUN > ${scope}made; echo $CALLSHEET_RUN >> TALLY; test -e TALLY.go || sleep 600";

#[test]
fn a_host_that_is_cut_off_loses_its_run_but_not_its_work() {
    if let Some(team) = Team::new(Way::Remote, AGENT) {
        go(&team);
    }
}

#[test]
fn a_host_that_is_cut_off_hands_its_work_over_through_the_store_later() {
    // It waits for as long as the other one, and differs in the way back only.
    if std::env::var_os("CALLSHEET_TEST_LONG").is_none() {
        return;
    }
    if let Some(team) = Team::new(Way::Bundle, AGENT) {
        go(&team);
    }
}

fn go(team: &Team) {
    let (ada, ben) = (0, 1);
    let first = team.queue(ben, 1);
    let ada_works = team.worker(ada);
    wait_for(team, "the agent is up", || {
        team.tally().contains_key(&first)
    });
    team.network.cable(ada, End::Hub, "down");
    let ben_works = team.worker(ben);
    let mut client = team.client();
    wait_for(team, "the run is settled", || {
        let open = "select count(*) from run where state <> 'finished'";
        client.query_one(open, &[]).unwrap().get::<_, i64>(0) == 0
    });
    // Nobody takes a run for lost whose agent is still at work.
    let runs = team.runs(ben);
    assert_eq!(survivors(&runs), Vec::<String>::new());
    let lost = &runs[0];
    assert_eq!(lost["status"], "failed", "{lost:#}");
    assert_eq!(lost["settled"], true, "{lost:#}");
    assert_eq!(lost["result"], serde_json::Value::Null, "{lost:#}");
    assert_eq!(lost["violations"], serde_json::json!([]), "{lost:#}");
    ben_works.signal(Signal::TERM);
    assert_eq!(ben_works.wait(), Some(0));

    // The other host goes on without what the first one did.
    std::fs::write(team.folder.path().join("tally/list.go"), "").unwrap();
    let retried = team.run(ben, &["retry", &first, "--json"]);
    assert_eq!(retried.code(), Some(0), "{}", said(&retried));
    let second = retried.json()["id"].as_str().unwrap().to_owned();

    // It comes back, hands over what it did, and works on.
    team.network.cable(ada, End::Hub, "up");
    let third = team.queue(ben, 2);
    wait_for(team, "it works on", || team.tally().contains_key(&third));
    let task = lost["task"].as_str().unwrap();
    let note = format!(".callsheet/worktrees/{task}.unpublished");
    let note = team.clone_of(ada).join(note);
    wait_for(team, "it hands over its work", || !note.exists());
    ada_works.signal(Signal::TERM);
    assert_eq!(ada_works.wait(), Some(0), "{}", team.story());

    for host in [ben, ada] {
        let merged = team.run(host, &["merge", task]);
        assert_eq!(merged.code(), Some(0), "{}", said(&merged));
        let made = |commit: &str| {
            git(
                &team.clone_of(host),
                &["show", &format!("{commit}:src/1/made")],
            )
        };
        assert_eq!(made("main"), second);
        assert_eq!(made(&format!("refs/callsheet/runs/{first}")), first);
        assert_eq!(made(&format!("refs/callsheet/runs/{second}")), second);
    }
    for run in [&first, &second, &third] {
        assert_eq!(team.tally().get(run), Some(&1));
    }
    assert_eq!(team.run(ben, &["verify"]).code(), Some(0));
}

#[track_caller]
fn wait_for(team: &Team, what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(
            since.elapsed() < Duration::from_mins(2),
            "never: {what}\n{}",
            team.story()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}
