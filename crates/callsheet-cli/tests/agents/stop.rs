//! Stopping and killing agents, willing and unwilling.

use callsheet_run::launch::Word;
use rustix::process::Signal;

use crate::agent::{Agent, send, survivors, until, without_counts};

/// Starts an agent, says a word once it is ready, and returns its journal.
fn journal_after(agent: &Agent, word: Word) -> String {
    let mut supervised = agent.ready();
    supervised.say(word);
    until("it is gone", || supervised.is_gone());
    agent.journal()
}

#[test]
fn an_obedient_agent_is_asked_once() {
    let agent = Agent::new("echo ready; exec sleep 300");
    insta::assert_snapshot!(journal_after(&agent, Word::Stop), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"signalled","signal":"TERM","processes":1,"why":"stop"}
    {"step":"exited","code":null,"signal":15,"read":null}
    {"step":"done"}
    "#);
    let agent = Agent::new("trap 'exit 9' INT; echo ready; while :; do sleep 0.01; done");
    let journal = without_counts(&journal_after(&agent.interrupted(), Word::Stop));
    insta::assert_snapshot!(journal, @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"signalled","signal":"INT","processes":"[COUNT]","why":"stop"}
    {"step":"exited","code":9,"signal":null,"read":null}
    {"step":"done"}
    "#);
}

#[test]
fn an_agent_that_ignores_every_request_is_killed() {
    let agent = Agent::new("trap '' TERM INT; echo ready; exec sleep 300").interrupted();
    insta::assert_snapshot!(journal_after(&agent, Word::Stop), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"signalled","signal":"INT","processes":1,"why":"stop"}
    {"step":"signalled","signal":"TERM","processes":1,"why":"stop"}
    {"step":"signalled","signal":"KILL","processes":1,"why":"stop"}
    {"step":"exited","code":null,"signal":9,"read":null}
    {"step":"done"}
    "#);
    let at: Vec<i64> = agent.entries().iter().map(|entry| entry.at).collect();
    assert!(at[3] - at[2] >= 5000 && at[4] - at[3] >= 5000, "{at:?}");
}

#[test]
fn other_sessions_are_ended_with_a_stop() {
    let agent = Agent::new("setsid sleep 300 & up $! sleep; echo ready; exec sleep 300");
    insta::assert_snapshot!(journal_after(&agent, Word::Stop), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"signalled","signal":"TERM","processes":1,"why":"stop"}
    {"step":"exited","code":null,"signal":15,"read":null}
    {"step":"leftovers","names":["sleep"]}
    {"step":"signalled","signal":"TERM","processes":1,"why":"leftovers"}
    {"step":"done"}
    "#);
}

#[test]
fn a_kill_is_at_once_and_for_all() {
    let agent = Agent::new(
        "trap '' TERM; setsid sleep 300 & up $! sleep; sleep 300 & echo ready; exec sleep 300",
    );
    let journal = journal_after(&agent, Word::Kill);
    insta::assert_snapshot!(journal, @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"signalled","signal":"KILL","processes":3,"why":"kill"}
    {"step":"exited","code":null,"signal":9,"read":null}
    {"step":"done"}
    "#);
}

#[test]
fn a_kill_overtakes_a_stop() {
    let agent = Agent::new("trap '' TERM INT; echo ready; exec sleep 300");
    let mut supervised = agent.ready();
    supervised.say(Word::Stop);
    supervised.say(Word::Stop);
    until("it was asked", || agent.entries().len() > 2);
    supervised.say(Word::Kill);
    until("it is gone", || supervised.is_gone());
    insta::assert_snapshot!(agent.journal(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"signalled","signal":"TERM","processes":1,"why":"stop"}
    {"step":"signalled","signal":"KILL","processes":1,"why":"kill"}
    {"step":"exited","code":null,"signal":9,"read":null}
    {"step":"done"}
    "#);
}

#[test]
fn an_agent_that_starts_processes_all_the_time_is_killed() {
    let agent = Agent::new("echo ready; while :; do setsid sleep 300 & done");
    let mut supervised = agent.ready();
    until("there are many", || survivors(agent.run()).len() > 50);
    supervised.say(Word::Kill);
    until("it is gone", || supervised.is_gone());
    let journal = agent.journal();
    assert!(journal.ends_with("{\"step\":\"done\"}"), "{journal}");
}

#[test]
fn a_supervisor_takes_signals_as_the_word_to_stop() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let agent = Agent::new("echo ready; exec sleep 300");
        let mut supervised = agent.ready();
        send(agent.processes().0, signal);
        until("it is gone", || supervised.is_gone());
        insta::allow_duplicates! {
            insta::assert_snapshot!(agent.journal(), @r#"
            {"step":"supervising","process":"[PROCESS]"}
            {"step":"spawned","process":"[PROCESS]"}
            {"step":"signalled","signal":"TERM","processes":1,"why":"stop"}
            {"step":"exited","code":null,"signal":15,"read":null}
            {"step":"done"}
            "#);
        }
    }
}
