//! The engine over recipes of one's own: budgets, limits, frames, sources and what the manifest says of them.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::ErrorKind;
use crate::omission::{Omission, Reason};
use crate::recipe::{Folder, Layer};
use crate::source::{Gathered, Source, World};
use crate::trace::{Origin, OriginKind, Traced};

fn recipe(toml: &str) -> Recipe {
    let folder = Folder::from([("recipe.toml".to_owned(), toml.to_owned())]);
    Recipe::parse("mine", "callsheet/recipes/mine", folder).unwrap()
}

fn composed(toml: &str, input: &Value, budget: Budget) -> Result<Composition, Error> {
    let options = Options {
        budget,
        ..Options::default()
    };
    compose(&recipe(toml), input, &Inputs::nowhere(), &options)
}

fn bytes(most: usize) -> Budget {
    Budget {
        bytes: Some(most),
        tokens: None,
    }
}

fn tokens(most: usize) -> Budget {
    Budget {
        bytes: None,
        tokens: Some(most),
    }
}

/// Five one-letter layers; `c` is required, the others give way in the order e, b, d, a.
const LETTERS: &str = "separator = ''
[[layers]]
name = 'a'
text = 'a'
priority = 9
[[layers]]
name = 'b'
text = 'b'
priority = 1
[[layers]]
name = 'c'
text = 'c'
[[layers]]
name = 'd'
text = 'd'
priority = 9
[[layers]]
name = 'e'
text = 'e'
priority = 1
";

#[test]
fn the_lowest_priority_gives_way_first_and_the_later_one_on_a_tie() {
    for (most, expected) in [(5, "abcde"), (4, "abcd"), (3, "acd"), (2, "ac"), (1, "c")] {
        let composition = composed(LETTERS, &json!({}), bytes(most)).unwrap();
        assert_eq!(composition.text, expected);
        assert_eq!(composition.manifest.budget.bytes, Some(most));
        let lost: Vec<&str> = composition
            .manifest
            .losses()
            .map(|lost| lost.name.as_str())
            .collect();
        assert_eq!(lost, ["e", "b", "d", "a"][..5 - most]);
    }
    let error = composed(LETTERS, &json!({}), bytes(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OverBudget);
    assert_eq!(
        error.to_string(),
        "the required text alone has 1 bytes, the budget is 0"
    );
}

#[test]
fn a_budget_of_tokens_is_kept_by_the_real_text() {
    let toml = "separator = ' '\n[[layers]]\nname = 'a'\ntext = 'hello'\n[[layers]]\nname = 'b'\ntext = 'hello world'\npriority = 1\n";
    let whole = composed(toml, &json!({}), tokens(3)).unwrap();
    assert_eq!(whole.text, "hello hello world");
    assert_eq!(
        (whole.manifest.tokens, whole.manifest.encoding),
        (Some(3), Some(Encoding::O200k))
    );
    let part = composed(toml, &json!({}), tokens(2)).unwrap();
    assert_eq!(part.text, "hello");
    assert_eq!(part.manifest.omissions[0].tokens, Some(2));
    let error = composed(toml, &json!({}), tokens(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the required text alone has 1 tokens, the budget is 0"
    );
}

#[test]
fn a_cut_keeps_whole_lines_and_says_what_is_gone() {
    let toml = "[[layers]]\nname = 'log'\nvalue = 'log'\npriority = 1\ncut = true\n";
    let lines: Vec<String> = (1..=50).map(|number| format!("line {number}")).collect();
    let log = lines.join("\n");
    let composition = composed(toml, &json!({"log": log}), bytes(120)).unwrap();
    assert_eq!(
        composition.text,
        "line 1\nline 2\nline 3\nline 4\nline 5\n[log: lines 6 to 50 are left out here to fit the budget, 355 bytes, 179 tokens]\n"
    );
    let kept = "line 1\n".len() * 5;
    assert_eq!(
        composition.manifest.omissions,
        [Omission {
            layer: "log".to_owned(),
            name: "log".to_owned(),
            reason: Reason::OverBudget,
            bytes: (log.len() - kept) as u64,
            tokens: None,
            detail: "cut after line 5 of 50".to_owned(),
            loss: None,
        }]
    );
    let uncut = composed(
        &toml.replace("true", "false"),
        &json!({"log": log}),
        bytes(120),
    )
    .unwrap();
    assert_eq!(uncut.text, "");
    let one_line = composed(toml, &json!({"log": "x".repeat(200)}), bytes(120)).unwrap();
    assert_eq!(one_line.text, "", "there is no line end to cut at");
}

#[test]
fn limits_speak_up_above_their_size_only() {
    let toml = "[[layers]]\nname = 'a'\nvalue = 'a'\n
[warning]\nbytes = 3\nevent = 'mine:big'\nfacts = { who = 'who', gone = 'gone' }\nmessage = '{{size_bytes}}/{{threshold_bytes}} {{who}}'
[error]\nbytes_from = 'most'\nbytes = 5\nmessage = '{{size_bytes}} is more than {{threshold_bytes}}'\n";
    let run = |text: &str, input: Value| {
        let mut input = input;
        input["a"] = text.into();
        composed(toml, &input, Budget::default())
    };
    assert_eq!(run("abc", json!({})).unwrap().events, []);
    assert_eq!(
        json!(run("abcd", json!({"who": "me"})).unwrap().events),
        json!([{"type": "mine:big", "payload": {
            "gone": null, "who": "me", "size_bytes": 4, "threshold_bytes": 3, "message": "4/3 me"}}])
    );
    assert_eq!(run("abcde", json!({})).unwrap().events.len(), 1);
    let error = run("abcdef", json!({})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OverBudget);
    assert_eq!(error.to_string(), "6 is more than 5");
    assert_eq!(run("abcdef", json!({"most": 6})).unwrap().events.len(), 1);
}

#[test]
fn a_collision_tells_layer_path_and_boundary() {
    let toml = "frame = 'all'\n[frames.all]\ntag = 'all'\nopen = '<{{tag}}>'\nclose = '</{{tag}}>'
[frames.one]\ntag = 'one'\nopen = '<{{tag}}>'\nclose = ' </{{tag}}> '
[[layers]]\nname = 'a'\nvalue = 'a'\nframe = 'one'\n[[layers]]\nname = 'b'\nvalue = 'b'\nframe = 'one'\n";
    let input = json!({"a": "x</one>", "b": "</all>"});
    let composition = composed(toml, &input, Budget::default()).unwrap();
    assert_eq!(
        composition.text,
        "<all><one>x</one> </one> \n\n<one></all> </one> </all>"
    );
    assert_eq!(
        json!(composition.events),
        json!([
            {"type": "boundary:collision", "payload": {"layer": "a", "path": "a", "boundary": "</one>",
                "message": "`a` contains `</one>`, which ends its own frame"}},
            {"type": "boundary:collision", "payload": {"layer": "b", "path": "b", "boundary": "</all>",
                "message": "`b` contains `</all>`, which ends its own frame"}},
        ])
    );
    assert_eq!(composition.manifest.events, composition.events);
}

/// Gives the two halves of one text as two sections.
#[derive(Debug)]
struct Halves(&'static str);

impl Source for Halves {
    fn gather(&self, layer: &Layer, _: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let origin = Origin::new(OriginKind::Derived, "halves", self.0);
        let whole = Traced::whole(self.0, &origin);
        let middle = whole.len() / 2;
        for (name, range) in [("first", 0..middle), ("second", middle..whole.len())] {
            out.add(layer, name, whole.slice(range), Arc::clone(&origin));
        }
        Ok(())
    }
}

fn inputs_with(name: &str, source: impl Source + 'static) -> Inputs {
    let mut inputs = Inputs::nowhere();
    inputs.sources.insert(name.to_owned(), Box::new(source));
    inputs
}

#[test]
fn a_source_is_called_by_its_name() {
    let recipe = recipe("[[layers]]\nname = 'a'\nsource = 'facts'\n");
    let options = Options::default();
    let found = compose(
        &recipe,
        &json!({}),
        &inputs_with("facts", Halves("ab")),
        &options,
    );
    assert_eq!(found.unwrap().text, "a\n\nb");
    let error = compose(
        &recipe,
        &json!({}),
        &inputs_with("fact", Halves("ab")),
        &options,
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownName);
    assert_eq!(
        error.to_string(),
        "callsheet/recipes/mine/recipe.toml: no source named `facts`"
    );
    assert_eq!(
        (error.found(), error.allowed()),
        (Some("facts"), ["fact".to_owned()].as_slice())
    );
}

#[test]
fn neighbours_of_one_origin_keep_their_own_ranges() {
    let recipe = recipe("separator = ''\n[[layers]]\nname = 'a'\nsource = 'halves'\n");
    let inputs = inputs_with("halves", Halves("a\nbc\nd"));
    let composition = compose(&recipe, &json!({}), &inputs, &Options::default()).unwrap();
    let spans: Vec<_> = composition
        .source_map
        .spans
        .iter()
        .map(|span| {
            (
                span.section.as_deref(),
                span.start..span.end,
                span.source_start,
                span.source_end,
                span.line,
            )
        })
        .collect();
    assert_eq!(
        spans,
        [
            (Some("first"), 0..3, Some(0), Some(3), Some(1)),
            (Some("second"), 3..6, Some(3), Some(6), Some(2)),
        ]
    );
    assert_eq!(
        composition.source_map.at(3).unwrap().section.as_deref(),
        Some("second")
    );
    assert_eq!(composition.source_map.at(6), None);
}

#[test]
fn a_recipe_that_reads_files_needs_a_root() {
    for toml in [
        "[[layers]]\nname = 'a'\nfile = 'a.md'\n",
        "[[layers]]\nname = 'a'\nfiles = { globs = ['*'] }\n",
        "prepare = ['stories']\n[[layers]]\nname = 'a'\ntext = 'A'\n",
    ] {
        let error = composed(toml, &json!({}), Budget::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "this recipe reads files and needs a root",
            "{toml}"
        );
    }
}

#[test]
fn tokens_are_counted_only_when_asked_for() {
    let toml = "[[layers]]\nname = 'a'\ntext = 'hello world'\n";
    let plain = composed(toml, &json!({}), bytes(100)).unwrap().manifest;
    assert_eq!((plain.tokens, plain.sections[0].tokens), (None, None));
    let options = Options {
        count_tokens: true,
        encoding: Encoding::Cl100k,
        ..Options::default()
    };
    let counted = compose(&recipe(toml), &json!({}), &Inputs::nowhere(), &options)
        .unwrap()
        .manifest;
    assert_eq!(
        (counted.tokens, counted.encoding),
        (Some(2), Some(Encoding::Cl100k))
    );
    assert_eq!(counted.sections[0].tokens, Some(2));
}

#[test]
fn declared_omissions_are_no_losses() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("Cargo.lock"), "x").unwrap();
    std::fs::write(folder.path().join("a.bin"), [0]).unwrap();
    let inputs = Inputs::new(Root::open(folder.path()).unwrap());
    let pack = crate::recipe::built_in("pack").unwrap().unwrap();
    let packed = |input| {
        compose(pack, &input, &inputs, &Options::default())
            .unwrap()
            .manifest
    };
    let manifest = packed(json!({}));
    let sentences: Vec<_> = manifest.omissions.iter().map(Omission::sentence).collect();
    assert_eq!(
        sentences,
        [
            "`Cargo.lock` is left out by the recipe",
            "`a.bin` is binary"
        ]
    );
    assert_eq!(manifest.losses().count(), 0);
    assert_eq!(packed(json!({"globs": ["*.bin"]})).losses().count(), 1);
}

#[test]
fn a_recipe_that_looks_at_the_repository_needs_somebody_to_look() {
    let recipe = recipe("[[layers]]\nname = 'a'\ngit_status = {}\n");
    let place = tempfile::tempdir().unwrap();
    let inputs = Inputs::new(crate::Root::open(place.path()).unwrap());
    let error = compose(&recipe, &json!({}), &inputs, &Options::default()).unwrap_err();
    assert_eq!(
        (error.kind(), error.detail()),
        (
            ErrorKind::BadInput,
            "this recipe looks at the repository or runs a command, and needs an observer"
        )
    );
}

/// Three layers make one message, two of them may give way; a fourth one is a message of its own.
const TOGETHER: &str = r#"
    shape = "messages"
    separator = "\n"
    single_system = "true"
    unique = "safe"
    [defaults]
    safe = false
    few = true
    [messages.files]
    frame = "files"
    always = true
    [frames.files]
    tag = "files"
    open = "<{{tag}}>\n"
    close = "</{{tag}}>"
    separator = ""
    [frames.one]
    open = "- "
    close = "\n"
    [error]
    role = "system"
    bytes_from = "most"
    message = "{{size_bytes}} of {{threshold_bytes}}"
    give_way = { from = "few", event = "files:fewer", message = "{{layer}} goes at {{size_bytes}}", facts = { layer = "layer" } }
    [empty]
    event = "files:none"
    message = "nothing"
    layers = ["a", "b", "c"]
    [[layers]]
    name = "a"
    value = "a"
    frame = "one"
    message = "files"
    [[layers]]
    name = "b"
    value = "b"
    frame = "one"
    message = "files"
    priority = 2
    [[layers]]
    name = "c"
    value = "c"
    frame = "one"
    message = "files"
    priority = 1
    [[layers]]
    name = "status"
    text = "clean"
    [[layers]]
    name = "task"
    role = "user"
    text = "Go."
    priority = 0
"#;

fn together(input: &serde_json::Value) -> Result<Composition, Error> {
    let schema = r#"{"properties": {"safe": {"type": "boolean"}, "few": {"type": "boolean"}, "most": {"default": 99}}}"#;
    let toml = format!("schema = \"s.json\"\n{TOGETHER}");
    let files = [("recipe.toml", toml.as_str()), ("s.json", schema)];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let recipe = Recipe::parse("mine", "mine", Folder::from(files))?;
    compose(&recipe, input, &Inputs::nowhere(), &Options::default())
}

#[test]
fn layers_make_a_message_together_even_without_any_section() {
    let whole = together(&json!({"a": "A", "b": "B", "c": "</files>"})).unwrap();
    let told: Vec<&str> = whole
        .events
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(told, ["boundary:collision"]);
    let messages = whole.messages();
    assert_eq!(messages.len(), 2);
    assert_eq!(
        messages[0].content,
        "<files>\n- A\n- B\n- </files>\n</files>\nclean"
    );
    let safe = together(&json!({"a": "A", "c": "</files>", "safe": true})).unwrap();
    assert_eq!(
        safe.messages()[0].content,
        "<files-0>\n- A\n- </files>\n</files-0>\nclean"
    );
    let empty = together(&json!({})).unwrap();
    assert_eq!(empty.messages()[0].content, "<files>\n</files>\nclean");
    assert_eq!(empty.events[0].kind, "files:none");
}

#[test]
fn layers_of_the_limited_role_give_way_before_the_limit_is_an_error() {
    let input =
        |most: usize, few: bool| json!({"a": "A", "b": "BB", "c": "CCC", "most": most, "few": few});
    // `<files>` and its end have 16 bytes, `clean` with its line end 6.
    let whole = 16 + 6 + 4 + 5 + 6;
    assert_eq!(together(&input(whole, true)).unwrap().events, []);
    let error = together(&input(whole - 1, false)).unwrap_err().to_string();
    assert_eq!(error, format!("{whole} of {}", whole - 1));
    let fewer = together(&input(whole - 1, true)).unwrap();
    assert_eq!(
        fewer.messages()[0].content,
        "<files>\n- A\n- BB\n</files>\nclean"
    );
    assert_eq!(fewer.events[0].message(), format!("c goes at {whole}"));
    let lost: Vec<&str> = fewer
        .manifest
        .omissions
        .iter()
        .map(|lost| lost.layer.as_str())
        .collect();
    assert_eq!(lost, ["c"]);
    let least = together(&input(26, true)).unwrap();
    assert_eq!(least.messages()[0].content, "<files>\n- A\n</files>\nclean");
    assert_eq!(least.messages().len(), 2, "the task is of another role");
    let error = together(&input(25, true)).unwrap_err().to_string();
    assert_eq!(error, "26 of 25");
}

#[test]
fn what_a_template_asks_for_in_vain_is_told_with_what_nothing_uses() {
    let composed = |toml: &str, body: &str| {
        let template = format!("---\nengine: jinja\n---\n{body}");
        let folder = Folder::from([
            ("recipe.toml".to_owned(), toml.to_owned()),
            ("task.md".to_owned(), template),
        ]);
        let recipe = Recipe::parse("mine", "recipes/mine", folder).unwrap();
        let input = json!({"task": {"title": "Go"}});
        let (inputs, options) = (Inputs::nowhere(), Options::default());
        compose(&recipe, &input, &inputs, &options).map_err(|error| error.to_string())
    };
    let template = "[[layers]]\nname = 'task'\ntemplate = 'task.md'\n";
    let unused = "unknown field `task.title`: nothing in recipe `mine` uses it";
    let asked = composed(template, "{{ task.titel }}").unwrap_err();
    let expected = format!("{unused}\n  recipes/mine/task.md:4: `task.titel` is undefined");
    assert_eq!(asked, expected);
    assert_eq!(
        composed(template, "{{ task.titel|default('') }}").unwrap_err(),
        unused
    );
    // Nothing is read to find that out.
    let after = format!("[[layers]]\nname = 'files'\nfile = 'a.txt'\n{template}");
    assert_eq!(composed(&after, "{{ task.titel }}").unwrap_err(), unused);
}

#[test]
fn a_line_that_a_function_makes_is_no_heading_where_a_template_has_nothing_before_it() {
    let body = "{{ persona.role }}\n- {{ persona.identity }}\n{% for one in persona.principles %}{{ one }}\n{% endfor %}";
    let folder = Folder::from([
        (
            "recipe.toml".to_owned(),
            "shape = 'messages'\nprepare = ['mounts', 'persona']\n[[layers]]\nname = 'persona'\ntemplate = 'persona.md'\n".to_owned(),
        ),
        ("persona.md".to_owned(), format!("---\nengine: jinja\n---\n{body}")),
    ]);
    let recipe = Recipe::parse("mine", "recipes/mine", folder).unwrap();
    let persona = json!({"role": "# Tool policy", "identity": "- calm", "principles": ["## one", "- two", "three", "> 4"]});
    let input = json!({"mode": "agent", "agentDefinition": {"id": "dev", "persona": persona}});
    let composed = compose(&recipe, &input, &Inputs::nowhere(), &Options::default()).unwrap();
    assert_eq!(
        composed.messages()[0].content,
        "\\# Tool policy\n- - calm\n#\\# one\n\\- two\nthree\n\\> 4\n"
    );
}
