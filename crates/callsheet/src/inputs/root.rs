//! Roots: folders that may be read from, on the disk or as they were when a prompt was sealed.
//!
//! Nothing here touches the disk itself. A root that is watched keeps what it answered, and a root of sealed readings
//! gives the same answers again without any folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::glob::Globs;
use super::path::{self, Located};
use super::readings::{Answer, FolderReadings, Readings, Walk};
use super::resolve::{self, Folder, Found, Listing, OwnedFd};
use crate::observe::Question;
use crate::omission::{Reason, Refusal};
use crate::seal::MOST_BYTES;
use crate::template::TemplateSet;
use crate::{Error, ErrorKind};

/// The largest file that is read unless a caller says otherwise.
pub const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Where folders are opened: the disk, or what was sealed of it.
#[derive(Clone, Debug, Default)]
pub struct Disk(Kind);

#[derive(Clone, Debug, Default)]
enum Kind {
    #[default]
    Real,
    Watched(Arc<Watched>),
    Sealed(Arc<Readings>),
}

/// What was answered, kept for a seal.
#[derive(Debug)]
struct Watched {
    readings: Mutex<Readings>,
    /// How many bytes were read, each time that they were.
    read: AtomicU64,
    /// How many may be.
    most: u64,
}

impl Watched {
    fn readings(&self) -> MutexGuard<'_, Readings> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a file that is about to be read; refuses it if a seal has no room for it.
    fn admit(&self, size: u64) -> Result<(), Refusal> {
        self.read.fetch_add(size, Relaxed);
        if self.is_full() {
            return Err(Refusal::new(Reason::TooLarge).of_size(size));
        }
        Ok(())
    }

    /// Tells whether more was asked for than a seal can hold.
    fn is_full(&self) -> bool {
        self.read.load(Relaxed) > self.most
    }
}

impl Disk {
    /// Makes the disk of this machine, of which all answers are kept.
    pub fn watched() -> Self {
        Self::watched_within(MOST_BYTES)
    }

    /// Makes the same with room for so many bytes.
    pub(crate) fn watched_within(bytes: u64) -> Self {
        Self(Kind::Watched(Arc::new(Watched {
            readings: Mutex::default(),
            read: AtomicU64::new(0),
            most: bytes,
        })))
    }

    /// Makes a disk that gives sealed answers and has nothing else.
    pub fn sealed(readings: Readings) -> Self {
        Self(Kind::Sealed(Arc::new(readings)))
    }

    /// Returns what was answered so far, where answers are kept.
    pub fn readings(&self) -> Option<Readings> {
        match &self.0 {
            Kind::Real => None,
            Kind::Watched(kept) => Some(kept.readings().clone()),
            Kind::Sealed(readings) => Some(Readings::clone(readings)),
        }
    }

    /// Fails if more was read than a seal has room for.
    pub(crate) fn check_size(&self) -> Result<(), Error> {
        match &self.0 {
            Kind::Watched(watched) if watched.is_full() => {
                let most = watched.most;
                let detail = format!("more than {most} bytes are read, which no seal can hold");
                Err(Error::new(ErrorKind::OverBudget, detail))
            }
            _ => Ok(()),
        }
    }

    /// Returns what a question was answered with before; sealed answers are all there are.
    pub(crate) fn observed(&self, question: &Question) -> Option<Result<Vec<u8>, Refusal>> {
        match &self.0 {
            Kind::Real => None,
            Kind::Watched(kept) => kept.readings().answered(question),
            Kind::Sealed(readings) => {
                let answer = readings.answered(question);
                Some(answer.unwrap_or_else(|| Err(Readings::unknown())))
            }
        }
    }

    /// Keeps the answer to a question, where answers are kept.
    pub(crate) fn keep_observed(&self, question: &Question, answer: Result<&[u8], &Refusal>) {
        if let Kind::Watched(kept) = &self.0 {
            kept.readings().observe(question, answer);
        }
    }

    /// Opens a folder as a root.
    pub fn open(&self, folder: impl AsRef<Path>) -> Result<Root, Error> {
        let given = resolve::absolute(folder.as_ref())?;
        if let Kind::Sealed(readings) = &self.0 {
            return Root::sealed(given, readings);
        }
        let opened = Folder::open(&given);
        self.keep_opened(&given, opened.as_ref().ok());
        Ok(self.root(given, opened?))
    }

    /// Opens a folder as a root, if there is one; what cannot be opened for another reason is an error.
    pub fn find(&self, folder: impl AsRef<Path>) -> Result<Option<Root>, Error> {
        let given = resolve::absolute(folder.as_ref())?;
        if let Kind::Sealed(readings) = &self.0 {
            return Ok(Root::sealed(given, readings).ok());
        }
        let found = Folder::find(&given);
        self.keep_opened(&given, found.as_ref().ok().and_then(Option::as_ref));
        Ok(found?.map(|folder| self.root(given, folder)))
    }

    /// Opens a folder below another as a root, if there is one; a link that leads out is an error.
    pub(crate) fn find_below(&self, root: &Path, relative: &str) -> Result<Option<Root>, Error> {
        let given = resolve::absolute(&root.join(relative))?;
        if let Kind::Sealed(readings) = &self.0 {
            return Ok(Root::sealed(given, readings).ok());
        }
        let outer = Folder::find(&resolve::absolute(root)?)?;
        let found = outer.map(|outer| outer.find_below(relative)).transpose();
        let found = found.map_err(|refusal| {
            let mut error = Error::new(ErrorKind::Unreadable, "cannot open the folder");
            error = error.at(given.display().to_string(), None);
            error.because(refusal.reason.sentence())
        });
        let found = found.map(Option::flatten);
        self.keep_opened(&given, found.as_ref().ok().and_then(Option::as_ref));
        Ok(found?.map(|folder| self.root(given, folder)))
    }

    /// Keeps what became of opening a folder, where answers are kept.
    fn keep_opened(&self, given: &Path, opened: Option<&Folder>) {
        if let Kind::Watched(kept) = &self.0 {
            kept.readings().opened(given, opened.map(Folder::real));
        }
    }

    fn root(&self, given: PathBuf, folder: Folder) -> Root {
        Root {
            real: folder.real().to_owned(),
            given,
            max_file_bytes: MAX_FILE_BYTES,
            recorded: true,
            ground: Ground::Disk(folder),
            disk: self.clone(),
        }
    }

    /// Returns the templates that come with the library, or came with the one that sealed.
    pub(crate) fn packaged(&self, packaged: fn() -> Vec<(String, Vec<u8>)>) -> TemplateSet {
        match &self.0 {
            Kind::Real => TemplateSet::parse(packaged()),
            Kind::Watched(kept) => {
                let files = packaged();
                kept.readings().packaged(&files);
                TemplateSet::parse(files)
            }
            Kind::Sealed(readings) => TemplateSet::parse(readings.packaged_files()),
        }
    }
}

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
    max_file_bytes: u64,
    recorded: bool,
    ground: Ground,
    disk: Disk,
}

#[derive(Debug)]
enum Ground {
    Disk(Folder),
    Sealed(FolderReadings),
    /// There is no such folder, and nothing below it.
    Nothing,
}

impl Root {
    /// Opens a folder of the disk as a root.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        Disk::default().open(folder)
    }

    /// Makes the root of a folder that does not exist: nothing is below it, and paths have their place all the same.
    pub fn absent(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let given = resolve::absolute(folder.as_ref())?;
        Ok(Self {
            real: given.clone(),
            given,
            max_file_bytes: MAX_FILE_BYTES,
            recorded: true,
            ground: Ground::Nothing,
            disk: Disk::default(),
        })
    }

    fn sealed(given: PathBuf, readings: &Arc<Readings>) -> Result<Self, Error> {
        let (real, folder) = readings.folder(&given).ok_or_else(|| {
            Error::new(ErrorKind::Unreadable, "cannot open the folder")
                .at(given.display().to_string(), None)
                .because("it is not among the sealed inputs")
        })?;
        Ok(Self {
            given,
            real,
            max_file_bytes: MAX_FILE_BYTES,
            recorded: true,
            ground: Ground::Sealed(folder),
            disk: Disk(Kind::Sealed(Arc::clone(readings))),
        })
    }

    /// Returns where this root was opened, for others that belong to it.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Sets the size above which a file is refused.
    #[must_use]
    pub fn with_max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Takes no fingerprints of files that are only printed, for a prompt that nobody puts on record.
    #[must_use]
    pub(crate) fn unrecorded(mut self) -> Self {
        self.recorded = false;
        self
    }

    /// Tells whether all files below it get fingerprints.
    pub(super) fn is_recorded(&self) -> bool {
        self.recorded
    }

    /// Returns the size above which a file is refused.
    pub fn max_file_bytes(&self) -> u64 {
        self.max_file_bytes
    }

    /// Returns the folder as an absolute path.
    pub fn path(&self) -> &Path {
        &self.given
    }

    /// Returns the folder as an absolute path without links.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Returns where a path that a user named lies, without touching the disk.
    pub fn locate(&self, named: &str) -> Located {
        path::locate(named, &[&self.given, &self.real])
    }

    /// Keeps an answer, where answers are kept.
    fn keep(&self, keep: impl FnOnce(&mut Readings, &Path)) {
        if let Kind::Watched(kept) = &self.disk.0 {
            keep(&mut kept.readings(), &self.given);
        }
    }

    /// Reads a file by its path relative to the root.
    pub fn read(&self, relative: &str) -> Result<Vec<u8>, Refusal> {
        self.read_as(relative, Ok)
    }

    /// Reads a file and takes it for something; what it is not is not kept.
    pub(super) fn read_as<T: AsRef<[u8]>>(
        &self,
        relative: &str,
        take: impl FnOnce(Vec<u8>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let folder = match &self.ground {
            Ground::Disk(folder) => folder,
            Ground::Sealed(folder) => {
                return self.disk.0.sealed_file(folder, relative).and_then(take);
            }
            Ground::Nothing => return Err(Refusal::new(Reason::Missing)),
        };
        let watched = match &self.disk.0 {
            Kind::Watched(watched) => Some(watched),
            _ => None,
        };
        // Nobody gets a prompt any more, so that nothing else is opened.
        if watched.is_some_and(|watched| watched.is_full()) {
            return Err(Refusal::new(Reason::TooLarge));
        }
        let admit = |size| watched.map_or(Ok(()), |watched| watched.admit(size));
        let bytes = folder.read_if(relative, self.max_file_bytes, admit);
        let answer = bytes.and_then(|(bytes, _)| {
            let size = bytes.len() as u64;
            take(bytes).inspect_err(|_| {
                if let Some(watched) = watched {
                    watched.read.fetch_sub(size, Relaxed);
                }
            })
        });
        self.keep(|readings, root| {
            readings.file(root, relative, answer.as_ref().map(AsRef::as_ref));
        });
        answer
    }

    /// Reads a file of the disk that is no part of a prompt, and tells which user it belongs to.
    pub(crate) fn read_owned(&self, relative: &str, max: u64) -> Result<(Vec<u8>, u32), Refusal> {
        match &self.ground {
            Ground::Disk(folder) => folder.read_owned(relative, max),
            Ground::Sealed(_) | Ground::Nothing => Err(Refusal::new(Reason::Missing)),
        }
    }

    /// Returns the real path of what stands, or could be made, at a path below the root.
    ///
    /// For what is not there yet, the nearest folder that is decides.
    pub fn confine(&self, relative: &str) -> Result<PathBuf, Refusal> {
        match &self.ground {
            Ground::Disk(folder) => folder.confine(relative),
            Ground::Sealed(_) => Err(Readings::unknown()),
            Ground::Nothing => Err(Refusal::new(Reason::Missing)),
        }
    }

    /// Opens a folder below the root for somebody who works in it; no link leads out on the way.
    pub fn open_directory(&self, relative: &str) -> Result<OwnedFd, Refusal> {
        match &self.ground {
            Ground::Disk(folder) => folder.open_directory(relative),
            Ground::Sealed(_) => Err(Readings::unknown()),
            Ground::Nothing => Err(Refusal::new(Reason::Missing)),
        }
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
        let folder = match &self.ground {
            Ground::Disk(folder) => folder,
            Ground::Sealed(folder) => {
                let mut listing = Answer::given(folder.lists.get(relative))?;
                listing.names.retain(|name| wanted(name));
                listing.odd_names.retain(|name| wanted(name));
                return Ok(listing);
            }
            Ground::Nothing => return Err(Refusal::new(Reason::Missing)),
        };
        let answer = folder.list_where(relative, wanted);
        self.keep(|readings, root| readings.list(root, relative, answer.as_ref()));
        answer
    }

    /// Tells whether anything stands at a path below the root, readable or not.
    pub fn has(&self, relative: &str) -> bool {
        let folder = match &self.ground {
            Ground::Disk(folder) => folder,
            Ground::Sealed(folder) => return folder.there.contains(relative),
            Ground::Nothing => return false,
        };
        let there = folder.has(relative);
        if there {
            self.keep(|readings, root| readings.there(root, relative));
        }
        there
    }

    /// Tells whether a folder of that name stands below the root.
    pub fn has_folder(&self, relative: &str) -> bool {
        let folder = match &self.ground {
            Ground::Disk(folder) => folder,
            Ground::Sealed(folder) => return folder.folders.contains(relative),
            Ground::Nothing => return false,
        };
        let there = folder.has_folder(relative);
        if there {
            self.keep(|readings, root| readings.has_folder(root, relative));
        }
        there
    }

    /// Finds the files that the globs name, honouring `.gitignore` and `.promptignore` below the root.
    ///
    /// Ignore files above the root, in the home folder or in `.git/info` have no influence: the same tree gives the
    /// same files everywhere.
    pub fn walk(&self, globs: &Globs, hidden: bool) -> Found {
        let folder = match &self.ground {
            Ground::Disk(folder) => folder,
            Ground::Sealed(folder) => return folder.walked(globs.patterns(), hidden),
            Ground::Nothing => return Found::default(),
        };
        let found = folder.walk(globs, hidden);
        self.keep(|readings, root| {
            let walk = Walk::new(globs.patterns(), hidden, &found);
            readings.walk(root, walk);
        });
        found
    }
}

impl Kind {
    fn sealed_file(&self, folder: &FolderReadings, relative: &str) -> Result<Vec<u8>, Refusal> {
        match self {
            Self::Sealed(readings) => {
                let fingerprint = Answer::given(folder.files.get(relative))?;
                readings.body(fingerprint).ok_or_else(Readings::unknown)
            }
            _ => Err(Readings::unknown()),
        }
    }
}

#[cfg(test)]
mod tests;
