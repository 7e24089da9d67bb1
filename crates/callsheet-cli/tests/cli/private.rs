//! What a project keeps is for its owner alone and nothing for git, and what is gone is told.

#![expect(
    clippy::unwrap_used,
    reason = "a world that cannot be made fails the test"
)]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use crate::permissions::chmod;
use crate::project::{Project, finish};
use crate::sealed::{STORE, said, seal, shop};

const SEAL: [&str; 5] = ["compose", "layers", "-D", "rules=a", "--seal"];

/// Returns the permissions of the folder of the store and of what is in it.
fn modes(project: &Project) -> Vec<String> {
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let folder = project.path(".callsheet");
    let mut modes = vec![format!("{:o} .", mode(&folder))];
    for entry in fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        modes.push(format!("{:o} {name}", mode(&entry.path())));
    }
    modes.sort();
    modes
}

const PRIVATE: [&str; 4] = [
    "600 .gitignore",
    "600 callsheet.db",
    "600 callsheet.db-reserve",
    "700 .",
];

#[test]
fn a_store_is_for_its_owner_alone() {
    for umask in ["000", "022", "777"] {
        let project = shop();
        let mut command = project.tool("/bin/sh");
        let script = format!("umask {umask}; exec \"$0\" \"$@\"");
        command
            .args(["-c", &script, env!("CARGO_BIN_EXE_callsheet")])
            .args(SEAL);
        let run = finish(&mut command);
        assert_eq!(run.code(), Some(0), "{}", said(&run));
        assert_eq!(modes(&project), PRIVATE, "umask {umask}");
    }
    // One that an older program has left open is closed by whoever looks at it.
    let project = shop();
    seal(&project, "you");
    chmod(&project.path(".callsheet"), 0o755);
    for name in ["callsheet.db", "callsheet.db-reserve"] {
        chmod(&project.path(".callsheet").join(name), 0o664);
    }
    assert_eq!(project.run(&["prompts"]).code(), Some(0));
    assert_eq!(modes(&project), PRIVATE);
}

#[test]
fn git_sees_nothing_of_the_folder_whenever_somebody_was_killed() {
    // The folder alone, and a file into which nothing was written yet.
    for left in [None, Some("")] {
        let project = shop();
        fs::create_dir(project.path(".callsheet")).unwrap();
        if let Some(left) = left {
            project.file(".callsheet/.gitignore", left);
        }
        let run = project.run(&SEAL);
        assert_eq!(run.code(), Some(0), "{}", said(&run));
        assert_eq!(project.read(".callsheet/.gitignore"), "*\n");
    }
    // Where it cannot be written, nothing else is.
    let project = shop();
    fs::create_dir_all(project.path(".callsheet/.gitignore")).unwrap();
    insta::assert_snapshot!(project.callsheet(&SEAL), @"
    exit: 3
    --- stderr
    error: cannot make `[ROOT]/.callsheet`: `.gitignore` is not a file
    ");
    assert_eq!(fs::read_dir(project.path(".callsheet")).unwrap().count(), 1);
}

#[test]
fn a_store_that_is_gone_is_reported() {
    let project = shop();
    let id = seal(&project, "you");
    for is_empty in [false, true] {
        fs::remove_file(project.path(STORE)).unwrap();
        if is_empty {
            project.file(STORE, "");
        }
        for args in [
            &SEAL[..],
            &["prompts"],
            &["show", &id],
            &["verify"],
            &["gc", "--keep", "1"],
            &["task", "list"],
        ] {
            let run = project.run(args);
            assert_eq!(run.code(), Some(3), "{args:?}: {}", said(&run));
            assert!(
                said(&run).contains("`callsheet.db-reserve` beside it shows that it held a store"),
                "{args:?}: {}",
                said(&run)
            );
        }
        project.file(STORE, "");
    }
}

#[test]
fn a_server_that_accepts_and_never_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().flatten().collect::<Vec<_>>());
    let mut project = shop();
    let url = format!("postgres://app:hunter2@127.0.0.1:{port}/shop?connect_timeout=1");
    project.variable("CALLSHEET_STORE", &url);
    for args in [&SEAL[..], &["prompts"]] {
        let run = project.run(args);
        assert_eq!(run.code(), Some(3), "{}", said(&run));
        let wanted = format!(
            "error: the store `postgres://app@127.0.0.1:{port}/shop` cannot be reached: no answer within 1 second\n"
        );
        assert_eq!(String::from_utf8_lossy(&run.stderr), wanted);
    }
}
