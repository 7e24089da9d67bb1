//! `prompts` and `show`: what is sealed, and its exact bytes.

use crate::project::Project;
use crate::sealed::{export, review, said, seal, seal_by, shop};

/// Seals prompts of three recipes.
fn three() -> (Project, [String; 3]) {
    let project = shop();
    project.file(
        "callsheet/templates/tone.md",
        "---\nname: tone\n---\nBe brief.\n",
    );
    let ids = [
        seal(&project, "you"),
        seal_by(&project, &["pack", "src", "--json"]),
        seal_by(&project, &["compose", "layers", "-D", "identity.name=tone"]),
    ];
    (project, ids)
}

#[test]
fn the_newest_comes_first() {
    let (project, _) = three();
    insta::assert_snapshot!(project.callsheet(&["prompts"]), @"
    exit: 0
    --- stdout
    ID              SEALED                RECIPE  BYTES  TOKENS  FINGERPRINT
    [ID1]  [TIME]  layers      9          b3:9249e1b98478
    [ID2]  [TIME]  pack      126      44  b3:b0ed4f00d249
    [ID3]  [TIME]  review    151          b3:482142ba9431
    ");
    insta::assert_snapshot!(project.callsheet(&["prompts", "--json", "--recipe", "layers"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.prompts/1",
      "prompts": [
        {
          "id": "[ID1]",
          "sealed_at": [TIME],
          "recipe": "layers",
          "engine": "0.1.0",
          "fingerprint": "b3:9249e1b98478bcc39c31056aac9ba822491699a99d05c64cef2f63caeb2329af",
          "bytes": 9,
          "tokens": null
        }
      ],
      "more": false
    }
    "#);
}

#[test]
fn filters_take_away() {
    let (project, ids) = three();
    let listed = |args: &[&str]| -> Vec<usize> {
        let args = [&["prompts", "--json"], args].concat();
        let document = project.run(&args).json();
        let prompts = document["prompts"].as_array().cloned().unwrap_or_default();
        let number = |id: &serde_json::Value| ids.iter().position(|known| id == known);
        prompts
            .iter()
            .filter_map(|prompt| number(&prompt["id"]))
            .collect()
    };
    assert_eq!(listed(&[]), [2, 1, 0]);
    assert_eq!(listed(&["--recipe", "review"]), [0]);
    assert_eq!(listed(&["--recipe", "revie"]), [0; 0]);
    assert_eq!(listed(&["--since", "1h"]), [2, 1, 0]);
    assert_eq!(listed(&["--until", "1h"]), [0; 0]);
    assert_eq!(
        listed(&["--since", "2020-01-01", "--until", "2020-01-02T10:00"]),
        [0; 0]
    );
    assert_eq!(listed(&["--since", "2020-01-01"]), [2, 1, 0]);
    assert_eq!(listed(&["--file", "src/login.rs"]), [1, 0]);
    assert_eq!(listed(&["--file", "src/**"]), [1, 0]);
    assert_eq!(listed(&["--file", "rules.m?"]), [0]);
    assert_eq!(listed(&["--file", "login.rs"]), [0; 0]);
    assert_eq!(listed(&["--template", "tone"]), [2]);
    assert_eq!(listed(&["--template", "tone.md"]), [2]);
    assert_eq!(listed(&["--template", "ton"]), [0; 0]);
    assert_eq!(listed(&["--file", "rules.md", "--recipe", "pack"]), [0; 0]);
    assert_eq!(listed(&["--limit", "2"]), [2, 1]);
    assert_eq!(listed(&["--before", &ids[2]]), [1, 0]);
    assert_eq!(listed(&["--before", &ids[1], "-n", "1"]), [0]);
    assert_eq!(listed(&["--before", &ids[0]]), [0; 0]);
    assert_eq!(
        project.run(&["prompts", "-n", "2", "--json"]).json()["more"],
        true
    );
    assert_eq!(
        project.run(&["prompts", "-n", "3", "--json"]).json()["more"],
        false
    );
    insta::assert_snapshot!(project.callsheet(&["prompts", "-n", "1"]), @"
    exit: 0
    --- stdout
    ID              SEALED                RECIPE  BYTES  TOKENS  FINGERPRINT
    [ID1]  [TIME]  layers      9          b3:9249e1b98478
    --- stderr
    note: there are more; `--before [ID1]` goes on
    ");
    insta::assert_snapshot!(project.callsheet(&["prompts", "--recipe", "none"]), @"exit: 0");
}

#[test]
fn filters_that_cannot_be_read() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["prompts", "--since", "yesterday"]), @"
    exit: 2
    --- stderr
    error: `yesterday` is not a valid time
    hint: write a span such as `7d` or `12h`, a day such as `2026-11-01`, or `2026-11-01T18:30`
    ");
    insta::assert_snapshot!(project.callsheet(&["prompts", "--file", "[a"]), @"
    exit: 2
    --- stderr
    error: bad glob `[a`: unclosed character class; missing ']'
    ");
}

#[test]
fn nothing_is_sealed_yet() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["prompts"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `[ROOT]/.callsheet/callsheet.db`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    insta::assert_snapshot!(project.callsheet(&["prompts", "--json"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `[ROOT]/.callsheet/callsheet.db`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    assert!(
        !project.path(".callsheet").exists(),
        "looking makes nothing"
    );
}

#[test]
fn what_is_shown_is_what_was_handed_over() {
    let project = shop();
    project.file("ends.yaml", "rules: \"No newline\"\n");
    project.file("newline.yaml", "rules: \"A newline\\n\\n\"\n");
    let commands: [&[&str]; 4] = [
        &[
            "compose",
            "review",
            "-D",
            "path=src/login.rs",
            "-D",
            "who=日本語\u{1F600}\n",
        ],
        &["compose", "layers", "--input", "ends.yaml"],
        &["compose", "layers", "--input", "newline.yaml"],
        &["pack", "--format", "json"],
    ];
    for command in commands {
        let plain = project.run(command);
        assert_eq!(plain.code(), Some(0), "{command:?}: {}", said(&plain));
        let id = seal_by(&project, command);
        assert_eq!(
            project.run(&["show", &id]).stdout,
            plain.stdout,
            "{command:?}"
        );
        assert_eq!(
            project.run(&["show", &id, "--part", "prompt"]).stdout,
            plain.stdout
        );
        let bundle = export(&project, &[&id]);
        let bundle = bundle.to_str().unwrap_or_default();
        assert_eq!(project.run(&["show", bundle]).stdout, plain.stdout);
    }
}

#[test]
fn messages_are_shown_as_they_were_handed_over() {
    let project = Project::new();
    assert_eq!(
        project.run(&["demo", "--compose", "shop", "-q"]).code(),
        Some(0)
    );
    let compose = [
        "-C",
        "shop",
        "compose",
        "messages",
        "--input",
        "messages.yaml",
    ];
    let plain = project.run(&compose);
    assert!(plain.text().starts_with("[{\"role\":"), "{}", plain.text());
    let id = seal_by(&project, &compose);
    assert_eq!(
        project.run(&["-C", "shop", "show", &id]).stdout,
        plain.stdout
    );
    let text = project.run(&[&compose[..], &["--format", "text"]].concat());
    assert_ne!(text.stdout, plain.stdout);
    let document = project.run(&["-C", "shop", "show", &id, "--json"]).json();
    assert_eq!(document["text"], plain.text());
}

#[test]
fn parts_of_a_seal() {
    let project = shop();
    let args = review("you");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let id = seal(&project, "you");
    let files = [
        "--manifest",
        "manifest.json",
        "--source-map",
        "map.json",
        "-o",
        "prompt",
    ];
    assert_eq!(project.run(&[&args[..], &files].concat()).code(), Some(0));
    let part = |part: &str| project.run(&["show", &id, "--part", part]);
    assert_eq!(part("manifest").text(), project.read("manifest.json"));
    assert_eq!(part("source-map").text(), project.read("map.json"));
    assert_eq!(said(&part("manifest")), "");
    insta::assert_snapshot!(project.shown(&part("input")), @r#"
    exit: 0
    --- stdout
    {
      "path": "src/login.rs",
      "who": "you"
    }
    "#);
}

#[test]
fn layout_and_inputs_of_a_seal() {
    let project = shop();
    let id = seal(&project, "you");
    project.file("prompt", "a prompt");
    let part = |part: &str| project.run(&["show", &id, "--part", part]);
    insta::assert_snapshot!(project.shown(&part("layout")), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.layout/1",
      "frames": [
        "",
        "\n\n",
        "\n\n## src/login.rs\n\n```rs\n",
        "\n```"
      ],
      "cut": {
        "shape": "text",
        "placed": [
          [
            "system",
            {
              "start": 0,
              "end": 25
            }
          ],
          [
            "system",
            {
              "start": 27,
              "end": 63
            }
          ],
          [
            "system",
            {
              "start": 65,
              "end": 151
            }
          ]
        ]
      }
    }
    "#);
    let inputs = part("inputs").json();
    assert_eq!(inputs["schema"], "callsheet.inputs/1");
    assert_eq!(inputs["root"][0], "/@project");
    insta::assert_snapshot!(project.callsheet(&["show", "prompt", "--part", "layout"]), @"
    exit: 2
    --- stderr
    error: a file has no such part; name a sealed prompt
    ");
}

#[test]
fn what_is_known_of_a_prompt() {
    let project = shop();
    let id = seal_by(
        &project,
        &["compose", "layers", "-D", "rules=a", "--explain"],
    );
    insta::assert_snapshot!(project.callsheet(&["show", &id]), @"
    exit: 0
    --- stdout
    a
    --- stderr
    prompt [ID1], sealed [TIME] by engine 0.1.0
    recipe layers, 1 bytes, 1 tokens, b3:17762fddd969a453925d65717ac3eea21320b66b54342fde15128d6caf21215f
    ");
}

#[test]
fn a_sealed_prompt_as_a_document() {
    let project = shop();
    let id = seal_by(
        &project,
        &["compose", "layers", "-D", "rules=a", "--explain"],
    );
    insta::assert_snapshot!(project.callsheet(&["show", &id, "--json", "-q"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.composition/1",
      "recipe": "layers",
      "fingerprint": "b3:17762fddd969a453925d65717ac3eea21320b66b54342fde15128d6caf21215f",
      "bytes": 1,
      "tokens": 1,
      "encoding": "o200k",
      "sections": [
        {
          "layer": "rules",
          "name": "rules",
          "role": "system",
          "source": "input:rules",
          "source_fingerprint": "b3:17762fddd969a453925d65717ac3eea21320b66b54342fde15128d6caf21215f",
          "start": 0,
          "end": 1,
          "bytes": 1,
          "tokens": 1,
          "fingerprint": "b3:17762fddd969a453925d65717ac3eea21320b66b54342fde15128d6caf21215f",
          "trust": "untrusted",
          "volatility": "project",
          "priority": 70
        }
      ],
      "omissions": [],
      "events": [],
      "spans": [
        {
          "start": 0,
          "end": 1,
          "layer": "rules",
          "section": "rules",
          "source": "input:rules",
          "source_start": 0,
          "source_end": 1,
          "line": 1
        }
      ],
      "system_prompt": "a",
      "tools": [],
      "id": "[ID1]",
      "engine": "0.1.0",
      "sealed_at": [TIME]
    }
    "#);
}

#[test]
fn files_are_shown_too() {
    let project = shop();
    let args = review("you");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let plain = project.run(&args);
    project.file("prompt.md", &plain.stdout);
    assert_eq!(project.run(&["show", "prompt.md"]).stdout, plain.stdout);
    let document = project.run(&[&args[..], &["--format", "json"]].concat());
    project.file("prompt.json", document.stdout);
    assert_eq!(project.run(&["show", "prompt.json"]).stdout, plain.stdout);
}
