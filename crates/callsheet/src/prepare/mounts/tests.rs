//! No real path reaches a message, whatever field brings it.

use serde_json::{Value, json};

use crate::recipe::built_in;
use crate::{Composition, Error, ErrorKind, Inputs, Options, compose};

const ROOT: &str = "/data/ann/shop";

fn run() -> Value {
    json!({
        "mode": "run", "projectRoot": ROOT, "runtimeStoreRoot": "/data/ann/app/store", "homeDir": "/people/ann",
        "intent": "start", "graphRelPath": "workflow.graph.json", "activeAgentId": "ann",
        "workflowRef": {"type": "workflowId", "value": "wf"},
        "agentDefinition": {"id": "ann", "systemPrompt": "You are Ann."},
        "nodeBrief": {
            "nodeId": "n", "nodeType": "step", "stepFilePathInPkg": "steps/n.md", "inputs": ["in.md"], "outputs": ["out.md"],
            "validation": ["a rule"], "transitions": [{"to": "m", "label": "next", "conditionText": "if"}],
        },
        "dataContext": {"label": "l", "path": "p.md", "preview": "one"},
        "userInput": "go",
    })
}

/// A run of an agent without a prompt of its own, with a form for the user's text.
fn profile() -> Value {
    let mut input = run();
    input["stateSummary"] = json!({"variables": {"v": "x"}});
    input["agentDefinition"] = json!({
        "id": "ann", "metadata": {"name": "Ann", "title": "T"}, "critical_actions": ["a"],
        "persona": {"role": "r", "identity": "i", "communication_style": "c", "principles": ["p"]},
        "userPromptTemplate": "{{variables.v}}: {{userInput}}", "tools": {"mcp": {"enabled": true, "allowedServers": ["s"]}},
    });
    input
}

fn composed(input: &Value) -> Result<Composition, Error> {
    let recipe = built_in("messages").unwrap()?;
    compose(recipe, input, &Inputs::nowhere(), &Options::default())
}

/// Where a text can stand in the input, and what the error calls the place.
const TEXTS: &[(&str, &str)] = &[
    ("/nodeBrief/validation/0", "nodeBrief.validation[0]"),
    (
        "/nodeBrief/transitions/0/label",
        "nodeBrief.transitions[0].label",
    ),
    (
        "/nodeBrief/transitions/0/conditionText",
        "nodeBrief.transitions[0].conditionText",
    ),
    ("/dataContext/label", "dataContext.label"),
    ("/dataContext/preview", "dataContext.preview"),
    ("/workflowRef/value", "workflowRef.value"),
    ("/userInput", "userInput"),
    (
        "/agentDefinition/systemPrompt",
        "agentDefinition.systemPrompt",
    ),
    (
        "/agentDefinition/metadata/name",
        "agentDefinition.metadata.name",
    ),
    (
        "/agentDefinition/metadata/title",
        "agentDefinition.metadata.title",
    ),
    (
        "/agentDefinition/persona/role",
        "agentDefinition.persona.role",
    ),
    (
        "/agentDefinition/persona/identity",
        "agentDefinition.persona.identity",
    ),
    (
        "/agentDefinition/persona/communication_style",
        "agentDefinition.persona.communication_style",
    ),
    (
        "/agentDefinition/persona/principles/0",
        "agentDefinition.persona.principles[0]",
    ),
    (
        "/agentDefinition/critical_actions/0",
        "agentDefinition.critical_actions[0]",
    ),
    (
        "/agentDefinition/userPromptTemplate",
        "agentDefinition.userPromptTemplate",
    ),
    (
        "/agentDefinition/tools/mcp/allowedServers/0",
        "agentDefinition.tools.mcp.allowedServers[0]",
    ),
    ("/stateSummary/variables/v", "stateSummary.variables.v"),
];

const FILES: &[(&str, &str)] = &[
    ("/nodeBrief/inputs/0", "nodeBrief.inputs[0]"),
    ("/nodeBrief/outputs/0", "nodeBrief.outputs[0]"),
    ("/dataContext/path", "dataContext.path"),
];

const IN_PACKAGE: &[(&str, &str)] = &[
    (
        "/nodeBrief/stepFilePathInPkg",
        "nodeBrief.stepFilePathInPkg",
    ),
    ("/graphRelPath", "graphRelPath"),
];

/// Real paths that are below no mount.
const REAL: &[&str] = &[
    "/Users/me/x",
    "/home/me/x.md",
    "/root/.ssh/id",
    "/etc/passwd",
    "/var/folders/zz/x",
    "/tmp/scratch.md",
    "/opt/tool/bin",
    "/mnt/c/Users/me",
    "/private/tmp/x",
    "/c/Users/me/x",
    "//Users/me/x",
    "/./Users/me/x",
    "/api/../Users/me/x",
    "/data/ann/shop-old/x",
    "/data/ann/shop2/x",
    "/data/ann/other",
    "/data/ann/shop/../other/x",
    "/data/ann/shop/../../bob/x",
    "@project/../other/x",
    "@pkg/a/../../x",
    "/data/ann/app/store/runs/1",
    "/people/ann/notes.md",
    "C:\\Users\\me\\x",
    "c:\\work\\x",
    "D:/work/x",
    "C:\\\\Users\\\\me",
    "\\\\host\\share\\x",
    "\\\\?\\C:\\x",
    "\\Users\\me\\x",
    "file:///home/me/x",
    "file://host/share/x",
    "file:/home/me/x",
    "vscode://file/Users/me/x",
    "sqlite:////home/me/x.db",
    "runtime-store/projects/1",
    "x/runtime-store/y",
    "runtime-store\\x",
    "\\/Users\\/me\\/x",
    "%2FUsers%2Fme%2Fx",
    "\\u002fUsers\\u002fme",
    "%2Fpeople%2Fann",
];

#[test]
fn a_real_path_below_no_mount_is_an_error_that_names_its_field() {
    for &real in REAL {
        for &(pointer, field) in TEXTS {
            for text in [real.to_owned(), format!("look into `{real}`, then go on")] {
                refuses(pointer, field, &text, real);
            }
        }
        for &(pointer, field) in FILES.iter().chain(IN_PACKAGE) {
            refuses(pointer, field, real, real);
        }
    }
}

fn refuses(pointer: &str, field: &str, text: &str, real: &str) {
    let mut tried = 0;
    for mut input in [run(), profile()] {
        let Some(place) = input.pointer_mut(pointer) else {
            continue;
        };
        *place = json!(text);
        tried += 1;
        match composed(&input) {
            Ok(_) => panic!("{pointer} = {text} composes"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::BadInput, "{error}");
                let told = error.to_string();
                assert!(
                    told.starts_with(&format!("`{field}`")),
                    "{pointer} = {text}: {told}"
                );
                assert!(!told.contains(real), "{told}");
            }
        }
    }
    assert!(tried > 0, "no input has {pointer}");
}

#[test]
fn a_path_of_a_mount_is_named_by_it() {
    for &(pointer, _) in TEXTS {
        for mut input in [run(), profile()] {
            let Some(place) = input.pointer_mut(pointer) else {
                continue;
            };
            *place = json!(format!("in {ROOT}/src/a.rs."));
            let text = composed(&input).unwrap().text;
            assert!(text.contains("in @project/src/a.rs."), "{pointer}: {text}");
            assert!(!text.contains(ROOT), "{pointer}: {text}");
        }
    }
    for &(pointer, _) in FILES {
        let mut input = run();
        *input.pointer_mut(pointer).unwrap() = json!(format!("{ROOT}/src/a.rs"));
        let text = composed(&input).unwrap().text;
        assert!(text.contains("@project/src/a.rs"), "{pointer}: {text}");
    }
}

#[test]
fn what_looks_like_a_path_and_is_none_stays_as_it_is() {
    for text in [
        "https://example.org/home/me/x?next=/etc/passwd",
        "https://example.org/Users/42, and http://x.y:80/var/a",
        "see [it](https://example.org/tmp/x)",
        "git@github.com:a/home/b.git and ssh://git@h/srv/git/x",
        "GET /api/users and POST /v1/home",
        "GET /users/42/home/x",
        "and/or, 24/7, 1/2, 2026/11/16",
        "text/html; image/svg+xml",
        "match /^\\d+:\\d+$/ or \\w:\\s",
        "T:\\d+\\s and [a-z]:/x",
        "src/home/x, ./tmp/x, ../home/x",
        "{root}/home/x, ${HOME}/tmp/x, $(pwd)/var/x, %TEMP%/tmp/x",
        "#!/usr/bin/env bash\n> /dev/null; /bin/sh -c true",
        "import a from '@/home/page'; '~/x'",
        "**/home/** and **/tmp/x",
        "a closing </home> tag, /home alone, /etc/ too",
        "/home/{user}/x, /Users/<name>/x, /home/$USER",
        "#/home/x in a router",
        "C: 5, a:b, C:",
        "\\alpha\\beta \\d\\w",
        "// home/x is a comment",
        "my-runtime-store/x, runtime-stores/x",
        "mailto:ann@project/x",
        "@project/src/../a.rs",
    ] {
        for (pointer, mut input) in [
            ("/agentDefinition/systemPrompt", run()),
            ("/userInput", run()),
            ("/nodeBrief/validation/0", run()),
            ("/agentDefinition/persona/identity", profile()),
        ] {
            *input.pointer_mut(pointer).unwrap() = json!(text);
            let messages = composed(&input)
                .unwrap_or_else(|error| panic!("{pointer} = {text}: {error}"))
                .messages();
            let printed = text.replace('\n', " ");
            let found = messages.iter().any(|message| {
                message.content.contains(text) || message.content.contains(&printed)
            });
            assert!(found, "{pointer} = {text}: {messages:#?}");
        }
    }
}

#[test]
fn a_path_in_the_package_is_relative_and_stays_inside() {
    for &(pointer, field) in IN_PACKAGE {
        for (path, expected) in [
            ("steps/a.md", Some("@pkg/steps/a.md")),
            ("./steps/a b.md", Some("@pkg/steps/a b.md")),
            ("@pkg/steps/a.md", Some("@pkg/steps/a.md")),
            ("{package-root}/a.md", Some("@pkg/a.md")),
            ("..a/b..md", Some("@pkg/..a/b..md")),
            ("", None),
            (" ", None),
            (".", None),
            ("./", None),
            ("steps/", None),
            ("@pkg", None),
            ("@pkg/", None),
            ("/steps/a.md", None),
            ("//steps/a.md", None),
            ("../a.md", None),
            ("steps/../a.md", None),
            ("steps/..", None),
            ("@pkg/../a.md", None),
            ("steps\\a.md", None),
            ("..\\a.md", None),
            ("C:a.md", None),
            ("C:/a.md", None),
            ("~/a.md", None),
            ("~ann/a.md", None),
            ("https://x.y/z.md", None),
            ("@project/a.md", None),
            ("@state/a.md", None),
            ("{project-root}/a.md", None),
            ("a\nb.md", None),
            ("a\0b.md", None),
        ] {
            let mut input = run();
            *input.pointer_mut(pointer).unwrap() = json!(path);
            match (composed(&input), expected) {
                (Ok(composition), Some(expected)) => {
                    let text = composition.text.clone();
                    let whole = format!("{expected}\\n");
                    assert!(text.contains(&whole), "{path:?}: {text}");
                }
                (Err(error), None) => {
                    let told = error.to_string();
                    assert_eq!(error.kind(), ErrorKind::BadInput);
                    assert!(told.contains(&format!("`{field}`")), "{path:?}: {told}");
                }
                (Ok(_), None) => panic!("{field} = {path:?} composes"),
                (Err(error), Some(_)) => panic!("{field} = {path:?}: {error}"),
            }
        }
    }
}

#[test]
fn a_file_of_a_node_stays_inside_as_well() {
    for &(pointer, field) in FILES {
        for path in [
            "../a.md",
            "a/../../b",
            "~/a.md",
            "/work/a.md",
            "/a",
            "\\a",
            "C:a.md",
            "..\\a",
        ] {
            let mut input = run();
            *input.pointer_mut(pointer).unwrap() = json!(path);
            let error = composed(&input).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{field}`")), "{path}: {error}");
        }
    }
}

#[test]
fn what_is_not_printed_may_hold_anything() {
    let mut input = run();
    input["mode"] = json!("chat");
    input["agentDefinition"]["systemPrompt"] = json!("/Users/me/x");
    input["nodeBrief"]["inputs"] = json!(["/Users/me/x"]);
    input["runId"] = json!("/Users/me/x");
    composed(&input).unwrap();
}

#[test]
fn the_texts_of_the_errors() {
    let told = |pointer: &str, text: &str| {
        let mut input = run();
        *input.pointer_mut(pointer).unwrap() = json!(text);
        composed(&input).unwrap_err().to_string()
    };
    insta::assert_snapshot!(
        [
            told("/agentDefinition/systemPrompt", "One.\nIn /Users/me/x."),
            told("/agentDefinition/systemPrompt", "In /people/ann/x."),
            told("/userInput", "/Users/me/x"),
            told("/nodeBrief/inputs/0", "/work/x"),
            told("/nodeBrief/inputs/0", "../x"),
            told("/graphRelPath", "../x"),
            told("/graphRelPath", "a\\x"),
            told("/graphRelPath", "/x"),
            told("/graphRelPath", "x/"),
            told("/graphRelPath", "@project/x"),
        ]
        .join("\n"),
        @"
    `agentDefinition.systemPrompt`, line 2, holds a real path that is below no mount, which no message may; leave it out, or name a file below `@project`, `@pkg` or `@state`
    `agentDefinition.systemPrompt` holds the real path of the home folder, which no message may; leave it out
    `userInput` holds a real path that is below no mount, which no message may; leave it out, or set `scrubUserInput` to have it redacted
    `nodeBrief.inputs[0]` is a path outside of the project; write it relative to the project or below `@project`, `@pkg` or `@state`
    `nodeBrief.inputs[0]` is a path outside of the project; write it relative to the project or below `@project`, `@pkg` or `@state`
    `graphRelPath` has `..` in it; it is a path in the package, such as `steps/step-01.md`
    `graphRelPath` has a backslash or a control character; it is a path in the package, such as `steps/step-01.md`
    `graphRelPath` is not relative; it is a path in the package, such as `steps/step-01.md`
    `graphRelPath` does not name a file; it is a path in the package, such as `steps/step-01.md`
    `graphRelPath` does not name a file of the package; it is a path in the package, such as `steps/step-01.md`
    "
    );
}

#[test]
fn a_scrubbed_text_has_mounts_and_nothing_else_and_tells_so() {
    let mut input = run();
    input["scrubUserInput"] = json!(true);
    input["userInput"] = json!(format!(
        "see {ROOT}/a.md\nand /Users/me/x, runtime-store/y, /work/z"
    ));
    let composition = composed(&input).unwrap();
    let last = composition.messages().pop().unwrap();
    assert_eq!(
        last.content,
        "USER_INPUT\n- forNodeId: n\nsee @project/a.md\nand [redacted], [redacted], [redacted]"
    );
    let omissions = json!(composition.manifest.omissions);
    assert_eq!(omissions[0]["layer"], "user-input");
    assert_eq!(omissions[0]["name"], "userInput");
    assert_eq!(omissions[0]["reason"], "redacted");
}

#[test]
fn a_mount_in_a_text_leads_to_what_it_stands_for() {
    let mut input = run();
    let prompt = format!("One.\nIn {ROOT}/src.");
    input["agentDefinition"]["systemPrompt"] = json!(prompt);
    let composition = composed(&input).unwrap();
    let spans = composition.source_map.spans.iter();
    let spans: Vec<_> = spans.filter(|span| span.layer == "persona").collect();
    let told = |nth: usize| {
        let span = spans[nth];
        let range = span.source_start.unwrap()..span.source_end.unwrap();
        assert_eq!(span.source, "input:agentDefinition.systemPrompt");
        (&prompt[range], span.line, json!(span.transform))
    };
    let told: Vec<_> = (0..spans.len()).map(told).collect();
    assert_eq!(
        told,
        [
            ("One.", Some(1), json!(null)),
            ("\n", Some(1), json!("json_string")),
            ("In ", Some(2), json!(null)),
            (ROOT, Some(2), json!("aliased")),
            ("/src.", Some(2), json!(null)),
        ]
    );
}

#[test]
fn every_value_leads_to_its_field() {
    let mut input = profile();
    input["nodeBrief"]["transitions"][0]["conditionText"] = json!("if \"a\"");
    let composition = composed(&input).unwrap();
    let own = |span: &&crate::source_map::MapSpan| {
        let by_recipe = span.source.starts_with("template:") || span.source == "frame";
        !by_recipe && span.transform != Some(crate::trace::Transform::JsonString)
    };
    let spans = composition.source_map.spans.iter().filter(own);
    let told = |span: &crate::source_map::MapSpan| {
        let text = &composition.text[span.start..span.end];
        let range = (span.source_start.unwrap_or(0), span.source_end.unwrap_or(0));
        let transform = span
            .transform
            .map_or_else(String::new, |how| format!(" {how:?}"));
        format!("{text:?} {} {range:?}{transform}", span.source)
    };
    insta::assert_snapshot!(spans.map(told).collect::<Vec<_>>().join("\n"), @r#"
    "524288" derived:standard tool policy (0, 6)
    "2097152" derived:standard tool policy (0, 7)
    "s" input:agentDefinition.tools.mcp.allowedServers[0] (0, 1)
    "Ann" input:agentDefinition.metadata.name (0, 3)
    "T" input:agentDefinition.metadata.title (0, 1)
    "r" input:agentDefinition.persona.role (0, 1)
    "i" input:agentDefinition.persona.identity (0, 1)
    "c" input:agentDefinition.persona.communication_style (0, 1)
    "p" input:agentDefinition.persona.principles[0] (0, 1)
    "a" input:agentDefinition.critical_actions[0] (0, 1)
    "start" input:intent (0, 5)
    "wf" input:workflowRef.value (0, 2)
    "@pkg/w" input:graphRelPath (0, 1) Converted
    "orkflow.graph.json" input:graphRelPath (1, 19)
    "n" input:nodeBrief.nodeId (0, 1)
    "ann" input:activeAgentId (0, 3)
    "n" input:nodeBrief.nodeId (0, 1)
    "step" input:nodeBrief.nodeType (0, 4)
    "@pkg/s" input:nodeBrief.stepFilePathInPkg (0, 1) Converted
    "teps/n.md" input:nodeBrief.stepFilePathInPkg (1, 10)
    "in.md" input:nodeBrief.inputs[0] (0, 5)
    "@project/i" input:nodeBrief.inputs[0] (0, 1) Converted
    "n.md" input:nodeBrief.inputs[0] (1, 5)
    "out.md" input:nodeBrief.outputs[0] (0, 6)
    "@project/o" input:nodeBrief.outputs[0] (0, 1) Converted
    "ut.md" input:nodeBrief.outputs[0] (1, 6)
    "a rule" input:nodeBrief.validation[0] (0, 6)
    "m" input:nodeBrief.transitions[0].to (0, 1)
    "next" input:nodeBrief.transitions[0].label (0, 4)
    "if " input:nodeBrief.transitions[0].conditionText (0, 3)
    "a" input:nodeBrief.transitions[0].conditionText (4, 5)
    "l" input:dataContext.label (0, 1)
    "@project/p" input:dataContext.path (0, 1) Converted
    ".md" input:dataContext.path (1, 4)
    "one" input:dataContext.preview (0, 3)
    "@project/p" input:dataContext.path (0, 1) Converted
    ".md" input:dataContext.path (1, 4)
    "n" input:nodeBrief.nodeId (0, 1)
    "x" input:stateSummary.variables.v (0, 1)
    ": " input:agentDefinition.userPromptTemplate (15, 17)
    "go" input:userInput (0, 2)
    "#);
}
