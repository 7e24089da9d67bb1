//! What is wrong with the templates of a recipe: `file:line` from the root of the project.

use crate::recipe_errors::{check, recipe};

const WITH_TEMPLATE: &str = "[[layers]]\nname = 'a'\ntemplate = 'a.md'\n";

#[test]
fn broken_frontmatter_of_a_template() {
    let template = "---\ndescription: [a\n---\nhi\n";
    insta::assert_snapshot!(check(&[("recipe.toml", WITH_TEMPLATE), ("a.md", template)]), @"
    exit: 1
    --- stdout
    callsheet/recipes/mine/a.md:2: the frontmatter is not valid YAML: `[` has no `]`
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn templates_that_include_each_other() {
    let files = [
        ("recipe.toml", WITH_TEMPLATE),
        ("a.md", "---\nengine: jinja\n---\n{% include 'b.md' %}"),
        ("b.md", "---\nengine: jinja\n---\n\n{% include 'a.md' %}"),
    ];
    insta::assert_snapshot!(check(&files), @r"
    exit: 1
    --- stdout
    callsheet/recipes/mine/b.md:5: templates include each other: `a.md → b.md → a.md`
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
    insta::assert_snapshot!(recipe(&files).callsheet(&["compose", "mine"]), @r"
    exit: 2
    --- stderr
    error: callsheet/recipes/mine/b.md:5: templates include each other: `a.md → b.md → a.md`
    ");
}

#[test]
fn a_template_with_a_value_that_is_missing() {
    let files = [
        ("recipe.toml", WITH_TEMPLATE),
        ("a.md", "one\ntwo {{who}}\n"),
    ];
    insta::assert_snapshot!(recipe(&files).callsheet(&["compose", "mine"]), @r"
    exit: 2
    --- stderr
    error: callsheet/recipes/mine/a.md:2: Required variable 'who' not provided for template 'a'
    ");
    let jinja = [
        ("recipe.toml", WITH_TEMPLATE),
        ("a.md", "---\nengine: jinja\n---\none\n{{ who }}\n"),
    ];
    insta::assert_snapshot!(recipe(&jinja).callsheet(&["compose", "mine"]), @r"
    exit: 2
    --- stderr
    error: callsheet/recipes/mine/a.md:5: `who` is undefined
    ");
}

#[test]
fn a_template_that_never_ends() {
    let template = "---\nengine: jinja\n---\n{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}";
    let files = [("recipe.toml", WITH_TEMPLATE), ("a.md", template)];
    insta::assert_snapshot!(recipe(&files).callsheet(&["compose", "mine"]), @r"
    exit: 2
    --- stderr
    error: callsheet/recipes/mine/a.md:4: does not end within 10000000 steps
    ");
}
