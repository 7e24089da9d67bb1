//! Bundles that are damaged, or made to do harm: refused whole, and nothing comes in.

#![expect(
    clippy::unwrap_used,
    reason = "a bundle that cannot be made fails the test"
)]

use crate::bundles::{Files, add, pack, pack_with, unpack};
use crate::project::Project;
use crate::sealed::{export, said, seal, shop};

/// Tells what becomes of a bundle, and that nothing of it came in.
#[track_caller]
fn refused(bytes: &[u8]) -> String {
    let project = Project::new();
    project.file("b.tar.zst", bytes);
    let run = project.run(&["import", "b.tar.zst"]);
    assert!(!project.path(".callsheet").exists(), "nothing came in");
    assert!(!project.outside().join("x").exists());
    assert_eq!(run.code(), Some(2), "{}", said(&run));
    let verified = project.run(&["verify", "b.tar.zst"]);
    assert_eq!(verified.code(), Some(1), "{}", said(&verified));
    let replayed = project.run(&["replay", "b.tar.zst"]);
    assert_eq!(
        (replayed.code(), replayed.text().as_str()),
        (Some(2), ""),
        "{}",
        said(&replayed)
    );
    project.shown(&run)
}

fn bundle() -> (String, Files, Vec<u8>) {
    let project = shop();
    let id = seal(&project, "you");
    let bytes = std::fs::read(export(&project, &[&id])).unwrap();
    (id, unpack(&bytes), bytes)
}

#[test]
fn the_harness_packs_what_comes_in() {
    let (_, files, _) = bundle();
    let project = Project::new();
    project.file("b.tar.zst", pack(&files));
    let run = project.run(&["import", "b.tar.zst"]);
    assert_eq!(run.code(), Some(0), "{}", said(&run));
}

#[test]
fn damaged_bundles_are_refused() {
    let (_, _, bytes) = bundle();
    for part in 1..20 {
        refused_or_no_bundle(&bytes[..bytes.len() * part / 20]);
    }
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        refused_or_no_bundle(&changed);
    }
    insta::assert_snapshot!(refused(&bytes[..bytes.len() / 2]), @"
    exit: 2
    --- stderr
    error: b.tar.zst: it is not a bundle: incomplete frame
    ");
}

/// Like [`refused`], also for what no longer begins like a bundle.
#[track_caller]
fn refused_or_no_bundle(bytes: &[u8]) {
    let project = Project::new();
    project.file("b.tar.zst", bytes);
    let run = project.run(&["import", "b.tar.zst"]);
    assert_eq!(run.code(), Some(2), "{}", said(&run));
    assert!(!project.path(".callsheet").exists(), "nothing came in");
}

#[test]
fn what_is_no_bundle_at_all() {
    let project = Project::new();
    project.file("text", "a text").file("empty", "");
    project.file("zeros", zstd::encode_all(&[0u8; 4096][..], 3).unwrap());
    project.file(
        "words",
        zstd::encode_all(&b"words, and no archive"[..], 3).unwrap(),
    );
    for file in ["text", "empty", "zeros", "words"] {
        let run = project.run(&["import", file]);
        assert_eq!(run.code(), Some(2), "{file}: {}", said(&run));
    }
    insta::assert_snapshot!(project.callsheet(&["import", "text"]), @"
    exit: 2
    --- stderr
    error: text: it is not a bundle: Unknown frame descriptor
    ");
    insta::assert_snapshot!(project.callsheet(&["import", "zeros"]), @"
    exit: 2
    --- stderr
    error: zeros: it is empty
    ");
    insta::assert_snapshot!(project.callsheet(&["import", "not-there"]), @"
    exit: 2
    --- stderr
    error: not-there: no such file or directory
    ");
    assert!(!project.path(".callsheet").exists());
}

#[test]
fn entries_that_lead_somewhere_are_refused() {
    use tar::EntryType::{Char, Directory, Fifo, Link, Regular, Symlink};
    let (id, files, _) = bundle();
    let with = |path: &str, kind, bytes: &[u8]| {
        refused(&pack_with(&files, |tar| add(tar, path, kind, bytes)))
    };
    insta::assert_snapshot!(with("../x", Regular, b"x"), @"
    exit: 2
    --- stderr
    error: b.tar.zst: `../x` has no place in a bundle
    ");
    insta::assert_snapshot!(with("/tmp/x", Regular, b"x"), @"
    exit: 2
    --- stderr
    error: b.tar.zst: `/tmp/x` has no place in a bundle
    ");
    insta::assert_snapshot!(with("bodies/../../x", Regular, b"x"), @"
    exit: 2
    --- stderr
    error: b.tar.zst: `bodies/../../x` has no place in a bundle
    ");
    let document = format!("prompts/{id}/manifest.json");
    let body = files.last().unwrap().0.clone();
    for (path, kind) in [
        (document.as_str(), Symlink),
        (&body, Link),
        ("bodies", Directory),
        (&body, Fifo),
        (&body, Char),
    ] {
        let said = with(path, kind, b"");
        assert!(said.contains("has no place in a bundle"), "{said}");
    }
    let said = with(&body, Regular, b"");
    assert!(said.contains("is in it twice"), "{said}");
    let name = callsheet::Fingerprint::of("x")
        .to_string()
        .replace("b3:", "bodies/");
    let said = with(&name, Regular, b"x");
    assert!(said.contains("belongs to no prompt of it"), "{said}");
    let said = with(&name, Regular, b"y");
    assert!(said.contains("is not what its name says"), "{said}");
    let said = with("prompts/0m7f6zd4000000/prompt", Regular, b"x");
    assert!(said.contains("belongs to no prompt of it"), "{said}");
}

#[test]
fn contents_that_are_not_what_they_should_be() {
    let (_, files, _) = bundle();
    let with = |end: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut files = files.clone();
        let entry = files
            .iter_mut()
            .find(|(path, _)| path.ends_with(end))
            .unwrap();
        change(&mut entry.1);
        refused(&pack(&files))
    };
    let replace = |from: &'static str, to: &'static str| {
        move |bytes: &mut Vec<u8>| {
            let text = String::from_utf8(bytes.clone()).unwrap();
            assert!(text.contains(from), "{text}");
            *bytes = text.replace(from, to).into_bytes();
        }
    };
    insta::assert_snapshot!(with("/prompt", &|bytes| bytes[0] ^= 1), @"
    exit: 2
    --- stderr
    error: b.tar.zst: prompt [ID1]: its bytes are not what was sealed
    ");
    insta::assert_snapshot!(with("manifest.json", &replace("\"review\"", "\"reviev\"")), @"
    exit: 2
    --- stderr
    error: b.tar.zst: prompt [ID1]: its documents are not what was sealed
    ");
    insta::assert_snapshot!(with("bundle.json", &replace("bundle/1", "bundle/4")), @"
    exit: 2
    --- stderr
    error: b.tar.zst: its schema is `callsheet.bundle/4`, this program knows `callsheet.bundle/1`, `callsheet.bundle/2` and `callsheet.bundle/3`
    ");
    insta::assert_snapshot!(with("bundle.json", &replace("bundle/1", "bundle/2")), @"
    exit: 2
    --- stderr
    error: b.tar.zst: its schema is `callsheet.bundle/2`, but its contents are those of `callsheet.bundle/1`
    ");
    insta::assert_snapshot!(with("bundle.json", &replace("\"sealed_at\": 1", "\"sealed_at\": 2")), @"
    exit: 2
    --- stderr
    error: b.tar.zst: prompt [ID1]: its id is not that of its time and contents
    ");
    insta::assert_snapshot!(with("bundle.json", &|bytes| bytes.truncate(9)), @"
    exit: 2
    --- stderr
    error: b.tar.zst: `bundle.json`: EOF while parsing a string at line 2 column 7
    ");
    for (number, (path, _)) in files.iter().enumerate() {
        let mut changed = files.clone();
        changed.remove(number);
        refused(&pack(&changed));
        let mut changed = files.clone();
        let middle = changed[number].1.len() / 2;
        // In the index a letter may change that says nothing, such as the name of the engine.
        if path != "bundle.json" {
            changed[number].1[middle] ^= 1;
            refused(&pack(&changed));
        }
    }
}

#[test]
fn bombs_are_refused() {
    let (_, files, _) = bundle();
    let name = files.last().unwrap().0.clone();
    let mut header = tar::Header::new_ustar();
    header.set_path("bundle.json").unwrap();
    header.set_size(1 << 40);
    header.set_mode(0o644);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    let mut packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
    std::io::Write::write_all(&mut packed, header.as_bytes()).unwrap();
    std::io::copy(
        &mut std::io::Read::take(std::io::repeat(0), 600 << 20),
        &mut packed,
    )
    .unwrap();
    let bomb = packed.finish().unwrap();
    assert!(bomb.len() < 1 << 20);
    let project = Project::new();
    project.file("b.tar.zst", &bomb);
    insta::assert_snapshot!(project.callsheet(&["import", "b.tar.zst"]), @"
    exit: 2
    --- stderr
    error: b.tar.zst: it is not a bundle: unexpected EOF during skip
    ");
    let lie = pack_with(&files, |tar| {
        let mut header = tar::Header::new_ustar();
        header.set_path(&name).unwrap();
        header.set_size(u64::from(u32::MAX));
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        tar.append(&header, &b"short"[..]).unwrap();
    });
    assert_eq!(refused(&lie).lines().next(), Some("exit: 2"));
}
