//! What no agent may touch: a violation counts until it is taken back.

use crate::desk::Desk;

/// Runs one story through its phases by a script; returns what the program said.
fn sprint(script: &str) -> (Desk, String) {
    let desk = Desk::new(
        "[runners.agent]\nadapter = \"scripted\"\nscript = \"agent.toml\"\n[scope]\ndefault_exclude = [\"fixed/**\"]\n",
    );
    desk.project
        .file("agent.toml", script)
        .file("fixed/a.txt", "as it was\n")
        .file(
            "_bmad-output/planning-artifacts/project-context.md",
            "context\n",
        )
        .file(
            "docs/sprint-status.yaml",
            "development_status:\n  1-1-a: in-progress\n",
        );
    desk.commit("board");
    let said = desk.project.callsheet(&["sprint", "run"]);
    (desk, said)
}

/// The try that changes what it may not, by these steps, and what comes after the retry.
fn script(first: &str, retry: &str) -> String {
    format!(
        r#"
[[scenes]]
phase = "dev-story"
prompt = "undo that first"
steps = [{retry}]

[[scenes]]
phase = "dev-story"
steps = [{first}]

[[scenes]]
phase = "code-review"
steps = [{{ say = "ZERO ISSUES" }}]

[[scenes]]
phase = "commit"
steps = [{COMMIT}]
"#
    )
}

const CHANGE: &str = r#"{ write = { path = "fixed/a.txt", text = "changed\n" } }"#;
const NEW: &str = r#"{ write = { path = "fixed/b.txt", text = "new\n" } }"#;
const COMMIT: &str = r#"{ run = { command = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qam", "x"], ok = [0, 1] } }"#;
const BACK: &str =
    r#"{ run = { command = ["git", "checkout", "-q", "HEAD", "--", "fixed/a.txt"] } }"#;

/// Returns the lines about violations and the end of the story.
fn lines(said: &str) -> String {
    let warnings = said.lines().filter(|line| {
        line.contains("it may not") || line.starts_with("1-1-a ") || line.starts_with("exit")
    });
    warnings.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_violation_that_is_taken_back_is_over() {
    let both = format!("{CHANGE}, {NEW}");
    let back = format!("{BACK}, {{ delete = \"fixed/b.txt\" }}");
    let (desk, said) = sprint(&script(&both, &back));
    let head = desk.git(&["rev-parse", "--short=10", "HEAD"]);
    insta::assert_snapshot!(lines(&said).replace(&head, "[COMMIT]"), @"
    exit: 0
    1-1-a  done           1       4       0  [COMMIT]
      warning: 1-1-a: it changed what it may not: fixed/a.txt, fixed/b.txt
    ");
    assert_eq!(desk.git(&["status", "--short", "fixed"]), "");
}

#[test]
fn a_violation_that_is_left_there_counts_again() {
    let (_, said) = sprint(&script(&format!("{CHANGE}, {NEW}"), BACK));
    insta::assert_snapshot!(lines(&said), @"
    exit: 1
    1-1-a  blocked        0       3       0
    1-1-a: an agent failed 3 times in a row: it changed what it may not: fixed/b.txt
      warning: 1-1-a: it changed what it may not: fixed/a.txt, fixed/b.txt
      warning: 1-1-a: it changed what it may not: fixed/b.txt
      warning: 1-1-a: it changed what it may not: fixed/b.txt
    ");
}

#[test]
fn a_violation_that_is_committed_is_not_taken_back() {
    let (_, said) = sprint(&script(CHANGE, COMMIT));
    insta::assert_snapshot!(lines(&said), @"
    exit: 1
    1-1-a  blocked        0       3       0
    1-1-a: an agent failed 3 times in a row: it changed what it may not: fixed/a.txt
      warning: 1-1-a: it changed what it may not: fixed/a.txt
      warning: 1-1-a: it changed what it may not: fixed/a.txt
      warning: 1-1-a: it changed what it may not: fixed/a.txt
    ");
}
