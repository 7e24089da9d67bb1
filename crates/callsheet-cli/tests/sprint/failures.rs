//! Agents that crash, are not there, or have to wait for a limit, in every phase.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::play::Sprint;

/// The phases of a story with a tech spec.
const PHASES: [&str; 8] = [
    "create-story",
    "create-story-discovery",
    "story-review",
    "create-tech-spec",
    "tech-spec-review",
    "dev-story",
    "code-review",
    "commit",
];

fn times(calls: &[String], phase: &str) -> usize {
    let of_phase = calls
        .iter()
        .filter(|call| call.split(' ').next() == Some(phase));
    of_phase.count()
}

/// Says that the story needs a tech spec.
const SPEC: &str = "if [ $phase = create-story ]; then
    echo '# Story' > $impl/sprint-1-1.md
    echo '[TECH-SPEC-DECISION: REQUIRED]'
    ended
fi";

fn crashes(phase: &str) {
    let hook = format!(
        "if [ $phase = {phase} ]; then
            if [ $nth = 1 ]; then exit 1; fi
            if [ $nth = 2 ]; then kill -SEGV $$; fi
        fi
        {SPEC}"
    );
    let sprint = Sprint::new(&[("1-1", "backlog")], &hook);
    sprint.ran(0);
    let calls = sprint.calls();
    for other in PHASES {
        let expected = if other == phase { 3 } else { 1 };
        assert_eq!(times(&calls, other), expected, "{phase}: {calls:?}");
    }
    assert_eq!(sprint.words(), "1-1: done");
    assert_eq!(sprint.ends(), "all_done");
    assert!(sprint.commits().starts_with("feat: implement 1-1\n"));
    sprint.assert_clean();
}

#[test]
fn a_phase_whose_agent_crashes_is_tried_again() {
    for phase in PHASES {
        crashes(phase);
    }
}

fn never_works(phase: &str) {
    let sprint = Sprint::new(
        &[("1-1", "backlog")],
        &format!("if [ $phase = {phase} ]; then exit 1; fi\n{SPEC}"),
    );
    let head = sprint.desk.git(&["rev-parse", "HEAD"]);
    sprint.ran(1);
    let calls = sprint.calls();
    assert_eq!(times(&calls, phase), 3, "{phase}: {calls:?}");
    let word = if phase == "commit" { "done" } else { "blocked" };
    assert_eq!(sprint.words(), format!("1-1: {word}"), "{phase}");
    assert_eq!(sprint.desk.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(sprint.ends(), "all_done");
    sprint.assert_clean();
}

#[test]
fn a_phase_that_fails_three_times_blocks_its_story() {
    for phase in PHASES {
        never_works(phase);
    }
}

#[test]
fn an_agent_that_is_not_there_ends_the_batch_and_changes_nothing() {
    let sprint = Sprint::new(&[("1-1", "backlog")], "");
    let settings = sprint.desk.project.read("callsheet.toml");
    let missing = settings.replace("[\"sh\", ", "[\"no-such-agent\", ");
    sprint.desk.project.file("callsheet.toml", missing);
    let board = sprint.board();
    let said = sprint.ran(3);
    assert!(said.contains("no-such-agent"), "{said}");
    assert_eq!(sprint.board(), board);
    assert_eq!(sprint.ends(), "error");
    sprint.desk.project.file("callsheet.toml", settings);
    sprint.ran(0);
    assert_eq!(sprint.words(), "1-1: done");
    assert_eq!(sprint.ends(), "error, all_done");
    sprint.assert_clean();
}

#[test]
fn an_agent_that_goes_away_in_between_is_waited_for_by_the_next_sprint() {
    // What shells say of a program that is not there.
    let hook = "if [ $phase = dev-story ] && [ $nth = 1 ]; then exit 127; fi";
    let sprint = Sprint::new(&[("1-1", "backlog")], hook);
    sprint.ran(3);
    assert_eq!(sprint.words(), "1-1: in-progress");
    sprint.ran(0);
    let calls = sprint.calls();
    assert_eq!(times(&calls, "dev-story"), 2, "{calls:?}");
    assert_eq!(times(&calls, "create-story"), 1, "{calls:?}");
    assert_eq!(sprint.ends(), "error, all_done");
    sprint.assert_clean();
}

#[test]
fn agents_that_may_not_run_at_once_run_one_after_the_other() {
    let sprint = Sprint::with(&[("1-1", "backlog")], "", "[limits]\nruns = 1\n");
    sprint.ran(0);
    let calls = sprint.calls();
    assert_eq!(times(&calls, "create-story"), 1, "{calls:?}");
    assert_eq!(times(&calls, "create-story-discovery"), 1, "{calls:?}");
    // The other agent is not a limit of a provider.
    assert_eq!(
        sprint.field("batch:warning", "warning_type"),
        Vec::<String>::new()
    );
    sprint.assert_clean();
}

#[test]
fn an_account_that_waits_for_a_person_ends_the_batch_at_once() {
    let script = "[[steps]]\nerror = { class = \"auth\", text = \"login expired\" }\n";
    let sprint = Sprint::scripted(&[("1-1", "review")], script, "");
    sprint.ran(3);
    let said = sprint.ran(3);
    assert!(said.contains("is stopped (auth)"), "{said}");
    assert_eq!(sprint.words(), "1-1: review");
    assert_eq!(sprint.ends(), "error, error");
    assert_eq!(
        sprint.field("batch:warning", "warning_type"),
        Vec::<String>::new()
    );
}

/// Plays all phases; the first time that `PHASE` is played, a limit ends it that is soon over.
const LIMITED: &str = r#"
[[scenes]]
phase = "PHASE"
steps = [
    { run = { command = ["sh", "-c", "echo PHASE >> OUT/calls; sed s/SOON/$(($(date +%s) + 3))/ OUT/limit.toml > agent.toml"] } },
    { exit = 1 },
]
"#;

/// What the agent plays when it has played `LIMITED`.
const LIMIT: &str = r#"
[[scenes]]
phase = "PHASE"
steps = [
    { run = { command = ["sh", "-c", "echo PHASE >> OUT/calls; cp OUT/plain.toml agent.toml"] } },
    { error = { class = "quota", text = "the limit is reached", resets_at = SOON } },
]
"#;

const PLAIN: &str = r#"
[[scenes]]
steps = [
    { run = { command = ["sh", "OUT/agent.sh", "/dev/null"], say = "{output}" } },
]
"#;

fn waits(phase: &str) {
    let sprint = Sprint::scripted(&[("1-1", "backlog")], "", "");
    sprint.hook(SPEC);
    let out = sprint.out("").display().to_string();
    let fill = |script: &str| {
        let script = format!("{script}{PLAIN}");
        let phase = match phase {
            "create-story-discovery" => "discovery",
            "create-tech-spec" => "tech-spec",
            phase => phase,
        };
        script.replace("PHASE", phase).replace("OUT/", &out)
    };
    std::fs::write(sprint.out("limit.toml"), fill(LIMIT)).unwrap();
    std::fs::write(sprint.out("plain.toml"), fill("")).unwrap();
    sprint.desk.project.file(".gitignore", "agent.toml\n");
    sprint
        .desk
        .git(&["rm", "--quiet", "--cached", "agent.toml"]);
    sprint.desk.commit("script");
    sprint.desk.project.file("agent.toml", fill(LIMITED));
    let said = sprint.ran(0);
    assert!(said.contains("  waiting "), "{phase}: {said}");
    let warnings = sprint.field("batch:warning", "warning_type");
    assert!(
        warnings.contains(&"usage_limit".to_owned()),
        "{phase}: {warnings:?}"
    );
    assert_eq!(sprint.words(), "1-1: done", "{phase}");
    assert_eq!(sprint.ends(), "all_done");
    let starts = sprint.field("command:end", "status");
    let limited = starts.iter().filter(|status| *status == "limited");
    assert!(limited.count() >= 1, "{phase}: {starts:?}");
    sprint.assert_clean();
}

macro_rules! limited_in {
    ($($name:ident: $phase:literal;)*) => {$(
        #[test]
        fn $name() {
            waits($phase);
        }
    )*};
}

limited_in! {
    a_limit_is_waited_for_while_stories_are_created: "create-story";
    a_limit_is_waited_for_while_the_code_is_explored: "create-story-discovery";
    a_limit_is_waited_for_while_stories_are_reviewed: "story-review";
    a_limit_is_waited_for_while_a_tech_spec_is_written: "create-tech-spec";
    a_limit_is_waited_for_while_a_tech_spec_is_reviewed: "tech-spec-review";
    a_limit_is_waited_for_while_a_story_is_developed: "dev-story";
    a_limit_is_waited_for_while_code_is_reviewed: "code-review";
    a_limit_is_waited_for_while_stories_are_committed: "commit";
}
