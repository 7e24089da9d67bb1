//! Any text is a plain template: every placeholder becomes its value once, everything else stays.

use std::collections::BTreeSet;

use callsheet::template::{
    Missing, Placeholder, Rendered, Template, Values, Variable, interpolate, placeholders,
    render_plain,
};
use callsheet::text::{strip, value_text};
use serde_json::{Map, Value, json};

use super::draw;
use super::spans::assert_traced;

const NAME: &str = "one/layer";

const WORDS: &[&str] = &[
    "{{a}}",
    "{{ b }}",
    "{{c}}",
    "{{a.b}}",
    "{{default}}",
    "{{empty}}",
    "{{",
    "}}",
    "{",
    "}",
    "{{{",
    "}}}",
    "{{{{",
    "}}}}",
    "a",
    "b",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\u{1c}",
    "\u{a0}",
    "é",
    "{{{a}}}",
    "{{ {{a}} }}",
    "{{}}",
    "{{\n}}",
];

pub(crate) fn run(data: &[u8]) {
    let text = draw::text(data, WORDS);
    let holes = placeholders(&text);
    assert_holes(&text, &holes);

    let template = Template::inline(NAME, &text);
    let fields = fields();
    let declared = [variable("default", "{{a}}"), variable("empty", "")];
    let is_declared = |name: &str| declared.iter().any(|variable| variable.name == name);
    let render = |fields: &Map<String, Value>, missing| {
        let values = Values {
            map: fields,
            prefix: "",
        };
        let rendered = render_plain(&template.body, values, Some(&declared), missing);
        assert_eq!(
            rendered,
            render_plain(&template.body, values, Some(&declared), missing)
        );
        assert_traced(&rendered.body, NAME, &text);
        rendered
    };
    let value = |name: &str| {
        let default = (name == "default").then(|| "{{a}}".to_owned());
        fields.get(name).and_then(value_text).or(default)
    };

    let kept = render(&fields, Missing::Keep);
    assert_eq!(kept.body.text(), interpolate(&text, value));
    let emptied = render(&fields, Missing::Empty);
    let expected = interpolate(&text, |name| {
        value(name).or_else(|| is_declared(name).then(String::new))
    });
    assert_eq!(emptied.body.text(), expected);
    for rendered in [kept, emptied, render(&fields, Missing::Error)] {
        assert_told(&rendered, &holes, &fields, value);
        assert!(rendered.missing.iter().all(|name| is_declared(name)));
        assert!(!rendered.prose.iter().any(|name| is_declared(name)));
    }

    let plain = render_plain(
        &template.body,
        Values {
            map: &Map::new(),
            prefix: "",
        },
        None,
        Missing::Keep,
    );
    assert_eq!(plain.body, template.body);
}

fn fields() -> Map<String, Value> {
    let fields = json!({"a": "{{b}}", "b": "two\nlines", "c": null, "a.b": {"z": 1, "a": [true]}, "unused": 1});
    fields.as_object().cloned().unwrap_or_default()
}

fn variable(name: &str, default: &str) -> Variable {
    Variable {
        name: name.to_owned(),
        default: Some(default.to_owned()),
        ..Variable::default()
    }
}

fn assert_holes(text: &str, holes: &[Placeholder]) {
    let mut end = 0;
    for hole in holes {
        assert!(hole.range.start >= end, "placeholders overlap");
        end = hole.range.end;
        let inner = text[hole.range.clone()]
            .strip_prefix("{{")
            .and_then(|rest| rest.strip_suffix("}}"));
        let inner = inner.unwrap_or_else(|| panic!("{hole:?} has no braces"));
        assert!(!inner.contains(['{', '}', '\n']), "{hole:?}");
        assert_eq!(strip(inner), hole.name);
        assert!(!hole.name.is_empty());
        assert!(
            !text[..hole.range.start].ends_with('{'),
            "{hole:?} opens with more than two braces"
        );
    }
}

/// What got no value is told once, in order; what was given and not asked for as well.
fn assert_told(
    rendered: &Rendered,
    holes: &[Placeholder],
    fields: &Map<String, Value>,
    value: impl Fn(&str) -> Option<String>,
) {
    let mut seen = BTreeSet::new();
    let missing: Vec<&str> = holes
        .iter()
        .map(|hole| hole.name.as_str())
        .filter(|name| seen.insert(*name) && value(name).is_none())
        .collect();
    let mut told: Vec<&str> = rendered.missing.iter().map(String::as_str).collect();
    told.extend(rendered.prose.iter().map(String::as_str));
    told.sort_by_key(|name| missing.iter().position(|known| known == name));
    assert_eq!(told, missing);
    let unused: Vec<&String> = fields
        .keys()
        .filter(|name| !seen.contains(name.as_str()))
        .collect();
    assert_eq!(rendered.unused.iter().collect::<Vec<_>>(), unused);
}
