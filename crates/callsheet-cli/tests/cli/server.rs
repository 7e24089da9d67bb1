//! The program on a PostgreSQL server, from sealing to collecting.

#![expect(
    clippy::unwrap_used,
    reason = "a server that cannot be used fails the test"
)]

use crate::database::Database;
use crate::project::Project;
use crate::sealed::{export, said, seal, seal_by, shop};

/// Returns what a command says, without what differs from server to server.
fn told(project: &Project, database: &Database, args: &[&str]) -> String {
    let run = project.run(args);
    let shown = project.shown(&run);
    assert!(!shown.contains(&database.password()), "{shown}");
    let host = database
        .server
        .rsplit('@')
        .next()
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    shown
        .replace(&host, "[SERVER]")
        .replace(&database.name, "[DATABASE]")
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one story from sealing to collecting, most of which is what a user sees"
)]
fn everything_works_on_a_server() {
    let Some(database) = Database::new() else {
        return;
    };
    let mut project = shop();
    project.variable("CALLSHEET_STORE", &database.url());
    insta::assert_snapshot!(told(&project, &database, &["verify"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `postgres://callsheet@[SERVER]/[DATABASE]`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    insta::assert_snapshot!(told(&project, &database, &["prompts"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `postgres://callsheet@[SERVER]/[DATABASE]`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    let (one, two) = (seal(&project, "you"), seal(&project, "me"));
    assert!(
        !project.path(".callsheet").exists(),
        "nothing is kept beside the server"
    );
    insta::assert_snapshot!(told(&project, &database, &["prompts"]), @"
    exit: 0
    --- stdout
    ID              SEALED                RECIPE  BYTES  TOKENS  FINGERPRINT
    [ID1]  [TIME]  review    150          b3:dff76ff72546
    [ID2]  [TIME]  review    151          b3:482142ba9431
    ");
    insta::assert_snapshot!(told(&project, &database, &["verify"]), @"
    exit: 0
    --- stderr
    2 events, 1 project, 2 prompts, 8 texts checked: nothing was changed
    ");
    insta::assert_snapshot!(told(&project, &database, &["show", &one]), @"
    exit: 0
    --- stdout
    Review src/login.rs, you.

    Never push to main.
    Run the checks.


    ## src/login.rs

    ```rs
    pub fn may_try(failures: u32) -> bool {
        failures < 5
    }

    ```
    --- stderr
    prompt [ID2], sealed [TIME] by engine 0.1.0
    recipe review, 151 bytes, b3:482142ba9431de26f441ae921ad2b7106dce1b442d7799dd6120eeccebb190e6
    ");
    insta::assert_snapshot!(told(&project, &database, &["replay", &one]), @"
    exit: 0
    --- stdout
    prompt [ID2]: the same 151 bytes, b3:482142ba9431de26f441ae921ad2b7106dce1b442d7799dd6120eeccebb190e6
    ");
    insta::assert_snapshot!(told(&project, &database, &["diff", &one, &two]), @"
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
    insta::assert_snapshot!(told(&project, &database, &["search", "push"]), @"
    exit: 0
    --- stdout
    prompt [ID1] and 1 more, section rules: rules.md: file:rules.md
      Never push to main. Run the checks.
    ");
    insta::assert_snapshot!(told(&project, &database, &["why", "--text", "you.\n\nNever"]), @"
    exit: 0
    --- stdout
    prompt [ID2], sealed [TIME], recipe review
      bytes 21 to 32 (line 1 of the prompt)
        layer task: input:who:1
        layer task: recipe:review/task:1
        layer frame: text of the recipe
        layer rules, section rules.md: file:rules.md:1
    ");
    insta::assert_snapshot!(told(&project, &database, &["show", "0m7f"]), @"
    exit: 2
    --- stderr
    error: no prompt or run `0m7f`
    hint: `callsheet prompts` lists what there is
    ");
    let bundle = export(&project, &[&one]);
    let bundle = bundle.to_str().unwrap();
    insta::assert_snapshot!(told(&project, &database, &["gc", "--keep", "1"]), @"
    exit: 0
    --- stdout
    [ID2]
    --- stderr
    removed 1 prompt, 2 texts that only they carried, 62 bytes
    ");
    assert_eq!(project.run(&["show", &one]).code(), Some(2));
    insta::assert_snapshot!(told(&project, &database, &["import", bundle]), @"
    exit: 0
    --- stderr
    imported [ID2]
    ");
    insta::assert_snapshot!(told(&project, &database, &["import", bundle]), @"
    exit: 0
    --- stderr
    already here [ID2]
    ");
    assert_eq!(project.run(&["verify"]).code(), Some(0));
    let mut other = Project::named("elsewhere");
    other.variable("CALLSHEET_STORE", &database.url());
    insta::assert_snapshot!(told(&other, &database, &["prompts"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `postgres://callsheet@[SERVER]/[DATABASE]`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    other.variable("CALLSHEET_PROJECT", "shared");
    let shared = seal_by(&other, &["compose", "layers", "-D", "rules=a"]);
    project.variable("CALLSHEET_PROJECT", "shared");
    let run = project.run(&["show", &shared]);
    assert_eq!(run.code(), Some(0), "one name, one project: {}", said(&run));
}
