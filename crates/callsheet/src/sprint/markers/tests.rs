//! Markers in all their spellings, and what looks like one and is not.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn severity(text: &str) -> Severity {
    Markers::parse(Phase::CodeReview, text, &[]).severity
}

fn decisions(text: &str, stories: &[&str]) -> String {
    let stories: Vec<String> = stories.iter().map(|key| (*key).to_owned()).collect();
    let markers = Markers::parse(Phase::CreateStory, text, &stories);
    let bound = markers.tech_spec.iter();
    let bound: Vec<String> = bound
        .map(|(key, value)| format!("{key} {value:?}"))
        .collect();
    bound.join(", ")
}

fn review(text: &str) -> Markers {
    Markers::parse(Phase::StoryReview, text, &[])
}

#[test]
fn the_highest_severity_is_found_in_every_spelling() {
    for text in [
        "HIGHEST SEVERITY: HIGH",
        "**HIGHEST SEVERITY:** HIGH",
        "**HIGHEST SEVERITY**: **HIGH**",
        "Highest severity: high",
        "### HIGHEST SEVERITY: `HIGH`",
        "- 🔴 __Highest Severity__ : High (2 issues)",
        "1. HIGHEST  SEVERITY:HIGH.",
        "| Highest severity | HIGH |",
        "highest-severity = high",
        "HIGHEST SEVERITY FOUND: HIGH",
        "I am done.HIGHEST SEVERITY: HIGH",
        "As I said, HIGHEST SEVERITY: HIGH, so there.",
        "```\nHIGHEST SEVERITY: HIGH\n\nIssues: 0 CRITICAL, 1 HIGH, 0 MEDIUM, 0 LOW\n```",
        "```rust\nfn main() {}\n```All is said. HIGHEST SEVERITY: HIGH",
        "HIGHEST SEVERITY: HIGH/MEDIUM",
        "Issues: 0 CRITICAL, 2 HIGH, 1 MEDIUM, 0 LOW",
        "**Issues found:** 0 critical, 2 high",
        "HIGHEST SEVERITY: LOW\nHIGHEST SEVERITY: HIGH\nHIGHEST SEVERITY: MEDIUM",
        "ZERO ISSUES\nHIGHEST SEVERITY: HIGH",
        "ZERO ISSUES\n\nIssues: 0 CRITICAL, 1 HIGH, 0 MEDIUM, 0 LOW",
        "ZERO ISSUES\n[CRITICAL-ISSUES-FOUND: YES]",
    ] {
        assert_eq!(severity(text), Severity::High, "{text}");
    }
}

#[test]
fn zero_issues_is_a_line_or_a_sentence_of_its_own() {
    for text in [
        "ZERO ISSUES",
        "**ZERO ISSUES**",
        "## ✅ Zero issues found!",
        "* `ZERO ISSUES`.",
        "| ZERO ISSUES |",
        "| Result | ZERO ISSUES |",
        "Verdict: **ZERO ISSUES** ✅",
        "HIGHEST SEVERITY: ZERO ISSUES",
        "The tests pass.ZERO ISSUES",
        "All of it is fixed. ZERO ISSUES.",
        "ZERO ISSUES\nIssues: 0 CRITICAL, 0 HIGH, 0 MEDIUM, 0 LOW",
        "~~~text\nZERO ISSUES\n~~~",
        "ZERO ISSUES\n[CRITICAL-ISSUES-FOUND: NO]",
    ] {
        assert_eq!(severity(text), Severity::Zero, "{text}");
    }
}

#[test]
fn what_is_not_said_is_unknown() {
    for text in [
        "",
        "All good!",
        "not ZERO ISSUES",
        "This is not\nZERO ISSUES yet, sadly",
        "ZERO ISSUES would be nice",
        "ZERO ISSUES?",
        "Goal: ZERO ISSUES",
        "~~ZERO ISSUES~~",
        "\"ZERO ISSUES\"",
        "NONZERO ISSUES",
        "There are ZERO ISSUES",
        "Security review: ZERO ISSUES",
        "| Security | ZERO ISSUES |\n| Speed | 3 |",
        "> ZERO ISSUES",
        "   > HIGHEST SEVERITY: CRITICAL",
        "<!-- ZERO ISSUES -->",
        "<!-- sprint-review\nHIGHEST SEVERITY: CRITICAL\n-->",
        "```\nZERO ISSUES\nfn main() {}\n```",
        "```\nthe file ends here\nHIGHEST SEVERITY: CRITICAL",
        "1. ```md\n   HIGHEST SEVERITY: LOW\n   text\n   ```",
        "HIGHEST SEVERITY: CRITICAL|HIGH|MEDIUM|LOW",
        "HIGHEST SEVERITY: CRITICAL / HIGH / MEDIUM / LOW",
        "HIGHEST SEVERITY: {level}",
        "HIGHEST SEVERITY: NONE",
        "HIGHEST SEVERITY: LOWER",
        "Issues: X CRITICAL, X HIGH, X MEDIUM, X LOW",
        "Issues: 0 CRITICAL, 0 HIGH, 0 MEDIUM, 0 LOW",
    ] {
        let markers = Markers::parse(Phase::CodeReview, text, &[]);
        assert_eq!(markers.severity, Severity::Unknown, "{text}");
        assert!(!markers.marked && !markers.critical, "{text}");
    }
}

#[test]
fn a_review_is_critical_by_its_marker_or_its_severity() {
    for text in [
        "[CRITICAL-ISSUES-FOUND: YES]",
        "**[critical-issues-found:yes]**",
        "\\[CRITICAL\\_ISSUES\\_FOUND: **YES**\\]",
        "[CRITICAL-ISSUES-FOUND: NO]\n[CRITICAL-ISSUES-FOUND: YES]",
        "[CRITICAL-ISSUES-FOUND: NO]\nHIGHEST SEVERITY: CRITICAL",
        "[CRITICAL-ISSUES-FOUND: NO]\nIssues: 1 CRITICAL, 0 HIGH, 0 MEDIUM, 0 LOW",
    ] {
        let markers = review(text);
        assert!(markers.critical && markers.marked, "{text}");
    }
    for text in [
        "[CRITICAL-ISSUES-FOUND: NO]",
        "HIGHEST SEVERITY: HIGH",
        "ZERO ISSUES",
    ] {
        let markers = review(text);
        assert!(!markers.critical && markers.marked, "{text}");
    }
    assert!(!review("[CRITICAL-ISSUES-FOUND: YES|NO]").marked);
}

#[test]
fn decisions_go_to_their_stories() {
    let of = |text: &str| decisions(text, &["2a-1", "2a-2"]);
    let mark = |body: &str| format!("[TECH-SPEC-DECISION: {body}]");
    // By position, as in the source document.
    assert_eq!(
        of("[TECH-SPEC-DECISION: SKIP]\n[tech-spec-decision: required]"),
        "2a-1 Skip, 2a-2 Required"
    );
    assert_eq!(of(&mark("SKIP")), "2a-1 Skip, 2a-2 Required");
    assert_eq!(of(""), "2a-1 Required, 2a-2 Required");
    assert_eq!(
        of("one [TECH-SPEC-DECISION:  SKIP] and **[TECH-SPEC-DECISION: SKIP]**."),
        "2a-1 Skip, 2a-2 Skip"
    );
    // By key.
    for form in [
        "[TECH-SPEC-DECISION: 2a-2: SKIP]",
        "[TECH-SPEC-DECISION 2A-2: SKIP]",
        "[TECH-SPEC-DECISION: 2a-2 SKIP]",
        "[TECH-SPEC-DECISION: `2a-2-with-a-name`: SKIP]",
        "- **2a-2**: [TECH-SPEC-DECISION: SKIP]",
        "Story 2a-2: [TECH-SPEC-DECISION: SKIP]",
    ] {
        assert_eq!(of(form), "2a-1 Required, 2a-2 Skip", "{form}");
    }
    let keyed = mark("2a-2: SKIP") + &mark("SKIP");
    assert_eq!(of(&keyed), "2a-1 Skip, 2a-2 Skip");
    for other in [
        "2b-9: SKIP",
        "2a: SKIP",
        "2a-10: SKIP",
        "2a-1 or 2a-2: SKIP",
        "REQUIRED|SKIP",
        "{x}",
    ] {
        assert_eq!(of(&mark(other)), "2a-1 Required, 2a-2 Required", "{other}");
    }
    assert_eq!(
        decisions(&mark("2a-1: SKIP"), &["2a-1-login"]),
        "2a-1-login Skip"
    );
    assert_eq!(
        decisions(&mark("2a-1: SKIP"), &["2a-1-a", "2a-1-b"]),
        "2a-1-a Required, 2a-1-b Required"
    );
}

#[test]
fn repeated_decisions_give_the_worse() {
    let all = |words: &[&str]| -> String {
        let marks = words
            .iter()
            .map(|word| format!("[TECH-SPEC-DECISION: {word}]\n"));
        marks.collect()
    };
    let one = |words: &[&str]| decisions(&all(words), &["1-1"]);
    assert_eq!(one(&["SKIP", "SKIP"]), "1-1 Skip");
    assert_eq!(one(&["SKIP", "REQUIRED"]), "1-1 Required");
    assert_eq!(
        one(&["1-1: SKIP", "1-1: REQUIRED", "1-1: SKIP"]),
        "1-1 Required"
    );
    let two = |words: &[&str]| decisions(&all(words), &["1-1", "1-2"]);
    assert_eq!(
        two(&["SKIP", "REQUIRED", "SKIP", "REQUIRED"]),
        "1-1 Skip, 1-2 Required"
    );
    assert_eq!(
        two(&["SKIP", "SKIP", "REQUIRED"]),
        "1-1 Required, 1-2 Required"
    );
    let markers = Markers::parse(Phase::CreateStory, &all(&["SKIP"]), &[]);
    assert!(markers.marked && !markers.tech_spec_needed && markers.tech_spec.is_empty());
    assert!(Markers::parse(Phase::CreateStory, "", &[]).tech_spec_needed);
}

#[test]
fn development_is_complete_only_where_nothing_says_otherwise() {
    let of = |text: &str| {
        let markers = Markers::parse(Phase::DevStory, text, &["1-1".to_owned()]);
        (markers.complete, markers.blocked)
    };
    assert_eq!(of("[DEV-STORY-COMPLETE: YES]"), (Some(true), false));
    assert_eq!(of("[DEV-STORY-COMPLETE: 1-1: YES]"), (Some(true), false));
    assert_eq!(
        of("[DEV-STORY-COMPLETE: YES (all tests pass)]"),
        (Some(true), false)
    );
    assert_eq!(of("[DEV-STORY-COMPLETE: NO]"), (Some(false), false));
    assert_eq!(
        of("[DEV-STORY-COMPLETE: YES]\n[DEV-STORY-COMPLETE: NO]"),
        (Some(false), false)
    );
    assert_eq!(
        of("[DEV-STORY-COMPLETE: YES][DEV-STORY-BLOCKED: YES]"),
        (Some(false), true)
    );
    assert_eq!(of("[DEV-STORY-COMPLETE: 1-2: YES]"), (None, false));
    assert_eq!(of("> [DEV-STORY-COMPLETE: YES]"), (None, false));
    assert_eq!(of("DEV-STORY-COMPLETE: YES"), (None, false));
}

#[test]
fn a_commit_is_what_the_worst_marker_says() {
    let of = |text: &str| Markers::parse(Phase::Commit, text, &[]).commit;
    let hash = |hash: &str| {
        Some(Commit::Success {
            hash: hash.to_owned(),
        })
    };
    let failed = |reason: &str| {
        Some(Commit::Failed {
            reason: reason.to_owned(),
        })
    };
    assert_eq!(of("[COMMIT-SUCCESS: `1A2b3c4`]"), hash("1a2b3c4"));
    assert_eq!(
        of("[COMMIT-SUCCESS: 1111111] and [COMMIT-SUCCESS: 2222222]"),
        hash("2222222")
    );
    assert_eq!(of("[COMMIT-SUCCESS: {hash}]"), None);
    assert_eq!(of("[COMMIT-SUCCESS: done]"), None);
    assert_eq!(of("**[NO-CHANGES-TO-COMMIT]**"), Some(Commit::NoChanges));
    assert_eq!(
        of("[NO-CHANGES-TO-COMMIT] [COMMIT-SUCCESS: 1111111]"),
        Some(Commit::NoChanges)
    );
    assert_eq!(
        of("[COMMIT-FAILED: hook [lint] said: no] ok"),
        failed("hook [lint] said: no")
    );
    assert_eq!(of("[COMMIT-FAILED: it broke"), failed("it broke"));
    assert_eq!(of("[COMMIT-FAILED]\n[COMMIT-SUCCESS: 1111111]"), failed(""));
    assert_eq!(of("[COMMIT-FAILED: {reason}]"), None);
}

const REPORT: &str = "## Review, attempt 1\n\
    Issues: 0 CRITICAL, 2 HIGH, 1 MEDIUM, 0 LOW\n\
    ### High severity (2)\n\
    1. `src/a.rs:12` does not check its input\n\
    \x20  - Fix: check it\n\
    2. **CWE-89** in src/db.rs, lines 3 to 9\n\
    ### Other\n\
    - [MEDIUM] No test for story 2a-1\n\
    - LOW: none\n\
    - The rest is of high quality\n\
    HIGHEST SEVERITY: HIGH\n";

#[test]
fn findings_are_listed_with_their_severity() {
    let markers = review(REPORT);
    let found = markers.findings.iter();
    let found: Vec<String> = found
        .map(|found| format!("{} {}", found.severity.as_str(), found.text))
        .collect();
    assert_eq!(
        found,
        [
            "HIGH src/a.rs:12 does not check its input",
            "HIGH CWE-89 in src/db.rs, lines 3 to 9",
            "MEDIUM [MEDIUM] No test for story 2a-1",
        ]
    );
    let long = "x".repeat(400);
    let many: Vec<String> = (0..60)
        .map(|at| format!("- [LOW] thing {at} of it {long}"))
        .collect();
    let markers = review(&many.join("\n"));
    assert_eq!((markers.findings.len(), markers.more_findings), (50, 10));
    assert_eq!(markers.findings[0].text.chars().count(), 301);
}

#[test]
fn the_same_findings_have_the_same_fingerprint() {
    let again = "# Review, attempt 3\n\
        * **Medium** - no test for story 2A-1\n\
        * HIGH  CWE-89 in `src/db.rs` (line 40)\n\
        * [HIGH] src/a.rs:77 does not check its input.\n\
        * [HIGH] src/a.rs:78-80 does not check its input, 2026-11-14\n\
        **Highest severity:** high\n";
    let fingerprint = |text: &str| review(text).fingerprint;
    let first = fingerprint(REPORT);
    assert!(first.is_some());
    assert_eq!(fingerprint(again), first);
    for (from, to) in [
        ("src/a.rs", "src/b.rs"),
        ("CWE-89", "CWE-90"),
        ("[MEDIUM]", "[LOW]"),
        ("2a-1", "2a-10"),
        ("check its input", "close its output"),
        ("HIGHEST SEVERITY: HIGH", "HIGHEST SEVERITY: CRITICAL"),
    ] {
        let other = fingerprint(&REPORT.replace(from, to));
        assert!(other.is_some() && other != first, "{from}");
    }
    assert_eq!(fingerprint("HIGHEST SEVERITY: HIGH"), None);
}

#[test]
fn the_wire_form_is_stable() {
    let markers = Markers::parse(
        Phase::CodeReview,
        "- [LOW] a name\nHIGHEST SEVERITY: LOW",
        &[],
    );
    insta::assert_snapshot!(serde_json::to_string_pretty(&markers).unwrap(), @r#"
    {
      "schema": "callsheet.sprint-parse/1",
      "phase": "code-review",
      "marked": true,
      "severity": "LOW",
      "critical": false,
      "counts": null,
      "tech_spec": {},
      "tech_spec_needed": false,
      "complete": null,
      "blocked": false,
      "commit": null,
      "findings": [
        {
          "severity": "LOW",
          "text": "[LOW] a name"
        }
      ],
      "more_findings": 0,
      "fingerprint": "b3:7937514bd8cdb569d0fad99f5839c85811c81e72aa193c54527bfe60c6b22fc8"
    }
    "#);
}

#[test]
fn a_long_line_of_markers_is_read_once() {
    for piece in [
        "[TECH-SPEC-DECISION: SKIP] ",
        "[TECH-SPEC-DECISION ",
        "[COMMIT-FAILED ",
        "HIGHEST SEVERITY: ",
        "Issues: 1 LOW ",
        "1. - ",
        "<!-- ",
        "ZERO ISSUES. ",
        "|",
    ] {
        let text = piece.repeat(200_000 / piece.len());
        for phase in [Phase::CreateStory, Phase::CodeReview, Phase::Commit] {
            let markers = Markers::parse(phase, &text, &["1-1".to_owned()]);
            assert!(markers.severity <= Severity::Low, "{piece}");
        }
    }
}

/// What a marker may stand in, with the place for it.
const WRAPPERS: [&str; 16] = [
    "@",
    "**@**",
    "`@`",
    "- @",
    "* **@**",
    "### @",
    "1. @",
    "> > \n@",
    "__@__",
    "  @  ",
    "| @ |",
    "✅ @",
    "```\n@\n```",
    "- [x] @",
    "***@***",
    "@ 🎉",
];

proptest! {
    #[test]
    fn a_marker_is_found_in_any_markdown(
        before in "[a-z .,#*\n-]{0,40}",
        after in "[a-z .,#*\n-]{0,40}",
        wrapper in select(&WRAPPERS[..]),
        (marker, worth) in select(vec![
            ("HIGHEST SEVERITY: CRITICAL", Severity::Critical),
            ("Highest Severity: High", Severity::High),
            ("HIGHEST SEVERITY:  MEDIUM", Severity::Medium),
            ("highest severity: low", Severity::Low),
            ("ZERO ISSUES", Severity::Zero),
            ("Zero Issues", Severity::Zero),
        ]),
    ) {
        let text = format!("{before}\n\n{}\n\n{after}", wrapper.replace('@', marker));
        prop_assert_eq!(severity(&text), worth, "{}", text);
    }

    #[test]
    fn quoted_markers_are_never_found(
        marker in select(vec!["HIGHEST SEVERITY: CRITICAL", "ZERO ISSUES", "[CRITICAL-ISSUES-FOUND: YES]"]),
        quote in select(vec!["> @", "```\n@\nmore\n```", "~~~~\n~~~\n@\n~~~~", "<!-- @ -->"]),
    ) {
        let text = format!("I read this:\n{}\nand went on.", quote.replace('@', marker));
        prop_assert!(!review(&text).marked, "{}", text);
    }

    #[test]
    fn reading_never_panics_and_never_praises(text in any::<String>(), phase in select(Phase::ALL.to_vec())) {
        let markers = Markers::parse(phase, &text, &["1-1".to_owned()]);
        prop_assert!(!markers.marked);
        prop_assert_eq!(markers.severity, Severity::Unknown);
    }

    #[test]
    fn reading_pieces_of_markers_never_panics(
        parts in proptest::collection::vec(select(vec![
            "[", "]", "TECH-SPEC-DECISION", ":", " ", "SKIP", "\n", "```", "~~~", "> ", "<!--", "-->", "HIGHEST SEVERITY", "HIGH", "|", "é", "ZERO ISSUES",
            "Issues", "99999999999", "**", "_", "\\", "- ", "COMMIT-FAILED", "1. ", "#",
        ]), 0..40),
    ) {
        let text: String = parts.concat();
        for phase in Phase::ALL {
            let markers = Markers::parse(phase, &text, &["1-1".to_owned(), "é-2".to_owned()]);
            let json = serde_json::to_string(&markers).unwrap();
            prop_assert_eq!(serde_json::from_str::<Markers>(&json).unwrap(), markers);
        }
    }
}
