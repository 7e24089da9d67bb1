//! The note that a branch is about to move, and the lock of an index that can be told from anybody else's.
//!
//! There is one note, because whoever writes it holds the repository. It is on the disk before anything changes and goes last.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::RunError;
use crate::repository::Worktree;

/// The name of the note in the home of the project.
const NAME: &str = "moving";

/// How often a lock is tried.
const TRY: Duration = Duration::from_millis(20);

/// A branch on its way from one commit to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) branch: String,
    pub(super) old: String,
    pub(super) new: String,
    /// Where the branch is checked out.
    pub(super) worktree: Option<Worktree>,
}

impl Note {
    /// Writes the note, so that it is there after a loss of power too.
    pub(super) fn write(&self, home: &Path) -> Result<(), RunError> {
        let written = || -> io::Result<()> {
            // Under the same name each time: one that a killed process left is written over.
            let new = home.join(format!("{NAME}.new"));
            let mut file = File::create(&new)?;
            file.write_all(&self.bytes())?;
            file.sync_all()?;
            fs::rename(new, home.join(NAME))?;
            File::open(home)?.sync_all()
        };
        written().map_err(|cause| {
            RunError::refused(
                format!("cannot write `{}`", home.join(NAME).display()),
                cause,
            )
        })
    }

    /// Reads the note that a killed process left; one that cannot be read is none of ours.
    pub(super) fn read(home: &Path) -> Result<Option<Self>, RunError> {
        let path = home.join(NAME);
        match fs::read(&path) {
            Ok(bytes) => Ok(Self::parse(&bytes)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(RunError::refused(
                format!("cannot read `{}`", path.display()),
                cause,
            )),
        }
    }

    pub(super) fn remove(home: &Path) -> Result<(), RunError> {
        remove(&home.join(NAME))
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\0{}\0{}\0", self.branch, self.old, self.new).into_bytes();
        for path in self
            .worktree
            .iter()
            .flat_map(|found| [&found.path, &found.git_dir])
        {
            bytes.extend(path.as_os_str().as_encoded_bytes());
            bytes.push(0);
        }
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = bytes.strip_suffix(b"\0")?.split(|&byte| byte == 0);
        let mut text = || String::from_utf8(fields.next()?.to_vec()).ok();
        let (branch, old, new) = (text()?, text()?, text()?);
        let mut path = || Some(PathBuf::from(OsString::from_vec(fields.next()?.to_vec())));
        let worktree = path().map(|found| Worktree {
            path: found,
            git_dir: path().unwrap_or_default(),
            branch: Some(branch.clone()),
            locked: None,
        });
        Some(Self {
            branch,
            old,
            new,
            worktree,
        })
    }
}

/// The index of a worktree that nobody else can change: git's own lock, with a text in it.
pub(super) struct IndexLock {
    path: PathBuf,
    text: String,
}

impl IndexLock {
    /// Names the lock that a move takes.
    pub(super) fn of(worktree: &Worktree, new: &str) -> Self {
        Self {
            path: worktree.git_dir.join("index.lock"),
            text: format!("callsheet moves this worktree to {new}\n"),
        }
    }

    /// Takes the lock as soon as nobody else has it; false if that takes too long.
    pub(super) fn take_within(&self, patience: Duration) -> Result<bool, RunError> {
        let deadline = Instant::now() + patience;
        loop {
            let taken = self.take()?;
            if taken || Instant::now() > deadline {
                return Ok(taken);
            }
            thread::sleep(TRY);
        }
    }

    /// Takes the lock; false where somebody else has it.
    ///
    /// It is there with its text or not at all, wherever there are hard links.
    pub(super) fn take(&self) -> Result<bool, RunError> {
        let taken = || -> io::Result<()> {
            fs::write(self.draft(), &self.text)?;
            let linked = fs::hard_link(self.draft(), &self.path);
            fs::remove_file(self.draft())?;
            match linked {
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Err(cause),
                Err(_) => File::create_new(&self.path)?.write_all(self.text.as_bytes()),
                Ok(()) => Ok(()),
            }
        };
        match taken() {
            Ok(()) => Ok(true),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(cause) => {
                let what = format!("cannot lock `{}`", self.path.display());
                Err(RunError::refused(what, cause))
            }
        }
    }

    /// Tells whether the lock is there and is this one.
    pub(super) fn is_ours(&self) -> bool {
        fs::read(&self.path).is_ok_and(|text| text == self.text.as_bytes())
    }

    pub(super) fn release(&self) -> Result<(), RunError> {
        remove(&self.path)
    }

    /// Returns where the text is written before it becomes the lock.
    pub(super) fn draft(&self) -> PathBuf {
        self.path.with_file_name("callsheet-lock")
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes a file that may be gone already.
pub(super) fn remove(path: &Path) -> Result<(), RunError> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(RunError::refused(
            format!("cannot remove `{}`", path.display()),
            cause,
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_reads_back_and_half_of_it_does_not() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(Note::read(home.path()).unwrap(), None);
        let mut note = Note {
            branch: "main".to_owned(),
            old: "a".repeat(40),
            new: "b".repeat(40),
            worktree: None,
        };
        for worktree in [None, Some(OsString::from_vec(b"a \n\xff".to_vec()))] {
            note.worktree = worktree.map(|path| Worktree {
                path: path.into(),
                git_dir: ".git".into(),
                branch: Some("main".to_owned()),
                locked: None,
            });
            note.write(home.path()).unwrap();
            assert_eq!(Note::read(home.path()).unwrap(), Some(note.clone()));
        }
        for end in 0..80 {
            assert_eq!(Note::parse(&note.bytes()[..end]), None, "{end}");
        }
        Note::remove(home.path()).unwrap();
        Note::remove(home.path()).unwrap();
        assert_eq!(Note::read(home.path()).unwrap(), None);
    }

    #[test]
    fn a_lock_is_ours_or_somebody_elses() {
        let place = tempfile::tempdir().unwrap();
        let worktree = Worktree {
            path: "x".into(),
            git_dir: place.path().to_owned(),
            branch: None,
            locked: None,
        };
        let lock = IndexLock::of(&worktree, "new");
        assert!(!lock.is_ours());
        assert!(lock.take().unwrap() && lock.is_ours());
        assert!(!lock.take().unwrap());
        assert!(!IndexLock::of(&worktree, "other").is_ours());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        lock.release().unwrap();
        fs::write(lock.path(), "").unwrap();
        assert!(!lock.is_ours() && !lock.take().unwrap());
    }
}
