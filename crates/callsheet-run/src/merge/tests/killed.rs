//! Merges that are killed: callsheet alone, git alone, or both, between any two steps and in the middle of the files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use super::{merge_now, read};
use crate::merge::journal::{IndexLock, Note};
use crate::merge::{Merged, heal};
use crate::repository::test_user::User;

/// How many files change from round to round.
const FILES: usize = 10;

/// Says to the child where its user is and what to merge.
const CHILD: &str = "CALLSHEET_TEST_MERGE";

/// The test that is the child.
const NAME: &str = "merge::tests::killed::merge_in_a_process_of_its_own";

/// A git that kills at the call with the number in `kill-at`, in the way that `kill-how` says.
const GIT: &str = r#"#!/bin/sh
place=PLACE
number=$(($(cat "$place/number") + 1))
echo $number > "$place/number"
if [ $number != "$(cat "$place/kill-at")" ]; then exec REAL "$@"; fi
case $(cat "$place/kill-how") in
after) REAL "$@" <&0; kill -9 $PPID ;;
alone) kill -9 $PPID; exec REAL "$@" ;;
between)
    REAL "$@" <&0 &
    sleep 0.00$(($$ % 10))
    kill -9 $! $PPID ;;
esac
"#;

#[test]
fn merge_in_a_process_of_its_own() {
    let Ok(job) = std::env::var(CHILD) else {
        return;
    };
    let (place, result) = job.split_once('\n').unwrap();
    let user = User::at(place.into());
    fs::write(user.path("child"), std::process::id().to_string()).unwrap();
    merge_now(&user, result);
}

/// Merges in a process that may be killed, and tells whether it was.
fn merge_apart(user: &User, result: &str) -> bool {
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", user.path("bin").display());
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME])
        .env(CHILD, format!("{}\n{result}", user.path("").display()))
        .env("PATH", path)
        .output()
        .unwrap()
        .status;
    assert!(status.success() || status.signal() == Some(9), "{status}");
    !status.success()
}

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn real_git() -> String {
    let found = Command::new("sh")
        .args(["-c", "command -v git"])
        .output()
        .unwrap();
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}

/// Makes a user whose worktree has some files to change, to add and to delete.
fn user() -> User {
    let user = User::new();
    for number in 0..FILES {
        user.write(&format!("old/{number}.txt"), format!("{number}\n"));
    }
    user.commit("round.txt", "0\n");
    let place = user.path("");
    let place = place.to_str().unwrap().trim_end_matches('/');
    let git = GIT.replace("PLACE", place).replace("REAL", &real_git());
    program(&user.path("bin/git"), &git);
    user
}

/// Makes the result of a round: a file more, a file changed, a file less, and a file where a directory was.
fn result(user: &User, round: usize) -> String {
    user.git(&["switch", "--quiet", "--force-create", "callsheet/task-1"]);
    for number in 0..FILES {
        user.write(
            &format!("new/{round}/{number}.txt"),
            format!("{round}\n").repeat(20_000),
        );
        user.write(&format!("old/{number}.txt"), format!("{round} {number}\n"));
    }
    let (gone, swapped) = (
        format!("new/{}", round.wrapping_sub(1)),
        user.top().join("swapped"),
    );
    let _ = fs::remove_dir_all(user.top().join(gone));
    let _ = fs::remove_dir_all(&swapped);
    let _ = fs::remove_file(&swapped);
    match round % 2 {
        0 => user.write("swapped", "a file\n"),
        _ => user.write("swapped/in", "a directory\n"),
    }
    let result = user.commit("round.txt", &format!("{round}\n"));
    user.git(&["switch", "--quiet", "main"]);
    result
}

/// Checks what is left of a merge that was killed, merges again, and checks that nothing is left of it.
fn recover(user: &User, before: &str, result: &str) {
    let after_kill = user.rev("main");
    if after_kill != before {
        assert_eq!(user.rev("main^1"), before);
        assert_eq!(user.rev("main^2"), result);
    }
    heal_now(user);
    let tip = user.rev("main");
    assert!(
        tip == before || user.rev("main^1") == before,
        "it moved once or not at all"
    );
    assert_eq!(
        user.git(&["status", "--porcelain"]),
        "",
        "it is clean before it is tried again"
    );
    let merged = merge_now(user, result);
    assert!(
        matches!(merged, Merged::Done { .. } | Merged::Already { .. }),
        "{merged:?}"
    );
    assert_eq!(user.rev("main^1"), before);
    assert_eq!(user.rev("main^2"), result);
    assert_eq!(user.git(&["status", "--porcelain"]), "");
    assert_eq!(
        user.git(&["diff", "--name-only", result]),
        "",
        "the files are those of the result"
    );
    let left = |directory: &Path| {
        let names = fs::read_dir(directory).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| {
                name.contains("lock") || name.contains("callsheet") || name.contains("moving")
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(left(&user.top().join(".git")), [""; 0]);
    assert_eq!(left(&user.top().join(".git/refs/heads")), ["callsheet"]);
    assert_eq!(left(&user.home()), ["repository.lock"]);
}

#[test]
fn a_merge_that_is_killed_is_before_or_after_and_is_finished_by_the_next() {
    let user = user();
    let write = |name: &str, text: &str| fs::write(user.path(name), text).unwrap();
    // Without a kill, to count the calls.
    let mut round = 1;
    write("number", "0");
    write("kill-at", "never");
    write("kill-how", "never");
    assert!(!merge_apart(&user, &result(&user, round)));
    let calls: usize = fs::read_to_string(user.path("number"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(calls > 10, "{calls}");
    let mut kills = 0;
    // The last eight calls are those from the last look at the base on.
    for (at, how) in
        (calls - 7..=calls).flat_map(|at| ["after", "alone", "between"].map(|how| (at, how)))
    {
        round += 1;
        let result = result(&user, round);
        let before = user.rev("main");
        write("number", "0");
        write("kill-at", &at.to_string());
        write("kill-how", how);
        kills += usize::from(merge_apart(&user, &result));
        recover(&user, &before, &result);
    }
    assert_eq!(kills, 24);
}

/// Makes git and callsheet be killed when the files of a result are half written, and does so.
fn kill_in_the_middle(user: &User, at: usize) -> (String, String) {
    write_filter(user, at);
    user.git(&[
        "config",
        "filter.kill.smudge",
        user.path("filter").to_str().unwrap(),
    ]);
    user.commit(".gitattributes", "*.txt filter=kill\n");
    let before = user.rev("main");
    let result = {
        fs::write(user.path("seen"), "0").unwrap();
        fs::write(user.path("kill-at"), "never").unwrap();
        result(user, 1)
    };
    fs::write(user.path("seen"), "0").unwrap();
    fs::write(user.path("number"), "0").unwrap();
    fs::write(user.path("kill-in"), at.to_string()).unwrap();
    assert!(merge_apart(user, &result));
    fs::write(user.path("kill-in"), "never").unwrap();
    (before, result)
}

/// Writes a filter that passes files on, and kills everything at the one with the number in `kill-in`.
fn write_filter(user: &User, at: usize) {
    fs::write(user.path("kill-in"), "never").unwrap();
    let place = user.path("");
    let place = place.to_str().unwrap().trim_end_matches('/');
    let text = r#"#!/bin/sh
seen=$(($(cat "PLACE/seen") + 1))
echo $seen > PLACE/seen
if [ $seen = "$(cat "PLACE/kill-in")" ]; then kill -9 $(cat "PLACE/child"); kill -9 0; fi
cat
"#;
    assert!(at > 0);
    program(&user.path("filter"), &text.replace("PLACE", place));
}

#[test]
fn files_that_are_half_written_go_back() {
    for at in [1, 7, 11, 15] {
        let user = user();
        let (before, result) = kill_in_the_middle(&user, at);
        assert_eq!(user.rev("main"), before);
        assert!(user.top().join(".git/index.lock").exists());
        recover(&user, &before, &result);
    }
}

#[test]
fn what_somebody_wrote_after_the_kill_stays() {
    let user = user();
    let (before, _) = kill_in_the_middle(&user, 15);
    let status = ["-c", "core.optionalLocks=false", "status", "--porcelain"];
    assert_ne!(user.git(&status), "");
    user.write("old/9.txt", "edited\n");
    user.write("new/1/mine.txt", "mine\n");
    let part = "1\n".repeat(100);
    user.write("new/1/0.txt", &part);
    heal_now(&user);
    assert_eq!(user.rev("main"), before);
    assert_eq!(user.git(&status), " M old/9.txt\n?? new/");
    assert_eq!(read(&user, "old/9.txt"), "edited\n");
    assert_eq!(
        fs::read_dir(user.top().join("new/1")).unwrap().count(),
        1,
        "the beginning of a file is not anybody's"
    );
    assert_eq!(read(&user, "new/1/mine.txt"), "mine\n");
}

#[test]
fn a_worktree_whose_lock_somebody_removed_is_left_alone() {
    let user = user();
    let (_, result) = kill_in_the_middle(&user, 15);
    fs::remove_file(user.top().join(".git/index.lock")).unwrap();
    let before = user.git(&["status", "--porcelain"]);
    assert_ne!(before, "");
    let Merged::Blocked { why } = merge_now(&user, &result) else {
        panic!("it is not blocked");
    };
    assert!(
        why.ends_with("is not in git and would be overwritten"),
        "{why}"
    );
    assert_eq!(user.git(&["status", "--porcelain"]), before);
    user.git(&["reset", "--quiet", "--hard"]);
    user.git(&["clean", "-d", "--force", "--quiet"]);
    assert!(matches!(merge_now(&user, &result), Merged::Done { .. }));
    assert_eq!(user.git(&["status", "--porcelain"]), "");
}

/// Makes the note of a move that was begun, and returns it with the lock on the index that it had.
fn begun(user: &User, new: &str, checked_out: bool) -> (Note, IndexLock) {
    let worktree = user.open().worktree(&user.top()).unwrap().unwrap();
    let lock = IndexLock::of(&worktree, new);
    let note = Note {
        branch: "main".to_owned(),
        old: user.rev("main"),
        new: new.to_owned(),
        worktree: checked_out.then_some(worktree),
    };
    note.write(&user.home()).unwrap();
    (note, lock)
}

fn heal_now(user: &User) {
    let repository = user.open();
    heal(&repository.lock(&user.home()).unwrap(), &user.home()).unwrap();
}

#[test]
fn a_lock_that_a_killed_git_left_on_a_branch_is_removed() {
    let user = User::with_commit();
    let new = user.rev("main");
    for name in ["refs/heads/main.lock", "HEAD.lock"] {
        for (text, removed) in [(new.as_str(), true), ("", true), ("other", false)] {
            begun(&user, &new, true);
            let lock = user.top().join(".git").join(name);
            fs::write(&lock, text).unwrap();
            heal_now(&user);
            assert_eq!(!lock.exists(), removed, "{name}: {text:?}");
            let _ = fs::remove_file(&lock);
        }
    }
}

#[test]
fn a_move_that_was_all_but_done_or_had_hardly_begun_is_no_more() {
    let user = User::with_commit();
    let new = user.commit("b.txt", "new\n");
    // The branch and the index are there, the lock is not gone.
    let (_, lock) = begun(&user, &new, true);
    assert!(lock.take().unwrap());
    heal_now(&user);
    assert!(!lock.path().exists());
    assert_eq!(
        (user.rev("main"), user.git(&["status", "--porcelain"])),
        (new.clone(), String::new())
    );
    // The note is there, and the lock is that of somebody else.
    begun(&user, &new, true);
    fs::write(lock.path(), "").unwrap();
    heal_now(&user);
    assert!(lock.path().exists());
    fs::remove_file(lock.path()).unwrap();
    // The lock is there, and nothing else has happened.
    let old = user.rev("main~1");
    user.git(&["reset", "--quiet", "--hard", &old]);
    let (_, lock) = begun(&user, &new, true);
    assert!(lock.take().unwrap());
    heal_now(&user);
    assert_eq!(
        (user.rev("main"), user.git(&["status", "--porcelain"])),
        (old, String::new())
    );
    assert!(!user.home().join("moving").exists());
    // A note of something that cannot be read is not ours.
    fs::write(user.home().join("moving"), "what").unwrap();
    heal_now(&user);
}
