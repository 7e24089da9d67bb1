//! The only file of this crate that reads the disk.
//!
//! Everything is read below a [`Folder`]. A link that leads out of it, a pipe or device, a file over the size limit is
//! refused before it is opened for reading; nothing here writes, and nothing follows the environment.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fd::OwnedFd;
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
pub struct Found {
    /// Regular files, relative to the root, with `/` between the parts.
    pub files: Vec<String>,
    /// What was met and not taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(String, Refusal)>,
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

    /// Reads a file by its path relative to the root.
    pub(super) fn read(&self, relative: &str, max: u64) -> Result<Vec<u8>, Refusal> {
        let stat = rustix::fs::statat(&self.folder, relative, AtFlags::empty()).map_err(refusal)?;
        check(&stat, max)?;
        let file = self.open_beneath(relative, OFlags::RDONLY)?;
        let stat = rustix::fs::fstat(&file).map_err(refusal)?;
        let size = check(&stat, max)?;
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        // A file that grows while it is read still meets the limit.
        std::fs::File::from(file)
            .take(max + 1)
            .read_to_end(&mut bytes)
            .map_err(|cause| Refusal::new(Reason::Unreadable).because(cause.to_string()))?;
        if bytes.len() as u64 > max {
            return Err(too_large(bytes.len() as u64, max));
        }
        Ok(bytes)
    }

    /// Opens without ever leaving the root, whatever links are on the way.
    fn open_beneath(&self, relative: &str, flags: OFlags) -> Result<OwnedFd, Refusal> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        match open_confined(&self.folder, relative, flags) {
            // An absolute link is refused here even where it leads back into the root, and old kernels lack the
            // call: resolve every link first, then open what is left without any.
            Err(Errno::XDEV | Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
                let real = self.real_path(relative)?;
                rustix::fs::openat(&self.folder, real, flags | OFlags::NOFOLLOW, Mode::empty())
                    .map_err(refusal)
            }
            other => other.map_err(refusal),
        }
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
        let relative = if relative.is_empty() { "." } else { relative };
        let folder = self.open_beneath(relative, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut listing = Listing::default();
        for entry in Dir::read_from(&folder).map_err(refusal)? {
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
        let stat = rustix::fs::statat(&self.folder, relative, AtFlags::empty());
        !matches!(stat, Err(Errno::NOENT | Errno::NOTDIR))
    }

    /// Tells whether a folder of that name stands below the root.
    pub(super) fn has_folder(&self, relative: &str) -> bool {
        self.open_beneath(relative, OFlags::RDONLY | OFlags::DIRECTORY)
            .is_ok()
    }

    /// Finds the files that the globs name, honouring `.gitignore` and `.promptignore` below the root.
    ///
    /// Ignore files above the root, in the home folder or in `.git/info` have no influence: the same tree gives the
    /// same files everywhere.
    pub(super) fn walk(&self, globs: &Globs, hidden: bool) -> Found {
        let found = Mutex::new(Found::default());
        let (leading, real) = (globs.clone(), self.real.clone());
        // A folder that nobody asked for is not opened: that it cannot be read is no loss.
        let wanted = move |entry: &ignore::DirEntry| {
            let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let path = entry.path().strip_prefix(&real).ok();
            let path = path.and_then(|path| path.to_str());
            !folder || path.is_none_or(|path| path.is_empty() || leading.reaches(path))
        };
        ignore::WalkBuilder::new(&self.real)
            .hidden(!hidden)
            .parents(false)
            .git_global(false)
            .git_exclude(false)
            .ignore(false)
            .require_git(false)
            .add_custom_ignore_filename(".promptignore")
            .filter_entry(move |entry| entry.file_name() != ".git" && wanted(entry))
            .build_parallel()
            .run(|| {
                Box::new(|entry| {
                    if let Some(step) = self.step(entry, globs)
                        && let Ok(mut found) = found.lock()
                    {
                        match step {
                            (path, None) => found.files.push(path),
                            (path, Some(refusal)) => found.refused.push((path, refusal)),
                        }
                    }
                    ignore::WalkState::Continue
                })
            });
        let mut found = found.into_inner().unwrap_or_default();
        found.files.sort_unstable();
        found
            .refused
            .sort_unstable_by(|one, other| one.0.cmp(&other.0));
        found
    }

    fn step(
        &self,
        entry: Result<ignore::DirEntry, ignore::Error>,
        globs: &Globs,
    ) -> Option<(String, Option<Refusal>)> {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return Some(self.walk_error(&error)),
        };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            return None;
        }
        let relative = entry.path().strip_prefix(&self.real).ok()?;
        let Some(path) = relative.to_str() else {
            let readable = relative.to_string_lossy().into_owned();
            return globs
                .matches(&readable)
                .then(|| (readable, Some(Refusal::new(Reason::NameNotUtf8))));
        };
        if !globs.matches(path) {
            return None;
        }
        let refusal = if kind.is_symlink() {
            match self.real_path(path) {
                Ok(_) => Some(Refusal::new(Reason::Link)),
                Err(refusal) => Some(refusal),
            }
        } else if kind.is_file() {
            None
        } else {
            Some(Refusal::new(Reason::NotAFile))
        };
        Some((path.to_owned(), refusal))
    }

    fn walk_error(&self, error: &ignore::Error) -> (String, Option<Refusal>) {
        let (path, cause) = match error {
            ignore::Error::WithPath { path, err } => (Some(path.as_path()), err.to_string()),
            ignore::Error::WithDepth { err, .. } => return self.walk_error(err),
            other => (None, other.to_string()),
        };
        let relative = path
            .and_then(|path| path.strip_prefix(&self.real).ok())
            .map_or_else(
                || ".".to_owned(),
                |path| path.to_string_lossy().into_owned(),
            );
        let errno = error.io_error().and_then(std::io::Error::raw_os_error);
        let refused = match errno {
            Some(errno) => refusal(Errno::from_raw_os_error(errno)),
            None => {
                let cause = cause.replace(&*self.real.to_string_lossy(), ".");
                Refusal::new(Reason::Unreadable).because(cause)
            }
        };
        (relative, Some(refused))
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

/// How often a path is opened again that the kernel could not follow.
#[cfg(target_os = "linux")]
const TRIES: usize = 1000;

#[cfg(target_os = "linux")]
fn open_confined(folder: &OwnedFd, relative: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let open = || rustix::fs::openat2(folder, relative, flags, Mode::empty(), resolve);
    // Where a link goes up with `..` while anything on the machine is renamed, the kernel cannot tell whether the path stays
    // below, and says "try again".
    let mut opened = open();
    for _ in 1..TRIES {
        match opened {
            Err(Errno::AGAIN) => opened = open(),
            _ => break,
        }
    }
    opened
}

#[cfg(not(target_os = "linux"))]
fn open_confined(_: &OwnedFd, _: &str, _: OFlags) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

fn refusal(errno: Errno) -> Refusal {
    match errno {
        Errno::NOENT | Errno::NOTDIR => Refusal::new(Reason::Missing),
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
