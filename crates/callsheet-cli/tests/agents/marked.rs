//! What is left when a supervisor itself was killed, and is found by its mark.

use std::process::Command;

use callsheet_run::launch::{Identity, MARKER, Step, Word};
use callsheet_run::supervisor::{end_marked, is_alive};
use rustix::process::Signal;

use crate::agent::{Agent, send, survivors, until};

#[test]
fn the_agent_of_a_killed_supervisor_is_found_and_ended() {
    let agent =
        Agent::new("trap '' TERM; setsid sleep 300 & up $! sleep; echo ready; exec sleep 300");
    let mut supervised = agent.ready();
    send(agent.processes().0, Signal::KILL);
    until("it is gone", || supervised.is_gone());
    let entries = agent.entries();
    assert!(entries.iter().all(|entry| entry.step != Step::Done));
    assert_eq!(survivors(agent.run()).len(), 2);
    assert_eq!(end_marked(agent.run()), 2);
    assert_eq!(survivors(agent.run()), Vec::<i32>::new());
    assert_eq!(end_marked(agent.run()), 0);
    assert!(!is_alive(&agent.processes().1));
}

#[test]
fn a_supervisor_that_does_not_answer_can_be_killed() {
    let agent = Agent::new(
        "until grep -q spawned journal; do :; done; kill -STOP $PPID; echo ready; exec sleep 300",
    );
    let mut supervised = agent.ready();
    supervised.say(Word::Kill);
    supervised.kill();
    assert!(supervised.is_gone());
    assert_eq!(end_marked(agent.run()), 1);
    assert_eq!(survivors(agent.run()), Vec::<i32>::new());
}

#[test]
fn what_dropped_the_mark_is_ended_with_its_parent_and_our_own_children_are_spared() {
    let agent = Agent::new("");
    let script = "setsid sh -c '
        env -i \"$(command -v sleep)\" 300 & echo $! >unmarked
        echo ready >ready; exec sleep 300' &";
    let status = Command::new("sh")
        .args(["-c", script])
        .env(MARKER, agent.run())
        .current_dir(agent.path(""))
        .status()
        .unwrap();
    assert!(status.success());
    let mut own = Command::new("sleep")
        .arg("300")
        .env(MARKER, agent.run())
        .spawn()
        .unwrap();
    until("they are there", || agent.path("ready").exists());
    let pid = std::fs::read_to_string(agent.path("unmarked")).unwrap();
    let unmarked = Identity::of(pid.trim().parse().unwrap()).unwrap();
    until("it dropped the mark", || {
        std::fs::read(format!("/proc/{}/environ", unmarked.pid)).is_ok_and(|it| it.is_empty())
    });

    assert_eq!(end_marked(agent.run()), 2);
    assert!(!is_alive(&unmarked));
    assert_eq!(survivors(agent.run()), [own.id().cast_signed()]);
    own.kill().unwrap();
    own.wait().unwrap();
}

#[test]
fn a_run_whose_id_begins_the_same_is_another_run() {
    let agent = Agent::new("echo ready; exec sleep 300");
    let supervised = agent.ready();
    let shorter = &agent.run()[..agent.run().len() - 1];
    assert_eq!(end_marked(shorter), 0);
    assert!(is_alive(&agent.processes().1));
    drop(supervised);
    until("it is gone", || survivors(agent.run()).is_empty());
}
