//! `why`: from a byte or a text back to layer, file and line.

use crate::project::{Project, words};

/// A composed prompt in `prompt.txt`, with its map in `map.json`.
fn composed() -> Project {
    let project = Project::new();
    project
        .file("src/a.txt", "first\nsecond needle\n")
        .file("src/b.txt", "needle\n");
    let run = project.run(&words("pack src -o prompt.txt --source-map map.json"));
    assert_eq!(run.code(), Some(0));
    project
}

#[test]
fn a_byte_of_a_file() {
    let project = composed();
    let prompt = project.read("prompt.txt");
    let at = prompt
        .find("second")
        .map(|at| at.to_string())
        .unwrap_or_default();
    insta::assert_snapshot!(project.callsheet(&["why", "prompt.txt", "--source-map", "map.json", "--at", &at]), @r"
    exit: 0
    --- stdout
    byte 66 (line 8 of the prompt)
      layer files, section src/a.txt: file:src/a.txt:2
    ");
}

#[test]
fn a_byte_of_the_recipe() {
    insta::assert_snapshot!(composed().callsheet(&["why", "pack", "-D", "globs:=[\"src\"]", "--at", "0"]), @r"
    exit: 0
    --- stdout
    byte 0 (line 1 of the prompt)
      layer tree: text of the recipe
    ");
}

#[test]
fn every_place_of_a_text() {
    let project = composed();
    let from_file = project.callsheet(&words("why prompt.txt --source-map map.json --text needle"));
    insta::assert_snapshot!(from_file, @r"
    exit: 0
    --- stdout
    bytes 73 to 79 (line 8 of the prompt)
      layer files, section src/a.txt: file:src/a.txt:2
    bytes 113 to 119 (line 12 of the prompt)
      layer files, section src/b.txt: file:src/b.txt:1
    ");
    let from_recipe =
        project.callsheet(&["why", "pack", "-D", "globs:=[\"src\"]", "--text", "needle"]);
    assert_eq!(from_recipe, from_file);
}

#[test]
fn places_may_overlap() {
    let project = Project::new();
    for (rules, text, places) in [("aaaa", "aa", vec![0, 1, 2]), ("äbäbä", "äbä", vec![0, 3])]
    {
        let rules = format!("rules={rules}");
        let run = project.run(&["why", "layers", "-D", &rules, "--text", text, "--json"]);
        let document = run.json();
        let found = document["places"].as_array().into_iter().flatten();
        let starts: Vec<_> = found.filter_map(|place| place["start"].as_u64()).collect();
        assert_eq!(starts, places, "{rules}");
    }
}

#[test]
fn a_text_over_several_layers() {
    insta::assert_snapshot!(composed().callsheet(&["why", "prompt.txt", "--source-map", "map.json", "--text", "\n</tree>\n<file"]), @r"
    exit: 0
    --- stdout
    bytes 27 to 41 (line 4 of the prompt)
      layer tree: text of the recipe
      layer frame: text of the recipe
      layer files, section src/a.txt: text of the recipe
    ");
}

#[test]
fn a_place_for_programs() {
    insta::assert_snapshot!(composed().callsheet(&["why", "prompt.txt", "--source-map", "map.json", "--text", "second", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.why/1",
      "places": [
        {
          "start": 66,
          "end": 72,
          "sources": [
            {
              "layer": "files",
              "section": "src/a.txt",
              "source": "file:src/a.txt",
              "line": 2,
              "source_start": 6,
              "transform": null
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn many_places_are_cut_short_for_people() {
    let project = Project::new();
    project.file("a.txt", "x\n".repeat(60));
    let run = project.run(&["why", "pack", "-D", "globs:=[\"a.txt\"]", "--text", "x\n"]);
    assert_eq!(run.text().matches("bytes ").count(), 50);
    assert_eq!(
        String::from_utf8_lossy(&run.stderr),
        "note: 10 more places; `--json` has them all\n"
    );
}

#[test]
fn a_byte_that_is_not_there() {
    insta::assert_snapshot!(composed().callsheet(&["why", "prompt.txt", "--source-map", "map.json", "--at", "9999"]), @r"
    exit: 2
    --- stderr
    error: there is no byte 9999; the prompt has 129 bytes
    ");
}

#[test]
fn a_text_that_is_not_there() {
    let project = composed();
    insta::assert_snapshot!(project.callsheet(&["why", "prompt.txt", "--source-map", "map.json", "--text", "hay"]), @r"
    exit: 1
    --- stderr
    error: the prompt does not contain this text
    ");
    insta::assert_snapshot!(project.callsheet(&["why", "pack", "--text", "hay", "--json"]), @r#"
    exit: 1
    --- stdout
    {
      "schema": "callsheet.why/1",
      "places": []
    }
    --- stderr
    error: the prompt does not contain this text
    "#);
}

#[test]
fn a_prompt_without_its_map() {
    insta::assert_snapshot!(composed().callsheet(&["why", "prompt.txt", "--at", "0"]), @r"
    exit: 2
    --- stderr
    error: `prompt.txt` is a file and needs its source map
    hint: compose it with `--source-map FILE`, and name that file here with `--source-map FILE`
    ");
}

#[test]
fn a_map_that_is_not_there() {
    insta::assert_snapshot!(composed().callsheet(&["why", "prompt.txt", "--source-map", "nope.json", "--at", "0"]), @r"
    exit: 2
    --- stderr
    error: nope.json: no such file or directory
    ");
}

#[test]
fn a_map_of_another_prompt() {
    let project = composed();
    project.file("prompt.txt", "short");
    insta::assert_snapshot!(project.callsheet(&["why", "prompt.txt", "--source-map", "map.json", "--at", "0"]), @r"
    exit: 2
    --- stderr
    error: the source map is of another prompt: it covers 129 bytes, `prompt.txt` has 5
    ");
}

#[test]
fn a_file_that_is_no_map() {
    let project = composed();
    project.file("no-map.json", "{\n  \"spans\": 3\n}");
    insta::assert_snapshot!(project.callsheet(&["why", "prompt.txt", "--source-map", "no-map.json", "--at", "0"]), @"
    exit: 2
    --- stderr
    error: no-map.json:2: no source map: expected a list, found `3`
    ");
}

#[test]
fn a_map_with_nonsense_in_it() {
    let project = Project::new();
    project.file("prompt.txt", "a\nb\n");
    let span = r#"{"spans": [{"start": 0, "end": 4, "layer": "a", "source": "b", "source_start": 18446744073709551615, "line": 18446744073709551615}]}"#;
    project.file("huge.json", span);
    insta::assert_snapshot!(project.callsheet(&["why", "prompt.txt", "--source-map", "huge.json", "--at", "3"]), @r"
    exit: 0
    --- stdout
    byte 3 (line 2 of the prompt)
      layer a: b:18446744073709551615
    ");
    project.file("gap.json", span.replace("\"start\": 0", "\"start\": 1"));
    insta::assert_snapshot!(project.callsheet(&["why", "prompt.txt", "--source-map", "gap.json", "--at", "3"]), @r"
    exit: 2
    --- stderr
    error: gap.json: no source map: the spans do not follow each other
    ");
}

#[test]
fn a_target_that_is_neither_file_nor_recipe() {
    insta::assert_snapshot!(composed().callsheet(&["why", "prmpt.txt", "--at", "0"]), @"
    exit: 2
    --- stderr
    error: no recipe named `prmpt.txt`
    hint: allowed are `injection`, `layers`, `messages`, `pack`, `review`, `run`, `sprint/code-review`, `sprint/commit`, `sprint/create-story`, `sprint/dev-story`, `sprint/discovery`, `sprint/project-context`, `sprint/resolve-conflict`, `sprint/story-review`, `sprint/tech-spec`, `sprint/tech-spec-review`
    ");
}

#[test]
fn a_place_is_asked_for_in_one_way() {
    insta::assert_snapshot!(composed().callsheet(&["why", "pack"]), @r"
    exit: 2
    --- stderr
    error: the following required arguments were not provided:
      <--at <BYTE>|--text <TEXT>>

    Usage: callsheet why <--at <BYTE>|--text <TEXT>> <TARGET>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(composed().callsheet(&["why", "pack", "--at", "1", "--text", "a"]), @r"
    exit: 2
    --- stderr
    error: the argument '--at <BYTE>' cannot be used with '--text <TEXT>'

    Usage: callsheet why <--at <BYTE>|--text <TEXT>> <TARGET>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(composed().callsheet(&["why", "pack", "--text", ""]), @r"
    exit: 2
    --- stderr
    error: a value is required for '--text <TEXT>' but none was supplied

    For more information, try '--help'.
    ");
}

#[test]
fn a_document_has_its_map_inside() {
    let project = Project::new();
    project.file("a.md", "one\ntwo\n");
    let run = project.run(&words("compose pack --format json -o prompt.json"));
    assert_eq!(run.code(), Some(0));
    insta::assert_snapshot!(project.callsheet(&["why", "prompt.json", "--text", "two"]), @"
    exit: 0
    --- stdout
    bytes 43 to 46 (line 6 of the prompt)
      layer files, section a.md: file:a.md:2
    ");
}
