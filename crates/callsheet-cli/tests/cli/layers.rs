//! `compose layers`: text, document, messages, and the tools beside it.

use crate::project::{Project, words};

/// A project with files for its context, and an input that uses every layer.
pub(crate) fn fill(project: &Project) {
    project.file("README.md", "# Shop\n\nSells props.\n");
    project.file("CLAUDE.md", "- Run the tests.\n");
    project.file("profile.md", "Few customers.\n");
    project.file(
        "callsheet/templates/clerk.md",
        "---\nvariables: [shop]\n---\nYou work at {{shop}}.\n",
    );
    project.file(
        "layers.yaml",
        "identity: {name: clerk, variables: {shop: Props}}\nproject_context: true\nrules: Be kind.\ncontext:\n  - {name: order_state, data: {open: 3, paid: true}}\n  - {name: task, content: Sell.}\ntools:\n  - {name: sell, input_schema: {z: 1, a: 2}}\n",
    );
}

fn shop() -> Project {
    let project = Project::new();
    fill(&project);
    project
}

#[test]
fn as_text() {
    insta::assert_snapshot!(shop().callsheet(&["compose", "layers", "--input", "layers.yaml"]), @r"
    exit: 0
    --- stdout
    You work at Props.

    ---

    ## Project Profile
    Few customers.

    ## Project Documentation
    ### CLAUDE.md
    - Run the tests.

    ### README.md
    # Shop

    Sells props.

    ---

    Be kind.

    ---

    ## Order State
    - **open:** 3
    - **paid:** true

    ---

    Sell.
    --- stderr
    note: the tools are not part of the text; `--format json` has them
    ");
}

#[test]
fn as_a_document() {
    insta::assert_snapshot!(
        "layers_document",
        shop().callsheet(&[
            "compose",
            "layers",
            "--input",
            "layers.yaml",
            "--format",
            "json"
        ])
    );
}

#[test]
fn as_messages() {
    insta::assert_snapshot!(shop().callsheet(&["compose", "layers", "-D", "rules=Be kind.", "--format", "messages"]), @r#"
    exit: 0
    --- stdout
    [{"role":"system","content":"Be kind."}]
    "#);
}

#[test]
fn json_is_the_document() {
    let project = shop();
    let compose = |more: &[&str]| {
        project.run(&[&["compose", "layers", "--input", "layers.yaml"], more].concat())
    };
    assert_eq!(compose(&["--json"]), compose(&["--format", "json"]));
}

#[test]
fn an_input_from_stdin_is_json_or_yaml() {
    let project = Project::new();
    let args = ["compose", "layers", "--input", "-"];
    insta::assert_snapshot!(project.callsheet_with_stdin("{\"rules\": \"a\"}", &args), @r"
    exit: 0
    --- stdout
    a
    ");
    insta::assert_snapshot!(project.callsheet_with_stdin("rules: a\n", &args), @r"
    exit: 0
    --- stdout
    a
    ");
}

#[test]
fn definitions_win_over_the_document() {
    let args = words(
        "compose layers --input layers.yaml -D identity.variables.shop=Hats -D project_context:=null -D context:=[] -q",
    );
    assert_eq!(
        shop().run(&args).text(),
        "You work at Hats.\n\n---\n\nBe kind."
    );
}

#[test]
fn a_prompt_ends_where_its_text_ends() {
    let project = Project::new();
    assert_eq!(
        project
            .run(&["compose", "layers", "-D", "rules=no newline"])
            .stdout,
        b"no newline"
    );
    assert_eq!(project.run(&["compose", "layers"]).stdout, b"");
}

#[test]
fn templates_from_another_folder() {
    let project = shop();
    project.file("sub/prompts/clerk.md", "Another {{shop}}.");
    let args = words(
        "compose layers -D identity.name=clerk -D identity.variables.shop=Hats --prompts-dir prompts",
    );
    let mut command = project.command(&args);
    let run = crate::project::finish(command.current_dir(project.path("sub")));
    assert_eq!(run.text(), "Another Hats.");
}

#[test]
fn placeholders_without_a_value() {
    let project = shop();
    let args = ["compose", "layers", "-D", "identity.name=clerk", "-D"];
    insta::assert_snapshot!(project.callsheet(&[&args[..], &["missing=keep"]].concat()), @r"
    exit: 0
    --- stdout
    You work at {{shop}}.
    --- stderr
    warning: template:missing: `{{shop}}` in `clerk.md` has no value
    ");
    insta::assert_snapshot!(project.callsheet(&[&args[..], &["missing=empty"]].concat()), @r"
    exit: 0
    --- stdout
    You work at .
    --- stderr
    warning: template:missing: `{{shop}}` in `clerk.md` has no value
    ");
    insta::assert_snapshot!(project.callsheet(&[&args[..], &["strict:=true"]].concat()), @r"
    exit: 2
    --- stderr
    error: clerk.md:4: Required variable 'shop' not provided for template 'clerk'
    ");
}

#[test]
fn an_identity_that_nobody_has() {
    insta::assert_snapshot!(shop().callsheet(&["compose", "layers", "-D", "identity.name=clrek"]), @r"
    exit: 0
    --- stderr
    warning: `clrek` does not exist: no template has this name; the identity is empty
    ");
}

#[test]
fn an_explanation() {
    let project = shop();
    let table = project.run(&["explain", "layers", "--input", "layers.yaml"]);
    insta::assert_snapshot!(project.shown(&table), @r"
    exit: 0
    --- stdout
    LAYER            SECTION          ROLE    SOURCE                    BYTES  TOKENS  SHARE          CHANGES
    identity         identity         system  template:clerk.md            18       5   7.8%  ▊       constant
    project-context  project-context  system  derived:project files       126      33  54.8%  █████▌  project
    rules            rules            system  input                         8       3   3.5%  ▍       project
    context          order_state      system  input:context[0].data        45      16  19.6%  ██      task
    context          task             system  input:context[1].content      5       2   2.2%  ▎       task
    frame                                     recipe layers                28       5  12.2%  █▎      constant

    230 bytes, 64 tokens (o200k), b3:33c54cf0794f216855840155446299f6b0da814dfbc16ee93920bf59cadbdab5
    ");
    let both = project.run(&["compose", "layers", "--input", "layers.yaml", "--explain"]);
    assert_eq!(
        both.text(),
        project
            .run(&["compose", "layers", "--input", "layers.yaml"])
            .text()
    );
    assert!(String::from_utf8_lossy(&both.stderr).starts_with(&table.text()));
}
