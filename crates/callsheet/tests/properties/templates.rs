//! What holds for a recipe that is nothing but templates, whatever anybody writes into its fields.

use callsheet::recipe::Folder;
use callsheet::{Composition, Inputs, Options, Recipe, compose};
use proptest::prelude::*;
use pulldown_cmark::{Event, Parser, Tag};
use serde_json::{Value, json};

use crate::cases;

const RECIPE: &str = r#"
[frames.note]
tag = "note"
open = "<{{tag}}>\n\n"
close = "\n\n</{{tag}}>"

[frames.code]
open = "```\n"
close = "\n```"

[[layers]]
name = "task"
template = "task.md"

[[layers]]
name = "note"
template = "note.md"
frame = "note"

[[layers]]
name = "code"
template = "code.md"
frame = "code"

[[layers]]
name = "end"
text = "{{task.title}} is all.\n\n<end>\n\n## End"
"#;

const TASK: &str = r#"---
engine: jinja
---
{% from "parts.md" import section -%}
# {{ task.title }}

{{ task.description }}

{{ task.title }}{{ task.path }} comes first.

## Criteria
{% for item in task.items %}
- {{ item }}
{%- endfor %}

{{ section("Code", task.description) }}

```{{ task.path }}
{{ task.code }}
```

<file path="{{ task.path }}">
{{ task.description }}
</file>

{"title": "{{ task.title }}", "n": 1}
{% set kept %}
## Kept

{{ task.description|trim }}

> {{ task.title|upper }}
{% endset %}
{{ kept }}

1. {{ task.title }}: {{ task.items|join(", ") }}
2. {{ task.description }}

## Output Format

{{ task.code|fence("text") }}

Path {{ task.path|line }}.
"#;

const PARTS: &str = "---\nengine: jinja\n---\n{% macro section(title, text) %}## {{ title }}\n\n{{ text }}{% endmacro %}";

const NOTE: &str =
    "## Note\n\n{{task.description}}\n\nOf {{task.title}}.\n\n- {{task.path}}\n- {{task.title}}";

const HEADINGS: [usize; 7] = [1, 2, 2, 2, 2, 2, 2];

/// What wants to be structure.
const NASTY: &[&str] = &[
    "# ",
    "## ",
    "##",
    "#",
    "---",
    "===",
    "=",
    "-",
    "- ",
    "* ",
    "+ ",
    "> ",
    "1. ",
    "12) ",
    "1",
    ". ",
    "***",
    "___",
    "```",
    "``",
    "`",
    "~~~~",
    "\\",
    "<!--",
    "-->",
    "<pre>",
    "<div>",
    "<",
    "</",
    "file>",
    "</file>",
    "</note>",
    "<end>",
    "<note>",
    "<?",
    "<![CDATA[",
    "\"",
    "'",
    "{",
    "}",
    "\":",
    "[a]: b",
    "[",
    "]: ",
    "|",
    "| a |",
    "|---|",
    "    ",
    "Output Format",
    "--- end ---",
    "&",
    "&#10;",
    "x",
    "Word",
];

/// What stands between.
const BLANK: &[&str] = &[
    "\n", "\n", "\n", "\r\n", "\r", "\u{2028}", "\u{85}", "\u{b}", " ", "   ", "     ", "\t",
    "\u{0}", "\u{1b}",
];

fn recipe(shape: &str) -> Recipe {
    let files = [
        ("recipe.toml", format!("shape = \"{shape}\"\n{RECIPE}")),
        ("task.md", TASK.to_owned()),
        ("note.md", NOTE.to_owned()),
        ("parts.md", PARTS.to_owned()),
        ("code.md", "code\n{{task.code}}\n\n{{task.code}}".to_owned()),
    ];
    let folder: Folder = files.map(|(name, text)| (name.to_owned(), text)).into();
    Recipe::parse("mine", "callsheet/recipes/mine", folder).unwrap()
}

fn composed(shape: &str, input: &Value) -> Composition {
    compose(
        &recipe(shape),
        input,
        &Inputs::nowhere(),
        &Options::default(),
    )
    .unwrap()
}

/// Texts full of Markdown, XML, JSON and control characters.
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        5 => prop::sample::select(NASTY).prop_map(str::to_owned),
        4 => prop::sample::select(BLANK).prop_map(str::to_owned),
        1 => "[a-zé\"]{0,4}",
        1 => any::<String>(),
    ];
    prop::collection::vec(part, 0..10).prop_map(|parts| parts.concat())
}

prop_compose! {
    fn any_input()(
        title in any_text(),
        description in any_text(),
        path in any_text(),
        code in any_text(),
        items in prop::collection::vec(any_text(), 1..4),
    ) -> Value {
        json!({"task": {"title": title, "description": description, "path": path, "code": code, "items": items}})
    }
}

/// Returns the levels of the headings that a Markdown parser finds, and the items of the list below the second one.
fn structure(text: &str) -> (Vec<usize>, usize) {
    let (mut levels, mut items) = (Vec::new(), 0);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => levels.push(level as usize),
            Event::Start(Tag::Item) if levels.len() == 2 => items += 1,
            _ => {}
        }
    }
    (levels, items)
}

/// Returns the headings that a reader who goes line by line finds, however it breaks lines.
fn headings(text: &str) -> Vec<&str> {
    let breaks = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}',
        '\u{2029}',
    ];
    let lines = text.split(breaks).map(str::trim);
    lines.filter(|line| line.starts_with("## ")).collect()
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn structure_is_that_of_the_recipe(input in any_input()) {
        let text = composed("text", &input).text;
        let (levels, items) = structure(&text);
        prop_assert_eq!(levels, HEADINGS.to_vec(), "{}", text);
        prop_assert_eq!(items, input["task"]["items"].as_array().unwrap().len(), "{}", text);
        let expected = ["## Criteria", "## Code", "## Kept", "## Output Format", "## Note", "## End"];
        prop_assert_eq!(headings(&text), expected.as_slice(), "{}", text);
        for tag in ["<file", "</file>", "<note>", "</note>", "<end"] {
            prop_assert_eq!(text.matches(tag).count(), 1, "{} {}", tag, text);
        }
        let line = text.lines().find(|line| line.starts_with("{\"title\": ")).unwrap();
        let json: Value = serde_json::from_str(line).unwrap();
        prop_assert_eq!(&json["title"], &input["task"]["title"]);
        let path = text.lines().find(|line| line.starts_with("<file path=\"")).unwrap();
        prop_assert!(path.ends_with("\">") && path.matches('"').count() == 2, "{}", path);
    }

    #[test]
    fn messages_are_those_of_the_recipe(input in any_input()) {
        let composition = composed("messages", &input);
        let list: Value = serde_json::from_str(&composition.text).unwrap();
        prop_assert_eq!(list.as_array().unwrap().len(), 4);
        let read: Vec<Vec<usize>> = composition.messages().iter().map(|one| structure(&one.content).0).collect();
        prop_assert_eq!(read, vec![vec![1, 2, 2, 2, 2], vec![2], vec![], vec![2]]);
    }

    #[test]
    fn every_byte_is_at_its_recorded_origin(input in any_input()) {
        let composition = composed("text", &input);
        prop_assert!(composition.source_map.covers(&composition.text));
        let recipe = recipe("text");
        for span in composition.source_map.spans.iter().filter(|span| span.transform.is_none()) {
            let Some((kind, name)) = span.source.split_once(':') else { continue };
            let whole = match kind {
                "input" => {
                    let pointer = format!("/{}", name.replace(['.', '['], "/").replace(']', ""));
                    input.pointer(&pointer).unwrap().as_str().unwrap().to_owned()
                }
                "template" => recipe.folder()[name].clone(),
                _ => continue,
            };
            let range = span.source_start.unwrap()..span.source_end.unwrap();
            prop_assert_eq!(&composition.text[span.start..span.end], &whole[range], "{}", span.source);
        }
    }
}
