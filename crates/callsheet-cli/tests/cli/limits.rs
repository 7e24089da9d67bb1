//! Sizes: the limits of the injection to the byte, and budgets.

use serde_json::json;

use crate::injection::events;
use crate::project::{Project, words};

/// The bytes around the one file `big.md`.
const AROUND: usize = 94 + "\n  <file path=\"big.md\">\n".len() + "\n  </file>".len();

/// An injection of exactly that many bytes.
fn of_size(bytes: usize) -> Project {
    let project = Project::new();
    project.file("big.md", "x".repeat(bytes - AROUND));
    project
}

const INJECT: &str = "inject --command dev --story 2a-1 --file big.md";

#[test]
fn up_to_the_warning_limit_nothing_is_said() {
    let run = of_size(102_400).run(&words(INJECT));
    assert_eq!(
        (run.code(), run.stdout.len(), run.stderr.len()),
        (Some(0), 102_400, 0)
    );
}

#[test]
fn one_byte_more_is_a_warning() {
    let run = of_size(102_401).run(&words(INJECT));
    assert_eq!((run.code(), run.stdout.len()), (Some(0), 102_401));
    insta::assert_snapshot!(String::from_utf8_lossy(&run.stderr), @"warning: injection:warning: Injection size (102401 bytes) exceeds warning threshold");
}

#[test]
fn up_to_the_error_limit_it_stays_a_warning() {
    let project = of_size(153_600);
    let run = project.run(&words(&format!("{INJECT} --events events.ndjson")));
    assert_eq!(
        (run.code(), run.stdout.len(), run.stderr.len()),
        (Some(0), 153_600, 0)
    );
    assert_eq!(
        events(&project),
        [json!({"type": "injection:warning", "payload": {
            "command": "dev", "size_bytes": 153_600, "threshold_bytes": 102_400,
            "message": "Injection size (153600 bytes) exceeds warning threshold",
        }})]
    );
}

#[test]
fn one_byte_more_is_an_error_and_nothing_else() {
    let project = of_size(153_601);
    let args = "-o prompt.txt --events events.ndjson --manifest manifest.json";
    insta::assert_snapshot!(project.callsheet(&words(INJECT)), @r"
    exit: 2
    --- stderr
    error: Injection size (153601 bytes) exceeds maximum (153600 bytes). Consider reducing included files for command 'dev'.
    ");
    insta::assert_snapshot!(project.callsheet(&words(&format!("{INJECT} {args}"))), @r"
    exit: 2
    --- stderr
    error: Injection size (153601 bytes) exceeds maximum (153600 bytes). Consider reducing included files for command 'dev'.
    ");
    for file in ["prompt.txt", "events.ndjson", "manifest.json"] {
        assert!(!project.path(file).exists(), "{file}");
    }
}

#[test]
fn limits_are_fields_of_the_input() {
    let project = of_size(1000);
    let args = words(
        r#"compose injection -D command_name=dev -D story_keys:=[] -D additional_files:=["big.md"] -D limits.warning_bytes:=0 -D"#,
    );
    let run = |limit: &str| project.run(&[&args[..], &[limit]].concat());
    assert_eq!(run("limits.error_bytes:=1000").code(), Some(0));
    assert_eq!(run("limits.error_bytes:=999").code(), Some(2));
}

/// Three files of ten lines each.
fn files() -> Project {
    let project = Project::new();
    for name in ["a", "b", "c"] {
        project.file(
            &format!("{name}.txt"),
            format!("{name} line of text\n").repeat(10),
        );
    }
    project
}

#[test]
fn a_budget_takes_from_the_end_and_says_so() {
    insta::assert_snapshot!(files().callsheet(&["pack", "--byte-budget", "500"]), @r#"
    exit: 0
    --- stdout
    <tree>
    a.txt
    b.txt
    c.txt
    </tree>
    <file path="a.txt">
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text

    </file>
    <file path="b.txt">
    b line of text
    b line of text
    b line of text
    b line of text
    b line of text
    b line of text
    b line of text
    b line of text
    b line of text
    b line of text

    </file>
    --- stderr
    warning: `c.txt` did not fit the budget
    "#);
}

#[test]
fn a_budget_of_tokens() {
    let project = files();
    let run = project.run(&["pack", "--token-budget", "0.1k"]);
    assert_eq!(run.code(), Some(2), "no fractions");
    insta::assert_snapshot!(project.callsheet(&["pack", "--token-budget", "80", "--encoding", "cl100k"]), @r#"
    exit: 0
    --- stdout
    <tree>
    a.txt
    b.txt
    c.txt
    </tree>
    <file path="a.txt">
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text
    a line of text

    </file>
    --- stderr
    warning: `c.txt` did not fit the budget
    warning: `b.txt` did not fit the budget
    "#);
}

#[test]
fn a_budget_that_fits_loses_nothing() {
    let project = files();
    let whole = project.run(&["pack"]);
    let size = whole.stdout.len().to_string();
    assert_eq!(
        project.run(&["pack", "--byte-budget", &size, "--fail-on-loss"]),
        whole
    );
    assert_eq!(
        project.run(&["pack", "--token-budget", "1k", "--fail-on-loss"]),
        whole
    );
}

#[test]
fn required_text_is_never_cut() {
    let project = files();
    insta::assert_snapshot!(project.callsheet(&["pack", "--byte-budget", "10"]), @r"
    exit: 2
    --- stderr
    error: the required text alone has 33 bytes, the budget is 10
    ");
    insta::assert_snapshot!(project.callsheet(&["compose", "layers", "-D", "context:=[{\"name\":\"a\",\"content\":\"one two three four\"}]", "--token-budget", "2"]), @r"
    exit: 2
    --- stderr
    error: the required text alone has 4 tokens, the budget is 2
    ");
}

#[test]
fn a_loss_to_the_budget_that_must_not_be_gives_no_prompt() {
    insta::assert_snapshot!(files().callsheet(&["pack", "--byte-budget", "500", "--fail-on-loss"]), @r"
    exit: 1
    --- stderr
    warning: `c.txt` did not fit the budget
    error: 1 thing that was asked for is not in the prompt, and `--fail-on-loss` is set
    ");
}

#[test]
fn kept_and_left_out_are_the_whole() {
    let project = files();
    let document = project
        .run(&["pack", "--byte-budget", "370", "--json"])
        .json();
    let left_out = document["omissions"].as_array().into_iter().flatten();
    let left_out = left_out.filter_map(|omission| omission["bytes"].as_u64());
    let left_out: Vec<u64> = left_out.collect();
    let kept = document["text"].as_str().unwrap_or_default();
    let kept = kept.matches(" line of text\n").count() as u64 * 15;
    assert_eq!(left_out.len(), 2, "one whole, one in part: {document}");
    assert!(left_out.iter().all(|bytes| *bytes > 0));
    assert_eq!(kept + left_out.iter().sum::<u64>(), 3 * 150, "{document}");
}
