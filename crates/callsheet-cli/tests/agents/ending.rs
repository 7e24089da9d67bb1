//! Agents that end by themselves, and what they leave behind.

use callsheet_run::launch::Step;

use crate::agent::{Agent, until, without_counts};

#[test]
fn an_agent_ends_by_itself() {
    insta::assert_snapshot!(Agent::new("exit 0").play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"exited","code":0,"signal":null,"read":null}
    {"step":"done"}
    "#);
    insta::assert_snapshot!(Agent::new("exit 42").play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"exited","code":42,"signal":null,"read":null}
    {"step":"done"}
    "#);
    insta::assert_snapshot!(Agent::new("kill -KILL $$").play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"exited","code":null,"signal":9,"read":null}
    {"step":"done"}
    "#);
}

/// Returns how many of ten bytes an agent took.
fn read(script: &str) -> Option<u64> {
    let agent = Agent::new(script).reading("0123456789");
    agent.play();
    agent
        .entries()
        .into_iter()
        .find_map(|entry| match entry.step {
            Step::Exited { read, .. } => read,
            _ => None,
        })
}

#[test]
fn how_much_an_agent_read_is_reported() {
    assert_eq!(read("exit 0"), Some(0));
    assert_eq!(read("exec dd bs=1 count=5 of=/dev/null"), Some(5));
    assert_eq!(read("exec cat"), Some(10));
}

#[test]
fn an_agent_without_a_prompt_has_nothing_to_read() {
    let agent = Agent::new("cat; echo end");
    agent.play();
    assert_eq!(agent.stdout(), "end\n");
}

#[test]
fn processes_in_other_sessions_are_ended_after_the_agent() {
    let agent = Agent::new(
        "setsid sleep 300 & up $! sleep
        setsid sh -c 'sleep 300 & echo $! >pid; wait' &
        until [ -s pid ]; do :; done
        up $(cat pid) sleep; exit 3",
    );
    insta::assert_snapshot!(agent.play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"exited","code":3,"signal":null,"read":null}
    {"step":"leftovers","names":["sh","sleep","sleep"]}
    {"step":"signalled","signal":"TERM","processes":3,"why":"leftovers"}
    {"step":"done"}
    "#);
}

#[test]
fn what_ignores_every_signal_is_killed_after_the_agent() {
    let agent = Agent::new("(trap '' TERM INT HUP; exec setsid sleep 300) & up $! sleep; exit 0");
    insta::assert_snapshot!(agent.play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"exited","code":0,"signal":null,"read":null}
    {"step":"leftovers","names":["sleep"]}
    {"step":"signalled","signal":"TERM","processes":1,"why":"leftovers"}
    {"step":"signalled","signal":"KILL","processes":1,"why":"leftovers"}
    {"step":"done"}
    "#);
}

#[test]
fn a_process_that_dropped_the_mark_is_still_found() {
    let agent = Agent::new("setsid env -i \"$(command -v sleep)\" 300 & up $! sleep; exit 0");
    let journal = agent.play();
    assert!(journal.contains("{\"step\":\"leftovers\",\"names\":[\"sleep\"]}"));
    assert!(journal.ends_with("{\"step\":\"done\"}"));
}

#[test]
fn a_process_that_hops_from_pid_to_pid_is_caught() {
    let agent = Agent::with(&["sh", "./hop"]);
    std::fs::write(agent.path("hop"), "trap '' TERM\nsetsid sh ./hop &\n").unwrap();
    let mut supervised = agent.start();
    until("it is gone", || supervised.is_gone());
    let journal = without_counts(&agent.journal());
    assert!(journal.ends_with("{\"step\":\"done\"}"), "{journal}");
    assert!(journal.contains("\"signal\":\"KILL\""), "{journal}");
}

#[test]
fn an_agent_that_closes_its_output_goes_on() {
    let agent = Agent::new("exec >&- 2>&-; echo lost; dd bs=1 count=3 of=file; exit 7")
        .reading("0123456789");
    insta::assert_snapshot!(agent.play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"exited","code":7,"signal":null,"read":3}
    {"step":"done"}
    "#);
    assert_eq!(std::fs::read_to_string(agent.path("file")).unwrap(), "012");
}

#[test]
fn a_flood_is_no_hurdle() {
    let agent = Agent::new("yes | head -c 30000000; yes | head -c 30000000 >&2; exit 5");
    assert!(agent.play().contains("{\"step\":\"exited\",\"code\":5,"));
    for file in ["stdout", "stderr"] {
        let length = agent.path(file).metadata().unwrap().len();
        assert_eq!(length, 30_000_000, "{file}");
    }
}

#[test]
fn fifty_agents_at_once_are_all_swept_up() {
    let agents: Vec<Agent> = (0..50)
        .map(|code| Agent::new(&format!("setsid sleep 300 & up $! sleep; exit {code}")))
        .collect();
    let mut supervised: Vec<_> = agents.iter().map(Agent::start).collect();
    for supervised in &mut supervised {
        until("all are gone", || supervised.is_gone());
    }
    for (code, agent) in agents.iter().enumerate() {
        let journal = agent.journal();
        let exited =
            format!("{{\"step\":\"exited\",\"code\":{code},\"signal\":null,\"read\":null}}");
        assert!(journal.contains(&exited), "{journal}");
        assert!(journal.contains("\"names\":[\"sleep\"]"), "{journal}");
        assert!(journal.ends_with("{\"step\":\"done\"}"), "{journal}");
    }
}

#[test]
fn entries_come_once_and_in_order() {
    let agent = Agent::new("setsid sleep 300 & up $! sleep; exit 0");
    let mut supervised = agent.start();
    let mut entries = Vec::new();
    until("it is gone", || {
        entries.extend(supervised.entries());
        supervised.is_gone()
    });
    entries.extend(supervised.entries());
    assert_eq!(entries, agent.entries());
    assert_eq!(entries.last().map(|entry| &entry.step), Some(&Step::Done));
    assert_eq!(supervised.entries(), []);
}
