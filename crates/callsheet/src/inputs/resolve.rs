//! The only module of this crate that reads the disk.
//!
//! Everything is read below a [`Folder`]. A link that leads out of it, a pipe or device, a file over the size limit is
//! refused before a byte of it is read; nothing here writes, and nothing follows the environment.

mod beneath;
mod walk;

use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
pub(super) use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::glob::Globs;
use crate::omission::{Reason, Refusal};
use crate::{Error, ErrorKind};

/// An open folder of the disk, and nothing outside it.
#[derive(Debug)]
pub(super) struct Folder {
    real: PathBuf,
    folder: OwnedFd,
}

/// The direct children of a folder, in no particular order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Listing {
    /// The names of everything but folders; links and special files are among them.
    pub names: Vec<String>,
    /// Names that are no UTF-8 text, made readable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd_names: Vec<String>,
}

impl Listing {
    /// Adds the names of another list of the same folder.
    pub(super) fn join(&mut self, other: &Self) {
        let lists = [
            (&mut self.names, &other.names),
            (&mut self.odd_names, &other.odd_names),
        ];
        for (names, more) in lists {
            names.extend(more.iter().cloned());
            names.sort_unstable();
            names.dedup();
        }
    }
}

/// What a walk found, sorted by the bytes of the path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Found {
    /// Regular files, relative to the root, with `/` between the parts.
    pub files: Vec<String>,
    /// What was met and not taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(String, Refusal)>,
}

/// Returns the user whom files are read as.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns a path as an absolute one; only a relative one asks for the current folder.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|cause| cannot_open(path, &cause))
}

fn cannot_open(path: &Path, cause: &std::io::Error) -> Error {
    Error::new(ErrorKind::Unreadable, "cannot open the folder")
        .at(path.display().to_string(), None)
        .because(cause.to_string())
}

impl Folder {
    /// Opens a folder by its absolute path.
    pub(super) fn open(given: &Path) -> Result<Self, Error> {
        Self::opened(given).map_err(|cause| cannot_open(given, &cause))
    }

    /// Opens a folder by its absolute path, if there is one.
    pub(super) fn find(given: &Path) -> Result<Option<Self>, Error> {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        match Self::opened(given) {
            Ok(folder) => Ok(Some(folder)),
            Err(cause) if matches!(cause.kind(), NotFound | NotADirectory) => Ok(None),
            // Links in a circle lead nowhere.
            Err(cause) if cause.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Ok(None),
            Err(cause) => Err(cannot_open(given, &cause)),
        }
    }

    fn opened(given: &Path) -> std::io::Result<Self> {
        let real = std::fs::canonicalize(given)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, &real, flags, Mode::empty())?;
        Ok(Self { real, folder })
    }

    /// Opens a folder below this one, if there is one; no link leads out on the way.
    pub(super) fn find_below(&self, relative: &str) -> Result<Option<Self>, Refusal> {
        match self.open_directory(relative) {
            Ok(folder) => Ok(Some(Self {
                real: self.real.join(relative),
                folder,
            })),
            Err(refusal) if refusal.reason == Reason::Missing => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// Opens a folder below this one for somebody who works in it.
    pub(super) fn open_directory(&self, relative: &str) -> Result<OwnedFd, Refusal> {
        self.open_beneath(relative.as_ref(), OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// Reads a file by its path relative to the root.
    pub(super) fn read(&self, relative: impl AsRef<Path>, max: u64) -> Result<Vec<u8>, Refusal> {
        self.read_owned(relative, max).map(|(bytes, _)| bytes)
    }

    /// Reads a file by its path relative to the root, and tells which user it belongs to.
    pub(super) fn read_owned(
        &self,
        relative: impl AsRef<Path>,
        max: u64,
    ) -> Result<(Vec<u8>, u32), Refusal> {
        self.read_if(relative, max, |_| Ok(()))
    }

    /// Reads a file if `may` lets it, which is asked with its size before anything is read.
    pub(super) fn read_if(
        &self,
        relative: impl AsRef<Path>,
        max: u64,
        may: impl FnOnce(u64) -> Result<(), Refusal>,
    ) -> Result<(Vec<u8>, u32), Refusal> {
        let file = self.open_beneath(relative.as_ref(), OFlags::RDONLY)?;
        let stat = rustix::fs::fstat(&file).map_err(refusal)?;
        let size = check(&stat, max)?;
        may(size)?;
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        // All at once where the file is as long as it said. One that grows while it is read still meets the limit.
        while bytes.len() as u64 <= max {
            bytes.reserve(1);
            match rustix::io::read(&file, spare_capacity(&mut bytes)) {
                Ok(0) => return Ok((bytes, stat.st_uid)),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(refusal(errno)),
            }
        }
        Err(too_large(bytes.len() as u64, max))
    }

    /// Opens without ever leaving the root, whatever links are on the way.
    fn open_beneath(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, Refusal> {
        let relative = if relative.as_os_str().is_empty() {
            Path::new(".")
        } else {
            relative
        };
        let calm = if flags.contains(OFlags::PATH) {
            OFlags::CLOEXEC
        } else {
            OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY
        };
        beneath::open(&self.folder, relative, flags | calm).map_err(refusal)
    }

    fn real_path(&self, relative: &str) -> Result<PathBuf, Refusal> {
        let real = std::fs::canonicalize(self.real.join(relative)).map_err(|cause| {
            let errno = cause.raw_os_error().map(Errno::from_raw_os_error);
            errno.map_or_else(|| Refusal::new(Reason::Unreadable), refusal)
        })?;
        match real.strip_prefix(&self.real) {
            Ok(inner) if inner.as_os_str().is_empty() => Ok(PathBuf::from(".")),
            Ok(inner) => Ok(inner.to_owned()),
            Err(_) => Err(Refusal::new(Reason::OutsideRoot).because("through a link")),
        }
    }

    /// Returns the folder as an absolute path without links.
    pub(super) fn real(&self) -> &Path {
        &self.real
    }

    /// Returns the real path of what stands, or could be made, at a path below the root.
    ///
    /// For what is not there yet, the nearest folder that is decides.
    pub(super) fn confine(&self, relative: &str) -> Result<PathBuf, Refusal> {
        let relative = if relative.is_empty() { "." } else { relative };
        let missing = match self.real_path(relative) {
            Ok(inner) if inner == Path::new(".") => return Ok(self.real.clone()),
            Ok(inner) => return Ok(self.real.join(inner)),
            Err(refusal) if refusal.reason == Reason::Missing => refusal,
            Err(refusal) => return Err(refusal),
        };
        // A link to what does not exist yet could lead anywhere.
        if let Ok(found) = rustix::fs::statat(&self.folder, relative, AtFlags::SYMLINK_NOFOLLOW) {
            return match FileType::from_raw_mode(found.st_mode) {
                FileType::Symlink => Err(Refusal::new(Reason::OutsideRoot)),
                // It was made this very moment.
                _ => self.real_path(relative).map(|inner| self.real.join(inner)),
            };
        }
        let (folder, name) = relative.rsplit_once('/').unwrap_or(("", relative));
        let folder = match folder {
            "" if name == "." => return Err(missing),
            folder => self.confine(folder)?,
        };
        Ok(folder.join(name))
    }

    /// Lists those whose names are wanted; of a long list with few of them, only those few cost memory.
    pub(super) fn list_where(
        &self,
        relative: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Listing, Refusal> {
        let folder = self.open_directory(relative)?;
        let mut listing = Listing::default();
        for entry in Dir::new(folder).map_err(refusal)? {
            let entry = entry.map_err(refusal)?;
            let name = entry.file_name();
            if entry.file_type() == FileType::Directory || matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            match name.to_str() {
                Ok(name) if wanted(name) => listing.names.push(name.to_owned()),
                Ok(_) => {}
                Err(_) => {
                    let readable = name.to_string_lossy();
                    if wanted(&readable) {
                        listing.odd_names.push(readable.into_owned());
                    }
                }
            }
        }
        Ok(listing)
    }

    /// Tells whether anything stands at a path below the root, readable or not.
    pub(super) fn has(&self, relative: &str) -> bool {
        let found = beneath::open(
            &self.folder,
            relative.as_ref(),
            OFlags::PATH | OFlags::CLOEXEC,
        );
        // A name that is too long, or that has a NUL in it, is none that a file can have.
        let nowhere = [
            Errno::NOENT,
            Errno::NOTDIR,
            Errno::NAMETOOLONG,
            Errno::INVAL,
        ];
        !found.is_err_and(|errno| nowhere.contains(&errno))
    }

    /// Tells whether a folder of that name stands below the root.
    pub(super) fn has_folder(&self, relative: &str) -> bool {
        self.open_directory(relative).is_ok()
    }

    /// Finds the files that the globs name, honouring `.gitignore` and `.promptignore` below the root.
    ///
    /// Ignore files above the root, in the home folder or in `.git/info` have no influence: the same tree gives the
    /// same files everywhere.
    pub(super) fn walk(&self, globs: &Globs, hidden: bool) -> Found {
        walk::walk(self, walk::Asked { globs, hidden })
    }
}

fn check(stat: &rustix::fs::Stat, max: u64) -> Result<u64, Refusal> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind == FileType::Directory {
        return Err(Refusal::new(Reason::Folder));
    }
    if kind != FileType::RegularFile {
        return Err(Refusal::new(Reason::NotAFile).because(kind_name(kind)));
    }
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > max {
        return Err(too_large(size, max));
    }
    Ok(size)
}

fn too_large(bytes: u64, max: u64) -> Refusal {
    Refusal::new(Reason::TooLarge)
        .of_size(bytes)
        .because(format!("{bytes} bytes, at most {max} are read"))
}

fn refusal(errno: Errno) -> Refusal {
    match errno {
        Errno::NOENT | Errno::NOTDIR => Refusal::new(Reason::Missing),
        // A socket cannot be opened, nor a device that nothing drives.
        Errno::NXIO => Refusal::new(Reason::NotAFile).because("a socket or a device"),
        Errno::XDEV => Refusal::new(Reason::OutsideRoot).because("through a link"),
        Errno::LOOP => {
            Refusal::new(Reason::Unreadable).because("too many links, or links in a circle")
        }
        Errno::ACCESS | Errno::PERM => {
            Refusal::new(Reason::Unreadable).because("permission denied")
        }
        other => Refusal::new(Reason::Unreadable)
            .because(std::io::Error::from(other).to_string().to_lowercase()),
    }
}

fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }
}
