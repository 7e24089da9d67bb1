//! `diff`: equal is 0, different is 1, and what differs is told.

use crate::project::Project;

fn inputs() -> Project {
    let project = Project::new();
    project.file("a.yaml", "rules: be kind\nproject_context: a shop\n");
    project.file(
        "b.yaml",
        "rules: be strict\ncontext: [{name: task, content: sell}]\n",
    );
    project
}

#[test]
fn equal_files() {
    let project = Project::new();
    project
        .file("a.txt", "one\ntwo\n")
        .file("b.txt", "one\ntwo\n");
    insta::assert_snapshot!(project.callsheet(&["diff", "a.txt", "b.txt"]), @r"
    exit: 0
    --- stdout
    the same 8 bytes, 4 tokens
    ");
}

#[test]
fn a_newline_at_the_end_is_reported() {
    let project = Project::new();
    project.file("a.txt", "x").file("b.txt", "x\n");
    insta::assert_snapshot!(project.callsheet(&["diff", "a.txt", "b.txt"]), @r"
    exit: 1
    --- stdout
    changed prompt
    @@ -1 +1 @@
    -x
    \ No newline at end of file
    +x

    tokens: 1 → 2 (+1)
    common prefix: 1 of 1 bytes, 1 tokens
    ");
    insta::assert_snapshot!(project.callsheet(&["diff", "b.txt", "a.txt"]), @r"
    exit: 1
    --- stdout
    changed prompt
    @@ -1 +1 @@
    -x
    +x
    \ No newline at end of file

    tokens: 2 → 1 (-1)
    common prefix: 1 of 2 bytes, 1 tokens
    ");
}

#[test]
fn different_files() {
    let project = Project::new();
    project
        .file("a.txt", "one\ntwo\nthree")
        .file("b.txt", "one\ntoo\nthree");
    insta::assert_snapshot!(project.callsheet(&["diff", "a.txt", "b.txt"]), @r"
    exit: 1
    --- stdout
    changed prompt
    @@ -1,3 +1,3 @@
     one
    -two
    +too
     three

    tokens: 5 → 5 (+0)
    common prefix: 5 of 13 bytes, 3 tokens
    ");
    insta::assert_snapshot!(project.callsheet(&["diff", "a.txt", "b.txt", "--json"]), @r#"
    exit: 1
    --- stdout
    {
      "schema": "callsheet.diff/1",
      "equal": false,
      "a": {
        "bytes": 13,
        "tokens": 5
      },
      "b": {
        "bytes": 13,
        "tokens": 5
      },
      "common_prefix": {
        "bytes": 5,
        "tokens": 3
      },
      "sections": [
        {
          "name": "prompt",
          "change": "changed",
          "a": {
            "bytes": 13,
            "tokens": 5
          },
          "b": {
            "bytes": 13,
            "tokens": 5
          },
          "lines": "@@ -1,3 +1,3 @@\n one\n-two\n+too\n three\n"
        }
      ],
      "beside": []
    }
    "#);
}

#[test]
fn the_common_prefix_ends_on_a_character() {
    let project = Project::new();
    // The two letters share their first byte.
    project.file("a.txt", "xé").file("b.txt", "xè");
    let document = project.run(&["diff", "a.txt", "b.txt", "--json"]).json();
    assert_eq!(document["common_prefix"]["bytes"], 1);
}

#[test]
fn inputs_of_a_recipe() {
    insta::assert_snapshot!(inputs().callsheet(&["diff", "--recipe", "layers", "a.yaml", "b.yaml"]), @r"
    exit: 1
    --- stdout
    SECTION          CHANGE   A  B  DELTA
    project-context  removed  2  -     -2
    rules            changed  2  2     +0
    context: task    added    -  1     +1

    removed project-context
    @@ -1 +0,0 @@
    -a shop

    changed rules
    @@ -1 +1 @@
    -be kind
    +be strict

    added context: task
    @@ -0,0 +1 @@
    +sell

    tokens: 6 → 5 (-1)
    common prefix: 0 of 20 bytes, 0 tokens
    ");
    assert_eq!(
        inputs()
            .run(&["diff", "--recipe", "layers", "a.yaml", "a.yaml"])
            .code(),
        Some(0)
    );
}

#[test]
fn documents_differ_like_their_inputs() {
    let project = inputs();
    for name in ["a", "b"] {
        let (input, output) = (format!("{name}.yaml"), format!("{name}.json"));
        let run = project.run(&[
            "compose", "layers", "--input", &input, "--json", "-o", &output,
        ]);
        assert_eq!(run.code(), Some(0));
    }
    assert_eq!(
        project.callsheet(&["diff", "a.json", "b.json"]),
        project.callsheet(&["diff", "--recipe", "layers", "a.yaml", "b.yaml"])
    );
}

#[test]
fn a_file_that_is_not_there() {
    let project = inputs();
    insta::assert_snapshot!(project.callsheet(&["diff", "a.yaml", "nope.txt"]), @r"
    exit: 2
    --- stderr
    error: nope.txt: no such file or directory
    ");
    insta::assert_snapshot!(project.callsheet(&["diff", "--recipe", "layers", "a.yaml", "nope.yaml"]), @r"
    exit: 2
    --- stderr
    error: nope.yaml: no such file or directory
    ");
}

#[test]
fn inputs_that_do_not_fit() {
    let project = inputs();
    project.file("bad.yaml", "ruels: a\n");
    insta::assert_snapshot!(project.callsheet(&["diff", "--recipe", "layers", "a.yaml", "bad.yaml"]), @r"
    exit: 2
    --- stderr
    error: bad.yaml: unknown field `ruels`
    hint: did you mean `rules`?
    hint: `callsheet schema layers` prints what the recipe takes
    ");
    insta::assert_snapshot!(project.callsheet(&["diff", "--recipe", "layer", "a.yaml", "b.yaml"]), @r"
    exit: 2
    --- stderr
    error: no recipe named `layer`
    hint: did you mean `layers`?
    ");
}

#[test]
fn one_side_is_not_enough() {
    insta::assert_snapshot!(Project::new().callsheet(&["diff", "a.txt"]), @r"
    exit: 2
    --- stderr
    error: the following required arguments were not provided:
      <B>

    Usage: callsheet diff <A> <B>

    For more information, try '--help'.
    ");
}

#[test]
fn what_stands_beside_the_text_counts_too() {
    let project = Project::new();
    project
        .file(
            "one.yaml",
            "mode: agent\nagentDefinition: {id: ann, systemPrompt: Hi.}\n",
        )
        .file(
            "joined.yaml",
            "mode: agent\nagentDefinition: {id: ann, systemPrompt: Hi.}\nsingle_system: true\n",
        )
        .file("a.yaml", "rules: be kind\ntools: [{name: a}]\n")
        .file("b.yaml", "rules: be kind\ntools: [{name: b}]\n");
    let joined = project.callsheet(&["diff", "--recipe", "messages", "one.yaml", "joined.yaml"]);
    assert!(joined.starts_with("exit: 1\n"), "{joined}");
    assert!(joined.ends_with("\nthe messages differ\n"), "{joined}");
    insta::assert_snapshot!(project.callsheet(&["diff", "--recipe", "layers", "a.yaml", "b.yaml"]), @r"
    exit: 1
    --- stdout
    the same 7 bytes, 2 tokens
    the tools differ
    ");
}
