//! Two clones and a bare repository between them.

use std::os::unix::fs::PermissionsExt;
use std::thread;

use super::*;

#[test]
fn work_goes_to_and_fro_and_doing_it_again_changes_nothing() {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    assert_eq!(a.publish(true).unwrap(), delivery(Tip::Absent, &[]));
    assert_eq!(a.bring().unwrap(), delivery(Tip::Absent, &[]));
    a.work("one");
    a.result("r1");
    a.work("two");
    assert_eq!(a.publish(false).unwrap(), delivery(Tip::Moved, &["r1"]));
    assert_eq!(a.publish(false).unwrap(), delivery(Tip::Same, &[]));
    assert_eq!(b.bring().unwrap(), delivery(Tip::Moved, &["r1"]));
    assert_eq!(b.bring().unwrap(), delivery(Tip::Same, &[]));
    b.fsck();
    b.work("three");
    b.result("r2");
    assert_eq!(b.bring().unwrap(), delivery(Tip::Newer, &[]));
    assert_eq!(b.publish(false).unwrap(), delivery(Tip::Moved, &["r2"]));
    assert_eq!(a.publish(true).unwrap(), delivery(Tip::Newer, &[]));
    assert_eq!(a.bring().unwrap(), delivery(Tip::Moved, &["r2"]));
    a.fsck();
    insta::assert_snapshot!(a.refs(), @"
    refs/callsheet/runs/r1 one
    refs/callsheet/runs/r2 three
    refs/heads/callsheet/task-t1 three
    ");
    assert_eq!(a.refs(), b.refs());
    assert_eq!(a.refs(), world.remote_refs());
}

#[test]
fn clones_that_have_only_a_part_take_part() {
    let world = World::new();
    let bare = world.user.path("remote.git");
    let set = ["config", "uploadpack.allowFilter", "true"];
    world.user.git_in(&bare, &set);
    let url = format!("file://{}", bare.display());
    let full = world.clone("full");
    for (name, part) in [("shallow", "--depth=1"), ("partial", "--filter=blob:none")] {
        let home = world.user.path("home");
        let clone = ["clone", "--quiet", part, &url, &format!("../{name}")];
        world.user.git_in(&home, &clone);
        fs::create_dir(world.user.path(name).join(".callsheet")).unwrap();
        let side = world.side(name);
        full.work(&format!("before {name}"));
        full.publish(true).unwrap();
        assert_eq!(side.bring().unwrap(), delivery(Tip::Moved, &[]), "{name}");
        side.work(name);
        assert_eq!(side.publish(false).unwrap(), delivery(Tip::Moved, &[]));
        assert_eq!(full.bring().unwrap(), delivery(Tip::Moved, &[]));
        assert_eq!(full.unpack(&side.pack()).unwrap(), delivery(Tip::Same, &[]));
        full.work(&format!("more for {name}"));
        assert_eq!(
            side.unpack(&full.pack()).unwrap(),
            delivery(Tip::Moved, &[])
        );
        side.work(&format!("even more of {name}"));
        assert_eq!(
            full.unpack(&side.pack()).unwrap(),
            delivery(Tip::Moved, &[])
        );
    }
    full.fsck();
}

#[test]
fn nothing_else_travels_whatever_the_clone_has_set() {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    let hook = world.user.program("hook");
    for side in [&a, &b] {
        for (key, value) in [
            ("fetch.prune", "true"),
            ("fetch.recurseSubmodules", "true"),
            ("fetch.writeCommitGraph", "true"),
            ("push.default", "matching"),
            ("push.followTags", "true"),
            ("push.gpgSign", "true"),
            ("push.recurseSubmodules", "on-demand"),
            ("push.useForceIfIncludes", "true"),
            ("remote.origin.fetch", "+refs/*:refs/*"),
            ("remote.origin.push", "+refs/*:refs/*"),
            ("remote.origin.tagOpt", "--tags"),
        ] {
            side.git(&["config", "--add", key, value]);
        }
        for name in ["pre-push", "reference-transaction"] {
            fs::create_dir_all(side.top.join(".git/hooks")).unwrap();
            fs::copy(&hook, side.top.join(".git/hooks").join(name)).unwrap();
        }
    }
    a.work("one");
    let set = ["tag", "-a", "-m", "x", "v1", BRANCH];
    a.git(&[&["-c", "core.hooksPath=/dev/null"][..], &set].concat());
    let other = [
        "-c",
        "core.hooksPath=/dev/null",
        "branch",
        "other",
        "main~1",
    ];
    a.git(&other);
    b.git(&other);
    let _ = fs::remove_file(world.user.path("ran"));
    assert_eq!(a.publish(true).unwrap(), delivery(Tip::Moved, &[]));
    assert_eq!(b.bring().unwrap(), delivery(Tip::Moved, &[]));
    assert_eq!(world.user.ran(), "", "no hook of the user is run");
    assert_eq!(world.remote_refs(), "refs/heads/callsheet/task-t1 one");
    insta::assert_snapshot!(b.git(&["for-each-ref", "--format=%(refname)"]), @"
    refs/heads/callsheet/task-t1
    refs/heads/main
    refs/heads/other
    refs/remotes/origin/HEAD
    refs/remotes/origin/main
    ");
    assert!(!b.top.join(".git/FETCH_HEAD").exists());
}

#[test]
fn where_two_went_different_ways_both_tips_are_kept() {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    a.work("base");
    a.publish(true).unwrap();
    b.bring().unwrap();
    let of_a = a.work("of a");
    b.work("of b");
    b.result("r2");
    a.publish(true).unwrap();

    let tip = of_a.clone();
    let left = b.publish(false).unwrap();
    assert_eq!(left, delivery(Tip::Diverged { tip }, &["r2"]));
    let lost = format!("refs/callsheet/lost/t1/{of_a}");
    let replaced = delivery(Tip::Replaced { lost }, &[]);
    assert_eq!(b.publish(true).unwrap(), replaced);
    assert_eq!(b.publish(true).unwrap(), delivery(Tip::Same, &[]));
    insta::assert_snapshot!(world.remote_refs(), @"
    refs/callsheet/lost/t1/[of a] of a
    refs/callsheet/runs/r2 of b
    refs/heads/callsheet/task-t1 of b
    ");
    assert_eq!(
        a.bring().unwrap(),
        Delivery {
            runs: vec!["r2".to_owned()],
            ..replaced
        }
    );
    assert_eq!(a.refs(), world.remote_refs());
    assert!(!b.refs().contains("lost"), "{}", b.refs());
    // The tip that gave way comes back, and gives way again.
    a.git(&["branch", "--force", BRANCH, &of_a]);
    let tip = a.rev("refs/callsheet/runs/r2").unwrap();
    let lost = format!("refs/callsheet/lost/t1/{tip}");
    let back = delivery(Tip::Replaced { lost }, &[]);
    assert_eq!(a.publish(true).unwrap(), back);
    b.publish(true).unwrap();
    insta::assert_snapshot!(world.remote_refs(), @"
    refs/callsheet/lost/t1/[of a] of a
    refs/callsheet/lost/t1/[of b] of b
    refs/callsheet/runs/r2 of b
    refs/heads/callsheet/task-t1 of b
    ");
}

#[test]
fn a_result_never_changes() {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    let first = a.work("first");
    a.result("r1");
    a.publish(true).unwrap();
    b.bring().unwrap();
    // Ahead of what is there: git would take it for a step forward.
    let second = b.work("second");
    b.result("r1");
    let sent = b.publish(true).unwrap();
    assert_eq!((sent.branch, sent.runs), (Tip::Moved, Vec::new()));
    assert_eq!(
        sent.ignored,
        [format!(
            "`refs/callsheet/runs/r1` is `{first}` on the remote; `{second}` is left out"
        )]
    );
    let brought = b.bring().unwrap();
    assert_eq!(
        brought.ignored,
        [format!(
            "`refs/callsheet/runs/r1` is `{second}` here; `{first}` is left out"
        )]
    );
    insta::assert_snapshot!(world.remote_refs(), @"
    refs/callsheet/runs/r1 first
    refs/heads/callsheet/task-t1 second
    ");
}

#[test]
fn history_that_is_replaced_here_does_not_hide_that_a_branch_gives_way() {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    let of_a = a.work("of a");
    a.publish(true).unwrap();
    let of_b = b.work("of b");
    b.git(&["fetch", "--quiet", "origin"]);
    b.git(&["replace", "--graft", &of_b, &of_a]);
    let lost = format!("refs/callsheet/lost/t1/{of_a}");
    let sent = b.publish(true).unwrap();
    assert_eq!(sent, delivery(Tip::Replaced { lost }, &[]));
}

#[test]
fn clones_that_publish_at_once_lose_nothing() {
    let world = World::new();
    for round in 0..4 {
        let names = [0, 1, 2].map(|number| format!("{round}-{number}"));
        let sides = names.each_ref().map(|name| world.clone(name));
        let tips = sides
            .each_ref()
            .map(|side| side.work(&format!("of {}", side.top.display()).replace('/', "-")));
        thread::scope(|scope| {
            for side in &sides {
                scope.spawn(|| side.publish(true).unwrap());
            }
        });
        let bare = world.user.path("remote.git");
        for tip in tips {
            let kept = world
                .user
                .git_in(&bare, &["for-each-ref", "--contains", &tip]);
            assert!(!kept.is_empty(), "round {round}");
        }
    }
}

#[test]
fn a_remote_that_refuses_or_is_gone_is_reported() {
    let world = World::new();
    let a = world.clone("a");
    a.work("one");
    a.result("r1");
    let hook = world.user.path("remote.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho 'ask Bob first' >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let error = a.publish(true).unwrap_err();
    insta::assert_snapshot!(error_text(&world, &error), @"`git push` failed with exit code 1: `refs/callsheet/runs/r1`: [remote rejected] (pre-receive hook declined); remote: ask Bob first");
    assert_eq!(world.remote_refs(), "");
    fs::rename(world.user.path("remote.git"), world.user.path("gone")).unwrap();
    let error = a.publish(true).unwrap_err();
    insta::assert_snapshot!(error_text(&world, &error), @"`git ls-remote` failed with exit code 128: fatal: '/home/../remote.git' does not appear to be a git repository");
    let error = a.bring().unwrap_err();
    insta::assert_snapshot!(error_text(&world, &error), @"`git ls-remote` failed with exit code 128: fatal: '/home/../remote.git' does not appear to be a git repository");
}

#[test]
fn a_remote_with_bad_objects_is_refused() {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    let bad = super::bundles::bad_commit(&a);
    a.git(&["update-ref", &format!("refs/heads/{BRANCH}"), &bad]);
    a.publish(true).unwrap();
    let error = b.bring().unwrap_err();
    insta::assert_snapshot!(error_text(&world, &error).replace(&bad, "[bad]"), @"`git fetch` failed with exit code 128: error: object [bad]: missingEmail: invalid author/committer line - missing email");
    assert_eq!(b.refs(), "");
    a.git(&["push", "--quiet", "origin", &format!(":{BRANCH}")]);
    let blob = a.git(&["rev-parse", "main:a.txt"]);
    a.git(&[
        "push",
        "--quiet",
        "origin",
        &format!("{blob}:refs/callsheet/runs/r1"),
    ]);
    let error = b.bring().unwrap_err();
    insta::assert_snapshot!(error_text(&world, &error), @"refs of task `t1` on remote `origin` are not commits");
    assert_eq!(b.refs(), "");
}
