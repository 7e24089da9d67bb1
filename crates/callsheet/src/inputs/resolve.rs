//! The only file of this crate that reads the disk.
//!
//! Everything is read below a [`Root`]. A link that leads out of it, a pipe or device, a file over the size limit is
//! refused before it is opened for reading; nothing here writes, and nothing follows the environment.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::glob::Globs;
use super::path::{self, Located};
use crate::omission::{Reason, Refusal};
use crate::{Error, ErrorKind};

/// The largest file that is read unless a caller says otherwise.
pub const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// A folder that may be read from, and nothing outside it.
///
/// ```
/// use callsheet::{Reason, Root};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("a.txt"), "text")?;
/// let root = Root::open(folder.path())?.with_max_file_bytes(100);
///
/// assert_eq!(root.read("a.txt").unwrap(), b"text");
/// assert_eq!(root.read("b.txt").unwrap_err().reason, Reason::Missing);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Root {
    given: PathBuf,
    real: PathBuf,
    folder: OwnedFd,
    max_file_bytes: u64,
}

/// The direct children of a folder, in no particular order.
#[derive(Debug, Default)]
pub struct Listing {
    /// The names of everything but folders; links and special files are among them.
    pub names: Vec<String>,
    /// Names that are no UTF-8 text, made readable.
    pub odd_names: Vec<String>,
}

/// What a walk found, sorted by the bytes of the path.
#[derive(Debug, Default)]
pub struct Found {
    /// Regular files, relative to the root, with `/` between the parts.
    pub files: Vec<String>,
    /// What was met and not taken.
    pub refused: Vec<(String, Refusal)>,
}

impl Root {
    /// Opens a folder as a root.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let given = folder.as_ref();
        let refuse = |cause: &std::io::Error| {
            Error::new(ErrorKind::Unreadable, "cannot open the folder")
                .at(given.display().to_string(), None)
                .because(cause.to_string())
        };
        let given = std::path::absolute(given).map_err(|cause| refuse(&cause))?;
        let real = std::fs::canonicalize(&given).map_err(|cause| refuse(&cause))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, &real, flags, Mode::empty())
            .map_err(|errno| refuse(&errno.into()))?;
        Ok(Self {
            given,
            real,
            folder,
            max_file_bytes: MAX_FILE_BYTES,
        })
    }

    /// Sets the size above which a file is refused.
    #[must_use]
    pub fn with_max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Returns the size above which a file is refused.
    pub fn max_file_bytes(&self) -> u64 {
        self.max_file_bytes
    }

    /// Returns the folder as an absolute path.
    pub fn path(&self) -> &Path {
        &self.given
    }

    /// Returns where a path that a user named lies, without touching the disk.
    pub fn locate(&self, named: &str) -> Located {
        path::locate(named, &[&self.given, &self.real])
    }

    /// Reads a file by its path relative to the root.
    pub fn read(&self, relative: &str) -> Result<Vec<u8>, Refusal> {
        let stat = rustix::fs::statat(&self.folder, relative, AtFlags::empty()).map_err(refusal)?;
        self.check(&stat)?;
        let file = self.open_beneath(relative, OFlags::RDONLY)?;
        let stat = rustix::fs::fstat(&file).map_err(refusal)?;
        let size = self.check(&stat)?;
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        // A file that grows while it is read still meets the limit.
        std::fs::File::from(file)
            .take(self.max_file_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(|cause| Refusal::new(Reason::Unreadable).because(cause.to_string()))?;
        if bytes.len() as u64 > self.max_file_bytes {
            return Err(self.too_large(bytes.len() as u64));
        }
        Ok(bytes)
    }

    fn check(&self, stat: &rustix::fs::Stat) -> Result<u64, Refusal> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::Directory {
            return Err(Refusal::new(Reason::Folder));
        }
        if kind != FileType::RegularFile {
            return Err(Refusal::new(Reason::NotAFile).because(kind_name(kind)));
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > self.max_file_bytes {
            return Err(self.too_large(size));
        }
        Ok(size)
    }

    fn too_large(&self, bytes: u64) -> Refusal {
        Refusal::new(Reason::TooLarge)
            .of_size(bytes)
            .because(format!(
                "{bytes} bytes, at most {} are read",
                self.max_file_bytes
            ))
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
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Returns the real path of what stands, or could be made, at a path below the root.
    ///
    /// For what is not there yet, the nearest folder that is decides.
    pub fn confine(&self, relative: &str) -> Result<PathBuf, Refusal> {
        let relative = if relative.is_empty() { "." } else { relative };
        let missing = match self.real_path(relative) {
            Ok(inner) if inner == Path::new(".") => return Ok(self.real.clone()),
            Ok(inner) => return Ok(self.real.join(inner)),
            Err(refusal) if refusal.reason == Reason::Missing => refusal,
            Err(refusal) => return Err(refusal),
        };
        // A link to what does not exist yet could lead anywhere.
        if rustix::fs::statat(&self.folder, relative, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(Refusal::new(Reason::OutsideRoot));
        }
        let (folder, name) = relative.rsplit_once('/').unwrap_or(("", relative));
        let folder = match folder {
            "" if name == "." => return Err(missing),
            folder => self.confine(folder)?,
        };
        Ok(folder.join(name))
    }

    /// Lists the direct children of a folder below the root.
    pub fn list(&self, relative: &str) -> Result<Listing, Refusal> {
        self.list_where(relative, |_| true)
    }

    /// Lists those whose names are wanted; of a long list with few of them, only those few cost memory.
    pub fn list_where(
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
    pub fn has(&self, relative: &str) -> bool {
        let stat = rustix::fs::statat(&self.folder, relative, AtFlags::empty());
        !matches!(stat, Err(Errno::NOENT | Errno::NOTDIR))
    }

    /// Tells whether a folder of that name stands below the root.
    pub fn has_folder(&self, relative: &str) -> bool {
        self.open_beneath(relative, OFlags::RDONLY | OFlags::DIRECTORY)
            .is_ok()
    }

    /// Finds the files that the globs name, honouring `.gitignore` and `.promptignore` below the root.
    ///
    /// Ignore files above the root, in the home folder or in `.git/info` have no influence: the same tree gives the
    /// same files everywhere.
    pub fn walk(&self, globs: &Globs, hidden: bool) -> Found {
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

#[cfg(target_os = "linux")]
fn open_confined(folder: &OwnedFd, relative: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(folder, relative, flags, Mode::empty(), resolve)
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

#[cfg(test)]
mod tests;
