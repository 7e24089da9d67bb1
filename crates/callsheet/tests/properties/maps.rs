//! What holds for every composition: all bytes are mapped, nothing is lost unrecorded, the same input gives the same bytes.

use callsheet::recipe::{built_in, suffixes};
use callsheet::source_map::{FRAME, MapSpan};
use callsheet::trace::Transform;
use callsheet::{Composition, Inputs, Options, Recipe, Root, compose};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use crate::cases;
use crate::project::{Project, STORIES, any_project, any_text};

fn composed(recipe: &str, input: &Value, project: &Project) -> Composition {
    let recipe = built_in(recipe).unwrap().unwrap();
    let inputs = Inputs::new(Root::open(project.root()).unwrap());
    compose(recipe, input, &inputs, &Options::default()).unwrap()
}

/// Returns the text at a path such as `context[0].data.key` of an input.
fn field(input: &Value, path: &str) -> Option<String> {
    let pointer = path.replace('[', "/").replace(']', "").replace('.', "/");
    let value = input.pointer(&format!("/{pointer}"))?;
    Some(
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned),
    )
}

/// Returns the bytes of what a span came from; nothing for what was computed.
fn source_bytes(span: &MapSpan, input: &Value, project: &Project) -> Option<Vec<u8>> {
    let (kind, name) = span.source.split_once(':').unwrap();
    match kind {
        "file" => Some(project.read(name)),
        "template" => Some(project.read(&format!("prompts/{name}"))),
        "input" => Some(field(input, name).unwrap().into_bytes()),
        _ => None,
    }
}

/// Checks that a map covers every byte, and that every byte is the one it points to.
pub(crate) fn assert_mapped(
    composition: &Composition,
    input: &Value,
    project: &Project,
) -> TestCaseResult {
    let text = &composition.text;
    let mut end = 0;
    let mut joined = String::new();
    for span in &composition.source_map.spans {
        prop_assert_eq!(span.start, end, "a gap, or an overlap");
        prop_assert!(span.end > span.start);
        end = span.end;
        joined.push_str(&text[span.start..span.end]);
        prop_assert_eq!(composition.source_map.at(span.start), Some(span));
        if span.source == FRAME {
            continue;
        }
        let Some(source) = source_bytes(span, input, project) else {
            continue;
        };
        let (from, to) = (span.source_start.unwrap(), span.source_end.unwrap());
        let printed = &text.as_bytes()[span.start..span.end];
        match span.transform {
            None => prop_assert_eq!(printed, &source[from..to], "{:?}", span),
            Some(Transform::Newline) => {
                prop_assert!(matches!(printed, b"\n" | b"\\n"));
                prop_assert_eq!(&source[from..to], b"\r");
            }
            Some(_) => prop_assert!(from <= to && to <= source.len()),
        }
        if span.transform != Some(Transform::Converted) {
            let lines = source[..from].iter().enumerate();
            // Only files are normalised.
            let file = !span.source.starts_with("input:");
            let lines = lines.filter(|&(at, &byte)| {
                byte == b'\n' || (file && byte == b'\r' && source.get(at + 1) != Some(&b'\n'))
            });
            prop_assert_eq!(span.line, Some(lines.count() + 1), "{:?}", span);
        }
    }
    prop_assert_eq!(end, text.len());
    prop_assert_eq!(&joined, text);
    Ok(())
}

/// Checks that composing again changes nothing, neither in the prompt nor in what explains it.
pub(crate) fn assert_same(one: &Composition, other: &Composition) -> TestCaseResult {
    prop_assert_eq!(&one.text, &other.text);
    prop_assert_eq!(
        json!(one.manifest).to_string(),
        json!(other.manifest).to_string()
    );
    prop_assert_eq!(
        json!(one.source_map).to_string(),
        json!(other.source_map).to_string()
    );
    Ok(())
}

fn any_injection() -> impl Strategy<Value = Value> {
    let keys = prop::collection::vec("[ab]-[12]", 0..3);
    let framing = prop_oneof![Just("exact"), Just("unique")];
    let matching = prop_oneof![Just("key"), Just("substring")];
    (keys, any::<[bool; 3]>(), framing, matching).prop_map(|(keys, flags, framing, matching)| {
        json!({"command_name": "c", "story_keys": keys, "include_project_context": flags[0],
            "include_discovery": flags[1], "include_tech_spec": flags[2], "framing": framing, "match": matching,
            "additional_files": ["gone.md", "notes.md", "./notes.md"],
            "limits": {"error_bytes": 10_000_000}})
    })
}

fn any_pack() -> impl Strategy<Value = Value> {
    let format = prop_oneof![Just("xml"), Just("markdown"), Just("json")];
    (format, any::<bool>()).prop_map(|(format, hidden)| json!({"format": format, "hidden": hidden}))
}

fn any_layers() -> impl Strategy<Value = Value> {
    let content = (any_text(), "[a-z_ß]{0,6}")
        .prop_map(|(text, name)| json!({"name": name, "content": text}));
    let data = (
        prop::collection::btree_map("[a-zA-Z]{1,4}", any_value(), 0..4),
        "[a-z_ß]{0,6}",
    )
        .prop_map(|(data, name)| json!({"name": name, "data": data}));
    let context = prop::collection::vec(prop_oneof![content, data], 0..4);
    let variables = prop::collection::btree_map("[xyz]", any_value(), 0..3);
    let missing = prop_oneof![Just("empty"), Just("keep")];
    (context, variables, any_text(), missing).prop_map(|(context, variables, text, missing)| {
        json!({"prompts_dir": "prompts", "identity": {"name": "me", "variables": variables}, "project_context": text,
            "rules": text, "context": context, "missing": missing})
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any_text().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(json!({"k": [1, "v"]})),
    ]
}

fn any_template() -> impl Strategy<Value = String> {
    let part = prop_oneof![any_text(), "\\{\\{ ?[wxyz] ?\\}\\}"];
    prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn every_byte_of_an_injection_is_mapped(files in any_project(), input in any_injection()) {
        let project = Project::new(&files);
        let composition = composed("injection", &input, &project);
        assert_mapped(&composition, &input, &project)?;
        assert_same(&composition, &composed("injection", &input, &project))?;
    }

    #[test]
    fn every_byte_of_a_pack_is_mapped(files in any_project(), input in any_pack()) {
        let project = Project::new(&files);
        let composition = composed("pack", &input, &project);
        assert_mapped(&composition, &input, &project)?;
        assert_same(&composition, &composed("pack", &input, &project))?;
    }

    #[test]
    fn every_byte_of_layers_is_mapped(template in any_template(), input in any_layers()) {
        let project = Project::new(&[("prompts/me.md".to_owned(), template)]);
        let composition = composed("layers", &input, &project);
        assert_mapped(&composition, &input, &project)?;
        assert_same(&composition, &composed("layers", &input, &project))?;
    }

    #[test]
    fn every_byte_of_messages_is_mapped(files in any_project(), joined in any::<bool>(), texts in any::<[bool; 2]>(), task in any_text()) {
        let project = Project::new(&files);
        let toml = r#"
            shape = "messages"
            separator = " /\n "
            single_system = "joined"
            [frames.quote]
            open = "<q path=\"{path}\">\n"
            close = "</q>"
            [messages.both]
            [[layers]]
            name = "rules"
            text = "Be \"kind\":\n\t{{task}}"
            [[layers]]
            name = "task"
            role = "user"
            message = "both"
            value = "task"
            frame = "quote"
            [[layers]]
            name = "again"
            role = "user"
            message = "both"
            value = "again"
            [[layers]]
            name = "files"
            files = { globs_from = "globs" }
            frame = "quote"
        "#;
        let folder = [("recipe.toml".to_owned(), toml.to_owned())];
        let recipe = Recipe::parse("mine", "recipes/mine", folder.into()).unwrap();
        let again = if texts[0] { task.as_str() } else { "" };
        let globs = if texts[1] { json!(["."]) } else { json!([]) };
        // A glob that matches no file is an error.
        prop_assume!(globs == json!([]) || files.iter().any(|(name, _)| name != ".hidden"));
        let input = json!({"joined": joined, "task": task, "again": again, "globs": globs});
        let inputs = Inputs::new(Root::open(project.root()).unwrap());
        let composition = compose(&recipe, &input, &inputs, &Options::default()).unwrap();
        assert_mapped(&composition, &input, &project)?;
        let messages = serde_json::to_string(&composition.messages()).unwrap();
        prop_assert_eq!(&messages, &composition.text);
        let reading = callsheet::reading::Reading::of(&composition.text);
        for section in &composition.manifest.sections {
            let body = reading.slice(section.start..section.end);
            prop_assert_eq!(callsheet::Fingerprint::of(body), section.fingerprint);
            prop_assert_eq!(section.bytes, section.end - section.start);
        }
        let starts: Vec<usize> = composition.manifest.sections.iter().map(|section| section.start).collect();
        prop_assert!(starts.is_sorted());
    }

    #[test]
    fn place_order_and_age_of_files_do_not_show(files in any_project(), injection in any_injection(), pack in any_pack()) {
        let reversed: Vec<_> = files.iter().rev().cloned().collect();
        let (one, other) = (Project::new(&files), Project::new(&reversed));
        other.age();
        for (recipe, input) in [("injection", &injection), ("pack", &pack)] {
            assert_same(&composed(recipe, input, &one), &composed(recipe, input, &other))?;
        }
    }

    #[test]
    fn a_unique_tag_is_the_shortest_that_occurs_in_no_body(bodies in prop::collection::vec(any_tags(), 1..4)) {
        let files: Vec<_> = bodies.iter().enumerate().map(|(at, body)| (format!("{STORIES}/a-1-{at}.md"), body.clone())).collect();
        let project = Project::new(&files);
        let input = json!({"command_name": "c", "story_keys": ["a-1"], "framing": "unique"});
        let composition = composed("injection", &input, &project);
        let tag = composition.text.strip_prefix("<file_injections").unwrap();
        let suffix = tag.split(' ').next().unwrap();
        let occurs = |suffix: &str| {
            let end = if suffix.is_empty() { ">" } else { "" };
            bodies.iter().any(|body| ["file", "file_injections"].iter().any(|tag| {
                body.contains(&format!("</{tag}{suffix}{end}")) || (!suffix.is_empty() && body.contains(&format!("<{tag}{suffix}")))
            }))
        };
        prop_assert!(!occurs(suffix), "{suffix}");
        for shorter in suffixes().take_while(|shorter| shorter != suffix) {
            prop_assert!(occurs(&shorter), "{shorter} would have done");
        }
        prop_assert!(composition.events.is_empty());
        let close = format!("\n  </file{suffix}>");
        prop_assert_eq!(composition.text.matches(&close).count(), bodies.len());
    }
}

fn any_tags() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("</file>"),
        Just("<file"),
        Just("</file_injections"),
        Just("</file-0"),
        Just("<file-1"),
        Just("<file_injections-2"),
        Just(">"),
        Just("-0"),
        Just("\n  "),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

#[test]
fn every_byte_of_a_recipe_text_is_mapped() {
    let toml = "separator = '|'\n[[layers]]\nname = 'a'\ntext = 'Hi {{x}}!'\n[[layers]]\nname = 'b'\ntext = 'Bye'\n";
    let folder = [("recipe.toml".to_owned(), toml.to_owned())];
    let recipe = Recipe::parse("mine", "recipes/mine", folder.into()).unwrap();
    let composition = compose(
        &recipe,
        &json!({"x": "X"}),
        &Inputs::nowhere(),
        &Options::default(),
    )
    .unwrap();
    let spans = composition.source_map.spans.iter().map(|span| {
        let range = span.source_start.zip(span.source_end);
        (
            &composition.text[span.start..span.end],
            span.layer.as_str(),
            span.source.as_str(),
            range,
        )
    });
    let spans: Vec<_> = spans.collect();
    assert_eq!(
        spans,
        [
            ("Hi ", "a", "recipe:mine/a", Some((0, 3))),
            ("X", "a", "input:x", Some((0, 1))),
            ("!", "a", "recipe:mine/a", Some((8, 9))),
            ("|", FRAME, FRAME, None),
            ("Bye", "b", "recipe:mine/b", Some((0, 3))),
        ]
    );
}
