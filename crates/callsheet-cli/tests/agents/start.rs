//! How an agent is started: its environment, session and files, and what happens when it cannot be.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use callsheet_run::launch::{Identity, Word};
use callsheet_run::supervisor::is_alive;

use crate::agent::{Agent, session, until};

#[test]
fn an_agent_has_the_environment_that_it_was_given_and_nothing_else() {
    let mut agent = Agent::with(&["env"]);
    agent.launch.env.insert("KEY".into(), "a value".into());
    agent.play();
    let (run, path) = (agent.run(), &agent.launch.env["PATH"]);
    let expected = format!("CALLSHEET_RUN={run}\nKEY=a value\nPATH={path}\n");
    assert_eq!(agent.stdout(), expected);
}

#[test]
fn a_supervisor_has_no_environment_and_both_have_sessions_of_their_own() {
    let agent = Agent::new("echo ready; exec sleep 300");
    let mut supervised = agent.ready();
    let (supervisor, process) = agent.processes();
    assert!(is_alive(&supervisor) && is_alive(&process));
    assert_eq!(session(supervisor), supervisor.pid);
    assert_eq!(session(process), process.pid);
    assert_eq!(Identity::of(process.pid), Some(process));
    let environment = std::fs::read(format!("/proc/{}/environ", supervisor.pid)).unwrap();
    assert_eq!(String::from_utf8(environment).unwrap(), "");
    supervised.say(Word::Kill);
    until("it is gone", || supervised.is_gone());
    assert!(!is_alive(&supervisor) && !is_alive(&process));
}

#[test]
fn only_the_owner_may_read_what_an_agent_prints() {
    let agent = Agent::new("echo out; echo err >&2");
    agent.play();
    for (file, text) in [("stdout", "out\n"), ("stderr", "err\n")] {
        let path = agent.path(file);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let mode = agent.launch.journal.metadata().unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn output_is_appended() {
    let agent = Agent::new("echo second");
    std::fs::write(&agent.launch.stdout, "first\n").unwrap();
    agent.play();
    assert_eq!(agent.stdout(), "first\nsecond\n");
}

#[test]
fn a_program_is_looked_for_in_the_path_of_the_agent() {
    let mut agent = Agent::with(&["here", "argument"]);
    let program = agent.path("here");
    std::fs::write(&program, "#!/bin/sh\necho \"$1\"\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let folder = agent.path("").display().to_string();
    agent.launch.env.insert("PATH".into(), folder);
    agent.play();
    assert_eq!(agent.stdout(), "argument\n");

    let mut relative = Agent::with(&["./here"]);
    relative.launch.cwd = agent.path("");
    relative.play();
    assert_eq!(relative.stdout(), "\n");
}

#[test]
fn a_missing_program_is_reported() {
    let agent = Agent::with(&["no-such-agent"]);
    insta::assert_snapshot!(agent.play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"not_spawned","why":"no program `no-such-agent` in `PATH`","missing":true}
    {"step":"done"}
    "#);
    let mut agent = Agent::with(&["sh"]);
    agent.launch.env.remove("PATH");
    assert!(agent.play().contains("no program `sh` in `PATH`"));
    let agent = Agent::with(&["./no-such-agent"]);
    assert!(
        agent
            .play()
            .contains("\"no program `./no-such-agent`\",\"missing\":true")
    );
}

#[test]
fn what_cannot_be_started_is_reported() {
    let agent = Agent::with(&["./file"]);
    std::fs::write(agent.path("file"), "").unwrap();
    insta::assert_snapshot!(agent.play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"not_spawned","why":"cannot run `[FOLDER]/./file`: it is not executable","missing":false}
    {"step":"done"}
    "#);

    let mut agent = Agent::new("exit 0");
    agent.launch.cwd = agent.path("missing");
    insta::assert_snapshot!(agent.play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"not_spawned","why":"`[FOLDER]/missing` is not a directory","missing":false}
    {"step":"done"}
    "#);

    let mut agent = Agent::new("exit 0");
    agent.launch.stdin = Some(agent.path("missing"));
    insta::assert_snapshot!(agent.play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"not_spawned","why":"cannot open `[FOLDER]/missing`: No such file or directory (os error 2)","missing":false}
    {"step":"done"}
    "#);

    let long = "x".repeat(200_000);
    let agent = Agent::with(&["sh", "-c", &long]);
    insta::assert_snapshot!(agent.play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"not_spawned","why":"cannot run `sh`: Argument list too long (os error 7)","missing":false}
    {"step":"done"}
    "#);
}

#[test]
fn what_is_not_a_launch_is_refused() {
    let refused = |line: &str| {
        let mut child = Agent::supervise().spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(line.as_bytes()).unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        format!("{:?} {}", output.status.code(), stderr.trim_end())
    };
    insta::assert_snapshot!(refused("{}\n"), @"Some(2) error: not a launch: missing field `argv` at line 1 column 2");
    insta::assert_snapshot!(refused("stop\n"), @"Some(2) error: not a launch: expected value at line 1 column 1");
    // Half a line is what a driver leaves that was killed while it wrote.
    insta::assert_snapshot!(refused("{\"argv\":"), @"Some(3) error: cannot supervise: unexpected end of file");
    insta::assert_snapshot!(refused(""), @"Some(3) error: cannot supervise: unexpected end of file");
}
