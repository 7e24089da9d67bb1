//! `search`: what is found by its words.

#![expect(
    clippy::unwrap_used,
    reason = "a world that cannot be made fails the test"
)]

use std::time::Duration;

use callsheet_store::{Access, Location, NewRun, Record, RunKind, Store, Stream, Wait};

use crate::project::Project;
use crate::sealed::{STORE, database, said, seal, seal_by, shop};

#[test]
fn words_are_found_with_their_section_and_source() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["search", "push"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `[ROOT]/.callsheet/callsheet.db`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
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
      ],
      "more": true
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
      "hits": [],
      "more": false
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

/// Makes a run of a prompt, as a worker does, with what its agent has said.
fn run_with_log(project: &Project, prompt: &str, said: &[(Stream, &str)]) {
    let place = Location::Sqlite(project.path(STORE));
    let store = Store::open(&place, Access::Write).unwrap();
    let owner = store.project(".").wait().unwrap();
    let new = NewRun {
        prompt: prompt.parse().unwrap(),
        kind: RunKind::First,
        parent: None,
        request: serde_json::Value::Null,
        task: None,
        batch: None,
    };
    let lease = Duration::from_mins(1);
    let claim = store
        .start_run(&owner, new, "worker", lease, |_| Ok(()))
        .wait();
    let claim = claim.unwrap().unwrap();
    let record = |(stream, text): &(Stream, &str)| Record {
        stream: *stream,
        data: text.as_bytes().to_vec(),
    };
    store
        .append_log(&claim, said.iter().map(record).collect())
        .wait()
        .unwrap();
    store
        .finish_run(&claim, &serde_json::json!({"exit": 0}))
        .wait()
        .unwrap();
}

#[test]
fn logs_of_runs_are_found_beside_prompts() {
    let project = shop();
    let prompt = seal(&project, "you");
    let said = [
        (Stream::Meta, "Review src/login.rs, you."),
        (Stream::Stdout, "reading the rules\n"),
        (Stream::Stderr, "warning: the zebra checks were skipped\n"),
    ];
    run_with_log(&project, &prompt, &said);
    let shown = |args: &[&str]| project.callsheet(args);
    insta::assert_snapshot!(shown(&["search", "zebra", "checks"]), @"
    exit: 0
    --- stdout
    run [ID1], record 3 of stderr
      warning: the zebra checks were skipped
    ");
    insta::assert_snapshot!(shown(&["search", "zebra", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.search/1",
      "hits": [
        {
          "in": "log",
          "run": "[ID1]",
          "seq": 3,
          "stream": "stderr",
          "snippet": "warning: the zebra checks were skipped"
        }
      ],
      "more": false
    }
    "#);
    insta::assert_snapshot!(shown(&["search", "checks"]), @"
    exit: 0
    --- stdout
    run [ID1], record 3 of stderr
      warning: the zebra checks were skipped
    prompt [ID2], section rules: rules.md: file:rules.md
      to main. Run the checks.
    ");
    insta::assert_snapshot!(shown(&["verify"]), @"
    exit: 0
    --- stderr
    4 events, 1 project, 1 prompt, 3 records, 1 run, 6 texts checked: nothing was changed
    ");
    database(&project)
        .execute(
            "update passage set last = last - 1 where run is not null",
            [],
        )
        .unwrap();
    insta::assert_snapshot!(shown(&["verify"]), @"
    exit: 1
    --- stdout
    the index of run [ID1]: it does not hold what it should
    the search index of project .: it does not have what the texts say; `callsheet reindex` makes it anew
    --- stderr
    4 events, 1 project, 1 prompt, 3 records, 1 run, 6 texts checked: 2 things not as sealed
    ");
}

/// Whatever an index of another version says, the answer is right, and the next index is of this version.
#[test]
fn an_index_of_an_older_version_is_made_anew() {
    let project = shop();
    let prompt = seal(&project, "you");
    run_with_log(
        &project,
        &prompt,
        &[(Stream::Meta, "a prompt"), (Stream::Stdout, "a zebra")],
    );
    // Fewer than these are read, and indexed some other time.
    for n in 0..210 {
        project.file(
            &format!("many/{n}.md"),
            format!("What is said of number {n}.\n"),
        );
    }
    seal_by(&project, &["pack", "many"]);
    let search = |words: &str| project.run(&["search", words]).text();
    let expected = [search("zebra"), search("push")];
    assert!(expected[0].starts_with("run ") && expected[1].starts_with("prompt "));
    let version = || {
        let sql = "select version from search_index";
        database(&project)
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    let current = version();
    let older = "update search_index set version = version - 1; insert into trigram (trigram) values ('delete-all')";
    database(&project).execute_batch(older).unwrap();
    let remade = project.run(&["search", "zebra"]);
    assert_eq!(
        said(&remade),
        "note: the search index is of another version and is made anew: 431 passages of prompts and 0 log records\n"
    );
    assert_eq!([remade.text(), search("push")], expected);
    assert_eq!(version(), current);
    assert_eq!(project.run(&["verify"]).code(), Some(0));
}
