#![expect(
    clippy::float_cmp,
    reason = "scores are shares of small numbers and exact"
)]

use proptest::prelude::*;

use super::*;

fn globs(patterns: &[&str]) -> ScopeGlobs {
    ScopeGlobs::new("write", patterns).unwrap()
}

#[test]
fn the_dialect_is_literal_about_separators() {
    for (pattern, matched, not) in [
        (
            "src/*",
            vec!["src/a", "src/.a"],
            vec!["src/a/b", "src", "src2/a"],
        ),
        ("*.env", vec!["a.env", ".env"], vec!["a/b.env"]),
        ("**/*.env", vec!["a.env", "a/b/.env"], vec!["a.envx"]),
        ("src/**", vec!["src/a", "src/a/b"], vec!["src", "src2/a"]),
        ("src", vec!["src"], vec!["src/a"]),
        ("src/", vec![], vec!["src", "src/a"]),
        ("a/**/b", vec!["a/b", "a/x/y/b"], vec!["a/bb", "b"]),
        ("**", vec!["a", "a/b", ".git"], vec![]),
        ("{a,b/c}/?", vec!["a/x", "b/c/y"], vec!["c/x", "a/xy"]),
        ("[a-c]x", vec!["bx"], vec!["dx", "Bx"]),
        ("**/*secret*", vec!["a/my-secret.txt"], vec!["secret/x.txt"]),
    ] {
        let globs = globs(&[pattern]);
        for path in matched {
            assert!(globs.matches(path), "{pattern} {path}");
        }
        for path in not {
            assert!(!globs.matches(path), "{pattern} {path}");
        }
    }
    let all = globs(&["**"]);
    for path in ["src/../etc", "/etc", "./a", "a//b", "", "a/"] {
        assert!(!all.matches(path), "{path}");
    }
}

#[test]
fn what_tools_disagree_on_is_refused_with_the_reason() {
    for (pattern, why) in [
        ("", "it is empty"),
        (
            "!a",
            "a leading `!` negates in some tools and not in others; use an exclude list",
        ),
        (
            "/a",
            "patterns are relative to the root; leave the leading `/` out",
        ),
        ("./a", "paths have no leading `./`; leave it out"),
        ("a/../b", "`..` would lead out of the root"),
        ("a[", "unclosed character class; missing ']'"),
    ] {
        let error = ScopeGlobs::new("scope.write", ["ok", pattern]).unwrap_err();
        let text = format!("`scope.write[1]`: bad scope pattern `{pattern}`: {why}");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_snapshot_says_where_its_patterns_come_from() {
    let list = |globs: &[&str]| globs.iter().map(ToString::to_string).collect::<Vec<_>>();
    let snapshot = ScopeSnapshot::new(ScopeSources {
        project: list(&["z", "a"]),
        profile: list(&["m", "a"]),
        task: list(&["src/**", "docs/*", "src/**"]),
        ..ScopeSources::default()
    })
    .unwrap();
    assert_eq!(
        serde_json::to_value(&snapshot).unwrap(),
        serde_json::json!({
            "version": 1, "write": ["src/**", "docs/*"], "exclude": ["a", "m", "z"],
            "sources": {"project": ["z", "a"], "profile": ["m", "a"], "task": ["src/**", "docs/*", "src/**"]},
        })
    );
}

#[test]
fn what_a_task_excludes_is_part_of_its_snapshot() {
    let sources = |exclude: &str| ScopeSources {
        project: vec!["m".to_owned()],
        task: vec!["src/**".to_owned()],
        task_exclude: vec![exclude.to_owned()],
        ..ScopeSources::default()
    };
    let snapshot = ScopeSnapshot::new(sources("a")).unwrap();
    assert_eq!(
        serde_json::to_value(&snapshot).unwrap(),
        serde_json::json!({
            "version": 1, "write": ["src/**"], "exclude": ["a", "m"],
            "sources": {"project": ["m"], "profile": [], "task": ["src/**"], "task_exclude": ["a"]},
        })
    );
    let error = ScopeSnapshot::new(sources("/a")).unwrap_err().to_string();
    assert_eq!(
        error,
        "`task.exclude[0]`: bad scope pattern `/a`: patterns are relative to the root; leave the leading `/` out"
    );
}

#[test]
fn exclude_beats_write_and_every_path_is_judged_once() {
    let snapshot = ScopeSnapshot::new(ScopeSources {
        project: vec!["src/secret/**".to_owned()],
        task: vec!["src/**".to_owned()],
        ..ScopeSources::default()
    })
    .unwrap();
    let changed = ["z", "src/a", "src/secret/b", "z", "src/../a"];
    let found = violations(changed, &snapshot).unwrap();
    let found: Vec<(&str, ViolationReason)> = found
        .iter()
        .map(|one| (one.path.as_str(), one.reason))
        .collect();
    assert_eq!(
        found,
        [
            ("src/../a", ViolationReason::OutsideWrite),
            ("src/secret/b", ViolationReason::ExcludedPath),
            ("z", ViolationReason::OutsideWrite),
        ]
    );
}

#[test]
fn scores_follow_from_the_patterns() {
    let score = |one: &[&str], other: &[&str]| conflict_score(one, other).unwrap();
    for (one, other, expected) in [
        (vec!["src/**"], vec!["docs/**"], 0.0),
        (vec!["src/**"], vec!["src/**"], 1.0),
        (vec!["src/**"], vec!["src/a/b.rs"], 1.0),
        (vec!["**"], vec!["a/*", "b"], 1.0),
        (vec!["src/*.rs"], vec!["src/*.md"], 0.0),
        (vec!["src/*.rs"], vec!["src/m*"], 1.0),
        (vec!["a/**/z", "q"], vec!["a/b/*", "r"], 0.25),
        (vec!["src"], vec!["src/**"], 0.0),
        (vec!["{a,b}/*"], vec!["c/*", "b/x"], 0.5),
        (vec!["[a-c]x", "y"], vec!["dx", "bx"], 0.25),
        (vec![], vec!["a"], 0.0),
    ] {
        // A pair that meets without one lying in the other is a whole conflict where it is the only pair.
        assert_eq!(score(&one, &other), expected, "{one:?} {other:?}");
    }
    let many = format!("{}/*", "{a,b}".repeat(8));
    assert_eq!(score(&[&many], &["zz/x"]), 1.0, "undecided is a conflict");
    assert!(conflict_score(&["!a"], &["b"]).is_err());
}

fn any_glob() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a", "b", "*", "**", "a*", "?", "[ab]", "[!a]", "{a,b}", "*b",
    ]);
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

fn any_scope() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(any_glob(), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_score_is_the_same_from_both_sides(one in any_scope(), other in any_scope()) {
        let score = conflict_score(&one, &other).unwrap();
        prop_assert!((0.0..=1.0).contains(&score));
        prop_assert_eq!(score, conflict_score(&other, &one).unwrap());
        prop_assert_eq!(conflict_score(&one, &one).unwrap(), 1.0);
    }

    #[test]
    fn a_path_that_both_match_is_a_conflict(one in any_glob(), other in any_glob(), parts in prop::collection::vec("[ab]{1,2}", 1..5)) {
        let path = parts.join("/");
        if globs(&[&one]).matches(&path) && globs(&[&other]).matches(&path) {
            prop_assert!(conflict_score(&[one.as_str()], &[other.as_str()]).unwrap() > 0.0, "{}", path);
        }
        // What is said to lie within another must not match anything beyond it.
        let (outer, inner) = (pattern::Pattern::parse(&one), pattern::Pattern::parse(&other));
        if pattern::covers(&outer, &inner) && globs(&[&other]).matches(&path) {
            prop_assert!(globs(&[&one]).matches(&path), "{}", path);
        }
    }
}
