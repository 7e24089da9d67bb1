//! Drivers that die, and disks that are full: the agent is ended all the same.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::agent::{Agent, survivors, until};

#[test]
fn an_agent_does_not_outlive_whoever_let_go_of_it() {
    let agent = Agent::new("setsid sleep 300 & up $! sleep; echo ready; exec sleep 300");
    drop(agent.ready());
    until("it is done", || agent.entries().len() == 5);
    insta::assert_snapshot!(agent.journal(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"signalled","signal":"TERM","processes":2,"why":"orphaned"}
    {"step":"exited","code":null,"signal":15,"read":null}
    {"step":"done"}
    "#);
}

#[test]
fn an_unwilling_agent_does_not_outlive_a_killed_driver() {
    let agent = Agent::new(
        "trap '' TERM INT HUP; setsid sleep 300 & up $! sleep; echo ready; exec sleep 300",
    );
    let line = agent.launch.to_line().unwrap();
    std::fs::write(agent.path("launch"), line).unwrap();
    let mut driver = Command::new("sh")
        .args(["-c", "cat launch; exec sleep 300"])
        .current_dir(agent.path(""))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pipe = driver.stdout.take().unwrap();
    let mut supervisor = Agent::supervise().stdin(pipe).spawn().unwrap();
    agent.wait_ready();
    driver.kill().unwrap();
    driver.wait().unwrap();
    assert_eq!(supervisor.wait().unwrap().code(), Some(0));
    insta::assert_snapshot!(agent.journal(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"signalled","signal":"TERM","processes":2,"why":"orphaned"}
    {"step":"signalled","signal":"KILL","processes":2,"why":"orphaned"}
    {"step":"exited","code":null,"signal":9,"read":null}
    {"step":"done"}
    "#);
}

#[test]
fn a_full_disk_keeps_no_agent_alive() {
    let mut agent =
        Agent::new("trap '' TERM; setsid sleep 300 & up $! sleep; echo ready; exec sleep 300");
    agent.launch.journal = PathBuf::from("/dev/full");
    let mut supervisor = Agent::supervise().spawn().unwrap();
    let mut pipe = supervisor.stdin.take().unwrap();
    pipe.write_all(agent.launch.to_line().unwrap().as_bytes())
        .unwrap();
    agent.wait_ready();
    pipe.write_all(b"nonsense\nkill\n").unwrap();
    let output = supervisor.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: cannot write `/dev/full`: no space left on device\n"
    );
    assert_eq!(survivors(agent.run()), Vec::<i32>::new());
    drop(pipe);
}

#[test]
fn a_journal_that_cannot_be_opened_starts_nothing() {
    let mut agent = Agent::new("echo ready");
    agent.launch.journal = agent.path("missing/journal");
    let mut supervised = agent.start();
    until("it is gone", || supervised.is_gone());
    assert_eq!(supervised.entries(), []);
    assert_eq!(agent.stdout(), "");
}
