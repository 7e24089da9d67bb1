//! Input from several places: `-D` with files and stdin, and documents that are merged, with a record of who gave what.

use serde_json::json;

use crate::project::{Project, words};

const RECIPE: &str = "\
[[layers]]
name = \"title\"
text = \"{{title}}\"

[[layers]]
name = \"limits\"
value = \"limits\"
optional = true

[[layers]]
name = \"tags\"
value = \"tags\"
optional = true
";

fn project() -> Project {
    let project = Project::new();
    project.file("callsheet/recipes/note/recipe.toml", RECIPE);
    project
}

#[test]
fn a_field_is_the_text_of_a_file_as_it_is() {
    let project = project();
    let text = "\u{feff}# Täsk\r\n\r\n{{title}} @FILE\n\n";
    project.file("task.md", text);
    let run = project.run(&words("compose note -D limits.text=@task.md -D title=x"));
    assert_eq!(run.code(), Some(0), "{run:?}");
    let expected = json!({ "text": text }).to_string();
    assert_eq!(run.text(), format!("x\n\n{expected}"));
    let run = project.run(&words("compose note -D title=@task.md"));
    assert_eq!(run.text().as_bytes(), text.as_bytes());
    let map = words("why note -D title=@task.md --text Täsk");
    insta::assert_snapshot!(project.callsheet(&map), @r"
    exit: 0
    --- stdout
    bytes 5 to 10 (line 1 of the prompt)
      layer title: input:title:1
    ");
}

#[test]
fn a_file_is_named_from_here_and_not_from_the_root() {
    let project = project();
    project
        .file("callsheet.toml", "")
        .file("sub/a.txt", "below")
        .file("a.txt", "above");
    let run = project.run(&words("-C sub compose note -D title=@a.txt"));
    assert_eq!(run.text(), "below");
    let run = project.run(&words("-C sub compose note -D title=@../a.txt"));
    assert_eq!(run.text(), "above");
}

#[test]
fn a_document_of_a_file_is_json_or_yaml_as_an_input_is() {
    let project = project();
    project
        .file("limits.yaml", "a: 1.50\nb: [x]\n")
        .file("limits.json", "{\"a\": 1.50}")
        .file("limits", "a: {c: d}\n")
        .file("list.txt", "[1, 2]");
    for (file, shown) in [
        ("limits.yaml", r#"{"a":1.50,"b":["x"]}"#),
        ("limits.json", r#"{"a":1.50}"#),
        ("limits", r#"{"a":{"c":"d"}}"#),
        ("list.txt", "[1,2]"),
    ] {
        let define = format!("limits:=@{file}");
        let run = project.run(&["compose", "note", "-D", "title=x", "-D", &define]);
        assert_eq!(run.text(), format!("x\n\n{shown}"), "{run:?}");
    }
}

#[test]
fn stdin_is_a_text_or_a_document() {
    let project = project();
    let said = project.callsheet_with_stdin("from stdin\n", &words("compose note -D title=@-"));
    insta::assert_snapshot!(said, @r"
    exit: 0
    --- stdout
    from stdin
    ");
    let args = words("compose note -D title=x -D limits:=@-");
    insta::assert_snapshot!(project.callsheet_with_stdin("a: [1]\n", &args), @r#"
    exit: 0
    --- stdout
    x

    {"a":[1]}
    "#);
}

#[test]
fn only_one_option_reads_stdin() {
    let project = project();
    for args in [
        "compose note --input - -D title=@-",
        "compose note -D title=@- -D limits:=@-",
        "compose note --input - --input -",
        "explain note --input - -D title=@-",
        "template render task-agent -D a=@- -D b=@-",
    ] {
        let said = project.callsheet_with_stdin("title: x\n", &words(args));
        assert!(said.starts_with("exit: 2\n--- stderr\n"), "{args}\n{said}");
        assert!(said.contains("would both read stdin"), "{args}\n{said}");
    }
    let args = words("compose note --input - -D title=@-");
    insta::assert_snapshot!(project.callsheet_with_stdin("", &args), @r"
    exit: 2
    --- stderr
    error: `--input -` and `-D title=@-` would both read stdin
    hint: stdin can be read once; put the other text into a file
    ");
    let args = words("exec layers --input - --prompt @- --runner claude");
    insta::assert_snapshot!(project.callsheet_with_stdin("", &args), @r"
    exit: 2
    --- stderr
    error: `--input -` and `--prompt @-` would both read stdin
    hint: stdin can be read once; put the other text into a file
    ");
}

#[test]
fn a_text_can_begin_with_an_at_sign() {
    let project = project();
    let run = project.run(&words("compose note -D title=@@ada"));
    assert_eq!(run.text(), "@ada");
    let run = project.run(&["compose", "note", "-D", "title=@@"]);
    assert_eq!(run.text(), "@");
    let run = project.run(&["compose", "note", "-D", "title:=\"@ada\""]);
    assert_eq!(run.text(), "@ada");
}

#[test]
fn what_cannot_be_read_is_named() {
    let project = project();
    project
        .file("bytes", [0xff, 0xfe])
        .file("bad.json", "{\n  \"a\": }")
        .file("twice.yaml", "a: 1\na: 2\n");
    let said = |define: &str| project.callsheet(&["compose", "note", "-D", define]);
    insta::assert_snapshot!(said("title=@gone.txt"), @r"
    exit: 2
    --- stderr
    error: gone.txt: no such file or directory
    ");
    insta::assert_snapshot!(said("title=@callsheet"), @r"
    exit: 2
    --- stderr
    error: callsheet: is a directory
    ");
    insta::assert_snapshot!(said("title=@bytes"), @r"
    exit: 2
    --- stderr
    error: bytes: not UTF-8 text
    ");
    insta::assert_snapshot!(said("title=@"), @r"
    exit: 2
    --- stderr
    error: no file is named behind `@`
    hint: `@FILE` reads a file, `@-` stdin; a text that begins with `@` begins with `@@`
    ");
    insta::assert_snapshot!(said("limits:=@bad.json"), @r"
    exit: 2
    --- stderr
    error: bad.json:2: malformed JSON: expected a value, found `}`
    ");
    insta::assert_snapshot!(said("limits:=@twice.yaml"), @r"
    exit: 2
    --- stderr
    error: twice.yaml:2: malformed YAML: the key `a` is there twice
    hint: only one of the values would count; remove the other
    ");
    insta::assert_snapshot!(said("=@gone.txt"), @r"
    exit: 2
    --- stderr
    error: `-D =@gone.txt`: the key is empty
    hint: write `-D key=text`, `-D key:=json` or `-D key=@FILE`, with dots for fields in fields
    ");
    let file = std::fs::File::create(project.path("huge")).unwrap();
    file.set_len((32 << 20) + 1).unwrap();
    insta::assert_snapshot!(said("title=@huge"), @r"
    exit: 2
    --- stderr
    error: huge: more than 33554432 bytes are not read
    ");
}

#[test]
fn a_sealed_prompt_needs_its_files_no_more() {
    let project = project();
    project.file("task.md", "Fix it.\n");
    project
        .file("base.yaml", "title: a\nlimits: {x: 1, y: 2}\n")
        .file("over.json", "{\"limits\": {\"y\": 3}}");
    let args = "compose note --input base.yaml --input over.json -D title=@task.md --seal";
    assert_eq!(project.run(&words(args)).code(), Some(0));
    for file in ["task.md", "base.yaml", "over.json"] {
        std::fs::remove_file(project.path(file)).unwrap();
    }
    let ids = project.run(&words("prompts --json")).json();
    let id = ids["prompts"][0]["id"].as_str().unwrap().to_owned();
    insta::assert_snapshot!(project.callsheet(&["replay", &id]), @r"
    exit: 0
    --- stdout
    prompt [ID1]: the same 23 bytes, b3:bf8805ba84f9c0fa1cd56f7bb848607d01e57684a88833b711d313f7d7973525
    ");
    let manifest = project.run(&["explain", &id, "--json"]).json();
    assert_eq!(manifest["inputs"][2]["from"], "-D");
    assert_eq!(project.run(&["verify"]).code(), Some(0));
}

#[test]
fn documents_are_merged_and_the_record_says_how() {
    let project = project();
    project
        .file("callsheet.toml", "")
        .file(
            "base.yaml",
            "title: base\nlimits: {x: 1, y: {z: 2}}\ntags: [a, b]\n",
        )
        .file(
            "sub/over.json",
            "{\"limits\": {\"y\": {\"w\": 3}, \"x\": 4}, \"tags\": [\"c\"]}",
        );
    let args = "-C sub compose note --input ../base.yaml --input over.json -D title=mine --manifest ../manifest.json";
    insta::assert_snapshot!(project.callsheet(&words(args)), @r#"
    exit: 0
    --- stdout
    mine

    {"x":4,"y":{"z":2,"w":3}}

    ["c"]
    "#);
    let manifest: serde_json::Value = serde_json::from_str(&project.read("manifest.json")).unwrap();
    assert_eq!(
        manifest["inputs"],
        json!([
            {"from": "base.yaml", "fields": ["title", "limits.x", "limits.y.z", "tags"]},
            {"from": "sub/over.json", "fields": ["limits.y.w", "limits.x", "tags"], "overrides": ["limits.x", "tags"]},
            {"from": "-D", "fields": ["title"], "overrides": ["title"]},
        ])
    );
    let args = words("explain note --input base.yaml --input sub/over.json -D title=mine");
    insta::assert_snapshot!(project.callsheet(&args), @"
    exit: 0
    --- stdout
    LAYER   SECTION  ROLE    SOURCE             BYTES  TOKENS  SHARE           CHANGES
    title   title    system  recipe:note/title      4       1  10.5%  █        constant
    limits  limits   system  input                 25      15  65.8%  ██████▋  task
    tags    tags     system  input                  5       3  13.2%  █▍       task
    frame                    recipe note            4       1  10.5%  █        constant

    38 bytes, 20 tokens (o200k), b3:77803f973ea84a75030d08df83b96834044088955f02fd8631005ab527dbc633

    Input:
      base.yaml: title, limits.x, limits.y.z, tags
      sub/over.json: limits.y.w, limits.x, tags (overrides limits.x, tags)
      -D: title (overrides title)
    ");
    // One document and the command line are as plain as they look.
    let args = "compose note --input base.yaml -D title=mine --manifest manifest.json";
    assert_eq!(project.run(&words(args)).code(), Some(0));
    assert!(!project.read("manifest.json").contains("\"inputs\""));
}

#[test]
fn no_record_tells_where_a_file_of_elsewhere_is() {
    let project = project();
    std::fs::write(project.outside().join("team.yaml"), "title: team\n").unwrap();
    project.file("own.yaml", "tags: [a]\n");
    let (team, own) = (
        project.outside().join("team.yaml"),
        project.path("own.yaml"),
    );
    let args = [
        "compose",
        "note",
        "--input",
        team.to_str().unwrap(),
        "--input",
        own.to_str().unwrap(),
        "--manifest",
        "manifest.json",
    ];
    assert_eq!(project.run(&args).code(), Some(0));
    let manifest: serde_json::Value = serde_json::from_str(&project.read("manifest.json")).unwrap();
    assert_eq!(manifest["inputs"][0]["from"], "team.yaml");
    assert_eq!(manifest["inputs"][1]["from"], "own.yaml");
}

#[test]
fn several_documents_are_named_in_errors() {
    let project = Project::new();
    project.file("a.yaml", "rules: 5\n").file("b.yaml", "[1]\n");
    insta::assert_snapshot!(project.callsheet(&words("compose layers --input a.yaml --input b.yaml")), @r"
    exit: 2
    --- stderr
    error: b.yaml: an input is an object with fields, found a list
    ");
    project.file("b.yaml", "{}\n");
    insta::assert_snapshot!(project.callsheet(&words("compose layers --input a.yaml --input b.yaml")), @r"
    exit: 2
    --- stderr
    error: a.yaml, b.yaml: `rules`: expected null or string, found number
    hint: `callsheet schema layers` prints what the recipe takes
    ");
}

#[test]
fn files_work_wherever_fields_are_set() {
    let project = project();
    project
        .file("callsheet/templates/greet.md", "Hello {{name}}.\n")
        .file("name.txt", "Ada");
    let run = project.run(&words("template render greet -D name=@name.txt"));
    assert!(run.text().starts_with("Hello Ada."), "{run:?}");
    let run = project.run(&words("why note -D title=@name.txt --text Ada"));
    assert_eq!(run.code(), Some(0), "{run:?}");
    let run = project.run(&words("explain note -D title=@name.txt --json"));
    assert_eq!(run.json()["bytes"], 3);
}
