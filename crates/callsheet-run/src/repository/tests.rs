//! Repositories of a user with settings, hooks and filters of their own, and what a killed git leaves.

use std::fs;

use super::test_user::User;
use super::*;

fn worktree<'a>(path: &'a Path, branch: &'a str) -> NewWorktree<'a> {
    NewWorktree {
        path,
        branch,
        start: "main",
        files: true,
    }
}

/// Returns an error with the place of the test left out.
fn error_text(user: &User, error: &RunError) -> String {
    let place = user.path("");
    error.to_string().replace(place.to_str().unwrap(), "/")
}

#[test]
fn only_the_top_of_a_repository_is_opened() {
    let user = User::with_commit();
    let repository = user.open();
    assert_eq!(repository.top(), user.top());
    assert_eq!(repository.git_dir(), user.top().join(".git"));
    user.write("in/b.txt", "two\n");
    let below = Repository::open_with(&user.top().join("in"), &user.env()).unwrap_err();
    assert_eq!(
        error_text(&user, &below),
        "`/project/in` is not the top of its git repository, which is `/project`"
    );
    let beside = Repository::open_with(&user.path("home"), &user.env()).unwrap_err();
    assert_eq!(beside.to_string(), "not a git repository");
    user.git(&["worktree", "add", "--quiet", "--detach", "../linked"]);
    let linked = Repository::open_with(&user.path("linked"), &user.env()).unwrap();
    assert_eq!(linked.common_dir(), user.top().join(".git"));
    assert_eq!(linked.git_dir(), user.top().join(".git/worktrees/linked"));
    assert_eq!(linked.current_branch().unwrap(), None);
    assert_eq!(
        repository.current_branch().unwrap().as_deref(),
        Some("main")
    );
}

#[test]
fn a_worktree_has_the_files_that_the_users_git_would_write() {
    let user = User::with_commit();
    let (hook, filter) = (user.program("hook"), user.program("filter"));
    fs::create_dir_all(user.top().join(".git/hooks")).unwrap();
    for name in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ] {
        fs::copy(&hook, user.top().join(".git/hooks").join(name)).unwrap();
    }
    user.git(&["config", "--global", "core.autocrlf", "true"]);
    user.git(&[
        "config",
        "--global",
        "filter.mine.smudge",
        filter.to_str().unwrap(),
    ]);
    user.git(&["config", "core.fsmonitor", hook.to_str().unwrap()]);
    user.git(&["config", "branch.autoSetupMerge", "always"]);
    user.write(".gitattributes", "*.bin filter=mine\n");
    user.commit("b.bin", "bytes");
    let _ = fs::remove_file(user.path("ran"));
    let repository = user.open();
    let lock = repository.lock(&user.home()).unwrap();
    let path = user.home().join("worktrees/task-1");
    lock.add_worktree(&worktree(&path, "callsheet/task-1"))
        .unwrap();
    assert_eq!(fs::read(path.join("a.txt")).unwrap(), b"one\r\n");
    assert_eq!(fs::read(path.join("b.bin")).unwrap(), b"bytes");
    assert_eq!(user.ran(), "filter\n", "the filter and no hook");
    assert_eq!(
        user.git(&["for-each-ref", "--format=%(upstream)", "refs/heads"]),
        ""
    );
    let known = repository.worktree(&path).unwrap().unwrap();
    assert_eq!(known.branch.as_deref(), Some("callsheet/task-1"));
    assert_eq!(known.git_dir, user.top().join(".git/worktrees/task-1"));
    assert!(known.is_there() && known.is_plain(&repository).unwrap());

    lock.remove_worktree(&path).unwrap();
    assert!(!path.exists());
    let kept = lock.rev("refs/heads/callsheet/task-1").unwrap();
    assert_eq!(kept, Some(user.rev("main")), "the branch stays");
    let empty = NewWorktree {
        files: false,
        ..worktree(&path, "callsheet/task-1")
    };
    lock.add_worktree(&empty).unwrap();
    assert_eq!(
        fs::read_dir(&path).unwrap().count(),
        1,
        "nothing but `.git`"
    );
}

#[test]
fn what_is_in_the_way_is_named() {
    let user = User::with_commit();
    let repository = user.open();
    let lock = repository.lock(&user.home()).unwrap();
    let path = user.home().join("worktrees/task-1");
    let refused = |branch: &str, path: &Path| {
        let error = lock.add_worktree(&worktree(path, branch)).unwrap_err();
        error_text(&user, &error)
    };
    user.git(&["branch", "callsheet"]);
    assert_eq!(
        refused("callsheet/task-1", &path),
        "branch `callsheet` is in the way of `callsheet/task-1`: git cannot have both; rename `callsheet`"
    );
    user.git(&["branch", "--delete", "callsheet"]);
    user.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "callsheet/task-1",
        "../other",
    ]);
    assert_eq!(
        refused("callsheet/task-1", &path),
        "branch `callsheet/task-1` is checked out in `/other`; switch that worktree to another branch"
    );
    assert_eq!(refused("-b", &path), "`-b` is not a name for a branch");
    assert_eq!(refused("a..b", &path), "`a..b` is not a name for a branch");
    assert_eq!(
        refused("@{-1}", &path),
        "`@{-1}` is not a name for a branch"
    );
    assert_eq!(
        refused("x", &user.path("other")),
        "`/other` is already a worktree"
    );
    fs::create_dir_all(path.join("full")).unwrap();
    assert_eq!(
        refused("x", &path),
        "`git worktree add` failed with exit code 128: fatal: '/project/.callsheet/worktrees/task-1' already exists"
    );
    let error = lock.remove_worktree(&user.path("home")).unwrap_err();
    assert_eq!(
        error_text(&user, &error),
        "`git worktree remove` failed with exit code 128: fatal: '/home' is not a working tree"
    );
    let error = lock.remove_worktree(&user.top()).unwrap_err();
    assert_eq!(
        error_text(&user, &error),
        "`git worktree remove` failed with exit code 128: fatal: '/project' is a main working tree"
    );
}

#[test]
fn what_is_gone_or_half_made_is_cleared_and_nothing_else() {
    let user = User::with_commit();
    let repository = user.open();
    let lock = repository.lock(&user.home()).unwrap();
    let path = user.home().join("worktrees/task-1");
    user.git(&["worktree", "add", "--quiet", "--detach", "../elsewhere"]);
    fs::remove_dir_all(user.path("elsewhere")).unwrap();
    let new = worktree(&path, "callsheet/task-1");
    lock.add_worktree(&new).unwrap();
    fs::remove_dir_all(&path).unwrap();
    lock.add_worktree(&new).unwrap();
    assert!(path.join("a.txt").exists(), "made again where it was");

    // A git that was killed while it made a worktree, before and after the directory had its `.git`.
    let git_dir = repository.worktree(&path).unwrap().unwrap().git_dir;
    fs::write(git_dir.join("locked"), "initializing").unwrap();
    fs::remove_file(path.join(".git")).unwrap();
    lock.add_worktree(&new).unwrap();
    let git_dir = repository.worktree(&path).unwrap().unwrap().git_dir;
    fs::write(git_dir.join("locked"), "initializing").unwrap();
    lock.add_worktree(&new).unwrap();
    assert!(path.join("a.txt").exists());

    // The project was moved, and what git noted is at the old place.
    let moved = user.home().join("worktrees/moved");
    fs::remove_dir_all(&path).unwrap();
    lock.add_worktree(&worktree(&moved, "callsheet/task-1"))
        .unwrap();
    let known: Vec<PathBuf> = repository
        .worktrees()
        .unwrap()
        .into_iter()
        .map(|w| w.path)
        .collect();
    assert_eq!(known, [user.top(), user.path("elsewhere"), moved]);
}

#[test]
fn a_worktree_cannot_lead_git_astray() {
    let user = User::with_commit();
    let repository = user.open();
    let lock = repository.lock(&user.home()).unwrap();
    let path = user.home().join("worktrees/task-1");
    lock.add_worktree(&worktree(&path, "callsheet/task-1"))
        .unwrap();
    let known = repository.worktree(&path).unwrap().unwrap();
    let evil = user.program("evil");
    user.git_in(&user.path("home"), &["init", "--quiet", "--bare", "bad"]);
    user.git_in(
        &user.path("home/bad"),
        &["config", "filter.mine.clean", evil.to_str().unwrap()],
    );
    fs::write(
        path.join(".git"),
        format!("gitdir: {}\n", user.path("home/bad").display()),
    )
    .unwrap();
    fs::write(known.git_dir.join("commondir"), "../../../../home/bad\n").unwrap();
    fs::write(path.join(".gitattributes"), "* filter=mine\n").unwrap();
    fs::write(path.join("a.txt"), "changed\n").unwrap();
    lock.change(known.command(&repository, &["add", "--all"]), QUICK)
        .unwrap();
    let shown = known.command(&repository, &["diff", "--cached", "--name-only"]);
    assert_eq!(
        lock.change(shown, QUICK).unwrap(),
        b".gitattributes\na.txt\n"
    );
    assert_eq!(user.ran(), "");

    let own = known.git_dir.join("config.worktree");
    fs::write(&own, "[core]\n\tsparseCheckout = true\n").unwrap();
    assert!(known.is_plain(&repository).unwrap());
    fs::write(
        &own,
        "[core]\n\tsparseCheckout = true\n[include]\n\tpath = evil\n",
    )
    .unwrap();
    assert!(!known.is_plain(&repository).unwrap());
}

#[test]
fn commits_have_the_identity_that_they_are_given() {
    let user = User::with_commit();
    let repository = user.open();
    let ada = repository.identity().unwrap();
    let expected = Identity {
        name: "Ada".to_owned(),
        email: "ada@example.com".to_owned(),
        sign: false,
    };
    assert_eq!(ada, expected);
    let (tree, head) = (user.rev("HEAD^{tree}"), user.rev("HEAD"));
    let made = repository.commit_tree(&tree, &[&head], "-F\n\nBody", &Identity::callsheet());
    let shown = user.git(&[
        "log",
        "-1",
        "--format=%an <%ae>|%cn <%ce>|%P|%B",
        &made.unwrap(),
    ]);
    assert_eq!(
        shown,
        format!(
            "callsheet <callsheet@localhost>|callsheet <callsheet@localhost>|{head}|-F\n\nBody"
        )
    );

    user.git(&["config", "--global", "commit.gpgSign", "true"]);
    user.git(&["config", "--global", "gpg.program", "/nonexistent/gpg"]);
    let ada = repository.identity().unwrap();
    assert!(ada.sign);
    let error = repository.commit_tree(&tree, &[], "x", &ada).unwrap_err();
    assert!(
        error.to_string().starts_with("`git commit-tree -S` failed"),
        "{error}"
    );
    repository
        .commit_tree(&tree, &[], "x", &Identity::callsheet())
        .unwrap();
    user.git(&["config", "--global", "--unset", "user.email"]);
    assert_eq!(repository.identity().unwrap(), Identity::callsheet());
}

#[test]
fn a_ref_moves_only_from_where_it_was_seen() {
    let user = User::with_commit();
    let first = user.rev("HEAD");
    let second = user.commit("a.txt", "two\n");
    let repository = user.open();
    let lock = repository.lock(&user.home()).unwrap();
    let name = "refs/callsheet/runs/1";
    assert_eq!(lock.rev(name).unwrap(), None);
    assert_eq!(lock.rev("--all").unwrap(), None);
    lock.update_ref(name, &first, Some(&"0".repeat(40)))
        .unwrap();
    assert!(
        lock.update_ref(name, &second, Some(&"0".repeat(40)))
            .is_err()
    );
    assert!(lock.update_ref(name, &second, Some(&second)).is_err());
    lock.update_ref(name, &second, Some(&first)).unwrap();
    assert_eq!(lock.rev(name).unwrap(), Some(second.clone()));
    lock.update_ref(name, &first, None).unwrap();
    assert!(lock.delete_ref(name, &second).is_err());
    lock.delete_ref(name, &first).unwrap();
    assert_eq!(lock.rev(name).unwrap(), None);
}

#[test]
fn the_lock_is_held_by_one_and_by_the_git_that_it_started() {
    let user = User::with_commit();
    let repository = user.open();
    let brief = Duration::from_millis(20);
    let lock = repository.lock(&user.home()).unwrap();
    let error = repository.lock_within(&user.home(), brief).unwrap_err();
    assert_eq!(
        error_text(&user, &error),
        "another callsheet has held `/project/.callsheet/repository.lock` for more than 0 s; try again when it is done"
    );
    drop(lock);
    // What a killed callsheet leaves: a git that goes on, and keeps others out until it is done.
    let held = File::options()
        .append(true)
        .open(user.home().join("repository.lock"));
    let held = held.unwrap();
    held.lock().unwrap();
    let mut git = Command::new("sleep")
        .arg("300")
        .stdin(held)
        .spawn()
        .unwrap();
    assert!(repository.lock_within(&user.home(), brief).is_err());
    git.kill().unwrap();
    git.wait().unwrap();
    repository.lock(&user.home()).unwrap();
    let error = repository.lock(&user.path("nowhere")).unwrap_err();
    assert_eq!(
        error_text(&user, &error),
        "cannot lock `/nowhere/repository.lock`: No such file or directory (os error 2)"
    );
}
