//! Merges into bases that are checked out, elsewhere, dirty, moving, or that somebody was killed in.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::RunError;
use crate::repository::test_user::User;

/// Makes a commit on `callsheet/task-1`, from where `main` is, and returns it; `main` stays checked out.
fn work(user: &User, files: &[(&str, &str)]) -> String {
    user.git(&["switch", "--quiet", "--force-create", "callsheet/task-1"]);
    for (path, text) in files {
        user.write(path, text);
    }
    user.git(&["add", "--all", "--force"]);
    user.git(&["reset", "--quiet", "--", ".callsheet"]);
    user.git(&["commit", "--quiet", "--message=Work"]);
    let result = user.rev("HEAD");
    user.git(&["switch", "--quiet", "main"]);
    result
}

fn merge_checked(
    user: &User,
    result: &str,
    check: impl FnMut(&str) -> Result<Result<(), String>, RunError>,
) -> Result<Merged, RunError> {
    let home = user.home();
    let scratch = tempfile::tempdir().unwrap();
    let order = Order {
        scratch: scratch.path(),
        home: &home,
        base: "main",
        result,
        branch: "callsheet/task-1",
        message: "Merge task 1: Work",
    };
    merge(&user.open(), &order, check)
}

fn merge_now(user: &User, result: &str) -> Merged {
    merge_checked(user, result, |_| Ok(Ok(()))).unwrap()
}

fn blocked(user: &User, result: &str) -> String {
    let before = state(user);
    let Merged::Blocked { why } = merge_now(user, result) else {
        panic!("it is not blocked");
    };
    assert_eq!(state(user), before, "{why}");
    why.replace(user.path("").to_str().unwrap(), "/")
}

/// Returns everything that a merge may not change unless it is done.
fn state(user: &User) -> String {
    let refs = user.git(&["for-each-ref"]);
    let status = user.git(&["status", "--porcelain", "--ignored"]);
    let status: Vec<&str> = status
        .lines()
        .filter(|line| *line != "!! .callsheet/")
        .collect();
    let staged = user.git(&["ls-files", "--stage"]);
    let mut files: Vec<PathBuf> = fs::read_dir(user.top().join(".git"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let home = fs::read_dir(user.home()).unwrap();
    let home: Vec<_> = home
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name != "repository.lock")
        .collect();
    format!("{refs}\n{status:?}\n{staged}\n{files:?}\n{home:?}")
}

fn read(user: &User, path: &str) -> String {
    fs::read_to_string(user.top().join(path)).unwrap()
}

#[test]
fn a_result_is_merged_where_the_base_is_checked_out() {
    let user = User::with_commit();
    let result = work(&user, &[("b.txt", "new\n"), ("in/c.txt", "new\n")]);
    let before = user.commit("base.txt", "moved on\n");
    user.write("a.txt", "a local change\n");
    user.write("staged.txt", "staged\n");
    user.git(&["add", "staged.txt"]);
    user.write("unknown.txt", "unknown\n");
    let mut checked = Vec::new();
    let merged = merge_checked(&user, &result, |commit| {
        checked.push(commit.to_owned());
        assert_eq!(user.rev("main"), before, "not before it is checked");
        Ok(Ok(()))
    });
    let commit = user.rev("main");
    assert_eq!(
        merged.unwrap(),
        Merged::Done {
            commit: commit.clone(),
            before: before.clone()
        }
    );
    assert_eq!(checked, [commit]);
    assert_eq!(
        user.git(&["log", "-1", "--format=%an <%ae>|%cn|%P|%B"]),
        format!("Ada <ada@example.com>|Ada|{before} {result}|Merge task 1: Work")
    );
    assert_eq!(read(&user, "in/c.txt"), "new\n");
    assert_eq!(
        user.git(&["status", "--porcelain"]),
        " M a.txt\nA  staged.txt\n?? unknown.txt",
        "what was there before, and nothing else"
    );
    assert_eq!(
        user.git(&["log", "-1", "-g", "--format=%gs", "HEAD"]),
        "merge callsheet/task-1: Fast-forward"
    );
    assert_eq!(
        user.git(&["log", "-1", "-g", "--format=%gs", "main"]),
        "merge callsheet/task-1: Fast-forward"
    );
    assert!(!user.top().join(".git/index.lock").exists());
    assert_eq!(
        merge_now(&user, &result),
        Merged::Already {
            base: user.rev("main")
        }
    );
}

#[test]
fn a_base_that_is_not_checked_out_moves_alone() {
    let user = User::with_commit();
    let result = work(&user, &[("b.txt", "new\n")]);
    user.git(&["switch", "--quiet", "--create", "other"]);
    let merged = merge_now(&user, &result);
    assert_eq!(
        merged,
        Merged::Done {
            commit: user.rev("main"),
            before: user.rev("other")
        }
    );
    assert_eq!(user.git(&["status", "--porcelain"]), "");
    assert!(!user.top().join("b.txt").exists());
}

#[test]
fn a_base_in_another_worktree_is_followed_there() {
    let user = User::with_commit();
    let result = work(&user, &[("b.txt", "new\n")]);
    user.git(&["switch", "--quiet", "--create", "other"]);
    user.git(&["worktree", "add", "--quiet", "../linked", "main"]);
    let linked = user.path("linked");
    fs::write(linked.join("a.txt"), "a local change\n").unwrap();
    assert!(matches!(merge_now(&user, &result), Merged::Done { .. }));
    assert_eq!(fs::read_to_string(linked.join("b.txt")).unwrap(), "new\n");
    assert_eq!(user.git_in(&linked, &["status", "--porcelain"]), " M a.txt");
    assert_eq!(user.git(&["status", "--porcelain"]), "");

    let result = work_on(&user, "other", &[("c.txt", "new\n")]);
    fs::remove_dir_all(&linked).unwrap();
    assert_eq!(
        blocked(&user, &result),
        "`main` is checked out in `/linked`, which is not there"
    );
    user.git(&["worktree", "prune"]);
    user.git(&[
        "worktree",
        "add",
        "--quiet",
        ".callsheet/worktrees/task-2",
        "main",
    ]);
    assert_eq!(
        blocked(&user, &result),
        "`main` is checked out in `/project/.callsheet/worktrees/task-2`, the worktree of a task"
    );
}

/// Makes a commit from where `main` is while another branch is checked out.
fn work_on(user: &User, back: &str, files: &[(&str, &str)]) -> String {
    user.git(&[
        "switch",
        "--quiet",
        "--force-create",
        "callsheet/task-1",
        "main",
    ]);
    for (path, text) in files {
        user.commit(path, text);
    }
    let result = user.rev("HEAD");
    user.git(&["switch", "--quiet", back]);
    result
}

#[test]
fn a_conflict_changes_nothing_and_names_the_files() {
    let user = User::with_commit();
    let result = work(
        &user,
        &[
            ("a.txt", "mine\n"),
            ("b.txt", "new\n"),
            ("ü \".txt", "mine\n"),
        ],
    );
    user.write("ü \".txt", "theirs\n");
    user.commit("a.txt", "theirs\n");
    user.write("a.txt", "a local change\n");
    let before = state(&user);
    let merged = merge_checked(&user, &result, |_| panic!("there is nothing to check"));
    let paths = ["a.txt", "ü \".txt"].map(str::to_owned).into();
    assert_eq!(merged.unwrap(), Merged::Conflict { paths });
    assert_eq!(state(&user), before);
}

#[test]
fn a_check_that_fails_leaves_the_base() {
    let user = User::with_commit();
    let result = work(&user, &[("b.txt", "new\n")]);
    let before = state(&user);
    let merged = merge_checked(&user, &result, |commit| {
        let files = user.git(&["ls-tree", "--name-only", commit]);
        Ok(Err(format!("{files} is too much")))
    });
    let Merged::Refused { commit, why } = merged.unwrap() else {
        panic!("it is not refused");
    };
    assert_eq!(why, "a.txt\nb.txt is too much");
    assert_eq!(user.git(&["cat-file", "-t", &commit]), "commit");
    assert_eq!(state(&user), before);
    let error = merge_checked(&user, &result, |_| {
        Err(RunError::NotNow("later".to_owned()))
    });
    assert_eq!(error.unwrap_err().to_string(), "later");
    assert_eq!(state(&user), before);
}

#[test]
fn a_base_that_moves_is_merged_and_checked_again() {
    let user = User::with_commit();
    let result = work(&user, &[("b.txt", "new\n")]);
    let mut checks = 0;
    let merged = merge_checked(&user, &result, |_| {
        checks += 1;
        if checks <= 2 {
            user.commit("base.txt", &format!("{checks}\n"));
        }
        Ok(Ok(()))
    });
    assert!(matches!(merged.unwrap(), Merged::Done { .. }));
    assert_eq!(checks, 3);
    assert_eq!(
        (read(&user, "base.txt"), read(&user, "b.txt")),
        ("2\n".to_owned(), "new\n".to_owned())
    );
    assert_eq!(user.git(&["status", "--porcelain"]), "");

    let result = work(&user, &[("c.txt", "new\n")]);
    let mut checks = 0;
    let error = merge_checked(&user, &result, |_| {
        checks += 1;
        user.commit("base.txt", &format!("again {checks}\n"));
        Ok(Ok(()))
    });
    assert_eq!(
        error.unwrap_err().to_string(),
        "`main` moved 5 times while the merge was checked; try again when it is quiet"
    );
    assert_eq!(user.git(&["status", "--porcelain"]), "");
}

#[test]
fn nothing_of_the_users_is_overwritten() {
    let user = User::with_commit();
    user.write(".gitignore", "*.log\nout\n");
    user.commit("was/file.txt", "one\n");
    let changed = work(&user, &[("a.txt", "mine\n")]);
    let added = work(
        &user,
        &[
            ("b.txt", "new\n"),
            ("x.log", "new\n"),
            ("out/y.txt", "new\n"),
        ],
    );
    user.git(&["switch", "--quiet", "--detach"]);
    user.git(&["rm", "--quiet", "-r", "was"]);
    let replaced = { user.commit("was", "a file now\n") };
    user.git(&["switch", "--quiet", "main"]);

    user.write("a.txt", "a local change\n");
    insta::assert_snapshot!(blocked(&user, &changed), @"`a.txt` in `/project` has local changes");
    user.git(&["add", "a.txt"]);
    insta::assert_snapshot!(blocked(&user, &changed), @"`a.txt` in `/project` has local changes");
    user.git(&["reset", "--quiet", "--hard"]);

    user.write("b.txt", "not in git\n");
    insta::assert_snapshot!(blocked(&user, &added), @"`b.txt` in `/project` is not in git and would be overwritten");
    fs::remove_file(user.top().join("b.txt")).unwrap();
    user.write("x.log", "ignored\n");
    insta::assert_snapshot!(blocked(&user, &added), @"`x.log` in `/project` is not in git and would be overwritten");
    fs::remove_file(user.top().join("x.log")).unwrap();
    user.write("out", "ignored, and a file\n");
    insta::assert_snapshot!(blocked(&user, &added), @"`out` in `/project` is not in git and would be overwritten");
    fs::remove_file(user.top().join("out")).unwrap();
    std::os::unix::fs::symlink(user.path("home"), user.top().join("out")).unwrap();
    insta::assert_snapshot!(blocked(&user, &added), @"`out` in `/project` is not in git and would be overwritten");
    fs::remove_file(user.top().join("out")).unwrap();

    user.write("was/ignored.log", "ignored\n");
    insta::assert_snapshot!(blocked(&user, &replaced), @"`was/ignored.log` in `/project` is not in git and would be overwritten");
    fs::remove_file(user.top().join("was/ignored.log")).unwrap();
    assert!(matches!(merge_now(&user, &replaced), Merged::Done { .. }));
    assert_eq!(read(&user, "was"), "a file now\n");
    // A time that differs is not a change.
    let file = fs::File::options()
        .append(true)
        .open(user.top().join("a.txt"))
        .unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    assert!(matches!(merge_now(&user, &changed), Merged::Done { .. }));
    assert_eq!(user.git(&["status", "--porcelain"]), "");
}

#[test]
fn whoever_is_at_work_in_the_worktree_is_left_in_peace() {
    let user = User::with_commit();
    let result = work(&user, &[("b.txt", "new\n")]);
    let git_dir = user.top().join(".git");
    fs::write(git_dir.join("index.lock"), "").unwrap();
    insta::assert_snapshot!(blocked(&user, &result), @"another git is at work in `/project`, or was killed there: `/project/.git/index.lock` exists");
    fs::remove_file(git_dir.join("index.lock")).unwrap();
    fs::write(git_dir.join("MERGE_HEAD"), &result).unwrap();
    assert_eq!(
        blocked(&user, &result),
        "a merge is in progress in `/project`"
    );
    fs::remove_file(git_dir.join("MERGE_HEAD")).unwrap();
    user.git(&["switch", "--quiet", "--detach"]);
    fs::create_dir(git_dir.join("rebase-merge")).unwrap();
    fs::write(git_dir.join("rebase-merge/head-name"), "refs/heads/main\n").unwrap();
    assert_eq!(
        blocked(&user, &result),
        "a rebase of `main` is in progress in `/project`"
    );
    fs::remove_dir_all(git_dir.join("rebase-merge")).unwrap();
    user.git(&["worktree", "add", "--quiet", "../one", "main"]);
    user.git(&["worktree", "add", "--quiet", "--force", "../two", "main"]);
    assert_eq!(
        blocked(&user, &result),
        "`main` is checked out in more than one worktree"
    );
}

#[test]
fn files_pass_through_the_users_filters_and_a_filter_that_fails_is_undone() {
    let user = User::with_commit();
    user.write(".gitattributes", "*.up filter=up\n");
    user.commit("was.up", "old\n");
    user.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    user.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    user.git(&["config", "filter.up.required", "true"]);
    let files = [
        ("0.txt", "new\n"),
        ("new/0.txt", "new\n"),
        ("was.up", "changed\n"),
        ("x.up", "new\n"),
        ("z.txt", "new\n"),
    ];
    let result = work(&user, &files);
    user.git(&["config", "filter.up.smudge", "grep -v new"]);
    insta::assert_snapshot!(blocked(&user, &result), @"cannot write the files of `/project`: external filter 'grep -v new' failed 1");
    user.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    assert!(matches!(merge_now(&user, &result), Merged::Done { .. }));
    assert_eq!(
        (read(&user, "was.up"), read(&user, "x.up")),
        ("CHANGED\n".to_owned(), "NEW\n".to_owned())
    );
    assert_eq!(user.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_cannot_be_merged_at_all_is_an_error() {
    let user = User::with_commit();
    let result = work(&user, &[("b.txt", "new\n")]);
    user.git(&["switch", "--quiet", "--orphan", "alone"]);
    let alone = user.commit("x.txt", "x\n");
    user.git(&["switch", "--quiet", "main"]);
    let failed = |result: &str| {
        merge_checked(&user, result, |_| Ok(Ok(())))
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(failed(&alone), @"`git merge-tree` failed with exit code 128: fatal: refusing to merge unrelated histories");
    insta::assert_snapshot!(failed("0123456789012345678901234567890123456789"), @"no commit `0123456789012345678901234567890123456789`");
    user.git(&["switch", "--quiet", "--create", "other"]);
    user.git(&["branch", "--quiet", "--move", "main", "trunk"]);
    assert_eq!(failed(&result), "no branch `main`");
}

mod killed;

#[test]
fn a_message_is_one_line() {
    assert_eq!(
        message("1m7f6zd4n3x5c2", "Add a thing"),
        "Merge task 1m7f6zd4n3x5c2: Add a thing"
    );
    assert_eq!(
        message("1", " Two\n\nlines\u{7}\tand \u{2028}more "),
        "Merge task 1: Two lines and more"
    );
    assert_eq!(message("1", "\n"), "Merge task 1");
    let long = message("1", &"ü".repeat(101));
    assert_eq!(long, format!("Merge task 1: {}…", "ü".repeat(100)));
}
