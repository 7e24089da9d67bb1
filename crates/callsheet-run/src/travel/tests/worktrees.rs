//! A branch that is checked out while it arrives.

use super::*;

const AT: &str = ".callsheet/worktrees/task-t1";

/// Makes two clones, the second with the branch of the first checked out, and moves the branch in the first.
fn behind(world: &World) -> (Side<'_>, Side<'_>) {
    let (a, b) = (world.clone("a"), world.clone("b"));
    a.work("one");
    a.publish(true).unwrap();
    b.bring().unwrap();
    b.git(&["worktree", "add", "--quiet", AT, BRANCH]);
    a.work("two");
    a.publish(true).unwrap();
    (a, b)
}

fn in_use(side: &Side<'_>, why: &str) -> Delivery {
    let tip = Tip::InUse {
        worktree: side.top.join(AT),
        why: why.to_owned(),
    };
    delivery(tip, &[])
}

#[test]
fn a_clean_worktree_moves_along() {
    let world = World::new();
    let (a, b) = behind(&world);
    assert_eq!(b.bring().unwrap(), delivery(Tip::Moved, &[]));
    assert_eq!(fs::read(b.top.join(AT).join("two")).unwrap(), b"two");
    let of_b = b.work("of b");
    b.git(&["-C", AT, "reset", "--quiet", "--hard"]);
    a.work("of a");
    a.publish(true).unwrap();
    let lost = format!("refs/callsheet/lost/t1/{of_b}");
    assert_eq!(b.bring().unwrap(), delivery(Tip::Replaced { lost }, &[]));
    assert!(b.top.join(AT).join("of a").exists());
    assert!(!b.top.join(AT).join("of b").exists());
    assert_eq!(b.git(&["-C", AT, "status", "--porcelain"]), "");
    // A worktree that is gone does not hold its branch.
    a.work("last");
    a.publish(true).unwrap();
    fs::remove_dir_all(b.top.join(AT)).unwrap();
    assert_eq!(b.bring().unwrap(), delivery(Tip::Moved, &[]));
}

#[test]
fn work_that_is_not_committed_is_not_touched() {
    let world = World::new();
    let (_a, b) = behind(&world);
    let refs = b.refs();
    for (file, text) in [("a.txt", "changed\n"), ("new", "mine\n")] {
        fs::write(b.top.join(AT).join(file), text).unwrap();
        let left = in_use(&b, "it has work that is not committed");
        assert_eq!(b.bring().unwrap(), left);
        b.git(&["-C", AT, "add", "--all"]);
        assert_eq!(b.bring().unwrap(), left);
        assert_eq!(fs::read_to_string(b.top.join(AT).join(file)).unwrap(), text);
        assert_eq!(b.refs(), refs);
        b.git(&["-C", AT, "reset", "--quiet", "--hard"]);
    }
    assert_eq!(b.bring().unwrap(), delivery(Tip::Moved, &[]));
}

#[test]
fn a_move_that_was_cut_off_is_finished() {
    let world = World::new();
    let (a, b) = behind(&world);
    b.git(&["fetch", "--quiet", "origin"]);
    let new = a.rev(BRANCH).unwrap();
    b.git(&["-C", AT, "read-tree", "-m", "-u", "HEAD", &new]);
    assert_eq!(b.git(&["-C", AT, "status", "--porcelain"]), "A  two");
    assert_eq!(b.bring().unwrap(), delivery(Tip::Moved, &[]));
    assert_eq!(b.git(&["-C", AT, "status", "--porcelain"]), "");
}

#[test]
fn a_worktree_that_an_agent_has_bent_is_left_alone() {
    let world = World::new();
    let (_a, b) = behind(&world);
    let evil = world.user.program("evil");
    let evil = evil.to_str().unwrap();
    b.git(&["config", "extensions.worktreeConfig", "true"]);
    b.git(&["-C", AT, "config", "--worktree", "filter.x.smudge", evil]);
    fs::write(b.top.join(".git/info/attributes"), "* filter=x\n").unwrap();
    let left = in_use(&b, "it has git settings of its own");
    assert_eq!(b.bring().unwrap(), left);
    assert_eq!(world.user.ran(), "");

    let main = b.rev("refs/heads/main");
    b.git(&[
        "symbolic-ref",
        &format!("refs/heads/{BRANCH}"),
        "refs/heads/main",
    ]);
    let error = b.bring().unwrap_err();
    insta::assert_snapshot!(error_text(&world, &error), @"`refs/heads/callsheet/task-t1` is a symbolic ref; delete it with `git symbolic-ref --delete refs/heads/callsheet/task-t1`");
    assert_eq!(
        error_text(&world, &b.publish(true).unwrap_err()),
        error_text(&world, &error)
    );
    assert_eq!(b.rev("refs/heads/main"), main);
}
