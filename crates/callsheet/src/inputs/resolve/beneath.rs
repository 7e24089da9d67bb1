//! Opening a path without ever leaving a folder, whatever somebody renames or links meanwhile.
//!
//! A path is followed once. What is opened is what was followed: nothing here looks first and opens then.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;

/// How many links a path may lead through, as in the kernel.
const MOST_LINKS: usize = 40;

/// How often a name may be something else whenever it is looked at.
const MOST_CHANGES: usize = 1000;

/// How a folder on the way is opened: to go on from it, and for nothing else.
const ON_THE_WAY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

/// Opens a path below a folder; `XDEV` means that it leads out.
pub(super) fn open(folder: &OwnedFd, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    match open_by_kernel(folder, relative, flags) {
        // The kernel refuses an absolute link even where it leads back into the folder, gives up on `..` while anything
        // on the machine is renamed, and old ones lack the call.
        Err(Errno::XDEV | Errno::AGAIN | Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
            Steps::new(folder, relative)?.open(flags)
        }
        other => other,
    }
}

#[cfg(target_os = "linux")]
fn open_by_kernel(folder: &OwnedFd, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(folder, relative, flags, Mode::empty(), resolve)
}

#[cfg(not(target_os = "linux"))]
fn open_by_kernel(_: &OwnedFd, _: &Path, _: OFlags) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// A path that is followed name by name, with every folder on the way held open.
struct Steps<'a> {
    folder: &'a OwnedFd,
    /// The folders below the folder, or below `/` while an absolute link is followed there.
    way: Vec<OwnedFd>,
    /// The names that are left, the next one last.
    left: Vec<OsString>,
    /// What an absolute link begins at, until it comes to the folder.
    slash: Option<OwnedFd>,
    links: usize,
    changes: usize,
}

/// What a name turned out to be.
enum Step {
    Opened(OwnedFd),
    Link(Vec<u8>),
    Changed,
}

impl<'a> Steps<'a> {
    fn new(folder: &'a OwnedFd, relative: &Path) -> Result<Self, Errno> {
        let mut steps = Self {
            folder,
            way: Vec::new(),
            left: Vec::new(),
            slash: None,
            links: 0,
            changes: 0,
        };
        if relative.is_absolute() {
            return Err(Errno::XDEV);
        }
        steps.put(relative);
        Ok(steps)
    }

    /// Puts the names of a path before those that are left.
    fn put(&mut self, path: &Path) {
        let names = path.components().rev().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        });
        self.left.extend(names);
    }

    fn here(&self) -> BorrowedFd<'_> {
        let begin = self.slash.as_ref().unwrap_or(self.folder);
        self.way.last().unwrap_or(begin).as_fd()
    }

    fn open(mut self, flags: OFlags) -> Result<OwnedFd, Errno> {
        while let Some(name) = self.left.pop() {
            if name == ".." {
                self.up()?;
                continue;
            }
            let last = self.left.is_empty() && self.slash.is_none();
            let wanted = if last {
                flags | OFlags::NOFOLLOW
            } else {
                ON_THE_WAY
            };
            let step = self.step(&name, wanted);
            // Of what is outside, nobody learns more than that it is.
            let step = step.map_err(|errno| self.slash.as_ref().map_or(errno, |_| Errno::XDEV));
            match step? {
                Step::Opened(found) if last => return Ok(found),
                Step::Opened(found) => {
                    self.way.push(found);
                    self.arrive()?;
                }
                Step::Link(target) => self.follow(&target)?,
                Step::Changed => {
                    self.changes += 1;
                    if self.changes > MOST_CHANGES {
                        return Err(Errno::AGAIN);
                    }
                    self.left.push(name);
                }
            }
        }
        if self.slash.is_some() {
            return Err(Errno::XDEV);
        }
        openat(self.here(), ".", flags | OFlags::NOFOLLOW, Mode::empty())
    }

    /// Opens a name where the path has come to, or tells where it leads.
    fn step(&self, name: &OsStr, flags: OFlags) -> Result<Step, Errno> {
        let opened = openat(self.here(), name, flags, Mode::empty());
        match opened {
            // A link itself can be opened so, and then tells where it leads.
            Ok(found) if flags.contains(OFlags::PATH) && is_link(&found)? => {
                let target = readlinkat(&found, "", Vec::new())?;
                Ok(Step::Link(target.into_bytes()))
            }
            Ok(found) => Ok(Step::Opened(found)),
            Err(errno @ (Errno::LOOP | Errno::MLINK | Errno::NOTDIR)) => {
                match readlinkat(self.here(), name, Vec::new()) {
                    Ok(target) => Ok(Step::Link(target.into_bytes())),
                    Err(Errno::INVAL) if errno == Errno::NOTDIR => self.not_a_folder(name),
                    Err(Errno::INVAL) => Ok(Step::Changed),
                    Err(other) => Err(other),
                }
            }
            Err(other) => Err(other),
        }
    }

    /// Tells a file in the place of a folder from a link that has just been replaced.
    fn not_a_folder(&self, name: &OsStr) -> Result<Step, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = fstat(openat(self.here(), name, flags, Mode::empty())?)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory | FileType::Symlink => Ok(Step::Changed),
            _ => Err(Errno::NOTDIR),
        }
    }

    fn up(&mut self) -> Result<(), Errno> {
        match self.way.pop() {
            None if self.slash.is_none() => Err(Errno::XDEV),
            _ => self.arrive(),
        }
    }

    fn follow(&mut self, target: &[u8]) -> Result<(), Errno> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP);
        }
        let target = Path::new(OsStr::from_bytes(target));
        self.put(target);
        if target.is_absolute() {
            self.way.clear();
            self.slash = Some(openat(CWD, "/", ON_THE_WAY, Mode::empty())?);
            self.arrive()?;
        }
        Ok(())
    }

    /// Ends the way of an absolute link where it has come to the folder itself.
    fn arrive(&mut self) -> Result<(), Errno> {
        if self.slash.is_some() && same(&fstat(self.here())?, &fstat(self.folder)?) {
            self.slash = None;
            self.way.clear();
        }
        Ok(())
    }
}

fn same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

fn is_link(found: &OwnedFd) -> Result<bool, Errno> {
    Ok(FileType::from_raw_mode(fstat(found)?.st_mode) == FileType::Symlink)
}

#[cfg(test)]
mod tests;
