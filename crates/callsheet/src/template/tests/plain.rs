//! The plain language: what is a placeholder, what becomes of it, and what stays.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::json;

use super::{map, set, values};
use crate::template::*;
use crate::trace::{Origin, OriginKind, Traced, Transform};

fn body(text: &str) -> Traced {
    Traced::whole(text, &Origin::new(OriginKind::Template, "t.md", text))
}

fn render(text: &str, given: serde_json::Value, missing: Missing) -> Rendered {
    let given = map(given);
    render_plain(&body(text), values(&given), None, missing)
}

#[test]
fn placeholders_are_replaced_and_other_braces_stay() {
    let given = json!({"x": "X", "y": "Y", "a.b": "AB", "a b": "A B", "a": {"b": 1}, "1": "one", "#x": "H"});
    for (text, expected) in [
        ("a {{x}} b", "a X b"),
        ("a {{ x }} b", "a X b"),
        ("a {{\tx\u{a0}}} b", "a X b"),
        ("{{x}}{{x}}", "XX"),
        ("{{x}}{{y}}", "XY"),
        ("a {{z}} {{ z }} b", "a {{z}} {{ z }} b"),
        ("{{a.b}} {{a.c}}", "AB {{a.c}}"),
        ("{{a b}}", "A B"),
        ("{{1}}", "one"),
        ("{x}", "{x}"),
        ("{{x", "{{x"),
        ("x}}", "x}}"),
        ("{{}}", "{{}}"),
        ("{{ }}", "{{ }}"),
        ("{{x\n}}", "{{x\n}}"),
        ("{{\u{2028}x\u{2028}}}", "X"),
        ("{{{x}}}", "{{{x}}}"),
        ("{{ {{x}} }}", "{{ {{x}} }}"),
        ("{{x {{y}} }}", "{{x {{y}} }}"),
        ("{{x {{y}}", "{{x Y"),
        ("{{#x}}", "H"),
        ("{{x|upper}}", "{{x|upper}}"),
        ("{{}} {{x}}", "{{}} X"),
        ("{{ }} {{x}}", "{{ }} X"),
        ("{{x}}}} {{y}}", "X}} Y"),
        ("{{x}}} {{y}}", "X} Y"),
        ("{{{x}}} {{y}}", "{{{x}}} Y"),
        ("{{{{x}}}} {{y}}", "{{{{x}}}} Y"),
        ("{{x}y}} {{y}}", "{{x}y}} Y"),
        ("{{x{y}} {{y}}", "{{x{y}} Y"),
        ("{{ {{x}}}} {{y}}", "{{ {{x}}}} Y"),
        ("{{a {{b {{x}} }} {{y}}", "{{a {{b {{x}} }} Y"),
        ("{{x\n{{y}}", "{{x\nY"),
        ("", ""),
    ] {
        assert_eq!(
            render(text, given.clone(), Missing::Keep).body.text(),
            expected,
            "{text:?}"
        );
        let lookup = |name: &str| {
            given
                .get(name)
                .and_then(|value| value.as_str().map(str::to_owned))
        };
        assert_eq!(interpolate(text, lookup), expected, "{text:?}");
    }
}

#[test]
fn values_are_text_and_are_not_looked_into() {
    let rendered = render(
        "{{s}}|{{back}}|{{i}}|{{f}}|{{t}}|{{l}}|{{o}}|{{e}}|{{n}}|{{y}}",
        json!({"s": "{{y}}", "back": "\\1 \\g<0> $1", "i": 5, "f": 1.0, "t": true, "l": ["q", 1],
               "o": {"k": "v", "a": null}, "e": "", "n": null, "y": "Y", "spare": 1, "more": null}),
        Missing::Empty,
    );
    assert_eq!(
        rendered.body.text(),
        "{{y}}|\\1 \\g<0> $1|5|1.0|true|[\"q\",1]|{\"k\":\"v\",\"a\":null}|||Y"
    );
    assert_eq!(rendered.missing, ["n"]);
    assert_eq!(rendered.unused, ["spare", "more"]);
}

#[test]
fn undeclared_placeholders_of_a_template_with_declarations_are_prose() {
    let header =
        "---\nvariables: [{name: who, required: true}, {name: how, default: well}, note]\n---\n";
    let text = format!(
        "{header}Hi {{{{who}}}}, {{{{how}}}}{{{{note}}}}: write {{{{event}}}} or {{{{ event }}}} or {{{{ name }}}}."
    );
    let set = TemplateSet::parse([("t.md".to_owned(), text.into_bytes())]);
    let template = set.get("t").unwrap();
    for missing in [Missing::Empty, Missing::Keep, Missing::Error] {
        let given = map(json!({"who": "Ada", "note": "!", "event": null}));
        let rendered = set.render(template, values(&given), missing).unwrap();
        assert_eq!(
            rendered.body.text(),
            "Hi Ada, well!: write {{event}} or {{ event }} or {{ name }}."
        );
        assert_eq!(rendered.prose, ["event", "name"], "each is told once");
        assert_eq!(rendered.missing, Vec::<String>::new());
    }
    let given = map(json!({"who": "Ada", "event": "E"}));
    let rendered = set
        .render(template, values(&given), Missing::Empty)
        .unwrap();
    assert_eq!(
        rendered.body.text(),
        "Hi Ada, well: write E or E or {{ name }}.",
        "a given value fills it"
    );
    assert_eq!(rendered.missing, ["note"]);
    let told: Vec<String> = rendered
        .events("t.md")
        .map(|event| event.message().to_owned())
        .collect();
    assert_eq!(
        told,
        [
            "`{{note}}` in `t.md` has no value",
            "`{{name}}` in `t.md` is not declared and stays as it is",
        ]
    );
    let given = map(json!({"event": "E"}));
    let error = set
        .render(template, values(&given), Missing::Error)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.md:4: Required variable 'who' not provided for template 't' (also missing: 'note')"
    );
}

#[test]
fn without_a_declaration_every_placeholder_is_a_variable() {
    for (header, expected) in [
        ("", "a  b"),
        ("---\nname: t\n---\n", "a  b"),
        ("---\nvariables:\n---\n", "a  b"),
        ("---\nvariables: []\n---\n", "a {{x}} b"),
    ] {
        let text = format!("{header}a {{{{x}}}} b");
        let set = TemplateSet::parse([("t.md".to_owned(), text.into_bytes())]);
        let template = set.get("t").unwrap();
        let none = map(json!({}));
        let rendered = set.render(template, values(&none), Missing::Empty).unwrap();
        assert_eq!(rendered.body.text(), expected, "{header}");
        let strict = set.render(template, values(&none), Missing::Error);
        assert_eq!(strict.is_ok(), header.contains("[]"), "{header}");
    }
}

#[test]
fn spans_name_the_template_the_value_and_the_default() {
    let default = Variable {
        name: "d".to_owned(),
        default: Some("D".to_owned()),
        ..Variable::default()
    };
    let empty = Variable {
        name: "z".to_owned(),
        default: Some(String::new()),
        ..Variable::default()
    };
    let given = map(json!({"x": 7}));
    let rendered = render_plain(
        &body("a\n{{x}} {{d}}{{z}}\nb"),
        values(&given),
        Some(&[default, empty]),
        Missing::Keep,
    );
    assert_eq!(rendered.body.text(), "a\n7 D{{z}}\nb");
    assert_eq!(rendered.missing, ["z"]);
    let spans: Vec<_> = rendered
        .body
        .spans()
        .iter()
        .map(|span| {
            let link = span.link.as_ref().unwrap();
            (
                &rendered.body.text()[span.range.clone()],
                link.origin.to_string(),
                link.range.clone(),
                link.line,
                link.transform,
            )
        })
        .collect();
    let template = || "template:t.md".to_owned();
    assert_eq!(
        spans,
        [
            ("a\n", template(), 0..2, 1, None),
            ("7", "input:vars.x".to_owned(), 0..1, 1, None),
            (" ", template(), 7..8, 2, None),
            ("D", template(), 0..20, 1, Some(Transform::Converted)),
            ("{{z}}\nb", template(), 13..20, 2, None),
        ]
    );
}

#[test]
fn many_placeholders_and_many_braces_take_no_time() {
    let start = Instant::now();
    let text = (0..10_000)
        .map(|n| format!("line {n} {{{{v{n}}}}}\n"))
        .collect::<Vec<_>>()
        .concat();
    let given = (0..10_000).map(|n| (format!("v{n}"), json!(n))).collect();
    let rendered = render_plain(&body(&text), values(&given), None, Missing::Error);
    let expected = (0..10_000)
        .map(|n| format!("line {n} {n}\n"))
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(rendered.body.text(), expected);
    for hostile in [
        "{{",
        "}}",
        "{",
        "{{a",
        "{{a}}",
        "{{ ",
        "a}} {{",
        "{{a {{b}}",
        "}{",
        "{{}}",
    ] {
        let text = hostile.repeat(100_000);
        assert_eq!(render(&text, json!({}), Missing::Keep).body.text(), text);
    }
    assert!(start.elapsed() < Duration::from_secs(30));
}

/// Reads one line as the rules say it, without a stack and without mercy for time.
fn by_the_rules(line: &str) -> Vec<std::ops::Range<usize>> {
    let bytes = line.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..]
            .iter()
            .take_while(|byte| **byte == bytes[at])
            .count();
        match bytes[at] {
            b'{' if run == 2 => tokens.push((at, true)),
            b'}' => tokens.extend((0..run / 2).map(|pair| (at + 2 * pair, false))),
            _ => {}
        }
        at += run;
    }
    let mut pairs = Vec::new();
    while let Some(next) = tokens.windows(2).position(|two| two[0].1 && !two[1].1) {
        pairs.push(tokens[next].0..tokens[next + 1].0 + 2);
        tokens.drain(next..next + 2);
        // A closing without an opening before it never matches.
    }
    let mut found: Vec<_> = pairs
        .iter()
        .filter(|pair| {
            let inner = &line[pair.start + 2..pair.end - 2];
            let inside = pairs
                .iter()
                .any(|other| other.start < pair.start && pair.end < other.end);
            !inside && !inner.contains(['{', '}']) && !crate::text::strip(inner).is_empty()
        })
        .cloned()
        .collect();
    found.sort_by_key(|range| range.start);
    found
}

proptest! {
    #[test]
    fn brace_soup_is_read_by_the_rules(text in "[{}a \n]{0,40}") {
        let mut expected = Vec::new();
        let mut base = 0;
        for line in text.split_inclusive('\n') {
            expected.extend(by_the_rules(line).into_iter().map(|range| range.start + base..range.end + base));
            base += line.len();
        }
        let found: Vec<_> = placeholders(&text).into_iter().map(|hole| hole.range).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn text_outside_placeholders_is_kept_and_spans_have_no_gaps(text in "([{}]{1,3}|[xyé \r\n]){0,30}", value in "[{}xy]{0,8}") {
        let given = map(json!({"x": value, "y": 1}));
        let (template, _) = Template::parse("t.md", text);
        let body = template.body.text();
        let rendered = render_plain(&template.body, values(&given), None, Missing::Empty);
        let mut expected = String::new();
        let mut at = 0;
        for hole in placeholders(body) {
            expected += &body[at..hole.range.start];
            expected += match hole.name.as_str() { "x" => &value, "y" => "1", _ => "" };
            at = hole.range.end;
        }
        expected += &body[at..];
        prop_assert_eq!(rendered.body.text(), &expected);
        let mut end = 0;
        for span in rendered.body.spans() {
            prop_assert_eq!(span.range.start, end);
            prop_assert!(span.link.is_some());
            end = span.range.end;
        }
        prop_assert_eq!(end, expected.len());
        let kept = render_plain(&template.body, values(&map(json!({}))), None, Missing::Keep);
        prop_assert_eq!(kept.body, template.body);
    }

    #[test]
    fn nothing_panics(text in any::<String>(), header in "(---\n[ -~\n]{0,60}\n---\n)?", name in any::<String>()) {
        let text = header + &text;
        let given = map(json!({name.clone(): "v"}));
        for engine in ["plain", "jinja"] {
            let file = (format!("{name}.md"), format!("---\nengine: {engine}\n---\n{text}").into_bytes());
            let set = TemplateSet::parse([file, ("b.md".to_owned(), text.clone().into_bytes())]);
            set.check();
            for template in set.iter() {
                let _ = set.render(template, values(&given), Missing::Error);
                let _ = set.render(template, values(&given), Missing::Keep);
            }
        }
    }
}

#[test]
fn a_long_value_is_not_printed_without_end() {
    let set = set(&[("t.md", "{{x}}{{x}}{{y}}.")]);
    let render = |x: usize, y: usize| {
        let given = map(json!({"x": "x".repeat(x), "y": "y".repeat(y)}));
        let rendered = set.render(set.get("t").unwrap(), values(&given), Missing::Keep);
        rendered
            .map(|rendered| rendered.body.len())
            .map_err(|error| error.to_string())
    };
    let half = OUTPUT_LIMIT / 2;
    assert_eq!(
        render(half - 8, 16),
        Ok(OUTPUT_LIMIT + 1),
        "the template itself counts no more"
    );
    let wanted = "t.md: prints more than 67108864 bytes";
    for (x, y) in [(half, 1), (half + 1, 0), (OUTPUT_LIMIT + 1, 0)] {
        assert_eq!(render(x, y), Err(wanted.to_owned()));
    }
}
