//! `callsheet.toml` and `CALLSHEET_…` variables: what they set, and what is wrong with them.

use crate::project::{Project, words};
use crate::sealed::seal_by;

fn with_settings(text: impl AsRef<[u8]>) -> String {
    let project = Project::new();
    project.file("callsheet.toml", text);
    project.callsheet(&["recipe", "check"])
}

#[test]
fn broken_toml() {
    insta::assert_snapshot!(with_settings("# settings\n\n[paths\n"), @r"
    exit: 2
    --- stderr
    error: callsheet.toml:3: unclosed table, expected `]`
    hint: `callsheet schema settings` prints what is allowed
    ");
}

#[test]
fn an_unknown_setting() {
    insta::assert_snapshot!(with_settings("prompt_dir = \"a\"\n"), @"
    exit: 2
    --- stderr
    error: callsheet.toml:1: unknown field `prompt_dir`, expected one of `prompts_dir`, `max_file_bytes`, `redact_key`, `redact`, `store`, `project`, `paths`, `recipes`, `scope`, `runner`, `runners`, `adapters`, `accounts`, `limits`, `sandbox`, `commands`, `workspace`, `checks`, `sprint`, `serve`, `profiles`
    hint: did you mean `prompts_dir`?
    hint: `callsheet schema settings` prints what is allowed
    ");
}

#[test]
fn an_unknown_path() {
    insta::assert_snapshot!(with_settings("[paths]\nplanning = \"a\"\n"), @r"
    exit: 2
    --- stderr
    error: callsheet.toml:2: unknown field `planning`, expected one of `implementation_artifacts`, `planning_artifacts`, `sprint_project_context`
    hint: did you mean `planning_artifacts`?
    hint: `callsheet schema settings` prints what is allowed
    ");
}

#[test]
fn a_setting_of_the_wrong_type() {
    insta::assert_snapshot!(with_settings("\nmax_file_bytes = \"much\"\n"), @"
    exit: 2
    --- stderr
    error: callsheet.toml:2: expected a whole number from 0, found the text `much`
    hint: `callsheet schema settings` prints what is allowed
    ");
}

#[test]
fn settings_of_a_recipe_that_are_no_table() {
    insta::assert_snapshot!(with_settings("[recipes]\ninjection = 3\n"), @"
    exit: 2
    --- stderr
    error: callsheet.toml:2: expected a table, found `3`
    hint: `callsheet schema settings` prints what is allowed
    ");
}

#[test]
fn two_checks_of_one_name() {
    let check = "[[checks]]\nname = \"test\"\ncommand = [\"./test\"]\n\n";
    let other = "[[checks]]\ncommand = [\"./lint\"]\nname = \"lint\"\n\n";
    insta::assert_snapshot!(with_settings([check, other, check].concat()), @"
    exit: 2
    --- stderr
    error: callsheet.toml:10: there is another check named `test`; each needs its own name
    hint: `callsheet schema settings` prints what is allowed
    ");
}

#[test]
fn a_check_without_a_command() {
    let text = "[[checks]]\nname = \"test\"\ncommand = []\n";
    insta::assert_snapshot!(with_settings(text), @"
    exit: 2
    --- stderr
    error: callsheet.toml:3: the command is empty; it needs a program and its arguments
    hint: `callsheet schema settings` prints what is allowed
    ");
}

#[test]
fn a_copy_that_leads_out_of_the_root() {
    let output_of = ["../secret", "/etc/passwd"].map(|path| {
        with_settings(format!(
            "[workspace]\nbase = \"main\"\ncopy = [\"a\", \"{path}\"]\n"
        ))
    });
    insta::assert_snapshot!(output_of.join("\n"), @"
    exit: 2
    --- stderr
    error: callsheet.toml:3: cannot copy `../secret`: `..` would lead out of the root
    hint: `callsheet schema settings` prints what is allowed

    exit: 2
    --- stderr
    error: callsheet.toml:3: cannot copy `/etc/passwd`: paths are relative to the root
    hint: `callsheet schema settings` prints what is allowed
    ");
}

#[test]
fn settings_that_are_no_text() {
    insta::assert_snapshot!(with_settings(b"\xff\xfe"), @r"
    exit: 2
    --- stderr
    error: callsheet.toml: not UTF-8 text
    ");
}

#[test]
fn settings_that_are_a_pipe_are_not_waited_for() {
    let project = Project::new();
    crate::hostile::pipe(&project.path("callsheet.toml"));
    insta::assert_snapshot!(project.callsheet(&["recipe", "list"]), @r"
    exit: 2
    --- stderr
    error: callsheet.toml: is not a regular file
    ");
}

#[test]
fn a_variable_that_is_no_number() {
    let mut project = Project::new();
    project.variable("CALLSHEET_MAX_FILE_BYTES", "1 MB");
    insta::assert_snapshot!(project.callsheet(&["pack"]), @r"
    exit: 2
    --- stderr
    error: the variable `CALLSHEET_MAX_FILE_BYTES` is not a number of bytes: `1 MB`
    ");
}

#[test]
fn a_prompts_folder_of_the_settings_that_is_not_there() {
    let project = Project::new();
    project.file("callsheet.toml", "prompts_dir = \"nope\"\n");
    insta::assert_snapshot!(project.callsheet(&["template", "list"]), @r"
    exit: 2
    --- stderr
    error: `[ROOT]/nope` is not a folder
    hint: the setting `prompts_dir` names it
    ");
}

/// A project with a story in four places, one per way to set the folder.
fn stories() -> Project {
    let project = Project::new();
    for place in [
        "_bmad-output/implementation-artifacts",
        "by-file",
        "by-variable",
        "by-input",
    ] {
        project.file(&format!("{place}/2a-1.md"), place);
    }
    project
}

#[test]
fn input_wins_over_variable_wins_over_file_wins_over_default() {
    let mut project = stories();
    let inject = ["inject", "--command", "dev", "--story", "2a-1"];
    let compose = words(
        r#"compose injection -D command_name=dev -D story_keys:=["2a-1"] -D paths.implementation_artifacts=by-input"#,
    );
    let output_of = |project: &Project, args: &[&str]| {
        let text = project.run(args).text();
        text.lines().nth(1).map(str::to_owned)
    };
    let line = |place: &str| Some(format!("  <file path=\"{place}/2a-1.md\">"));
    assert_eq!(
        output_of(&project, &inject),
        line("_bmad-output/implementation-artifacts")
    );
    project.file(
        "callsheet.toml",
        "[paths]\nimplementation_artifacts = \"by-file\"\n",
    );
    assert_eq!(output_of(&project, &inject), line("by-file"));
    project.variable("CALLSHEET_PATHS_IMPLEMENTATION_ARTIFACTS", "by-variable");
    assert_eq!(output_of(&project, &inject), line("by-variable"));
    assert_eq!(output_of(&project, &compose), line("by-input"));
}

#[test]
fn the_other_paths_are_settings_too() {
    let mut project = Project::new();
    project.file("plan/sprint-project-context.md", "from the plan");
    project.file("frozen.md", "frozen");
    project.file("callsheet.toml", "[paths]\nplanning_artifacts = \"plan\"\n");
    let inject = ["inject", "--command", "dev", "--story", "2a-1"];
    assert!(project.run(&inject).text().contains("\nfrom the plan\n"));
    project.variable("CALLSHEET_PATHS_SPRINT_PROJECT_CONTEXT", "frozen.md");
    assert!(project.run(&inject).text().contains("\nfrozen\n"));
}

#[test]
fn a_size_limit_of_the_settings_refuses_larger_files() {
    let mut project = Project::new();
    project.file("a.txt", "12345").file("b.txt", "123456");
    project.file("callsheet.toml", "max_file_bytes = 5\n");
    insta::assert_snapshot!(project.callsheet(&["pack", "*.txt"]), @r#"
    exit: 0
    --- stdout
    <tree>
    a.txt
    </tree>
    <file path="a.txt">
    12345
    </file>
    --- stderr
    warning: `b.txt` is over the file size limit: 6 bytes, at most 5 are read
    "#);
    project.variable("CALLSHEET_MAX_FILE_BYTES", "6");
    insta::assert_snapshot!(project.callsheet(&["pack", "*.txt", "-q"]), @r#"
    exit: 0
    --- stdout
    <tree>
    a.txt
    b.txt
    </tree>
    <file path="a.txt">
    12345
    </file>
    <file path="b.txt">
    123456
    </file>
    "#);
}

#[test]
fn recipe_fields_of_the_settings_are_defaults() {
    let project = Project::new();
    project.file(
        "callsheet.toml",
        "[recipes.pack]\nformat = \"markdown\"\nglobs = [\"a.txt\"]\n",
    );
    project.file("a.txt", "a").file("b.txt", "b");
    insta::assert_snapshot!(project.callsheet(&["pack"]), @r"
    exit: 0
    --- stdout
    ## Tree

    ```
    a.txt
    ```

    ## a.txt

    ```txt
    a
    ```
    ");
    insta::assert_snapshot!(project.callsheet(&["pack", "b.txt", "--format", "xml"]), @r#"
    exit: 0
    --- stdout
    <tree>
    b.txt
    </tree>
    <file path="b.txt">
    b
    </file>
    "#);
}

#[test]
fn variables_of_others_change_nothing() {
    let mut project = stories();
    let before = project.callsheet(&["pack"]);
    project
        .variable("CALLSHEET_UNKNOWN", "1")
        .variable("PROMPTS_DIR", "x");
    assert_eq!(project.callsheet(&["pack"]), before);
}

#[test]
fn settings_of_a_recipe_that_does_not_exist() {
    insta::assert_snapshot!(with_settings("[recipes.pakc]\nhidden = true\n"), @"
    exit: 2
    --- stderr
    error: callsheet.toml: no recipe named `pakc`
    hint: did you mean `pack`?
    hint: `[recipes.pakc]` sets its fields; rename or remove the table
    ");
    let project = Project::new();
    project.file(
        "callsheet.toml",
        "[recipes.mine]\nx = \"1\"\n[recipes.\"sprint/dev-story\"]\n",
    );
    insta::assert_snapshot!(project.callsheet(&["compose", "mine"]), @"
    exit: 2
    --- stderr
    error: callsheet.toml: no recipe named `mine`
    hint: allowed are `injection`, `layers`, `messages`, `pack`, `review`, `run`, `sprint/code-review`, `sprint/commit`, `sprint/create-story`, `sprint/dev-story`, `sprint/discovery`, `sprint/project-context`, `sprint/resolve-conflict`, `sprint/story-review`, `sprint/tech-spec`, `sprint/tech-spec-review`
    hint: `[recipes.mine]` sets its fields; rename or remove the table
    ");
    project.file(
        "callsheet/recipes/mine/recipe.toml",
        "[[layers]]\nname = \"x\"\nvalue = \"x\"\n",
    );
    assert_eq!(project.run(&["compose", "mine"]).text(), "1");
}

#[test]
fn rules_of_redaction() {
    let project = Project::new();
    project.file(
        "callsheet.toml",
        "[[redact.rules]]\nid = \"acme-token\"\nregex = 'acme_[a-z0-9]{12}'\nkeywords = [\"acme_\"]\nhits = ['TOKEN=‹acme_k7q2z9m4x1w8›']\nmisses = ['acme_corporation']\n\n\
         [[redact.rules]]\nid = \"url-password\"\nenabled = false\n",
    );
    project.file(
        "a.txt",
        "TOKEN=acme_w5t8r1q2v6z3\nDB=postgres://app:hunter2@db/shop\n",
    );
    insta::assert_snapshot!(project.callsheet(&["pack", "a.txt", "--redact"]), @r#"
    exit: 0
    --- stdout
    <tree>
    a.txt
    </tree>
    <file path="a.txt">
    TOKEN=‹secret:acme-token:6935›
    DB=postgres://app:hunter2@db/shop

    </file>
    --- stderr
    note: 1 secret became a pseudonym (1 acme-token)
    "#);
    let id = seal_by(&project, &["pack", "a.txt", "--redact"]);
    project.file("callsheet.toml", "");
    insta::assert_snapshot!(project.callsheet(&["replay", &id]), @"
    exit: 0
    --- stdout
    prompt [ID1]: the same 119 bytes, b3:f6b29fb0891435fd8762a950c995a65da9a98e5fc457c130102fb60fdfb00e5d
    ");
}

#[test]
fn a_rule_of_redaction_that_cannot_work() {
    insta::assert_snapshot!(with_settings("[[redact.rules]]\nid = \"a\"\nregex = 'abc'\n\n[[redact.rules]]\nid = \"mine\"\nregex = 'a('\n"), @"
    exit: 2
    --- stderr
    error: callsheet.toml:7: rule `mine`: `regex` is not valid: unclosed group
    hint: `callsheet schema settings` prints what is allowed
    ");
    insta::assert_snapshot!(with_settings("[[redact.rules]]\nid = \"mine\"\nregexp = 'a'\n"), @"
    exit: 2
    --- stderr
    error: callsheet.toml:3: unknown field `regexp`, expected one of `id`, `regex`, `keywords`, `entropy`, `mixed`, `block`, `enabled`, `hits`, `misses`
    hint: did you mean `regex`?
    hint: `callsheet schema settings` prints what is allowed
    ");
    insta::assert_snapshot!(with_settings("[[redact.rules]]\nid = \"mine\"\nregex = 'abc'\nhits = ['abd']\n"), @"
    exit: 2
    --- stderr
    error: callsheet.toml:3: rule `mine`: it finds nothing in `abd`, which is one of its `hits`
    hint: `callsheet schema settings` prints what is allowed
    ");
    insta::assert_snapshot!(with_settings("[[redact.rules]]\nid = \"jwts\"\nenabled = false\n"), @"
    exit: 2
    --- stderr
    error: callsheet.toml:2: no rule named `jwts`
    hint: did you mean `jwt`?
    hint: `callsheet schema settings` prints what is allowed
    ");
}
