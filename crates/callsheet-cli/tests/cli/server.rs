//! The program on a PostgreSQL server, from sealing to collecting.

#![expect(
    clippy::unwrap_used,
    reason = "a server that cannot be used fails the test"
)]

use crate::database::Database;
use crate::project::Project;
use crate::sealed::{export, said, seal, seal_by, shop};

/// Returns what a command says, without what differs from server to server.
fn output_of(project: &Project, database: &Database, args: &[&str]) -> String {
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
    insta::assert_snapshot!(output_of(&project, &database, &["verify"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `postgres://callsheet@[SERVER]/[DATABASE]`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    insta::assert_snapshot!(output_of(&project, &database, &["prompts"]), @"
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
    insta::assert_snapshot!(output_of(&project, &database, &["prompts"]), @"
    exit: 0
    --- stdout
    ID              SEALED                RECIPE  BYTES  TOKENS  FINGERPRINT
    [ID1]  [TIME]  review    150          b3:dff76ff72546
    [ID2]  [TIME]  review    151          b3:482142ba9431
    ");
    insta::assert_snapshot!(output_of(&project, &database, &["verify"]), @"
    exit: 0
    --- stderr
    2 events, 1 project, 2 prompts, 8 texts checked: nothing was changed
    ");
    insta::assert_snapshot!(output_of(&project, &database, &["show", &one]), @"
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
    insta::assert_snapshot!(output_of(&project, &database, &["replay", &one]), @"
    exit: 0
    --- stdout
    prompt [ID2]: the same 151 bytes, b3:482142ba9431de26f441ae921ad2b7106dce1b442d7799dd6120eeccebb190e6
    ");
    insta::assert_snapshot!(output_of(&project, &database, &["diff", &one, &two]), @"
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
    insta::assert_snapshot!(output_of(&project, &database, &["search", "push"]), @"
    exit: 0
    --- stdout
    prompt [ID1] and 1 more, section rules: rules.md: file:rules.md
      Never push to main. Run the checks.
    ");
    insta::assert_snapshot!(output_of(&project, &database, &["why", "--text", "you.\n\nNever"]), @"
    exit: 0
    --- stdout
    prompt [ID2], sealed [TIME], recipe review
      bytes 21 to 32 (line 1 of the prompt)
        layer task: input:who:1
        layer task: recipe:review/task:1
        layer frame: text of the recipe
        layer rules, section rules.md: file:rules.md:1
    ");
    insta::assert_snapshot!(output_of(&project, &database, &["show", "0m7f"]), @"
    exit: 2
    --- stderr
    error: no prompt or run `0m7f`
    hint: `callsheet prompts` lists what there is
    ");
    let bundle = export(&project, &[&one]);
    let bundle = bundle.to_str().unwrap();
    insta::assert_snapshot!(output_of(&project, &database, &["gc", "--keep", "1"]), @"
    exit: 0
    --- stdout
    [ID2]
    --- stderr
    removed 1 prompt, 2 texts that only they carried, 62 bytes
    ");
    assert_eq!(project.run(&["show", &one]).code(), Some(2));
    insta::assert_snapshot!(output_of(&project, &database, &["import", bundle]), @"
    exit: 0
    --- stderr
    imported [ID2]
    ");
    insta::assert_snapshot!(output_of(&project, &database, &["import", bundle]), @"
    exit: 0
    --- stderr
    already here [ID2]
    ");
    assert_eq!(project.run(&["verify"]).code(), Some(0));
    let mut other = Project::named("elsewhere");
    other.variable("CALLSHEET_STORE", &database.url());
    insta::assert_snapshot!(output_of(&other, &database, &["prompts"]), @"
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

#[test]
fn passwords_and_services_come_from_where_libpq_has_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(database) = Database::new() else {
        return;
    };
    let url = database.url();
    let (login, address) = url.rsplit_once('@').unwrap();
    let (host, _) = address.rsplit_once('/').unwrap();
    let (host, port) = host.split_once(':').unwrap();
    let user = login.split(['/', ':']).nth(3).unwrap();
    let (name, password) = (&database.name, database.password());
    let mut project = shop();
    let home = project.path("").display().to_string();
    project.variable("HOME", &home);
    let all = |project: &Project| project.run(&["prompts"]).code();
    let passwords = |project: &Project, mode, line: &str| {
        project.file(".pgpass", line);
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(project.path(".pgpass"), mode).unwrap();
    };
    let for_host = format!("{host}:*:*:{user}:{password}\n");

    // A project names a server, and the password file has its host.
    let bare = format!("postgres://{user}@{address}");
    project.file("callsheet.toml", format!("store = \"{bare}\"\n"));
    passwords(&project, 0o600, &for_host);
    seal(&project, "you");
    assert_eq!(all(&project), Some(0));
    // A password for any host is not for one that a project has chosen.
    passwords(&project, 0o600, &format!("*:*:*:{user}:{password}\n"));
    insta::assert_snapshot!(output_of(&project, &database, &["prompts"]), @"
    exit: 3
    --- stderr
    error: the store `postgres://callsheet@[SERVER]/[DATABASE]` asks for a password: for a URL in the settings of a project, only a line of your password file that names the host counts
    ");
    project.variable("PGPASSWORD", &password);
    insta::assert_snapshot!(output_of(&project, &database, &["prompts"]), @"
    exit: 3
    --- stderr
    error: the store `postgres://callsheet@[SERVER]/[DATABASE]` asks for a password: for a URL in the settings of a project, only a line of your password file that names the host counts
    ");
    project.variable("CALLSHEET_STORE", &bare);
    assert_eq!(all(&project), Some(0));

    let service = format!("[team]\nhost={host}\nport={port}\nuser={user}\ndbname={name}\n");
    project.file(".pg_service.conf", &service);
    project.variable("PGPASSWORD", "");
    project.variable("CALLSHEET_STORE", "postgres:///?service=team");
    passwords(&project, 0o600, &for_host);
    assert_eq!(all(&project), Some(0));
    passwords(&project, 0o644, &for_host);
    insta::assert_snapshot!(output_of(&project, &database, &["prompts"]), @"
    exit: 3
    --- stderr
    error: the store `postgres://callsheet@[SERVER]/[DATABASE]` asks for a password: the password file `[ROOT]/.pgpass` is not used, because group or others have access to it; `chmod 600` changes that
    ");
    project.variable("PGSSLMODE", "require");
    insta::assert_snapshot!(output_of(&project, &database, &["prompts"]), @"
    exit: 3
    --- stderr
    error: the store `postgres://callsheet@[SERVER]/[DATABASE]` cannot be reached: the server does not speak TLS, which `sslmode` asks for; `ssl = on` in its configuration changes that
    ");
}
