//! Any bytes are a template file: it parses, says what is wrong with it, and its body is text of the file.

use callsheet::template::{Language, Missing, Template, TemplateSet, Values};
use callsheet::text::strip;
use serde_json::{Map, Value};

use super::draw;
use super::spans::{assert_traced, normalised};

const FILE: &str = "one.md";

const WORDS: &[&str] = &[
    "---\n",
    "---\r\n",
    "--- \t\n",
    "---",
    "\n",
    "\r",
    "\u{feff}",
    " ",
    "  ",
    "- ",
    ": ",
    "name",
    "name: a\n",
    "name: [b]\n",
    "variables:\n",
    "variables: [a, b]\n",
    "- name: x\n",
    "  default: \"y\"\n",
    "  required: maybe\n",
    "  required: yes\n",
    "tags: [one, two]\n",
    "engine: jinja\n",
    "engine: other\n",
    "version: 1.0\n",
    "&a ",
    "*a",
    "!!str ",
    "|\n",
    ">-\n",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    "#",
    "\t",
    "x",
    "{{x}}",
    "{{ x }}",
    "{% if x %}",
    "{% include 'one' %}",
    "{% for i in range(9) %}",
    "{% endfor %}",
    "{% endif %}",
    "é",
    "\u{2028}",
    "\0",
];

pub(crate) fn run(data: &[u8]) {
    let text = draw::text(data, WORDS);
    let (template, diagnostics) = Template::parse(FILE, text.clone());
    assert_eq!(
        (&template, &diagnostics),
        (
            &Template::parse(FILE, text.clone()).0,
            &Template::parse(FILE, text.clone()).1
        )
    );

    assert_body(&template, &text);
    assert_eq!(template.stem, "one");
    assert!(!strip(&template.name).is_empty());
    for (at, variable) in template.variables.iter().enumerate() {
        assert!(!strip(&variable.name).is_empty());
        let before = &template.variables[..at];
        assert!(before.iter().all(|other| other.name != variable.name));
    }

    let set = TemplateSet::parse([(FILE.to_owned(), text.clone().into_bytes())]);
    assert_eq!(set.diagnostics(), diagnostics);
    let lines = 1 + normalised(&text).matches('\n').count();
    for diagnostic in set.check() {
        assert_eq!(diagnostic.file, FILE);
        assert!(!diagnostic.message.is_empty());
        assert!(
            diagnostic
                .line
                .is_none_or(|line| (1..=lines).contains(&line)),
            "{diagnostic:?}"
        );
    }
    assert_renders(&set, &template);
}

fn assert_body(template: &Template, text: &str) {
    let body = template.body.text();
    assert_traced(&template.body, FILE, text);
    assert_eq!(strip(body), body);
    let whole = normalised(text);
    let whole = strip(whole.strip_prefix('\u{feff}').unwrap_or(&whole)).to_owned();
    assert!(whole.ends_with(body), "the body is not the end of the file");
    if !whole.starts_with("---") {
        assert_eq!(body, whole);
    }
}

/// Both languages: the same text every time, or an error that names the file.
fn assert_renders(set: &TemplateSet, template: &Template) {
    let fields = Map::from_iter([("x".to_owned(), Value::from("{{x}}"))]);
    let values = Values {
        map: &fields,
        prefix: "",
    };
    for missing in [Missing::Empty, Missing::Keep, Missing::Error] {
        let rendered = set.render(template, values, missing);
        assert_eq!(rendered, set.render(template, values, missing));
        match rendered {
            Ok(rendered) => assert_traced(&rendered.body, "", ""),
            Err(error) => {
                assert!(template.language == Language::Jinja || missing == Missing::Error);
                assert_eq!(
                    error.place().map(|place| place.file.as_str()),
                    Some(FILE),
                    "{error}"
                );
            }
        }
    }
}
