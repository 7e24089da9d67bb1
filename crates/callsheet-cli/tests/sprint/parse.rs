//! `sprint parse`: the verdict that markers give.

use crate::project::{Project, finish};

fn parse(text: &str, args: &str) -> String {
    let args: Vec<&str> = ["sprint", "parse"]
        .into_iter()
        .chain(args.split(' '))
        .collect();
    Project::new().callsheet_with_stdin(text, &args)
}

#[test]
fn a_review_is_read() {
    let review = "I looked at it.\n\n> ZERO ISSUES\n\n- **[HIGH]** `src/a.rs:12` trusts its input\n\n\
        Issues: 0 CRITICAL, 1 HIGH, 0 MEDIUM, 0 LOW\n**HIGHEST SEVERITY:** HIGH\n";
    insta::assert_snapshot!(parse(review, "--phase code-review"), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.sprint-parse/1",
      "phase": "code-review",
      "marked": true,
      "severity": "HIGH",
      "critical": false,
      "counts": {
        "critical": 0,
        "high": 1,
        "medium": 0,
        "low": 0
      },
      "tech_spec": {},
      "tech_spec_needed": false,
      "complete": null,
      "blocked": false,
      "commit": null,
      "findings": [
        {
          "severity": "HIGH",
          "text": "[HIGH] src/a.rs:12 trusts its input"
        }
      ],
      "more_findings": 0,
      "fingerprint": "b3:445981cdf7a5e76e17f47dd27e97ce1a981343283d8118ce600b359d90dc5f5e"
    }
    "#);
}

#[test]
fn decisions_are_read_for_their_stories() {
    let text = "[TECH-SPEC-DECISION: 2a-2: SKIP]\n[TECH-SPEC-DECISION: REQUIRED]\n";
    let args = "--phase sprint-create-story --story 2a-1 --story 2a-2";
    insta::assert_snapshot!(parse(text, args), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.sprint-parse/1",
      "phase": "create-story",
      "marked": true,
      "severity": "UNKNOWN",
      "critical": false,
      "counts": null,
      "tech_spec": {
        "2a-1": "REQUIRED",
        "2a-2": "SKIP"
      },
      "tech_spec_needed": true,
      "complete": null,
      "blocked": false,
      "commit": null,
      "findings": [],
      "more_findings": 0,
      "fingerprint": null
    }
    "#);
}

#[test]
fn what_is_not_text_is_read_as_far_as_it_is() {
    let project = Project::new();
    let file = project.path("output");
    project.file("output", b"\xff\xfe\n[COMMIT-SUCCESS: 1A2b3c4]\n\xc3");
    let mut command = project.command(&["sprint", "parse", "--phase", "commit"]);
    let run = finish(command.stdin(std::fs::File::open(file).unwrap()));
    assert_eq!(run.code(), Some(0));
    assert_eq!(run.json()["commit"]["hash"], "1a2b3c4");
}

#[test]
fn unknown_phases_are_refused() {
    insta::assert_snapshot!(parse("", "--phase code-reviw"), @"
    exit: 2
    --- stderr
    error: no phase `code-reviw`
    hint: did you mean `code-review`?
    hint: there are `create-story`, `story-review`, `tech-spec-review`, `code-review`, `dev-story`, `commit`
    ");
    insta::assert_snapshot!(parse("", "--phase x"), @"
    exit: 2
    --- stderr
    error: no phase `x`
    hint: there are `create-story`, `story-review`, `tech-spec-review`, `code-review`, `dev-story`, `commit`
    ");
    insta::assert_snapshot!(parse("", "--phase discovery"), @"
    exit: 2
    --- stderr
    error: phase `discovery` has no markers
    hint: there are `create-story`, `story-review`, `tech-spec-review`, `code-review`, `dev-story`, `commit`
    ");
}
