//! Messages are told of by the bytes that are handed over: by `why`, `diff`, `cache`, `explain` and the store alike.

use serde_json::{Value, json};

use crate::project::{Project, words};

const INPUT: &str = r#"
mode: agent
agentDefinition:
  id: ann
  systemPrompt: "You are Ann.\n\tSay \"hi\", and then C\\D."
userInput: |
  a "quoted" line
  of two
"#;

/// A sealed prompt of messages in `p.json`, with its map in `p.map` and its document in `p.doc`.
fn composed() -> (Project, String) {
    let project = Project::new();
    project.file("input.yaml", INPUT);
    let run = project.run(&words(
        "compose messages --input input.yaml -o p.json --source-map p.map --manifest p.manifest",
    ));
    assert_eq!(run.code(), Some(0), "{}", project.shown(&run));
    let run = project.run(&words(
        "compose messages --input input.yaml --seal --json -o p.doc",
    ));
    assert_eq!(run.code(), Some(0), "{}", project.shown(&run));
    let document: Value = serde_json::from_str(&project.read("p.doc")).unwrap_or_default();
    let id = document["id"].as_str().unwrap_or_default().to_owned();
    (project, id)
}

#[test]
fn the_map_covers_the_bytes_and_says_where_each_came_from() {
    let (project, _) = composed();
    let prompt = project.read("p.json");
    let map: Value = serde_json::from_str(&project.read("p.map")).unwrap_or_default();
    let input = "You are Ann.\n\tSay \"hi\", and then C\\D.";
    let (mut end, mut escapes, mut output) = (0, 0, String::new());
    let number = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    for span in map["spans"].as_array().into_iter().flatten() {
        let (from, to) = (number(&span["start"]), number(&span["end"]));
        assert_eq!(from, Some(end), "without gaps");
        end = to.unwrap_or_default();
        let bytes = &prompt[from.unwrap_or_default()..end];
        if span["source"] != "input:agentDefinition.systemPrompt" {
            continue;
        }
        let source = number(&span["source_start"]).unwrap_or_default()
            ..number(&span["source_end"]).unwrap_or_default();
        let source = &input[source];
        output.push_str(source);
        if span["transform"].is_null() {
            assert_eq!(bytes, source);
        } else {
            escapes += 1;
            assert_eq!(json!(source).to_string(), format!("\"{bytes}\""));
        }
    }
    assert_eq!(end, prompt.len());
    assert_eq!((output.as_str(), escapes), (input, 5));
}

#[test]
fn the_file_and_its_map_belong_together() {
    let (project, id) = composed();
    let text = ["--text", "a \"quoted\" line\nof two"];
    let output = project.callsheet(&[&words("why p.json --source-map p.map")[..], &text].concat());
    insta::assert_snapshot!(output, @"
    exit: 0
    --- stdout
    bytes 1154 to 1179 (line 2 of message 4)
      layer user-input: input:userInput:1
    ");
    for target in [
        vec!["p.doc"],
        vec![id.as_str()],
        words("messages --input input.yaml"),
    ] {
        let again = project.callsheet(&[&["why"][..], &target, &text].concat());
        assert_eq!(again, output, "{target:?}");
    }
    let carriers = project.callsheet(&[&["why"][..], &text].concat());
    assert!(
        carriers.contains("  bytes 1154 to 1179 (line 2 of message 4)\n"),
        "{carriers}"
    );
}

#[test]
fn a_text_is_found_as_people_read_it_and_as_it_stands_there() {
    let (project, id) = composed();
    let at = |text: &str| {
        let run = project.run(&["why", &id, "--text", text, "--json"]);
        let places = run.json()["places"].as_array().cloned();
        let places = places.unwrap_or_default();
        let place = |place: &Value| (place["start"].clone(), place["end"].clone());
        places.iter().map(place).collect::<Vec<_>>()
    };
    assert_eq!(at("\n\tSay \"hi\""), at(r#"\n\tSay \"hi\""#));
    assert_eq!(at("C\\D").len(), 1);
    assert_eq!(at("C\\D"), at(r"C\\D"));
    assert_eq!(at("nof two"), [], "half an escape is not text");
    assert_eq!(
        at("\"role\":\"user\"").len(),
        1,
        "what stands for structure"
    );
}

#[test]
fn every_byte_has_an_origin_the_last_one_too() {
    let (project, id) = composed();
    let prompt = project.read("p.json");
    let last = (prompt.len() - 1).to_string();
    let newline = prompt.find("\\n\\tSay").map(|at| at.to_string());
    let newline = newline.unwrap_or_default();
    for target in [vec![id.as_str()], words("p.json --source-map p.map")] {
        let why = |at: &str| project.callsheet(&[&["why"][..], &target, &["--at", at]].concat());
        assert_eq!(
            why(&last),
            format!(
                "exit: 0\n--- stdout\nbyte {last} (line 4 of message 4)\n  layer frame: text of the recipe\n"
            )
        );
        assert_eq!(
            why(&newline),
            format!(
                "exit: 0\n--- stdout\nbyte {newline} (line 1 of message 3)\n  layer persona: input:agentDefinition.systemPrompt:1\n"
            )
        );
        let past = why(&prompt.len().to_string());
        assert!(past.starts_with("exit: 2\n"), "{past}");
    }
}

#[test]
fn the_same_prompt_is_the_same_however_it_is_named() {
    let (project, id) = composed();
    for (one, other) in [("p.json", id.as_str()), ("p.doc", "p.json"), (&id, "p.doc")] {
        let diff = project.callsheet(&["diff", one, other]);
        assert!(diff.starts_with("exit: 0\n--- stdout\nthe same "), "{diff}");
        let cache = project.callsheet(&["cache", one, other]);
        assert!(cache.contains("the prompts are the same\n"), "{cache}");
    }
}

#[test]
fn what_differs_is_shown_as_people_read_it() {
    let (project, id) = composed();
    project.file("other.yaml", INPUT.replace("of two", "of \"three\""));
    let run = project.run(&words(
        "compose messages --input other.yaml --seal -o o.json",
    ));
    let other = String::from_utf8_lossy(&run.stderr)
        .trim()
        .replace("sealed ", "");
    insta::assert_snapshot!(project.callsheet(&["diff", &id, &other]), @r#"
    exit: 1
    --- stdout
    SECTION                  CHANGE     A    B  DELTA
    base-rules-conversation  same     181  181     +0
    tool-policy              same      66   66     +0
    persona                  same      15   15     +0
    user-input               changed   12   13     +1

    changed user-input
    @@ -1,3 +1,3 @@
     USER_INPUT
     a "quoted" line
    -of two
    +of "three"

    tokens: 274 → 275 (+1)
    common prefix: 1176 of 1184 bytes, 273 tokens
    "#);
    insta::assert_snapshot!(project.callsheet(&["diff", "p.json", "o.json"]), @r#"
    exit: 1
    --- stdout
    changed prompt
    @@ -17,5 +17,5 @@
     `ui.ask_user` can always be used."},{"role":"system","content":"You are Ann.
     	Say "hi", and then C\D."},{"role":"user","content":"USER_INPUT
     a "quoted" line
    -of two
    +of "three"
     "}]

    tokens: 274 → 275 (+1)
    common prefix: 1176 of 1184 bytes, 273 tokens
    "#);
    insta::assert_snapshot!(project.callsheet(&["cache", &id, &other]), @"
    exit: 0
    --- stdout
    LAYER                    SECTION                  CHANGES   BYTES  TOKENS  A TO B   CACHE
    base-rules-conversation  base-rules-conversation  constant    736     181  same     kept
    tool-policy              tool-policy              project     244      66  same     kept
    persona                  persona                  project      42      15  same     kept
    user-input               user-input               turn         39      12  changed

    common prefix: 1176 of 1184 bytes, 273 of 274 tokens
    it ends at byte 1176 (line 3 of message 4): `input:userInput` changed
      A: layer user-input: input:userInput:2
      B: layer user-input: input:userInput:2
    ");
    let mixed = project.callsheet(&["diff", "p.json", &other]);
    assert_eq!(mixed, project.callsheet(&["diff", "p.json", "o.json"]));
}

#[test]
fn sizes_are_those_of_the_bytes() {
    let (project, id) = composed();
    let prompt = project.read("p.json");
    let manifest: Value = serde_json::from_str(&project.read("p.manifest")).unwrap_or_default();
    let sections = manifest["sections"].as_array().cloned().unwrap_or_default();
    let number = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let place = |section: &Value| number(&section["start"]).zip(number(&section["end"]));
    let bodies: Vec<&str> = sections
        .iter()
        .filter_map(|section| prompt.get(place(section)?.0..place(section)?.1))
        .collect();
    assert_eq!(bodies.len(), 4);
    assert!(bodies[2].starts_with("You are Ann.\\n\\tSay"), "{bodies:?}");
    let explained = project.run(&["explain", &id, "--json"]).json();
    assert_eq!(explained["sections"][2]["bytes"], bodies[2].len());
    assert_eq!(explained["bytes"], prompt.len());
    let sealed = project.run(&["show", &id, "--part", "source-map"]).text();
    assert_eq!(sealed, project.read("p.map"));
}
