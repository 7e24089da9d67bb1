//! The programs of `examples/` print exactly what stands here.
#![expect(dead_code, reason = "`main` is what cargo runs")]

#[path = "../examples/compose.rs"]
mod compose;
#[path = "../examples/messages.rs"]
mod messages;
#[path = "../examples/origins.rs"]
mod origins;
#[path = "../examples/own_recipe.rs"]
mod own_recipe;
#[path = "../examples/seal.rs"]
mod seal;

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn a_prompt_within_a_budget() {
    insta::assert_snapshot!(compose::run().unwrap(), @r#"
    <tree>
    a.txt
    b.txt
    </tree>
    <file path="a.txt">
    First.

    </file>
    -- `b.txt` did not fit the budget
    -- 63 bytes
    "#);
}

#[test]
fn a_prompt_of_messages() {
    insta::assert_snapshot!(messages::run().unwrap(), @r#"
    [{"role":"system","content":"You answer in one sentence.\nThe branch is main."},{"role":"user","content":"What does \"merge\" do?"}]
    system: You answer in one sentence.
    The branch is main.
    user: What does "merge" do?
    "#);
}

#[test]
fn a_recipe_of_ones_own() {
    insta::assert_snapshot!(own_recipe::run().unwrap(), @r"
    Review the login.

    Look at:

    - errors
    - names
    -- the same from the folder: true
    -- unknown field `waht`: nothing in recipe `check` uses it
    -- recipes/check/recipe.toml:9: unknown field `wen`, expected one of `name`, `role`, `when`, `text`, `template`, `value`, `file`, `files`, `instructions`, `tree`, `git_status`, `git_diff`, `git_files`, `git_log`, `command`, `source`, `frame`, `list`, `message`, `section`, `priority`, `volatility`, `trust`, `cut`, `optional`
    ");
}

#[test]
fn where_a_byte_comes_from() {
    insta::assert_snapshot!(origins::run().unwrap(), @r"
    task: 25 bytes from template:task.md, Own
    rules: 22 bytes from file:rules.md, Untrusted
    `Fix` at byte 11: template:task.md, line 2
    `login` at byte 19: input:what, line 1
    `push` at byte 66: file:rules.md, line 2
    `<file` at byte 27: frame
    ");
}

#[test]
fn a_seal_without_a_store() {
    insta::assert_snapshot!(seal::run().unwrap(), @r#"
    the same text: true
    faults: 0
    differences when composed again: 0
    files that were read: {"hello.txt"}
    after a change: text b3:50784d098e9bdf216f6c56dfdcd71ba6b4dc9adbe8d19dbb57074cb2649aa192: hash mismatch
    after a change: prompt: it is not what the manifest says
    "#);
}

#[test]
fn every_example_is_run_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let known = ["compose", "messages", "origins", "own_recipe", "seal"];
    assert_eq!(
        names.collect::<BTreeSet<_>>(),
        known.map(|name| format!("{name}.rs")).into()
    );
}
