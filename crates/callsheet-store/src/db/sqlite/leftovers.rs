//! What is left of a database that was there: a file that is gone or empty, or a log that is damaged, is not a new store.
//!
//! Nothing is repaired, and nothing that is left is touched.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Flock, FlockType, fcntl_getlk};

use super::reserve;
use super::wal::{self, INDEX, WalIndex};
use crate::StoreError;
use crate::folder::{FOLDER, close_to_others};

/// The byte of the index on which every process that uses the file has a lock.
const IN_USE: u64 = 128;

/// How often, and after which pause, damage is looked at again: somebody may be about to begin or to end.
const LOOKS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(40);

/// How many users a file has in this process.
static USERS: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

/// A use of a file in this process.
pub(super) struct FileUse(PathBuf);

impl FileUse {
    /// Begins to use a file; the first one looks at what is beside it.
    ///
    /// Only the first: a process that closes a file loses all of its locks on it, and SQLite relies on them.
    pub(super) fn begin(path: &Path, store: &str) -> Result<Self, StoreError> {
        let key = key(path);
        let mut users = users();
        let count = users.get(&key).copied().unwrap_or(0);
        if count == 0 {
            refuse_leftovers(path, store)?;
        }
        users.insert(key.clone(), count + 1);
        Ok(Self(key))
    }
}

impl Drop for FileUse {
    fn drop(&mut self) {
        let mut users = users();
        match users.get_mut(&self.0) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                users.remove(&self.0);
            }
        }
    }
}

fn users() -> MutexGuard<'static, BTreeMap<PathBuf, usize>> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the name under which a file is known, whatever it is called.
fn key(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|above| !above.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok();
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// Returns the file beside a database with this ending.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

/// Refuses a file of which only leftovers are there, and closes what is there to others.
fn refuse_leftovers(path: &Path, store: &str) -> Result<(), StoreError> {
    if let Some(folder) = path.parent().filter(|folder| folder.ends_with(FOLDER)) {
        close_to_others(folder);
    }
    for end in ["", "-wal", "-shm", "-journal", reserve::END] {
        close_to_others(&beside(path, end));
    }
    // What tells of a file comes after it has something in it, so it is looked for first.
    let trace = ["-wal", "-shm", reserve::END].into_iter().find(|end| {
        let found = fs::metadata(beside(path, end));
        found.is_ok_and(|found| *end == reserve::END || found.len() > 0)
    });
    let left = match (trace, fs::metadata(path)) {
        (Some(end), Err(damage)) if damage.kind() == std::io::ErrorKind::NotFound => {
            Some((end, "gone"))
        }
        (Some(end), Ok(found)) if found.is_file() && found.len() == 0 => Some((end, "empty")),
        _ => None,
    };
    if let Some((end, what)) = left {
        return Err(lost(path, store, what, end));
    }
    match damage(path) {
        Some(why) => {
            let wal = file_name(path, "-wal");
            let why = format!(
                "its log `{wal}` is damaged, so what was stored last may be lost: {why}; restore the whole folder \
                from a backup, or remove `{wal}` and `{}` to go on without it",
                file_name(path, "-shm")
            );
            Err(StoreError::damaged(store, why))
        }
        None => Ok(()),
    }
}

/// Makes the error of a database that has lost everything; `end` is that of what is left of it.
pub(super) fn lost(path: &Path, store: &str, what: &str, end: &str) -> StoreError {
    let why = format!(
        "the database is {what}, but `{}` beside it shows that it held a store: restore it from a backup, or remove \
        what is left of it to begin anew",
        file_name(path, end)
    );
    StoreError::damaged(store, why)
}

fn file_name(path: &Path, end: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}{end}")
}

/// Returns what is wrong with the log, if that stays so and nobody uses it.
fn damage(path: &Path) -> Option<String> {
    let mut found = None;
    for look in 0..LOOKS {
        if look > 0 {
            sleep(PAUSE);
        }
        let (is_used, index) = index(&beside(path, "-shm"));
        if is_used {
            return None;
        }
        let wal = beside(path, "-wal");
        let why = match fs::File::open(&wal) {
            Ok(file) if file.metadata().is_ok_and(|found| found.len() > 0) => {
                // What cannot be read is reported by SQLite.
                wal::damage(&mut BufReader::new(file), index.as_ref()).ok()?
            }
            Ok(_) => index.map(|_| "it is empty".to_owned()),
            Err(damage) if damage.kind() == std::io::ErrorKind::NotFound => {
                index.map(|_| "it is gone".to_owned())
            }
            Err(_) => return None,
        };
        found = Some(why?);
    }
    found
}

/// Tells whether anybody uses a file by its index, and what the index says.
fn index(path: &Path) -> (bool, Option<WalIndex>) {
    let Ok(mut file) = fs::File::open(path) else {
        return (false, None);
    };
    let lock = Flock {
        start: IN_USE,
        length: 1,
        ..Flock::from(FlockType::WriteLock)
    };
    let is_used = !matches!(fcntl_getlk(&file, &lock), Ok(None));
    let mut bytes = [0; INDEX];
    let index = file.read_exact(&mut bytes).ok();
    (is_used, index.and_then(|()| WalIndex::read(&bytes)))
}
