//! Sets: which file answers to which name, strict rendering, and the check.

use serde_json::json;

use super::{lines, map, set, values};
use crate::ErrorKind;
use crate::template::*;

fn file_of<'a>(set: &'a TemplateSet, name: &str) -> Option<&'a str> {
    set.get(name).map(|template| template.file.as_str())
}

#[test]
fn only_markdown_counts_and_files_are_sorted_by_bytes() {
    let set = TemplateSet::parse([
        ("b.md".to_owned(), b"B".to_vec()),
        ("UP.MD".to_owned(), b"x".to_vec()),
        ("note.txt".to_owned(), b"x".to_vec()),
        (".h.md".to_owned(), b"H".to_vec()),
        ("README.md".to_owned(), b"R".to_vec()),
        ("bad.md".to_owned(), b"ok\xff".to_vec()),
        ("é.md".to_owned(), b"E".to_vec()),
    ]);
    let names: Vec<&str> = set.iter().map(|template| template.name.as_str()).collect();
    assert_eq!(names, [".h", "README", "b", "é"]);
    assert_eq!(
        lines(set.diagnostics()),
        ["bad.md: not valid UTF-8 at byte 2"]
    );
    assert_eq!(set.diagnostics()[0].kind, DiagnosticKind::Unreadable);
}

#[test]
fn a_declared_name_goes_before_a_stem_and_a_stem_before_an_alias() {
    let set = set(&[
        ("a.md", "---\nname: one\n---\n"),
        ("b.md", "B"),
        ("chat.md", "---\nname: chat-agent-system\n---\n"),
        ("hook-context.md", ""),
        ("one.md", ""),
        ("z.md", "---\nname: b\n---\n"),
        ("y.md", "---\nname: one\n---\n"),
    ]);
    for (name, file) in [
        ("one", Some("a.md")),
        ("a", Some("a.md")),
        ("a.md", Some("a.md")),
        ("b", Some("z.md")),
        ("b.md", Some("b.md")),
        ("one.md", Some("one.md")),
        ("y", Some("y.md")),
        ("supervisor", Some("chat.md")),
        ("hook-executor", Some("hook-context.md")),
        ("One", None),
        ("", None),
    ] {
        assert_eq!(file_of(&set, name), file, "{name}");
    }
    assert_eq!(
        lines(&set.check()),
        [
            "b.md: the name `b` of `b.md` is already taken by `z.md`",
            "one.md: the name `one` of `one.md` is already taken by `a.md`",
            "y.md: the name `one` of `y.md` is already taken by `a.md`",
        ]
    );
}

#[test]
fn the_upper_layer_wins_by_name() {
    let own = set(&[("x.md", "---\nname: a\n---\nown"), ("m.md", "own m")]);
    let base = set(&[
        ("a.md", "base a"),
        ("b.md", "base b"),
        ("x.md", "---\nname: c\nengine: jinja\n---\nbase {{ 1 + 1 }}"),
        ("bad.md", "---\n- a\n---\n"),
    ]);
    let mut both = own.layered_over(base);
    both.unreadable("gone.md", "permission denied");
    let files: Vec<&str> = both.iter().map(|template| template.file.as_str()).collect();
    assert_eq!(files, ["b.md", "bad.md", "m.md", "x.md", "x.md"]);
    let text = |name: &str| {
        let template = both.get(name).unwrap();
        let rendered = both.render(template, values(&map(json!({}))), Missing::Empty);
        rendered.unwrap().body.text().to_owned()
    };
    assert_eq!(
        ["a", "b", "c", "x"].map(text),
        ["own", "base b", "base 2", "own"]
    );
    assert_eq!(
        lines(both.diagnostics()),
        [
            "bad.md:2: the frontmatter is not a mapping",
            "gone.md: permission denied"
        ]
    );
}

#[test]
fn strict_rendering_tells_all_that_is_missing() {
    let set = set(&[
        (
            "t.md",
            "---\nname: T\nvariables: [{name: r, required: true}, {name: q, required: true}, {name: d, required: true, default: D},\n\
             \x20 {name: o}, {name: e, required: true, default: ''}]\n---\n\n{{u}} {{o}}\n{{q}} {{d}} {{u}}",
        ),
        ("plain.md", "a\n\n{{x}}"),
    ]);
    let strict = |name: &str, given| {
        let given = map(given);
        set.render(set.get(name).unwrap(), values(&given), Missing::Error)
    };
    let error = strict("T", json!({"q": null})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadTemplate);
    assert_eq!(
        error.to_string(),
        "t.md: Required variable 'r' not provided for template 'T' (also missing: 'q', 'e', 'o')"
    );
    let error = strict("T", json!({"r": 1, "e": "", "u": "", "o": 0})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.md:8: Required variable 'q' not provided for template 'T'"
    );
    let rendered = strict("T", json!({"r": 1, "e": "", "u": "", "o": 0, "q": "Q"})).unwrap();
    assert_eq!(rendered.body.text(), " 0\nQ D ");
    assert_eq!(rendered.unused, ["r", "e"]);
    let error = strict("plain", json!({})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "plain.md:3: Required variable 'x' not provided for template 'plain'"
    );
}

#[test]
fn lenient_rendering_empties_or_keeps() {
    let set = set(&[(
        "t.md",
        "---\nvariables: [{name: d, default: D}, x]\n---\n[{{ x }}]{{d}}",
    )]);
    let render = |missing| {
        let given = map(json!({}));
        set.render(set.get("t").unwrap(), values(&given), missing)
            .unwrap()
    };
    assert_eq!(render(Missing::Empty).body.text(), "[]D");
    assert_eq!(render(Missing::Keep).body.text(), "[{{ x }}]D");
    assert_eq!(render(Missing::Keep).missing, ["x"]);
}

#[test]
fn the_check_tells_file_and_line() {
    let set = set(&[
        ("none.md", "{{anything}}"),
        ("empty.md", "---\nvariables: []\n---\n{{x}}\n{{x}}"),
        (
            "plain.md",
            "---\nvariables:\n  - a\n  - b\n---\n\n{{a}}\n{{ }} {{c}}\n{{ {{a}} }}\n{{c}} {{d}}",
        ),
        (
            "j.md",
            "---\nengine: jinja\nvariables:\n  - a\n  - b\n  - c\n---\n{{ a }}\n{% include 'part' %}{% include 'gone' %}",
        ),
        ("part.md", "---\nengine: jinja\n---\n{{ b }}"),
        ("syntax.md", "---\nengine: jinja\n---\n\n{% for %}"),
        ("cycle.md", "---\nengine: jinja\n---\n{% include 'cycle' %}"),
    ]);
    assert_eq!(
        lines(&set.check()),
        [
            "cycle.md:4: templates include each other: `cycle.md → cycle.md`",
            "empty.md:4: `{{x}}` is not declared and stays as it is",
            "j.md:6: `c` is declared and never used",
            "j.md:9: no template named `gone`",
            "plain.md:4: `b` is declared and never used",
            "plain.md:8: `{{ }}` is not a placeholder and stays as it is",
            "plain.md:8: `{{c}}` is not declared and stays as it is",
            "plain.md:9: `{{ {{a}} }}` is not a placeholder and stays as it is",
            "plain.md:10: `{{d}}` is not declared and stays as it is",
            "syntax.md:5: syntax error: unexpected end of block, expected in",
        ]
    );
    let first = serde_json::to_value(&set.check()[0]).unwrap();
    assert_eq!(
        first,
        json!({"file": "cycle.md", "line": 4, "kind": "syntax",
               "message": "templates include each other: `cycle.md → cycle.md`"})
    );
}
