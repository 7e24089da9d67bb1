//! Bundles between clones that share nothing but the base, and bundles that somebody bent.

use super::*;

/// Writes a commit that git itself would not write.
pub(super) fn bad_commit(side: &Side<'_>) -> String {
    let tree = side.git(&["rev-parse", "main^{tree}"]);
    let text = format!("tree {tree}\nauthor nobody\ncommitter nobody\n\nbad\n");
    let path = side.world.user.path("bad");
    fs::write(&path, text).unwrap();
    let args = ["hash-object", "-w", "-t", "commit", "--literally"];
    side.git(&[&args[..], &[path.to_str().unwrap()]].concat())
}

/// Returns all objects that a clone can reach and all of its refs.
fn state(side: &Side<'_>) -> String {
    side.git(&["for-each-ref"])
}

#[test]
fn a_bundle_brings_all_to_a_clone_that_has_only_the_base() {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    assert_eq!(pack(&a.repository, &world.parcel()).unwrap(), None);
    // A run that changed nothing results in a commit of the base.
    a.git(&["branch", BRANCH, "main~1"]);
    a.result("r1");
    a.work("one");
    a.result("r2");
    a.work("two");
    let bytes = a.pack();
    assert_eq!(
        b.unpack(&bytes).unwrap(),
        delivery(Tip::Moved, &["r1", "r2"])
    );
    assert_eq!(b.unpack(&bytes).unwrap(), delivery(Tip::Same, &[]));
    b.fsck();
    assert_eq!(b.refs(), a.refs());
    insta::assert_snapshot!(b.refs(), @"
    refs/callsheet/runs/r1 Change a.txt
    refs/callsheet/runs/r2 one
    refs/heads/callsheet/task-t1 two
    ");

    // And back, with the base merged meanwhile, and a tip that gives way.
    let next = b.commit_on("main", "next");
    b.git(&["push", "--quiet", "origin", &format!("{next}:main")]);
    for side in [&a, &b] {
        side.git(&["pull", "--quiet"]);
    }
    let tree = format!("{next}^{{tree}}");
    let merge = [
        "commit-tree",
        &tree,
        "-p",
        BRANCH,
        "-p",
        "main",
        "-m",
        "of b",
    ];
    let merge = b.git(&merge);
    b.git(&["branch", "--force", BRANCH, &merge]);
    let of_a = a.work("of a");
    let lost = format!("refs/callsheet/lost/t1/{of_a}");
    let back = a.unpack(&b.pack()).unwrap();
    assert_eq!(back, delivery(Tip::Replaced { lost }, &[]));
    assert_eq!(b.unpack(&a.pack()).unwrap(), delivery(Tip::Same, &[]));
}

#[test]
fn a_bundle_has_what_the_base_lacks_and_git_reads_it() {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    let random: Vec<u8> = (0..100_000_u32)
        .flat_map(|n| n.wrapping_mul(n ^ 0x9e37_79b9).to_le_bytes())
        .collect();
    fs::write(a.top.join("big"), random).unwrap();
    a.git(&["add", "--all"]);
    a.git(&["commit", "--quiet", "-m", "Big"]);
    a.git(&["push", "--quiet", "origin", "main"]);
    a.work("one");
    a.result("r1");
    let bytes = a.pack();
    assert!(bytes.len() < 2000, "{}", bytes.len());
    b.git(&["pull", "--quiet"]);
    let file = world.user.path("x.bundle");
    fs::write(&file, &bytes).unwrap();
    let file = file.to_str().unwrap();
    b.git(&["bundle", "verify", "--quiet", file]);
    b.git(&["fetch", "--quiet", file, "refs/*:refs/copy/*"]);
    assert_eq!(b.rev(&format!("refs/copy/heads/{BRANCH}")), a.rev(BRANCH));
    // The other way round: a bundle that git made.
    let names = ["refs/callsheet/runs/r1", &format!("refs/heads/{BRANCH}")];
    let args = [
        &["bundle", "create", "--quiet", file][..],
        &names,
        &["^main"],
    ]
    .concat();
    a.git(&args);
    let bytes = fs::read(file).unwrap();
    assert_eq!(b.unpack(&bytes).unwrap(), delivery(Tip::Moved, &["r1"]));
    // Without a base in common everything travels.
    let c = world.clone("c");
    let parcel = Parcel {
        base: "gone",
        ..world.parcel()
    };
    let bytes = pack(&a.repository, &parcel).unwrap().unwrap();
    assert!(bytes.len() > 100_000, "{}", bytes.len());
    assert_eq!(c.unpack(&bytes).unwrap(), delivery(Tip::Moved, &["r1"]));
    c.fsck();
}

#[test]
fn a_commit_of_the_base_that_is_missing_is_named() {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    fs::write(a.top.join("a.txt"), "three\n").unwrap();
    a.git(&["commit", "--quiet", "--all", "-m", "Three"]);
    a.work("one");
    let bytes = a.pack();
    let error = b.unpack(&bytes).unwrap_err();
    let main = a.rev("main").unwrap();
    insta::assert_snapshot!(error_text(&world, &error).replace(&main, "[main]"), @"task `t1` builds on commit `[main]` of `main`, which is not in this clone; get it with `git fetch` or `git pull`, then try again");
    assert_eq!(b.refs(), "");
    a.git(&["push", "--quiet", "origin", "main"]);
    b.git(&["fetch", "--quiet"]);
    assert_eq!(b.unpack(&bytes).unwrap(), delivery(Tip::Moved, &[]));
}

#[test]
fn refs_of_others_are_left_out_and_named() {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    let tip = a.work("one");
    let (header, pack) = {
        let bytes = a.pack();
        let (header, pack) = header::Header::read(&bytes).unwrap();
        (header, pack.to_vec())
    };
    let with = |names: &[&str]| {
        let mut header = header.clone();
        let refs = names.iter().map(|name| ((*name).to_owned(), tip.clone()));
        header.refs.splice(..0, refs);
        [header.to_bytes(), pack.clone()].concat()
    };
    let foreign = [
        "refs/heads/main",
        "HEAD",
        "refs/callsheet/runs/r9",
        "refs/heads/../../x",
        "refs/heads/callsheet/task-t1 ",
        "-x\u{1b}[31m",
    ];
    let taken = b.unpack(&with(&foreign)).unwrap();
    assert_eq!(taken.branch, Tip::Moved);
    insta::assert_snapshot!(taken.ignored.join("\n"), @r"
    `refs/heads/main` is not a ref of task `t1`
    `HEAD` is not a ref of task `t1`
    `refs/callsheet/runs/r9` is not a ref of task `t1`
    `refs/heads/../../x` is not a ref of task `t1`
    `refs/heads/callsheet/task-t1 ` is not a ref of task `t1`
    `-x\u{1b}[31m` is not a ref of task `t1`
    ");
    assert_eq!(b.rev("main"), a.rev("main"));
    assert_eq!(b.refs(), "refs/heads/callsheet/task-t1 one");
    let many: Vec<String> = (0..50).map(|n| format!("refs/heads/{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let ignored = b.unpack(&with(&many)).unwrap().ignored;
    assert_eq!(ignored.len(), 11);
    assert_eq!(ignored[10], "40 more are not refs of task `t1`");
    let twice = with(&[&format!("refs/heads/{BRANCH}")]);
    assert_eq!(
        b.unpack(&twice).unwrap_err().to_string(),
        "the bundle of task `t1` is damaged: it has `refs/heads/callsheet/task-t1` twice"
    );
}

#[test]
fn damaged_bytes_change_no_ref() {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    a.work("one");
    a.result("r1");
    let bytes = a.pack();
    let before = state(&b);
    let start = bytes.windows(4).position(|four| four == b"PACK").unwrap();
    let refused = |bytes: &[u8], what: &str| {
        let answer = b.unpack(bytes);
        assert!(answer.is_err(), "{what}: {answer:?}");
        assert_eq!(state(&b), before, "{what}");
        answer.unwrap_err().to_string()
    };
    for at in (start..bytes.len()).step_by(7) {
        let mut bad = bytes.clone();
        bad[at] ^= 0x20;
        refused(&bad, &format!("byte {at}"));
    }
    for length in (0..bytes.len()).step_by(31) {
        refused(&bytes[..length], &format!("{length} bytes"));
    }
    let mut bad = bytes.clone();
    let last = bad.len() - 1;
    bad[last] ^= 1;
    insta::assert_snapshot!(refused(&bad, "checksum"), @"the bundle of task `t1` is damaged: fatal: pack is corrupted (SHA1 mismatch)");

    // A commit that is somewhere, and a pack without it.
    let hash = a.rev(BRANCH).unwrap();
    let other = a.commit_on(&hash, "other");
    let text = String::from_utf8_lossy(&bytes[..start]).replace(&hash, &other);
    let bad = [text.as_bytes(), &bytes[start..]].concat();
    insta::assert_snapshot!(refused(&bad, "another pack"), @"the bundle of task `t1` is damaged: its refs lead to objects that are not in it");

    let bad = bad_commit(&a);
    a.git(&["update-ref", &format!("refs/heads/{BRANCH}"), &bad]);
    let said = refused(&a.pack(), "bad commit").replace(&bad, "[bad]");
    insta::assert_snapshot!(said, @"the bundle of task `t1` is damaged: error: object [bad]: missingEmail: invalid author/committer line - missing email");
    b.fsck();
}

#[test]
fn hashes_may_be_long() {
    let world = World::new();
    let home = world.user.path("home");
    let init = [
        "init",
        "--quiet",
        "--object-format=sha256",
        "-b",
        "main",
        "../long",
    ];
    world.user.git_in(&home, &init);
    let long = world.user.path("long");
    world.user.git_in(
        &long,
        &["commit", "--quiet", "--allow-empty", "-m", "Start"],
    );
    world
        .user
        .git_in(&home, &["clone", "--quiet", "../long", "../copy"]);
    for name in ["long", "copy"] {
        fs::create_dir(world.user.path(name).join(".callsheet")).unwrap();
    }
    let (a, b) = (world.side("long"), world.side("copy"));
    let parent = a.rev("main").unwrap();
    let made = a.git(&["commit-tree", "main^{tree}", "-p", &parent, "-m", "one"]);
    a.git(&["branch", BRANCH, &made]);
    assert_eq!(b.unpack(&a.pack()).unwrap(), delivery(Tip::Moved, &[]));
    assert_eq!(b.rev(BRANCH).map(|hash| hash.len()), Some(64));
    assert_eq!(b.bring().unwrap(), delivery(Tip::Same, &[]));
}
