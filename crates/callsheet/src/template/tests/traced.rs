//! Jinja keeps what is known of its bytes, and values make no structure.

mod tables;

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{map, set, values};
use crate::mounts::{Mount, Mounts};
use crate::template::*;
use crate::trace::{Origin, OriginKind, Traced, Transform};

const MACROS: &str = "{% macro wrap(x) %}<{{ x }}>{% endmacro %}{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}{% macro around() %}({{ caller() }}){% endmacro %}";

/// Tells of all that differs at once.
#[derive(Default)]
struct Mismatches(Vec<String>);

impl Mismatches {
    fn check(&mut self, what: &str, found: &str, expected: &str) {
        if found != expected {
            self.0.push(format!(
                "{what}\n  expected {expected:?}\n  found    {found:?}"
            ));
        }
    }
}

impl Drop for Mismatches {
    fn drop(&mut self) {
        assert!(
            std::thread::panicking() || self.0.is_empty(),
            "\n{}",
            self.0.join("\n")
        );
    }
}

fn files(body: &str) -> Vec<(&'static str, String)> {
    let jinja = |body: &str| format!("---\nengine: jinja\n---\n{body}");
    vec![
        ("t.md", jinja(body)),
        ("part.md", jinja("part {{ title }}")),
        ("tools.md", jinja(MACROS)),
        (
            "base.md",
            jinja("[{% block a %}base {{ title }}{% endblock %}]"),
        ),
    ]
}

fn rendered(body: &str, given: Value, safe: bool) -> Result<Rendered, String> {
    let files = files(body);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
    let set = set(&files);
    let given = map(given);
    let template = set.get("t").unwrap();
    let mounts = Mounts::new().with(Mount::Project, "/srv/shop");
    let shared = Shared::default();
    let tags = set.tags().map(str::to_owned).collect();
    let rights = Rights {
        tags: &Arc::new(tags),
        before: "",
        shared: &shared,
        harmless: &[],
        traces: &Arc::default(),
        raw: false,
        mounts: &mounts,
    };
    let values = values(&given);
    let rendered = if safe {
        set.render_safe(template, values, Missing::Error, rights)
    } else {
        set.render(template, values, Missing::Error)
    };
    rendered.map_err(|error| error.to_string())
}

/// Returns what each span is and where it leads to.
fn traces(text: &Traced) -> String {
    let spans = text.spans().iter();
    let told = spans.map(|span| {
        let shown = text.text()[span.range.clone()].replace('\n', "⏎");
        let Some(link) = &span.link else {
            return format!("`{shown}` frame");
        };
        let how = link
            .transform
            .map_or(String::new(), |how| format!(" {how:?}"));
        let Origin { kind, name, .. } = &*link.origin;
        match kind {
            OriginKind::Template => format!("`{shown}` {name}:{}{how}", link.line),
            _ => format!("`{shown}` {}{how}", link.origin),
        }
    });
    told.collect::<Vec<_>>().join(", ")
}

fn traced(body: &str) -> String {
    let given = json!({
        "title": " Fix it ", "task": {"title": "Go", "n": 3, "list": ["a", "b"]},
        "found": [{"file": "a.rs", "line": 7}], "long": "one\ntwo\n", "ok": true, "rate": 1.5, "numbers": [4, 5],
    });
    traces(&rendered(body, given, false).unwrap().body)
}

#[test]
fn values_lead_to_their_fields_through_everything_that_keeps_bytes() {
    let mut told = Mismatches::default();
    for (body, expected) in tables::ORIGINS {
        told.check(body, &traced(body), expected);
    }
}

fn safe(body: &str, value: &str) -> String {
    let rendered = rendered(body, json!({"v": value}), true).unwrap();
    rendered.body.text().to_owned()
}

#[test]
fn values_make_no_structure_where_they_stand() {
    let mut told = Mismatches::default();
    for (body, value, expected) in tables::PLACES {
        told.check(&format!("{body} | {value}"), &safe(body, value), expected);
    }
}

#[test]
fn filters_of_authors_make_values_fit() {
    let given = json!({
        "v": "a\n## b", "list": ["one", "- two", "three\n3"], "code": "```\nx\n```", "path": "./src//a.rs",
        "real": "/srv/shop/src/a.rs", "out": "../a", "n": 1.5, "q": "\"<&", "head": " A #", "text": "one\ntwo\nthree",
        "rule": "## c", "prose": "<b>\n- x\n***\n## c", "spaced": "  ```\nx \n", "crlf": "a\r\n## b\rc\r\r\n",
        "checks": [{"name": "a", "bad": false}, {"name": "b", "bad": false}, {"name": "c", "bad": true}],
    });
    let mut told = Mismatches::default();
    for (body, expected) in tables::FILTERS {
        let rendered = rendered(body, given.clone(), true).unwrap();
        told.check(body, rendered.body.text(), expected);
    }
    for (body, expected) in [
        (
            "{{ v|raw }}",
            "t.md:4: `raw` prints a value as it is, which only a layer that says `trust = \"own\"` may",
        ),
        (
            "{{ out|path }}",
            "t.md:4: `vars.out`: bad path `../a`: `..` could lead out of the root",
        ),
        (
            "{{ v|bullets }}",
            "t.md:4: `bullets` needs a list, found string",
        ),
        (
            "{{ list|cap(1, kept='a') }}",
            "t.md:4: too many arguments: unknown keyword argument 'kept'",
        ),
        (
            "{{ checks|cap(1, keep='worst')|length }}",
            "t.md:4: `cap` found an item without `worst`",
        ),
        (
            "{{ v|fence('a`') }}",
            "t.md:4: `a`` is not the language of a code block",
        ),
    ] {
        assert_eq!(
            rendered(body, given.clone(), true).unwrap_err(),
            expected,
            "{body}"
        );
    }
    let verbatim = rendered("{{ v|raw }}", given, false).unwrap();
    assert_eq!(verbatim.body.text(), "a\n## b");
}

#[test]
fn what_a_cap_leaves_out_is_on_record() {
    let given = json!({"task": {
        "list": ["a", "bb", "ccc"], "text": "one two",
        "rows": [{"name": "x", "must": false}, {"name": "yyyy", "must": false}, {"name": "z", "must": true}],
    }});
    let rendered = rendered(
        "{{ task.list|cap(1)|join }}{{ task.text|cap(3) }}{{ task.list|cap(9)|length }}\
         {{ task.rows|cap(2, keep='must', attribute='name')|length }}",
        given,
        true,
    );
    let told = rendered.unwrap().omissions;
    let told: Vec<String> = told
        .iter()
        .map(|one| format!("{} {}", one.sentence(), one.bytes))
        .collect();
    assert_eq!(
        told,
        [
            "`task.list` is cut at its limit: 1 of 3 are shown 5",
            "`task.text` is cut at its limit: 4 characters are left out 4",
            "`task.rows` is cut at its limit: 2 of 3 are shown 4",
        ]
    );
}

#[test]
fn a_name_that_is_not_there_comes_with_those_that_are() {
    let set = set(&[("t.md", "---\nengine: jinja\n---\na\n{{ task.titel }}")]);
    let given = map(json!({"task": {"title": "T", "id": 1}, "other": 1}));
    let error = set.render(set.get("t").unwrap(), values(&given), Missing::Error);
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "t.md:5: `task.titel` is undefined");
    assert_eq!(error.found(), Some("titel"));
    assert_eq!(error.allowed(), ["title", "id"]);
}

#[test]
fn names_are_missed_wherever_they_are_looked_up() {
    let given = json!({"task": {"title": "T", "rows": [{"name": "n", "line": 1}]}, "other": 1});
    for (body, expected, allowed) in [
        ("a\n{{ nope }}", "t.md:5: `nope` is undefined", "task other"),
        (
            "{{ task['titel'] }}",
            "t.md:4: `task['titel']` is undefined",
            "title rows",
        ),
        (
            "{{ task.rows[0].nam }}",
            "t.md:4: `task.rows[0].nam` is undefined",
            "name line",
        ),
        (
            "{% for row in task.rows %}\n{{ row.nam }}{% endfor %}",
            "t.md:5: `row.nam` is undefined",
            "line name",
        ),
        (
            "{% macro m(a) %}\n{{ a }}{{ othr }}{% endmacro %}{{ m(1) }}",
            "t.md:5: `othr` is undefined",
            "task other",
        ),
        (
            "{{ tsk.title }}",
            "t.md:4: `tsk` is undefined",
            "task other",
        ),
        (
            "{{ task.title.x }}",
            "t.md:4: `task.title.x` is undefined",
            "",
        ),
        (
            "{% from 'part.md' import wrp %}{{ wrp(1) }}",
            "t.md:4: `wrp` is undefined",
            "task other",
        ),
    ] {
        let body = format!("---\nengine: jinja\n---\n{body}");
        let set = set(&[("t.md", &body), ("part.md", "")]);
        let given = map(given.clone());
        let error = set.render(set.get("t").unwrap(), values(&given), Missing::Error);
        let error = error.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.allowed().join(" "), allowed, "{expected}");
    }
}

/// Fails unless the spans cover the text and those without a transform are bytes of their origins.
fn check(text: &Traced, given: &Value, sources: &[(&str, String)]) {
    let mut end = 0;
    for span in text.spans() {
        assert_eq!(span.range.start, end);
        end = span.range.end;
        let Some(link) = span.link.as_ref().filter(|link| link.transform.is_none()) else {
            continue;
        };
        let shown = &text.text()[span.range.clone()];
        let Origin { kind, name, .. } = &*link.origin;
        let whole = match kind {
            OriginKind::Input => {
                let path = name
                    .trim_start_matches("vars.")
                    .replace(['.', '['], "/")
                    .replace(']', "");
                let field = given.pointer(&format!("/{path}")).unwrap();
                field
                    .as_str()
                    .map_or_else(|| field.to_string(), str::to_owned)
            }
            OriginKind::Template => {
                let found = sources.iter().find(|(file, _)| file == name);
                found.unwrap().1.clone()
            }
            _ => {
                assert_eq!(link.range.len(), shown.len());
                continue;
            }
        };
        assert_eq!(shown, &whole[link.range.clone()], "{}", link.origin);
    }
    assert_eq!(end, text.len());
}

/// Bodies that keep bytes in every way there is.
const KEEPS: &[&str] = &[
    "{{ a }}{{ b }}{% for x in l %}- {{ x }}{{ x|trim }}\n{% endfor %}",
    "{{ a|indent(3, true, true) }}|{{ b|replace(a, '_') }}|{{ b|replace('', '.') }}|{{ l|join(b) }}",
    "{{ a|lines|join('+') }}|{{ a|split('#')|join(b) }}|{{ b|split|join }}|{{ a ~ b ~ 1.5 }}",
    "{{ a[1:] }}|{{ b[:-1] }}|{{ (a ~ b)[1:5] }}|{{ l[0][2:] }}|{{ a|trim('#- ') }}|{{ a|first|default('') }}{{ b|last|default('') }}",
    "{% macro m(x) %}{{ x }}:{{ x|trim }}{% endmacro %}{{ m(m(a)) }}|{% set s %}{{ m(b) }}{% endset %}{{ s|trim }}{{ s[2:] }}",
    "{% filter indent(2) %}{{ a }}\n{{ b }}{% endfilter %}|{% for c in l|batch(2) %}{{ c|join('/') }}{% endfor %}|{{ l|map('trim')|join }}",
    "## {{ a }}\n\n{{ b }}\n\n```\n{{ a }}\n```\n{\"k\": \"{{ b }}\"}\n<x y=\"{{ a }}\">{{ a|line }}{{ b|block }}{{ l|bullets }}{{ a|quote }}{{ b|json }}{{ a|fence }}",
];

fn any_text() -> impl Strategy<Value = String> {
    let parts = vec![
        "#", "## ", "- ", "1. ", "> ", "`", "```", "\n", "\r\n", "\r", "\u{2028}", "é", "a", " ",
        "<", "</x>", "\"", "\\", "{{ a }}", "---", "\u{0}",
    ];
    prop::collection::vec(prop::sample::select(parts), 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_is_at_its_origin(
        a in any_text(), b in any_text(), l in prop::collection::vec(any_text(), 1..4), safe in any::<bool>(),
    ) {
        let given = json!({"a": a, "b": b, "l": l});
        for body in KEEPS {
            let rendered = rendered(body, given.clone(), safe).unwrap();
            check(&rendered.body, &given, &files(body));
        }
    }
}

#[test]
fn what_is_kept_has_no_transform() {
    let given = json!({"a": "## one\n", "b": " two ", "l": ["x", "y"]});
    for body in &KEEPS[..6] {
        let rendered = rendered(body, given.clone(), false).unwrap();
        let changed = |link: &crate::trace::Link| {
            link.transform == Some(Transform::Converted) || link.origin.kind == OriginKind::Derived
        };
        let links = rendered
            .body
            .spans()
            .iter()
            .filter_map(|span| span.link.as_ref());
        let changed: Vec<_> = links.filter(|link| changed(link)).collect();
        // A number that is written in the template is derived.
        assert!(changed.len() <= 1, "{body}: {}", traces(&rendered.body));
    }
}
