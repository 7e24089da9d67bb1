//! The way name by name, which the kernel's own call hides on most machines.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;

use super::*;

fn read(folder: &OwnedFd, path: &str) -> Result<String, Errno> {
    let found = Steps::new(folder, Path::new(path))?.open(OFlags::RDONLY | OFlags::CLOEXEC)?;
    let mut text = String::new();
    let read = fs::File::from(found).read_to_string(&mut text);
    read.map(|_| text).map_err(|_| Errno::ISDIR)
}

fn folder(path: &Path) -> OwnedFd {
    openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

#[test]
fn a_path_is_followed_inside_and_nowhere_else() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("root");
    fs::create_dir_all(root.join("sub/deep")).unwrap();
    fs::write(outer.path().join("secret"), "secret").unwrap();
    fs::write(root.join("sub/a"), "a").unwrap();
    symlink(&root, outer.path().join("other-name")).unwrap();
    for (link, target) in [
        ("in", "sub/a".to_owned()),
        ("sub/deep/up", "../../sub/a".to_owned()),
        ("out", "../secret".to_owned()),
        ("sub/deep/out", "../../../secret".to_owned()),
        ("absolute", root.join("sub").display().to_string()),
        (
            "through",
            outer.path().join("other-name/sub/a").display().to_string(),
        ),
        ("self", root.display().to_string()),
        ("away", outer.path().join("secret").display().to_string()),
        ("back", format!("{}/../root/sub/a", root.display())),
        ("circle", "circle".to_owned()),
        ("gone", "nowhere".to_owned()),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    let root = folder(&root);
    for (path, expected) in [
        ("sub/a", Ok("a")),
        ("./sub/./a", Ok("a")),
        ("sub/deep/../a", Ok("a")),
        ("in", Ok("a")),
        ("sub/deep/up", Ok("a")),
        ("absolute/a", Ok("a")),
        ("absolute/deep/../a", Ok("a")),
        ("through", Ok("a")),
        ("self/self/sub/a", Ok("a")),
        ("out", Err(Errno::XDEV)),
        ("sub/deep/out", Err(Errno::XDEV)),
        ("away", Err(Errno::XDEV)),
        ("back", Err(Errno::XDEV)),
        ("../secret", Err(Errno::XDEV)),
        ("sub/../../secret", Err(Errno::XDEV)),
        ("/etc/passwd", Err(Errno::XDEV)),
        ("circle", Err(Errno::LOOP)),
        ("gone", Err(Errno::NOENT)),
        ("sub/a/b", Err(Errno::NOTDIR)),
        ("", Err(Errno::ISDIR)),
        ("self", Err(Errno::ISDIR)),
    ] {
        let found = read(&root, path);
        assert_eq!(found.as_deref(), expected.as_ref().copied(), "{path}");
    }
}

#[test]
fn a_link_can_be_looked_at_without_opening_what_it_leads_to() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("a"), "a").unwrap();
    symlink("a", place.path().join("in")).unwrap();
    symlink("/etc/passwd", place.path().join("out")).unwrap();
    let root = folder(place.path());
    let look = |path: &str| {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let found = Steps::new(&root, Path::new(path)).and_then(|steps| steps.open(flags))?;
        is_link(&found)
    };
    assert_eq!(look("a"), Ok(false));
    assert_eq!(look("in"), Ok(false));
    assert_eq!(look("out"), Err(Errno::XDEV));
}
