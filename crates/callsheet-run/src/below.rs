//! The one way to write into a project: below its root, wherever links lead, whole or not at all.
//!
//! A directory is opened once, by a walk that no link leads out of, and everything happens in what was opened. An agent
//! that swaps a directory for a link meanwhile changes nothing about it.

use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU32, Ordering};

use callsheet::inputs::Located;
use callsheet::omission::Refusal;
use callsheet::{Reason, Root};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// How the names of files begin that are not yet what they are to be; six digits follow.
const TEMPORARY: &str = ".callsheet-";

/// How many links may lead from one to the next.
const LINKS: usize = 16;

/// Tells whether somebody who was killed while writing has left a file of this name.
pub fn is_left(name: &str) -> bool {
    let digits = name.strip_prefix(TEMPORARY);
    digits.is_some_and(|digits| digits.len() == 6)
}

/// Why something is not written.
#[derive(Debug)]
pub enum Unwritten {
    /// It would not be below the root, or is not what it has to be.
    Refused(Refusal),
    /// The system did not let it.
    Failed(io::Error),
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(cause) => cause.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl From<Refusal> for Unwritten {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<io::Error> for Unwritten {
    fn from(cause: io::Error) -> Self {
        Self::Failed(cause)
    }
}

/// Writes a file below a root, whole or not at all; what is missing of its directory is made.
pub fn write(root: &Root, path: &str, bytes: &[u8]) -> Result<(), Unwritten> {
    let path = followed(root, path)?;
    let (above, name) = split(&path);
    let directory = Below::make(root, above)?;
    let draft = directory.draft(bytes)?;
    if directory.has(name) {
        draft.allow_as(name)?;
    }
    Ok(draft.put(name)?)
}

/// Returns the directory of a path, and the name in it.
pub fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

/// Returns the path that links at the end of a path lead to, which is below the root.
pub fn followed(root: &Root, path: &str) -> Result<String, Refusal> {
    let outside = || Refusal::new(Reason::OutsideRoot).because("through a link");
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let (above, name) = split(&path);
        let target = match Below::open(root, above) {
            Ok(directory) => rustix::fs::readlinkat(&directory.0, name, Vec::new()),
            Err(refusal) if refusal.reason == Reason::Missing => return Ok(path),
            Err(refusal) => return Err(refusal),
        };
        // What is not a link cannot be read as one.
        let Ok(target) = target else {
            return Ok(path);
        };
        let target = target.into_string().map_err(|_| outside())?;
        let target = Path::new(above).join(target);
        match root.locate(&target.to_string_lossy()) {
            Located::Inside(inner) => path = inner,
            Located::Outside(_) => return Err(outside()),
        }
    }
    Err(Refusal::new(Reason::Unreadable).because("too many links, or links in a circle"))
}

/// A directory below a root, open.
#[derive(Debug)]
pub struct Below(OwnedFd);

impl Below {
    /// Opens a directory that is there.
    pub fn open(root: &Root, path: &str) -> Result<Self, Refusal> {
        root.open_directory(path).map(Self)
    }

    /// Opens a directory, and makes what is missing of it.
    pub fn make(root: &Root, path: &str) -> Result<Self, Unwritten> {
        let mut at = Self::open(root, ".")?;
        let mut so_far = String::new();
        for part in Path::new(path).components() {
            let name = match part {
                Component::CurDir => continue,
                Component::Normal(name) => name,
                _ => return Err(Refusal::new(Reason::OutsideRoot).into()),
            };
            match rustix::fs::mkdirat(&at.0, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(Unwritten::Failed(errno.into())),
            }
            if !so_far.is_empty() {
                so_far.push('/');
            }
            so_far.push_str(&name.to_string_lossy());
            at = Self::open(root, &so_far)?;
        }
        Ok(at)
    }

    /// Tells whether anything has this name.
    pub fn has(&self, name: &str) -> bool {
        rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Removes a file.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Moves a file to another directory.
    pub fn rename(&self, name: &str, to: &Self, new: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, name, &to.0, new)?)
    }

    /// Writes a file under a name that nobody looks for, and makes sure that it is on the disk.
    pub fn draft(&self, bytes: &[u8]) -> io::Result<Draft<'_>> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            // Another process may write here, too; the name of one is taken by nobody else.
            let number = std::process::id().wrapping_mul(0x9e37_79b1);
            let number = number.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
            let name = format!("{TEMPORARY}{:06x}", number & 0xff_ffff);
            match rustix::fs::openat(&self.0, &name, flags, Mode::from_raw_mode(0o666)) {
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
                Ok(file) => {
                    let file = File::from(file);
                    let at = self;
                    let draft = Draft { at, name, file };
                    (&draft.file).write_all(bytes)?;
                    draft.file.sync_all()?;
                    return Ok(draft);
                }
            }
        }
    }
}

/// A file that is written and has no name yet; it is gone when nobody gives it one.
#[derive(Debug)]
pub struct Draft<'a> {
    at: &'a Below,
    name: String,
    file: File,
}

impl Draft<'_> {
    /// Gives it the permissions that the file of a name has.
    pub fn allow_as(&self, name: &str) -> io::Result<()> {
        let found = rustix::fs::statat(&self.at.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let mode = Mode::from_raw_mode(found.st_mode);
        Ok(rustix::fs::fchmod(&self.file, mode)?)
    }

    /// Gives it a name; what had the name before is replaced.
    pub fn put(mut self, name: &str) -> io::Result<()> {
        self.at.rename(&self.name, self.at, name)?;
        self.name.clear();
        rustix::fs::fsync(&self.at.0)?;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // What cannot be removed is removed by whoever writes here next.
            let _ = self.at.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn root() -> (tempfile::TempDir, Root) {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("root")).unwrap();
        std::fs::create_dir(place.path().join("out")).unwrap();
        let root = Root::open(place.path().join("root")).unwrap();
        (place, root)
    }

    #[test]
    fn files_are_written_where_links_inside_lead_and_never_outside() {
        let (place, root) = root();
        write(&root, "a/b/c.txt", b"one").unwrap();
        assert_eq!(root.read("a/b/c.txt").unwrap(), b"one");
        symlink("b/c.txt", root.path().join("a/link")).unwrap();
        write(&root, "a/link", b"two").unwrap();
        assert_eq!(root.read("a/b/c.txt").unwrap(), b"two");
        symlink("../../out/new", root.path().join("a/away")).unwrap();
        symlink("../out", root.path().join("folder")).unwrap();
        symlink("round", root.path().join("round")).unwrap();
        for path in ["a/away", "folder/x", "folder/y/x", "../x", "a/../../x"] {
            let why = write(&root, path, b"no").unwrap_err().to_string();
            assert!(why.starts_with("leads out of the root"), "{path}: {why}");
        }
        let why = write(&root, "round", b"no").unwrap_err().to_string();
        assert_eq!(why, "cannot be read: too many links, or links in a circle");
        assert_eq!(
            std::fs::read_dir(place.path().join("out")).unwrap().count(),
            0
        );
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_draft_without_a_name_is_gone() {
        let (_place, root) = root();
        let directory = Below::make(&root, ".").unwrap();
        let draft = directory.draft(b"x").unwrap();
        assert!(is_left(&draft.name) && directory.has(&draft.name));
        let name = draft.name.clone();
        drop(draft);
        assert!(!directory.has(&name));
    }

    #[test]
    fn nothing_is_written_outside_while_a_directory_and_a_link_are_swapped() {
        let (place, root) = root();
        let (folder, link) = (root.path().join("folder"), root.path().join("link"));
        std::fs::create_dir(&folder).unwrap();
        symlink("../out", &link).unwrap();
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    let cwd = rustix::fs::CWD;
                    rustix::fs::renameat_with(cwd, &folder, cwd, &link, flags).unwrap();
                }
            });
            for _ in 0..1_000 {
                let _ = write(&root, "folder/x", b"text");
                let _ = write(&root, "folder/deep/x", b"text");
            }
            over.store(true, Ordering::Relaxed);
        });
        assert_eq!(
            std::fs::read_dir(place.path().join("out")).unwrap().count(),
            0
        );
    }
}
