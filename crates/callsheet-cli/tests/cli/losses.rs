//! What a recipe asks for and does not get, and what an input gives and nothing uses.

use crate::project::{Project, words};

/// A recipe without a schema, and one whose layers can do without.
fn project() -> Project {
    let project = Project::new();
    project.file(
        "callsheet/recipes/look/recipe.toml",
        "[[layers]]\nname = \"diff\"\nvalue = \"diff\"\n[[layers]]\nname = \"focus\"\ntext = \"Focus: {{focus}}\"\noptional = true\n",
    );
    project.file(
        "callsheet/recipes/told/recipe.toml",
        "missing = \"empty\"\n[[layers]]\nname = \"a\"\ntemplate = \"a.md\"\n[[layers]]\nname = \"rules\"\nfile = \"RULES.md\"\npriority = 5\n",
    );
    project.file("callsheet/recipes/told/a.md", "Hello {{who}}.\n");
    project
}

#[test]
fn a_field_that_nothing_uses() {
    let project = project();
    insta::assert_snapshot!(project.callsheet(&words("compose look -D dif=x --fail-on-loss")), @r"
    exit: 2
    --- stderr
    error: unknown field `dif`: nothing in recipe `look` uses it
    hint: did you mean `diff`?
    hint: `callsheet schema look` prints what the recipe takes
    ");
    let input = "diff: x\nauthor: {name: me}\n";
    insta::assert_snapshot!(project.callsheet_with_stdin(input, &words("compose look --input -")), @r"
    exit: 2
    --- stderr
    error: unknown field `author`: nothing in recipe `look` uses it
    hint: allowed are `diff`, `focus`
    hint: `callsheet schema look` prints what the recipe takes
    ");
    project.file("input.yaml", "diff: x\nfocsu: speed\n");
    insta::assert_snapshot!(project.callsheet(&words("explain look --input input.yaml")), @r"
    exit: 2
    --- stderr
    error: input.yaml: unknown field `focsu`: nothing in recipe `look` uses it
    hint: did you mean `focus`?
    hint: `callsheet schema look` prints what the recipe takes
    ");
    project.file("callsheet.toml", "[recipes.look]\nfocsu = \"speed\"\n");
    insta::assert_snapshot!(project.callsheet(&words("compose look -D diff=x")), @r"
    exit: 2
    --- stderr
    error: unknown field `focsu`: nothing in recipe `look` uses it
    hint: did you mean `focus`?
    hint: `callsheet schema look` prints what the recipe takes
    hint: `callsheet.toml` sets fields of this recipe, too
    ");
}

#[test]
fn a_layer_without_its_value() {
    let project = project();
    insta::assert_snapshot!(project.callsheet(&words("compose look -D focus=speed")), @r"
    exit: 0
    --- stdout
    Focus: speed
    --- stderr
    warning: `diff` has no value
    ");
    insta::assert_snapshot!(project.callsheet(&words("compose look -D focus=speed --fail-on-loss")), @r"
    exit: 1
    --- stderr
    warning: `diff` has no value
    error: 1 thing that was asked for is not in the prompt, and `--fail-on-loss` is set
    ");
    insta::assert_snapshot!(project.callsheet(&words("compose told")), @r"
    exit: 0
    --- stdout
    Hello .
    --- stderr
    warning: `who` has no value: `a.md` asks for it
    warning: `RULES.md` does not exist
    ");
    assert_eq!(
        project.run(&words("compose told --fail-on-loss")).code(),
        Some(1)
    );
}

#[test]
fn an_optional_layer_is_missed_by_nobody() {
    let project = project();
    let args = words("compose look -D diff=x --fail-on-loss");
    insta::assert_snapshot!(project.callsheet(&args), @r"
    exit: 0
    --- stdout
    x
    ");
    insta::assert_snapshot!(project.callsheet(&[&args[..], &["-v"]].concat()), @r"
    exit: 0
    --- stdout
    x
    --- stderr
    note: `focus` has no value: `look/focus` asks for it
    ");
    let document = project.run(&[&args[..], &["--json"]].concat()).json();
    let omission = &document["omissions"][0];
    assert_eq!(
        (&omission["reason"], &omission["loss"]),
        (&"no-value".into(), &false.into())
    );
    let layers = project.run(&words("recipe show look --json")).json();
    assert_eq!(layers["layers"][1]["optional"], true);
}

#[test]
fn what_was_sealed_is_composed_again() {
    let project = project();
    assert_eq!(
        project.run(&words("compose look -D diff=x --seal")).code(),
        Some(0)
    );
    let prompts = project.run(&words("prompts --json")).json();
    let id = prompts["prompts"][0]["id"].as_str().unwrap();
    assert_eq!(project.run(&["replay", id]).code(), Some(0));
}
