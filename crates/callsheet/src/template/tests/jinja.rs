//! The jinja language: strict, bounded, and shut inside its set.

use serde_json::{Value, json};

use super::{lines, map, set, values};
use crate::template::*;
use crate::trace::Traced;
use crate::{Error, ErrorKind};

fn jinja(body: &str) -> String {
    format!("---\nengine: jinja\n---\n{body}")
}

fn render_in(set: &TemplateSet, name: &str, given: Value) -> Result<Rendered, Error> {
    let given = map(given);
    set.render(set.get(name).unwrap(), values(&given), Missing::Keep)
}

/// Returns what each span is and where it leads to.
fn traces(text: &Traced) -> Vec<String> {
    let spans = text.spans().iter();
    let told = spans.map(|span| {
        let shown = &text.text()[span.range.clone()];
        let Some(link) = &span.link else {
            return format!("`{shown}` frame");
        };
        let transform = link
            .transform
            .map_or(String::new(), |how| format!(" {how:?}"));
        format!("`{shown}` {}:{}{transform}", link.origin, link.line)
    });
    told.collect()
}

fn render(body: &str, given: Value) -> Result<String, String> {
    let set = set(&[("t.md", &jinja(body))]);
    match render_in(&set, "t", given) {
        Ok(rendered) => Ok(rendered.body.text().to_owned()),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::BadTemplate);
            Err(error.to_string())
        }
    }
}

#[test]
fn logic_is_rendered_without_escaping() {
    let body = "{% for x in items %}{{ loop.index }}{{ x }}\n{% endfor %}<{{ a.b }}>{{ '\\n' }}";
    assert_eq!(
        render(body, json!({"items": ["<", "&"], "a": {"b": "\"{{x}}"}})).unwrap(),
        "1<\n2&\n<\"{{x}}>\n"
    );
    assert_eq!(
        render(
            "{% set x = 1 %}a\n{{ '' }}\n{% if x %}b{% endif %}",
            json!({})
        )
        .unwrap(),
        "a\n\nb"
    );
}

#[test]
fn numbers_are_printed_as_they_were_written() {
    let given = r#"{"v": 1.10, "list": [1.1, 1.10, 2.50, 7], "id": 12345678901234567890123, "score": 0.70,
        "wide": 123456789012345678901234567890123456789012345, "e": 1E5, "huge": [1e400, 1e22, 1.0e22], "zero": 0.00, "minus": -0, "plain": 1.5}"#;
    let given = crate::document::json(given).unwrap();
    for (body, expected) in [
        (
            "{{ v }} {{ id }} {{ wide }} {{ e }} {{ minus }} {{ plain }}",
            "1.10 12345678901234567890123 123456789012345678901234567890123456789012345 1E5 -0 1.5",
        ),
        (
            "{{ list }}|{% for v in list %}{{ v }} {% endfor %}",
            "[1.1, 1.10, 2.50, 7]|1.1 1.10 2.50 7 ",
        ),
        (
            "{{ 'v' ~ v }}{{ list|join('/') }}{{ v|string }}",
            "v1.101.1/1.10/2.50/71.10",
        ),
        (
            "{{ list|tojson }}{{ v|tojson }}{{ {'a<': v, 'number': 'number'}|tojson }}",
            "[1.1, 1.10, 2.50, 7]1.10{\"a\\u003c\": 1.10, \"number\": \"number\"}",
        ),
        (
            "{{ huge|join(' ') }} {{ huge|tojson }}",
            "1e400 1e22 1.0e22 [1e400, 1e22, 1.0e22]",
        ),
        ("{{ [v]|tojson(indent=2) }}", "[\n  1.10\n]"),
        (
            "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(v) }}{% if not zero %}{{ zero }}{% endif %}",
            "1.100.00",
        ),
        (
            "{{ v * 2 }} {{ v }} {{ id + 1 }}",
            "2.2 1.10 12345678901234567890124",
        ),
        (
            "{% if score >= 0.8 %}pass{% else %}fail{% endif %} {{ score }}",
            "fail 0.70",
        ),
        (
            "{{ list|sum }} {{ score * 10 }} {{ 0.25 + 0.5 }}",
            "11.7 7.0 0.75",
        ),
    ] {
        assert_eq!(render(body, given.clone()).unwrap(), expected, "{body}");
    }
    assert_eq!(
        render(
            "{{ v + 1 }} {% for v in list %}{{ v }} {% endfor %}",
            given.clone()
        )
        .unwrap(),
        "2.1 1.1 1.10 2.50 7 "
    );
    assert_eq!(
        render(
            "{{ list|sum }}{% for v in list %}{{ v }}{% endfor %}",
            given
        )
        .unwrap_err(),
        "t.md:4: invalid operation: the number `1.1` is given in two ways of writing; put them in quotes"
    );
}

#[test]
fn errors_name_the_line_in_the_file() {
    for (body, given, expected) in [
        (
            "a\n{{ user.nam }}",
            json!({"user": {}}),
            "t.md:5: `user.nam` is undefined",
        ),
        ("{{ x }}", json!({"x": null}), "t.md:4: `x` is undefined"),
        (
            "\n\na\n{% if x %}b{% endif %}",
            json!({}),
            "t.md:7: `x` is undefined",
        ),
        (
            "{{ debug() }}",
            json!({}),
            "t.md:4: no function named `debug`",
        ),
        (
            "{{ 'a'|nope }}",
            json!({}),
            "t.md:4: no filter named `nope`",
        ),
        ("{{ 1 is nope }}", json!({}), "t.md:4: no test named `nope`"),
        (
            "a\n{% if %}",
            json!({}),
            "t.md:5: syntax error: unexpected end of block",
        ),
        (
            "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
            json!({}),
            "t.md:4: does not end within 10000000 steps",
        ),
        (
            "{% for a in range(9999) %}{{ x }}{% endfor %}",
            json!({"x": "x".repeat(10_000)}),
            "t.md:4: prints more than 67108864 bytes",
        ),
    ] {
        assert_eq!(render(body, given).unwrap_err(), expected, "{body}");
    }
}

#[test]
fn there_is_no_way_out_of_the_set() {
    for (body, given, expected) in [
        (
            "{% include '../t.md' %}",
            json!({}),
            "t.md:4: no template named `../t.md` (there are: `t.md`)",
        ),
        (
            "{% extends '/etc/passwd' %}",
            json!({}),
            "t.md:4: no template named `/etc/passwd` (there are: `t.md`)",
        ),
        (
            "{% import 'x' as y %}",
            json!({}),
            "t.md:4: no template named `x` (there are: `t.md`)",
        ),
        (
            "{% include ['x', 'y'] %}",
            json!({}),
            "t.md:4: none of the templates exists (there are: `t.md`)",
        ),
    ] {
        assert_eq!(render(body, given).unwrap_err(), expected, "{body}");
    }
    let inner = render("{% include name %}", json!({"name": "\u{0}0"})).unwrap_err();
    assert!(inner.starts_with("t.md:4: no template named `"), "{inner}");
}

#[test]
fn a_template_that_is_not_found_is_told_with_those_that_are() {
    let set = set(&[("t.md", &jinja("{% include 'x' %}")), ("u.md", "")]);
    let error = render_in(&set, "t", json!({})).unwrap_err();
    assert_eq!(error.found(), Some("x"));
    assert_eq!(error.allowed(), ["t.md", "u.md"]);
}

#[test]
fn templates_of_the_set_see_each_other() {
    let set = set(&[
        (
            "a.md",
            &jinja(
                "[{% include 'b.md' %}|{% include 'see' %}|{% include 'c' %}]{% include 'x' ignore missing %}",
            ),
        ),
        ("b.md", &jinja("{{ x }}")),
        ("c.md", "---\nname: see\n---\nplain {{ y }}"),
        ("bad.md", &jinja("{% if %}")),
        ("outer.md", &jinja("1\n2\n{% include 'inner' %}")),
        ("inner.md", &jinja("a\n{{ nope }}")),
        (
            "child.md",
            &jinja("{% extends 'base' %}{% block b %}{{ x }}{% endblock %}"),
        ),
        ("base.md", &jinja("<{% block b %}{% endblock %}>")),
        (
            "macro.md",
            &jinja("{% macro m(x) %}*{{ x }}*{% endmacro %}"),
        ),
        (
            "user.md",
            &jinja("{% from 'macro.md' import m %}{{ m(x) }}"),
        ),
    ]);
    let given = json!({"x": 1, "y": 2, "z": 3});
    let text = |name| {
        render_in(&set, name, given.clone())
            .unwrap()
            .body
            .text()
            .to_owned()
    };
    assert_eq!(text("a"), "[1|plain 2|plain 2]");
    assert_eq!(text("child"), "<1>");
    assert_eq!(text("user"), "*1*");
    assert_eq!(render_in(&set, "a", given.clone()).unwrap().unused, ["z"]);
    let error = render_in(&set, "outer", given).unwrap_err();
    assert_eq!(error.to_string(), "inner.md:5: `nope` is undefined");
}

#[test]
fn literal_text_leads_to_the_file_and_a_value_to_its_field() {
    let text = jinja("a {{ x }}");
    let set = set(&[("t.md", &text)]);
    let rendered = render_in(&set, "t", json!({"x": "b", "y": "c"})).unwrap();
    assert_eq!(
        traces(&rendered.body),
        ["`a ` template:t.md:4", "`b` input:vars.x:1"]
    );
    assert_eq!(rendered.unused, ["y"]);
    assert_eq!(rendered.missing, Vec::<String>::new());
}

#[test]
fn defaults_fill_in_first_and_a_guest_can_be_rendered() {
    let text = "---\nengine: jinja\nvariables: [{name: x, default: D}, {name: y, default: E}]\n---\n{{ x }}{{ y }}{% include 'b' %}";
    let (guest, _) = Template::parse("guest.md", text.to_owned());
    let set = set(&[("b.md", "!")]);
    let given = map(json!({"x": null, "y": ""}));
    let rendered = set.render(&guest, values(&given), Missing::Error).unwrap();
    assert_eq!(rendered.body.text(), "D!");
    let (guest, _) = Template::parse("guest.md", jinja("a\n{{ x }}"));
    let error = set
        .render(&guest, values(&map(json!({}))), Missing::Empty)
        .unwrap_err();
    assert_eq!(error.to_string(), "guest.md:5: `x` is undefined");
}

#[test]
fn templates_that_include_each_other_are_refused() {
    let set = set(&[
        ("a.md", &jinja("{% include 'b' %}")),
        ("b.md", &jinja("x\n{%- include [\"none\", \"c.md\"] -%}")),
        (
            "c.md",
            &jinja(
                "{# {% include 'd' %} #}{{ '{% include \"d\" %}' }}{% raw %}{% include 'd' %}{% endraw %}\n\n{% extends 'b.md' %}",
            ),
        ),
        ("d.md", &jinja("{% import 'd' as d %}")),
        (
            "e.md",
            &jinja("ok{% if false %}{% include 'f' %}{% endif %}"),
        ),
        ("f.md", "{% include 'f' %}"),
        ("g.md", &jinja("ok")),
    ]);
    let told = |name| {
        render_in(&set, name, json!({}))
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        told("a"),
        "c.md:6: templates include each other: `b.md → c.md → b.md`"
    );
    assert_eq!(
        told("d"),
        "d.md:4: templates include each other: `d.md → d.md`"
    );
    assert_eq!(
        told("e"),
        "f.md:1: templates include each other: `f.md → f.md`"
    );
    assert_eq!(render_in(&set, "g", json!({})).unwrap().body.text(), "ok");
    assert_eq!(set.include_cycle().unwrap().to_string(), told("a"));
    let own = set.check();
    assert!(lines(&own).contains(&told("a")), "{own:?}");
}

#[test]
fn tags_are_found_past_raw_blocks_and_hostile_braces() {
    let raw = jinja("{% raw %}{% {%- x %}{% include 'a' %}{%- endraw +%}{% include 'b' %}");
    let set = set(&[("a.md", &raw), ("b.md", &jinja("{% include 'a' %}"))]);
    assert_eq!(
        set.include_cycle().unwrap().to_string(),
        "b.md:4: templates include each other: `a.md → b.md → a.md`"
    );
    let start = std::time::Instant::now();
    for hostile in ["{%", "{{", "{#", "{% raw %}{%", "{%'", "{% include '"] {
        let body = jinja(&format!("{{% raw %}}{}%}}", hostile.repeat(200_000)));
        let told = lines(&super::set(&[("t.md", &body)]).check());
        assert_eq!(
            told.last().unwrap(),
            "t.md: syntax error: a line is longer than 65534 bytes"
        );
        super::set(&[("t.md", &body.replace("{%", "{%\n").replace("{{", "{{\n"))]).check();
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(30));
}

#[test]
fn recursion_by_a_computed_name_ends() {
    for body in [
        "{% include me %}",
        "{% extends me %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    ] {
        let error = render(body, json!({"me": "t.md"})).unwrap_err();
        assert!(error.starts_with("t.md:4: "), "{error}");
    }
}
