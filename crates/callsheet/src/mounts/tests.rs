use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn mounts() -> Mounts {
    Mounts::new()
        .with(Mount::Project, "/srv/my shop")
        .with(Mount::Package, "/srv/store/packages/p1/")
        .with(Mount::State, "/srv/my shop/.state")
        .with_hidden("the runtime store", "/srv/store")
        .with_hidden("the home folder", "/var/ann")
}

#[test]
fn the_longest_folder_counts_and_only_by_whole_parts() {
    for (text, expected) in [
        ("/srv/my shop", "@project"),
        ("/srv/my shop/", "@project/"),
        ("/srv/my shop/a b.md", "@project/a b.md"),
        ("see /srv/my shop.", "see @project."),
        ("/srv/my shop/.state/workflow.md", "@state/workflow.md"),
        ("/srv/my shop.bak/x", "[redacted] shop.bak/x"),
        ("/srv/my shops", "[redacted] shops"),
        ("/srv/store/packages/p1/a", "@pkg/a"),
        ("/srv/store/packages/p12/a", "[redacted]"),
        ("/srv/store/x, /var/ann/y", "[redacted], [redacted]"),
        ("x/srv/my shop/y", "x@project/y"),
        ("\\srv\\my shop\\a\\b", "@project/a/b"),
        ("/srv/my%20shop/a", "@project/a"),
        ("%2Fsrv%2Fmy%20shop%2Fa", "@project%2Fa"),
        ("C:\\Users\\ann\\x and more", "[redacted] and more"),
        ("file:///etc/passwd", "[redacted]"),
        ("\\\\host\\share", "[redacted]"),
        ("'/etc/x' == y", "'[redacted]' == y"),
    ] {
        assert_eq!(mounts().alias(text), expected, "{text}");
    }
}

#[test]
fn what_is_no_absolute_path_stays() {
    for text in [
        "and/or",
        "1 / 2",
        "https://example.org/a",
        "</b>",
        "a:b",
        "@pkg/steps/x.md",
        "//",
        "~/x",
        "artifacts/a.md",
        "C: 5",
        "a\\b",
    ] {
        assert_eq!(mounts().alias(text), text);
    }
}

#[test]
fn a_value_is_one_line_and_short() {
    let mounts = mounts();
    assert_eq!(mounts.sanitise("a\r\nb\nc\td\u{2028}e"), "a b c d e");
    assert_eq!(mounts.sanitise("a\0\u{1b}[1mb\u{202e}c"), "a[1mbc");
    assert_eq!(mounts.sanitise("/srv/my sh\0op/x"), "@project/x");
    assert_eq!(
        mounts.sanitise(&"é".repeat(600)).chars().count(),
        MOST_CHARS
    );
}

#[test]
fn a_leak_is_found_in_every_form() {
    let mounts = Mounts::new().with(Mount::Project, "/srv/é \"x\"");
    for text in [
        "a /srv/é \"x\"/b",
        r#"{"p": "/srv/é \"x\"/b"}"#,
        r#"{"p": "\/srv\/é \"x\""}"#,
        r#"{"p": "/srv/\u00e9 \"x\""}"#,
        "/srv/%C3%A9%20%22x%22/y",
        "%2fsrv%2f%c3%a9%20%22x%22",
        "%2fsrv/é%20\"x\"",
        "%2Fsrv%2f%C3%a9 %22x%22",
        "\\u002fsrv\\/\\u00E9 \\\"x\"",
        "\\srv\\é \"x\"",
        r#"\\srv\\é \"x\""#,
    ] {
        let leak = mounts.leak(text).unwrap();
        assert_eq!(leak.folder, Some("@project"), "{text}");
        assert_eq!(mounts.leak(&mounts.alias(text)), None, "{text}");
    }
    let beside = mounts.leak("/srv/é \"x\"2").unwrap();
    assert_eq!(beside.folder, None, "another folder");
}

#[test]
fn folders_that_look_like_our_own_words_are_no_leak() {
    let mounts = Mounts::new()
        .with(Mount::Project, "/artifacts")
        .with(Mount::State, "/");
    assert_eq!(mounts.leak("write below @project/artifacts/ only"), None);
    let leak = mounts.leak("in /artifacts/x").unwrap();
    assert_eq!(leak.folder, Some("@project"));
    assert_eq!(
        mounts.alias("/artifacts/x /etc/y"),
        "@project/x @state/etc/y"
    );
    assert_eq!(
        Mounts::new()
            .with(Mount::Project, "relative")
            .alias("relative"),
        "relative"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "one flat table")]
fn a_path_resolves_inside_its_mount_or_not_at_all() {
    let place = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(place.path()).unwrap();
    for folder in ["project/src", "pkg", "outside"] {
        fs::create_dir_all(real.join(folder)).unwrap();
    }
    fs::write(real.join("project/src/a.rs"), "").unwrap();
    fs::write(real.join("outside/secret"), "").unwrap();
    symlink(real.join("outside"), real.join("project/out")).unwrap();
    symlink("../outside/new", real.join("project/dangling")).unwrap();
    symlink("src", real.join("project/inside")).unwrap();
    let path = |name: &str| real.join(name).to_str().unwrap().to_owned();
    let mounts = Mounts::new()
        .with(Mount::Project, &path("project"))
        .with(Mount::Package, &path("pkg"));
    for (named, access, expected) in [
        ("@project", Access::Read, "project"),
        ("@project/", Access::Write, "project"),
        ("@project/src/a.rs", Access::Read, "project/src/a.rs"),
        (
            "@project/./src/../src//a.rs",
            Access::Read,
            "project/src/a.rs",
        ),
        (
            "@project/inside/new.rs",
            Access::Write,
            "project/src/new.rs",
        ),
        (
            "@project/new/folder/x",
            Access::Write,
            "project/new/folder/x",
        ),
        ("@pkg/x", Access::Read, "pkg/x"),
    ] {
        assert_eq!(
            mounts.resolve(named, access).unwrap(),
            real.join(expected),
            "{named}"
        );
    }
    for (named, access) in [
        ("@project/../outside/secret", Access::Read),
        ("@project/src/../../outside", Access::Read),
        ("@project/out/secret", Access::Read),
        ("@project/out/new", Access::Write),
        ("@project/dangling", Access::Write),
        ("@project/a\0b", Access::Read),
        ("@project\\..\\x", Access::Read),
        ("@home/x", Access::Read),
        ("src/a.rs", Access::Read),
        ("", Access::Read),
        ("/etc/passwd", Access::Read),
        ("@projects/x", Access::Read),
        ("@pkg/x", Access::Write),
        ("@state/workflow.md", Access::Read),
    ] {
        let error = mounts.resolve(named, access).unwrap_err().to_string();
        assert!(error.starts_with("E_SANDBOX_VIOLATION: "), "{error}");
        assert!(!error.contains(real.to_str().unwrap()), "{error}");
    }
}
