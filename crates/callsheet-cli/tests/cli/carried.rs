//! What explains prompts works on sealed ones: `why`, `diff`, `explain`, `cache`, by id and by bundle.

use crate::project::Project;
use crate::sealed::{export, review, said, seal, seal_by, shop};

#[test]
fn explanations_of_a_sealed_prompt_are_those_of_its_composition() {
    let project = shop();
    let inputs = ["-D", "path=src/login.rs", "-D", "who=you"];
    let id = seal(&project, "you");
    let bundle = export(&project, &[&id]);
    let bundle = bundle.to_str().unwrap_or_default();
    let with = |before: &[&str], after: &[&str]| {
        let composed = project.run(&[before, &["review"], after, &inputs].concat());
        assert_eq!(composed.code(), Some(0), "{}", said(&composed));
        // What was read is no longer there.
        project.file("rules.md", "Other rules.\n");
        for sealed in [id.as_str(), bundle] {
            let explained = project.run(&[before, &[sealed], after].concat());
            assert_eq!(explained.code(), composed.code(), "{}", said(&explained));
            assert_eq!(explained.text(), composed.text(), "{sealed}");
        }
        project.file("rules.md", "Never push to main.\nRun the checks.\n");
    };
    with(&["explain"], &[]);
    with(&["explain"], &["--json"]);
    with(&["why"], &["--at", "0"]);
    with(&["why"], &["--text", "Never push"]);
    with(&["why"], &["--text", "checks.\n\n", "--json"]);
}

#[test]
fn two_attempts_by_id() {
    let project = shop();
    let (one, other) = (seal(&project, "you"), seal(&project, "me"));
    insta::assert_snapshot!(project.callsheet(&["diff", &one, &other]), @"
    exit: 1
    --- stdout
    SECTION             CHANGE    A   B  DELTA
    task                changed   7   7     +0
    rules: rules.md     same      9   9     +0
    code: src/login.rs  same     21  21     +0

    changed task
    @@ -1 +1 @@
    -Review src/login.rs, you.
    +Review src/login.rs, me.

    tokens: 46 → 46 (+0)
    common prefix: 21 of 151 bytes, 6 tokens
    ");
    insta::assert_snapshot!(project.callsheet(&["diff", &one, &one]), @"
    exit: 0
    --- stdout
    the same 151 bytes, 46 tokens
    ");
    insta::assert_snapshot!(project.callsheet(&["cache", &one, &other]), @"
    exit: 0
    --- stdout
    LAYER  SECTION       CHANGES   BYTES  TOKENS  A TO B   CACHE
    task   task          constant     25       7  changed
    rules  rules.md      project      36       9  same
    code   src/login.rs  project      59      21  same

    common prefix: 21 of 151 bytes, 6 of 46 tokens
    it ends at byte 21 (line 1): `input:who` changed
      A: layer task: input:who:1
      B: layer task: input:who:1

    advice: move layer `task` behind layer `code`: saves 30 tokens
    ");
    insta::assert_snapshot!(project.callsheet(&["cache", &one]), @"
    exit: 0
    --- stdout
    LAYER  SECTION       CHANGES   BYTES  TOKENS  CACHE
    task   task          constant     25       7  kept
    rules  rules.md      project      36       9  kept
    code   src/login.rs  project      59      21  kept

    stable prefix: 151 of 151 bytes, 46 of 46 tokens
    nothing is declared to change
    ");
    let bundle = export(&project, &[&other]);
    let bundle = bundle.to_str().unwrap_or_default();
    assert_eq!(
        project.run(&["diff", &one, bundle]),
        project.run(&["diff", &one, &other])
    );
    assert_eq!(
        project.run(&["cache", bundle]),
        project.run(&["cache", &other])
    );
    let args = review("me");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    project.file("prompt.md", project.run(&args).stdout);
    assert_eq!(project.run(&["diff", &other, "prompt.md"]).code(), Some(0));
}

#[test]
fn a_sealed_prompt_takes_no_input() {
    let project = shop();
    let id = seal(&project, "you");
    insta::assert_snapshot!(project.callsheet(&["explain", &id, "-D", "who=me"]), @"
    exit: 2
    --- stderr
    error: a sealed prompt takes no input
    ");
    insta::assert_snapshot!(project.callsheet(&["why", &id, "--at", "0", "--redact"]), @"
    exit: 2
    --- stderr
    error: `--redact` works on what is composed, not on a finished prompt
    hint: name an input and its recipe instead of a prompt
    ");
    insta::assert_snapshot!(project.callsheet(&["why", &id, "--at", "9999"]), @"
    exit: 2
    --- stderr
    error: there is no byte 9999; the prompt has 151 bytes
    ");
    insta::assert_snapshot!(project.callsheet(&["why", &id, "--text", "nowhere"]), @"
    exit: 1
    --- stderr
    error: the prompt does not contain this text
    ");
}

#[test]
fn a_file_wins_over_an_id_and_a_recipe_too() {
    let project = shop();
    let id = seal(&project, "you");
    project.file(&id, "a file of that name");
    insta::assert_snapshot!(project.callsheet(&["show", &id]), @"
    exit: 0
    --- stdout
    a file of that name
    ");
    let recipe = "[[layers]]\nname = 'a'\ntext = 'a recipe of that name'\n";
    project.file(&format!("callsheet/recipes/{id}/recipe.toml"), recipe);
    std::fs::remove_file(project.path(&id)).unwrap_or_default();
    let run = project.run(&["why", &id, "--text", "a recipe of that name"]);
    assert_eq!(run.code(), Some(0), "{}", said(&run));
}

/// Returns the ids of the prompts that carried a text, as numbers.
fn carriers(project: &Project, ids: &[String], text: &str) -> Vec<usize> {
    let run = project.run(&["why", "--text", text, "--json"]);
    let document = run.json();
    let prompts = document["prompts"].as_array().cloned().unwrap_or_default();
    assert_eq!(run.code(), Some(i32::from(prompts.is_empty())), "{text:?}");
    let mut numbers = Vec::new();
    for prompt in prompts {
        numbers.extend(ids.iter().position(|id| prompt["id"] == *id));
        let places = prompt["places"].as_array().map_or(0, Vec::len);
        assert!(places > 0, "{text:?} stands somewhere in {}", prompt["id"]);
    }
    numbers
}

#[test]
fn which_prompts_carried_a_text() {
    let project = shop();
    let long = "x".repeat(70_000) + " needle in the hay " + &"y".repeat(70_000);
    project.file("long.md", &long);
    let ids = [
        seal(&project, "you"),
        seal(&project, "Jörg \u{1F600} 日本語"),
        seal_by(&project, &["pack", "long.md"]),
        seal_by(
            &project,
            &["compose", "layers", "-D", "rules=100%_\\ \"sure\" 'yes'"],
        ),
    ];
    let carried = |text: &str| carriers(&project, &ids, text);
    assert_eq!(
        carried("Never push to main."),
        [1, 0],
        "inside of a section"
    );
    assert_eq!(carried("you."), [0]);
    assert_eq!(carried("Never Push"), [0; 0], "case counts");
    assert_eq!(
        carried("you.\n\nNever push"),
        [0],
        "two sections and what stands between"
    );
    assert_eq!(
        carried("checks.\n\n\n## src/login.rs\n\n```rs\npub fn"),
        [1, 0],
        "a frame"
    );
    let whole = project.run(&["show", &ids[0], "-q"]).text();
    assert!(whole.len() > 100);
    assert_eq!(carried(&whole), [0], "all of it");
    assert_eq!(carried(&whole[3..whole.len() - 3]), [0]);
    assert_eq!(carried(&format!("{whole}?")), [0; 0]);
    assert_eq!(carried("Jörg"), [1]);
    assert_eq!(carried("\u{1F600} 日本"), [1]);
    assert_eq!(carried("日本語.\n\nNev"), [1]);
    assert_eq!(
        carried("x needle in the hay y"),
        [2],
        "across passages of the index"
    );
    assert_eq!(carried(&long[..1000]), [2]);
    assert_eq!(
        carried("100%_\\ \"sure\" 'yes'"),
        [3],
        "signs that databases know"
    );
    assert_eq!(carried("100x_"), [0; 0]);
    assert_eq!(carried("%%%"), [0; 0]);
    assert_eq!(carried("nobody said this"), [0; 0]);
}

#[test]
fn carriers_are_told_with_their_places() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["why", "--text", "Never push"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `[ROOT]/.callsheet/callsheet.db`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    seal(&project, "you");
    seal(&project, "me, me, me, me and me");
    insta::assert_snapshot!(project.callsheet(&["why", "--text", "push to main"]), @"
    exit: 0
    --- stdout
    prompt [ID1], sealed [TIME], recipe review
      bytes 51 to 63 (line 3 of the prompt)
        layer rules, section rules.md: file:rules.md:1
    prompt [ID2], sealed [TIME], recipe review
      bytes 33 to 45 (line 3 of the prompt)
        layer rules, section rules.md: file:rules.md:1
    ");
    insta::assert_snapshot!(project.callsheet(&["why", "--text", ".\n\nNever"]), @"
    exit: 0
    --- stdout
    prompt [ID1], sealed [TIME], recipe review
      bytes 42 to 50 (line 1 of the prompt)
        layer task: recipe:review/task:1
        layer frame: text of the recipe
        layer rules, section rules.md: file:rules.md:1
    prompt [ID2], sealed [TIME], recipe review
      bytes 24 to 32 (line 1 of the prompt)
        layer task: recipe:review/task:1
        layer frame: text of the recipe
        layer rules, section rules.md: file:rules.md:1
    ");
    insta::assert_snapshot!(project.callsheet(&["why", "--text", "Never", "--limit", "1"]), @"
    exit: 0
    --- stdout
    prompt [ID1], sealed [TIME], recipe review
      bytes 45 to 50 (line 3 of the prompt)
        layer rules, section rules.md: file:rules.md:1
    --- stderr
    note: there are more prompts; `--limit N` tells more, `--since TIME` only the newer ones
    ");
    insta::assert_snapshot!(project.callsheet(&["why", "--text", " me"]), @"
    exit: 0
    --- stdout
    prompt [ID1], sealed [TIME], recipe review
      bytes 20 to 23 (line 1 of the prompt)
        layer task: recipe:review/task:1
        layer task: input:who:1
      bytes 24 to 27 (line 1 of the prompt)
        layer task: input:who:1
      bytes 28 to 31 (line 1 of the prompt)
        layer task: input:who:1
      and 2 more places
    ");
}

#[test]
fn texts_that_nobody_carried() {
    let project = shop();
    seal(&project, "you");
    insta::assert_snapshot!(project.callsheet(&["why", "--text", "me"]), @"
    exit: 2
    --- stderr
    error: a text that is looked for in all prompts has at least three characters
    ");
    insta::assert_snapshot!(project.callsheet(&["why", "--text", "ä"]), @"
    exit: 2
    --- stderr
    error: a text that is looked for in all prompts has at least three characters
    ");
    insta::assert_snapshot!(project.callsheet(&["why", "--text", "nobody"]), @"
    exit: 1
    --- stderr
    error: no sealed prompt carried this text
    ");
    insta::assert_snapshot!(project.callsheet(&["why", "--text", "nobody", "--json"]), @r#"
    exit: 1
    --- stdout
    {
      "schema": "callsheet.why/1",
      "prompts": [],
      "more": false
    }
    --- stderr
    error: no sealed prompt carried this text
    "#);
    insta::assert_snapshot!(project.callsheet(&["why", "--at", "1"]), @"
    exit: 2
    --- stderr
    error: `--at` needs a target: a byte of which prompt?
    ");
    insta::assert_snapshot!(project.callsheet(&["why", "--text", "Never", "-D", "a=b"]), @"
    exit: 2
    --- stderr
    error: a sealed prompt takes no input
    ");
}
