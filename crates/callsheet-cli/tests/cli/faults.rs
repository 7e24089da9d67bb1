//! Stores that cannot be used: a clear text, no password, and nothing half done.

use std::os::unix::fs::MetadataExt as _;

use crate::permissions::{bound, chmod};
use crate::project::{Project, finish};
use crate::sealed::{STORE, database, said, seal, shop};

const SEAL: [&str; 5] = ["compose", "layers", "-D", "rules=a", "--seal"];

#[test]
fn an_address_that_cannot_be_read() {
    for address in [
        "postgres://app:hunter2@db.local:port/shop",
        "postgres://app:hunt@er2@db.local/shop",
        "postgres://app:hunter2@db.local/shop?sslmode=maybe",
        "postgres://app:hunter2/db.local",
        "mysql://app:hunter2@db.local/shop",
        "kept/shop.db",
    ] {
        let mut project = shop();
        project.variable("CALLSHEET_STORE", address);
        for args in [
            &SEAL[..],
            &["prompts"],
            &["verify"],
            &["why", "--text", "abc"],
        ] {
            let run = project.run(args);
            assert!(
                matches!(run.code(), Some(2 | 3)),
                "{address}: {}",
                said(&run)
            );
            assert!(!said(&run).contains("hunter2"), "{}", said(&run));
            assert!(!said(&run).contains("er2@"), "{}", said(&run));
            assert_eq!(run.text(), "", "no prompt");
        }
    }
}

#[test]
fn what_is_wrong_with_an_address() {
    let mut project = shop();
    project.variable("CALLSHEET_STORE", "postgres://app:hunt@er2@db.local/shop");
    insta::assert_snapshot!(project.callsheet(&["prompts"]), @"
    exit: 2
    --- stderr
    error: the URL of the store has a sign in its password that must be written as `%40` (@), `%2F` (/), `%3F` (?) or `%23` (#); it reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE`
    hint: `store` in callsheet.toml and the variable CALLSHEET_STORE take `postgres://user@host/database`
    ");
    project.variable(
        "CALLSHEET_STORE",
        "postgres://app:hunter2@db.local/shop?sslmode=maybe",
    );
    insta::assert_snapshot!(project.callsheet(&SEAL), @"
    exit: 2
    --- stderr
    error: the `sslmode` of the store is not one of `disable`, `prefer`, `require`, `verify-ca` or `verify-full`
    hint: `store` in callsheet.toml and the variable CALLSHEET_STORE take `postgres://user@host/database`
    ");
    let project = shop();
    project.file(
        "callsheet.toml",
        "store = \"mysql://app:hunter2@db.local/shop\"\n",
    );
    insta::assert_snapshot!(project.callsheet(&SEAL), @"
    exit: 2
    --- stderr
    error: the address of the store is not a `postgres://` URL
    hint: `store` in callsheet.toml and the variable CALLSHEET_STORE take `postgres://user@host/database`
    ");
    // A project cannot have files and services of the user used.
    project.file(
        "callsheet.toml",
        "store = \"postgres://db.local/shop?sslkey=/etc/key\"\n",
    );
    insta::assert_snapshot!(project.callsheet(&SEAL), @"
    exit: 2
    --- stderr
    error: the URL of the store has `sslkey`, which the settings of a project may not say; your own environment may
    hint: `store` in callsheet.toml and the variable CALLSHEET_STORE take `postgres://user@host/database`
    ");
    project.file("callsheet.toml", "store = 5\n");
    insta::assert_snapshot!(project.callsheet(&SEAL), @"
    exit: 2
    --- stderr
    error: callsheet.toml:1: expected text, found `5`
    hint: `callsheet schema settings` prints what is allowed
    ");
}

#[test]
fn a_link_that_leads_out_of_the_project() {
    let project = shop();
    std::os::unix::fs::symlink(project.outside(), project.path(".callsheet")).unwrap();
    insta::assert_snapshot!(project.callsheet(&SEAL), @"
    exit: 3
    --- stderr
    error: the store `.callsheet/callsheet.db` leads out of the root
    ");
    assert!(!project.outside().join("callsheet.db").exists());
    std::fs::remove_file(project.path(".callsheet")).unwrap();
    std::fs::create_dir(project.path(".callsheet")).unwrap();
    let out = project.outside().join("elsewhere.db");
    std::os::unix::fs::symlink(&out, project.path(STORE)).unwrap();
    assert_eq!(project.run(&SEAL).code(), Some(3));
    assert!(!out.exists());
}

#[test]
fn an_address_of_nothing_takes_the_setting_away() {
    let mut project = shop();
    project.file(
        "callsheet.toml",
        "store = \"postgres://127.0.0.1:1/shop\"\n",
    );
    assert_eq!(project.run(&SEAL).code(), Some(3));
    project.variable("CALLSHEET_STORE", "");
    assert_eq!(project.run(&SEAL).code(), Some(0));
    assert!(project.path(STORE).is_file());
}

#[test]
fn a_server_that_does_not_answer() {
    let mut project = shop();
    project.variable("CALLSHEET_STORE", "postgres://app:hunter2@127.0.0.1:1/shop");
    insta::assert_snapshot!(project.callsheet(&SEAL), @"
    exit: 3
    --- stderr
    error: the store `postgres://app@127.0.0.1:1/shop` cannot be reached: connection refused
    ");
    insta::assert_snapshot!(project.callsheet(&["prompts"]), @"
    exit: 3
    --- stderr
    error: the store `postgres://app@127.0.0.1:1/shop` cannot be reached: connection refused
    ");
    // What needs no store works.
    assert_eq!(project.run(&SEAL[..4]).code(), Some(0));
}

#[test]
fn a_store_of_a_newer_program() {
    let project = shop();
    let id = seal(&project, "you");
    let schema: i64 = database(&project)
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    database(&project)
        .pragma_update(None, "user_version", 99)
        .unwrap();
    for args in [
        &["show", id.as_str()][..],
        &["prompts"],
        &["verify"],
        &["gc", "--keep", "0"],
    ] {
        let run = project.run(args);
        assert_eq!(
            (run.code(), run.text().as_str()),
            (Some(3), ""),
            "{args:?}: {}",
            said(&run)
        );
    }
    insta::assert_snapshot!(project.callsheet(&SEAL), @"
    exit: 3
    --- stderr
    error: the store `[ROOT]/.callsheet/callsheet.db` has schema 99, this program knows up to 9
    hint: a newer callsheet has written it; use that one
    ");
    database(&project)
        .pragma_update(None, "user_version", schema)
        .unwrap();
    assert_eq!(
        project.run(&["verify"]).code(),
        Some(0),
        "nothing was touched"
    );
}

#[test]
fn a_store_of_an_older_build() {
    let project = shop();
    let id = seal(&project, "you");
    database(&project)
        .pragma_update(None, "user_version", 5)
        .unwrap();
    for args in [
        &["show", id.as_str()][..],
        &["prompts"],
        &["verify"],
        &["gc", "--keep", "0"],
    ] {
        let run = project.run(args);
        assert_eq!(
            (run.code(), run.text().as_str()),
            (Some(3), ""),
            "{args:?}: {}",
            said(&run)
        );
    }
    insta::assert_snapshot!(project.callsheet(&SEAL), @"
    exit: 3
    --- stderr
    error: the store `[ROOT]/.callsheet/callsheet.db` was made by an older build of callsheet: its schema is 5, and this one needs 9
    hint: export what you need with that build (`callsheet export`), then move the store away and import it here (`callsheet import`)
    ");
    database(&project)
        .pragma_update(None, "user_version", 9)
        .unwrap();
    assert_eq!(
        project.run(&["verify"]).code(),
        Some(0),
        "nothing was touched"
    );
}

#[test]
fn a_store_that_somebody_holds() {
    let project = shop();
    let id = seal(&project, "you");
    let holder = database(&project);
    holder
        .execute_batch("begin immediate; create table held (a)")
        .unwrap();
    insta::assert_snapshot!(project.callsheet(&SEAL), @"
    exit: 3
    --- stderr
    error: the store `[ROOT]/.callsheet/callsheet.db` is locked by another process
    ");
    let read = project.run(&["show", &id]);
    assert_eq!(read.code(), Some(0), "reading goes on: {}", said(&read));
    holder.execute_batch("rollback").unwrap();
    assert_eq!(
        project.run(&SEAL).code(),
        Some(0),
        "and so does writing, afterwards"
    );
    assert_eq!(project.run(&["verify"]).code(), Some(0));
}

/// Runs the program where permissions bind; nothing where there is no way to.
fn as_somebody(project: &Project, args: &[&str]) -> Option<crate::project::Run> {
    bound(project, args).map(|mut command| finish(&mut command))
}

#[test]
fn a_folder_that_cannot_be_written_to() {
    let project = shop();
    let id = seal(&project, "you");
    let shown = project.run(&["show", &id, "-q"]).stdout;
    let mine = std::fs::metadata(project.root()).unwrap().uid() != 0;
    let locked = |mode: u32| {
        chmod(&project.path(".callsheet"), mode);
        for entry in std::fs::read_dir(project.path(".callsheet")).unwrap() {
            chmod(
                &entry.unwrap().path(),
                if mode == 0o755 { 0o644 } else { 0o444 },
            );
        }
    };
    locked(0o555);
    let said_by = |args: &[&str]| as_somebody(&project, args);
    if let Some(run) = said_by(&["show", &id, "-q"]) {
        assert_eq!(
            (run.code(), run.stdout.clone()),
            (Some(0), shown),
            "{}",
            said(&run)
        );
        assert_eq!(said_by(&["prompts"]).unwrap().code(), Some(0));
        assert_eq!(said_by(&["verify"]).unwrap().code(), Some(0));
        assert_eq!(said_by(&["replay", &id]).unwrap().code(), Some(0));
        assert_eq!(said_by(&["search", "push"]).unwrap().code(), Some(0));
        insta::assert_snapshot!(project.shown(&said_by(&SEAL).unwrap()), @"
        exit: 3
        --- stderr
        error: the store `[ROOT]/.callsheet/callsheet.db` cannot be opened: its folder is read-only
        ");
        insta::assert_snapshot!(project.shown(&said_by(&["gc", "--keep", "0"]).unwrap()), @"
        exit: 3
        --- stderr
        error: the store `[ROOT]/.callsheet/callsheet.db` cannot be opened: its folder is read-only
        ");
    }
    locked(0o755);
    assert!(mine || project.run(&["verify"]).code() == Some(0));
    assert_eq!(project.run(&SEAL).code(), Some(0), "work goes on");
}

#[test]
fn a_root_that_cannot_be_written_to() {
    let project = shop();
    chmod(project.root(), 0o555);
    if let Some(run) = as_somebody(&project, &SEAL) {
        insta::assert_snapshot!(project.shown(&run), @"
        exit: 3
        --- stderr
        error: cannot make `[ROOT]/.callsheet`: permission denied
        ");
    }
    chmod(project.root(), 0o755);
    assert!(!project.path(STORE).exists());
}
