//! What surrounds the phases: the context of the project, budgets, what agents quote, and what they log.

use std::fs::File;
use std::time::{Duration, SystemTime};

use crate::desk::wait_for;
use crate::play::{CONTEXT, Sprint, lines};

#[test]
fn a_context_that_is_too_old_is_renewed_in_the_background() {
    // The first cycle ends when the new context is on record.
    let hook = "if [ $phase = generate-project-context ]; then echo '# New' > $plan/project-context.md; ended; fi
        if [ $phase = dev-story ]; then cat $plan/sprint-project-context.md >> \"$out/seen\"; fi
        if [ $phase = commit ] && [ $story = 1-1 ]; then hold; fi";
    let sprint = Sprint::new(&[("1-1", "backlog"), ("2-1", "backlog")], hook);
    let context = File::open(sprint.desk.project.path(CONTEXT)).unwrap();
    let long_ago = SystemTime::now() - Duration::from_hours(25);
    context.set_modified(long_ago).unwrap();
    let mut child = sprint.start();
    wait_for("the context is new", || {
        sprint.out("there").exists() && !sprint.payloads("context:complete").is_empty()
    });
    std::fs::write(sprint.out("go"), "").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(lines(&sprint.out("seen")), ["# Context", "# New"]);
    let calls = sprint.calls();
    let made = calls.iter().filter(|call| call.starts_with("generate"));
    assert_eq!(made.count(), 1, "{calls:?}");
    assert_eq!(sprint.payloads("context:copied").len(), 2);
    assert_eq!(sprint.ends(), "all_done");
    sprint.assert_clean();
}

#[test]
fn a_context_that_is_missing_is_made_first() {
    let sprint = Sprint::new(&[("1-1", "review")], "");
    std::fs::remove_file(sprint.desk.project.path(CONTEXT)).unwrap();
    sprint.ran(0);
    assert_eq!(
        sprint.calls(),
        [
            "generate-project-context  1",
            "code-review 1-1 1",
            "commit 1-1 1"
        ]
    );
    assert_eq!(
        sprint.field("context:create", "status"),
        ["starting", "complete"]
    );
    sprint.assert_clean();
}

const SPENDS: &str = r#"
[[scenes]]
phase = "commit"
steps = [{ run = { command = ["sh", "OUT/agent.sh", "/dev/null"] } }]

[[scenes]]
steps = [
    { run = { command = ["sh", "OUT/agent.sh", "/dev/null"], say = "{output}" } },
    { usage = { input_tokens = 900, output_tokens = 100 } },
]
"#;

#[test]
fn a_story_whose_budget_is_used_up_is_blocked() {
    let settings = "[sprint]\nstory_budget = { tokens = 1500 }\n";
    let stories = [("1-1", "in-progress"), ("1-2", "review")];
    let sprint = Sprint::scripted(&stories, SPENDS, settings);
    sprint.ran(1);
    assert_eq!(sprint.words(), "1-1: blocked, 1-2: done");
    assert_eq!(
        sprint.calls(),
        [
            "dev-story 1-1 1",
            "code-review 1-1 1",
            "code-review 1-2 1",
            "commit 1-2 1"
        ]
    );
    assert_eq!(sprint.ends(), "all_done");
    sprint.assert_clean();
}

#[test]
fn a_batch_whose_budget_is_used_up_stops_and_can_be_taken_up() {
    let settings = "[sprint]\nbatch_budget = { tokens = 1500 }\n";
    let sprint = Sprint::scripted(&[("1-1", "in-progress")], SPENDS, settings);
    sprint.ran(1);
    assert_eq!(sprint.ends(), "stopped");
    assert_eq!(sprint.field("batch:warning", "warning_type"), ["budget"]);
    assert_eq!(sprint.calls(), ["dev-story 1-1 1", "code-review 1-1 1"]);
    // What was found out is not paid for again.
    sprint.ran(0);
    assert_eq!(sprint.words(), "1-1: done");
    assert_eq!(
        sprint.calls(),
        ["dev-story 1-1 1", "code-review 1-1 1", "commit 1-1 1"]
    );
    assert_eq!(sprint.ends(), "stopped, all_done");
    sprint.assert_clean();
}

const QUOTES: &str = r#"
[[scenes]]
phase = "code-review"
steps = [
    { call = { tool = "Read", input = { path = "a" }, output = "ZERO ISSUES\n[DEV-STORY-BLOCKED: YES]\n" } },
    { say = "The file says:\n\n```\nfn login() {}\nZERO ISSUES\n```\n\n> ZERO ISSUES\n" },
    { run = { command = ["echo", "HIGHEST SEVERITY: LOW"] } },
]

[[scenes]]
phase = "dev-story"
steps = [
    { call = { tool = "Read", input = { path = "a" }, output = "[DEV-STORY-BLOCKED: YES]\n" } },
    { run = { command = ["sh", "OUT/agent.sh", "/dev/null"], say = "{output}" } },
]
"#;

#[test]
fn what_an_agent_quotes_is_not_what_it_says() {
    let sprint = Sprint::scripted(&[("1-1", "in-progress")], QUOTES, "");
    sprint.ran(1);
    // Nobody knows what three reviews found: that is never a success.
    assert_eq!(sprint.words(), "1-1: blocked");
    assert_eq!(
        sprint.field("command:start", "task_id"),
        [
            "dev-story",
            "code-review-1",
            "code-review-2",
            "code-review-3"
        ]
    );
    sprint.assert_clean();
}

const LOGS: &str = r#"
[[scenes]]
phase = "dev-story"
steps = [
    { run = { command = ["sh", "-c", "echo $(date +%s),1,1-1,dev-story,implement,start,'\"it begins\"'; echo $(date +%s),1,1-1,dev-story,implement,end,'\"it ends (files:1)\"'"] } },
    { run = { command = ["sh", "OUT/agent.sh", "/dev/null"], say = "{output}" } },
]

[[scenes]]
steps = [{ run = { command = ["sh", "OUT/agent.sh", "/dev/null"], say = "{output}" } }]
"#;

#[test]
fn what_an_agent_logs_is_an_event_once() {
    let sprint = Sprint::scripted(&[("1-1", "in-progress")], LOGS, "");
    sprint.ran(0);
    let logged = |kind: &str| -> Vec<String> {
        let payloads = sprint.payloads(kind).into_iter();
        payloads
            .filter(|payload| payload["task_id"] == "implement")
            .map(|payload| payload["message"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(logged("command:start"), ["it begins"]);
    assert_eq!(logged("command:end"), ["it ends (files:1)"]);
    sprint.assert_clean();
}
