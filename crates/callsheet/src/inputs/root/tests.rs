//! Roots against real folders, links, pipes and sparse files.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode};

use super::*;
use crate::inputs::TextRule;
use crate::omission::Reason;

fn reason<T: std::fmt::Debug>(result: Result<T, Refusal>) -> Reason {
    result.unwrap_err().reason
}

#[test]
fn reads_what_lies_below_and_refuses_the_rest() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("root");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(outer.path().join("secret"), "s").unwrap();
    fs::write(folder.join("sub/a.md"), "A").unwrap();
    symlink("../secret", folder.join("out")).unwrap();
    symlink(outer.path(), folder.join("up")).unwrap();
    symlink("sub/a.md", folder.join("in")).unwrap();
    symlink(folder.join("sub"), folder.join("absolute")).unwrap();
    symlink("loop2", folder.join("loop1")).unwrap();
    symlink("loop1", folder.join("loop2")).unwrap();
    symlink("nowhere", folder.join("dangling")).unwrap();
    let root = Root::open(&folder).unwrap();

    assert_eq!(root.read("sub/a.md").unwrap(), b"A");
    assert_eq!(root.read("in").unwrap(), b"A");
    assert_eq!(root.read("absolute/a.md").unwrap(), b"A");
    assert_eq!(reason(root.read("out")), Reason::OutsideRoot);
    assert_eq!(reason(root.read("up/secret")), Reason::OutsideRoot);
    assert_eq!(reason(root.read("../secret")), Reason::OutsideRoot);
    assert_eq!(reason(root.read("loop1")), Reason::Unreadable);
    assert_eq!(reason(root.read("dangling")), Reason::Missing);
    assert_eq!(reason(root.read("sub")), Reason::Folder);
    assert_eq!(reason(root.list("up")), Reason::OutsideRoot);
    assert_eq!(reason(root.read("a\0b")), Reason::Unreadable);
}

#[test]
fn a_folder_that_does_not_exist_is_found_missing_and_has_nothing_below() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "").unwrap();
    symlink("loop", at("loop")).unwrap();
    let disk = Disk::default();
    for name in ["missing", "file", "file/below", "loop"] {
        assert!(disk.find(at(name)).unwrap().is_none(), "{name}");
    }
    assert!(disk.find(folder.path()).unwrap().is_some());

    let root = Root::absent(at("missing")).unwrap();
    assert_eq!(root.path(), at("missing"));
    assert_eq!(reason(root.read("a")), Reason::Missing);
    assert_eq!(reason(root.list("")), Reason::Missing);
    assert_eq!(reason(root.confine("a")), Reason::Missing);
    assert!(!root.has("a") && !root.has_folder("."));
    let inside = at("missing").join("b");
    let located = root.locate(inside.to_str().unwrap());
    assert!(matches!(located, Located::Inside(path) if path == "b"));
}

#[test]
fn pipes_devices_and_giants_are_never_opened() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
    let giant = fs::File::create(folder.path().join("giant")).unwrap();
    giant.set_len(2 << 30).unwrap();
    let root = Root::open(folder.path()).unwrap();
    let refused = root.read("pipe").unwrap_err();
    assert_eq!(
        (refused.reason, refused.detail.as_str()),
        (Reason::NotAFile, "a named pipe")
    );
    let refused = root.read("giant").unwrap_err();
    assert_eq!((refused.reason, refused.bytes), (Reason::TooLarge, 2 << 30));
    assert_eq!(
        refused.detail,
        "2147483648 bytes, at most 33554432 are read"
    );
}

#[test]
fn a_walk_honours_ignore_files_of_the_root_only() {
    let outer = tempfile::tempdir().unwrap();
    fs::write(outer.path().join(".gitignore"), "*.rs\n").unwrap();
    let folder = outer.path().join("root");
    for (file, text) in [
        (".gitignore", "target/\n*.log\n"),
        (".promptignore", "secret/\n"),
        ("b.rs", ""),
        ("a.rs", ""),
        ("B.rs", ""),
        ("x.log", ""),
        (".hidden", ""),
        (".git/config", ""),
        ("target/t.rs", ""),
        ("secret/s.rs", ""),
        ("sub/.gitignore", "*.txt\n"),
        ("sub/n.txt", ""),
        ("sub/k.md", ""),
    ] {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    symlink("a.rs", folder.join("link.rs")).unwrap();
    symlink("../.gitignore", folder.join("out.rs")).unwrap();
    let root = Root::open(&folder).unwrap();
    let found = root.walk(&Globs::new(["**"]).unwrap(), false);
    assert_eq!(found.files, ["B.rs", "a.rs", "b.rs", "sub/k.md"]);
    let refused: Vec<_> = found
        .refused
        .iter()
        .map(|(path, why)| (path.as_str(), why.reason))
        .collect();
    assert_eq!(
        refused,
        [("link.rs", Reason::Link), ("out.rs", Reason::OutsideRoot)]
    );
    let found = root.walk(&Globs::new(["**"]).unwrap(), true);
    assert_eq!(
        found.files,
        [
            ".gitignore",
            ".hidden",
            ".promptignore",
            "B.rs",
            "a.rs",
            "b.rs",
            "sub/.gitignore",
            "sub/k.md"
        ]
    );
}

#[test]
fn names_that_are_no_text_are_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder
            .path()
            .join(std::ffi::OsStr::from_bytes(b"2a-1-\xff.md")),
        "x",
    )
    .unwrap();
    let root = Root::open(folder.path()).unwrap();
    assert_eq!(root.list("").unwrap().odd_names, ["2a-1-\u{fffd}.md"]);
    let found = root.walk(&Globs::new(["**"]).unwrap(), false);
    assert_eq!(found.refused[0].1.reason, Reason::NameNotUtf8);
}

#[test]
fn a_link_that_goes_up_is_read_while_others_rename_files() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("docs")).unwrap();
    fs::write(path("board"), "here").unwrap();
    symlink("../board", path("docs/board")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let (a, b) = (elsewhere.path().join("a"), elsewhere.path().join("b"));
    fs::write(&a, "").unwrap();
    let root = Root::open(folder.path()).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fs::rename(&a, &b).unwrap();
                fs::rename(&b, &a).unwrap();
            }
        });
        let read: Vec<Vec<u8>> = (0..2000)
            .map(|_| root.read("docs/board").unwrap_or_default())
            .collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(read.iter().all(|text| text == b"here"));
    });
}

/// Swaps two names over and over while something else goes on.
fn while_swapped<T>(one: &Path, other: &Path, go_on: impl FnOnce() -> T) -> T {
    use std::sync::atomic::{AtomicBool, Ordering};
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(CWD, one, CWD, other, flags).unwrap();
            }
        });
        let result = go_on();
        is_over.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn a_folder_that_becomes_a_link_leads_nowhere() {
    let outer = tempfile::tempdir().unwrap();
    let (root, away) = (outer.path().join("root"), outer.path().join("away"));
    for (folder, text) in [(root.join("sub"), "inside"), (away.clone(), "outside")] {
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.md"), text).unwrap();
    }
    fs::write(away.join("secret.md"), "outside").unwrap();
    symlink(&away, root.join("link")).unwrap();
    let opened = Root::open(&root).unwrap();
    let globs = Globs::new(["**"]).unwrap();
    while_swapped(&root.join("sub"), &root.join("link"), || {
        for _ in 0..1000 {
            for path in ["sub/a.md", "link/a.md"] {
                match opened.read(path) {
                    Ok(text) => assert_eq!(text, b"inside"),
                    Err(refusal) => assert_eq!(refusal.reason, Reason::OutsideRoot),
                }
            }
            let found = opened.walk(&globs, false);
            assert!(
                found.files.iter().all(|path| path.ends_with("a.md")),
                "{:?}",
                found.files
            );
        }
    });
}

#[test]
fn what_a_seal_has_no_room_for_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        std::fs::write(folder.path().join(name), "12345678").unwrap();
    }
    std::fs::write(folder.path().join("binary"), [0xff; 8]).unwrap();
    let disk = Disk::watched_within(16);
    let root = disk.open(folder.path()).unwrap();
    let text = |name| root.read_as(name, |bytes| TextRule::Utf8.text(bytes));
    assert_eq!(text("a").unwrap(), "12345678");
    assert_eq!(reason(text("binary")), Reason::NotUtf8);
    assert_eq!(
        text("b").unwrap(),
        "12345678",
        "what is not text is not kept"
    );
    assert!(disk.check_size().is_ok());
    assert_eq!(reason(text("c")), Reason::TooLarge);
    assert_eq!(
        disk.check_size().unwrap_err().to_string(),
        "more than 16 bytes are read, which no seal can hold"
    );
    assert_eq!(reason(text("none")), Reason::TooLarge, "nothing is opened");
    let kept = disk.readings().unwrap();
    assert_eq!(kept.bodies().len(), 1, "both have the same text");
    let unwatched = Disk::default().open(folder.path()).unwrap();
    assert!(unwatched.read("c").is_ok());
}
