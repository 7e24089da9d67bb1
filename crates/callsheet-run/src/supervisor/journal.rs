//! The journal of a supervisor: one JSON line per step, written whole, read up to the last newline.
//!
//! A journal that cannot be written stops nobody from ending an agent; that it has gaps is told at the end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use callsheet::document;

use crate::RunError;
use crate::launch::{Entry, Step};

/// Far more than a journal has; a file that is longer is not read to its end.
const MOST: u64 = 16 << 20;

/// A journal that is written.
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    broken: Option<io::Error>,
}

impl Journal {
    /// Opens a journal for more entries; nobody else may read a new one.
    pub(super) fn open(path: &Path) -> Result<Self, RunError> {
        let file = private(path).map_err(|cause| refused(path, cause))?;
        Ok(Self {
            file,
            path: path.to_owned(),
            broken: None,
        })
    }

    /// Writes an entry.
    pub(super) fn write(&mut self, step: Step) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        let at = at.map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        });
        let written = serde_json::to_vec(&Entry { at, step })
            .map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                // After half a line, the next one begins on a line of its own.
                if self.broken.is_some() {
                    line.insert(0, b'\n');
                }
                self.file.write_all(&line)
            });
        if let Err(cause) = written {
            self.broken.get_or_insert(cause);
        }
    }

    /// Tells whether every entry was written.
    pub(super) fn close(&mut self) -> Result<(), RunError> {
        match self.broken.take() {
            None => Ok(()),
            Some(cause) => Err(refused(&self.path, cause)),
        }
    }
}

fn refused(path: &Path, cause: io::Error) -> RunError {
    RunError::refused(format!("cannot write `{}`", path.display()), cause)
}

/// Opens a file at its end, and makes one that only its owner may read if there is none.
pub(super) fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

/// Returns the entries of a journal. Half a line at its end, and lines that are not an entry, are skipped; a journal that
/// is not there has none.
pub fn read_journal(path: &Path) -> Vec<Entry> {
    Tail::new(path).entries()
}

/// A journal that is read while it grows.
#[derive(Debug)]
pub(super) struct Tail {
    path: PathBuf,
    read: u64,
}

impl Tail {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read: 0,
        }
    }

    /// Returns the entries that are new.
    pub(super) fn entries(&mut self) -> Vec<Entry> {
        let Ok(bytes) = self.more() else {
            return Vec::new();
        };
        let Some(end) = memchr::memrchr(b'\n', &bytes) else {
            return Vec::new();
        };
        self.read += end as u64 + 1;
        bytes[..end]
            .split(|byte| *byte == b'\n')
            .filter_map(|line| document::typed(serde_json::from_slice(line).ok()?).ok())
            .collect()
    }

    fn more(&self) -> io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(entries: Vec<Entry>) -> Vec<Step> {
        entries.into_iter().map(|entry| entry.step).collect()
    }

    #[test]
    fn half_a_line_is_not_read_until_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut tail = Tail::new(&path);
        assert_eq!(tail.entries(), []);
        assert_eq!(read_journal(&path), []);

        std::fs::write(&path, "{\"at\":1,\"step\":\"do").unwrap();
        assert_eq!(tail.entries(), []);
        let more = |text: &str| private(&path).unwrap().write_all(text.as_bytes()).unwrap();
        more("ne\"}\nnot an entry\n\n{\"at\":2,");
        assert_eq!(steps(tail.entries()), [Step::Done]);
        assert_eq!(tail.entries(), []);
        more("\"step\":\"leftovers\",\"names\":[\"sh\"]}\n");
        let names = vec!["sh".to_owned()];
        let leftovers = Step::Leftovers { names };
        assert_eq!(steps(tail.entries()), std::slice::from_ref(&leftovers));
        assert_eq!(steps(read_journal(&path)), [Step::Done, leftovers]);
    }

    #[test]
    fn what_is_written_is_read_and_nobody_else_may() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::open(&path).unwrap();
        journal.write(Step::Exited {
            code: Some(3),
            signal: None,
            read: Some(7),
        });
        journal.write(Step::Done);
        journal.close().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let at = read_journal(&path)[0].at;
        assert!(text.starts_with(&format!(
            "{{\"at\":{at},\"step\":\"exited\",\"code\":3,\"signal\":null,\"read\":7}}\n"
        )));
        assert_eq!(read_journal(&path).len(), 2);
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_full_disk_is_reported_at_the_end() {
        let mut journal = Journal::open(Path::new("/dev/full")).unwrap();
        journal.write(Step::Done);
        journal.write(Step::Done);
        let error = journal.close().unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot write `/dev/full`: No space left on device (os error 28)"
        );
    }
}
