//! `search`: what is found by its words.

use crate::sealed::{said, seal, seal_by, shop};

#[test]
fn words_are_found_with_their_section_and_source() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["search", "push"]), @"
    exit: 1
    --- stderr
    nothing was found
    ");
    project.file("often.md", "checks, checks and checks\n");
    seal(&project, "you");
    seal(&project, "me");
    seal_by(&project, &["pack", "often.md"]);
    insta::assert_snapshot!(project.callsheet(&["search", "push", "main"]), @"
    exit: 0
    --- stdout
    prompt [ID1] and 1 more, section rules: rules.md: file:rules.md
      Never push to main. Run the checks.
    ");
    insta::assert_snapshot!(project.callsheet(&["search", "checks"]), @"
    exit: 0
    --- stdout
    prompt [ID2], section files: often.md: file:often.md
      checks, checks and checks
    prompt [ID1] and 1 more, section rules: rules.md: file:rules.md
      to main. Run the checks.
    ");
    insta::assert_snapshot!(project.callsheet(&["search", "checks", "-n", "1", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.search/1",
      "hits": [
        {
          "in": "prompt",
          "prompt": "[ID2]",
          "prompts": 1,
          "section": "b3:668ee79ae02c03f9885fd450aa89ac87eaddfa2c8abc3c5ed814ae799b3bca4f",
          "at": 0,
          "snippet": "checks, checks and checks",
          "layer": "files",
          "name": "often.md",
          "source": "file:often.md"
        }
      ]
    }
    "#);
    insta::assert_snapshot!(project.callsheet(&["search", "src/login.rs"]), @"
    exit: 0
    --- stdout
    prompt [ID1], section task: recipe:review/task
      Review src/login.rs, me.
    prompt [ID3], section task: recipe:review/task
      Review src/login.rs, you.
    ");
}

#[test]
fn words_that_nothing_has_and_words_that_databases_know() {
    let project = shop();
    seal(&project, "you");
    insta::assert_snapshot!(project.callsheet(&["search", "nobody"]), @"
    exit: 1
    --- stderr
    nothing was found
    ");
    insta::assert_snapshot!(project.callsheet(&["search", "nobody", "--json"]), @r#"
    exit: 1
    --- stdout
    {
      "schema": "callsheet.search/1",
      "hits": []
    }
    --- stderr
    nothing was found
    "#);
    for words in [
        "\"",
        "*",
        "(push OR",
        "NEAR(",
        "a'b",
        "push\u{0}main",
        "-",
        "{}",
        "^push",
    ] {
        // Whatever a database makes of such words, the program answers.
        let words = words.replace('\u{0}', " ");
        let run = project.run(&["search", "--", &words]);
        assert!(matches!(run.code(), Some(0..=2)), "{words}: {}", said(&run));
        assert!(!said(&run).contains("fts5"), "{words}: {}", said(&run));
    }
    for same in ["PUSH", "pus", "Never push", "never   PUSH"] {
        assert_eq!(project.run(&["search", same]).code(), Some(0), "{same}");
    }
}
