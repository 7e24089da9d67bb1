//! Opening the file: who may, in which way, and what must be true of it.
//!
//! Reading never creates a file or folder and never shows old data: where the latest changes cannot be seen, that is an
//! error.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, OpenFlags};

use super::error::{is_busy, is_closed_to_us, is_full, store_error};
use super::leftovers::{FileUse, beside, lost};
use super::state::{APPLICATION, State, configure, state};
use super::{Session, reserve};
use crate::StoreError;
use crate::db::migrate::{self, KNOWN};
use crate::folder::{make_folder, make_private};

/// The log ahead of the file is cut back to this size when it has been worked in.
const LOG_SIZE: &str = "pragma journal_size_limit = 67108864";

/// Up to 64 MiB of pages stay in memory, so that a large transaction does not write and read the same ones again and again.
const CACHE: &str = "pragma cache_size = -65536";

/// A commit is on the disk before anybody hears of it, also where the system has a way to say so that means less.
const SYNC: &str =
    "pragma synchronous = full; pragma fullfsync = on; pragma checkpoint_fullfsync = on";

/// A database file that is to be opened.
#[derive(Clone)]
pub(crate) struct File {
    path: PathBuf,
    store: Arc<str>,
    busy: Duration,
    /// Whether the room that is kept for collecting is to be used.
    collects: bool,
    /// As long as anybody has this, what is beside the file is in use.
    _user: Arc<FileUse>,
}

/// A connection that only reads.
pub(super) struct ReadConnection {
    pub(super) connection: Connection,
    /// What the file looked like, where SQLite was told that nobody changes it.
    frozen: Option<Stamp>,
}

/// What changes when somebody writes.
#[derive(PartialEq)]
struct Stamp {
    file: Option<(u64, SystemTime)>,
    log: u64,
}

impl File {
    /// Names a file; `busy` is how long to wait for others who write.
    ///
    /// What is left of a database that was there is refused.
    pub(crate) fn new(path: &Path, store: &Arc<str>, busy: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            path: path.to_owned(),
            store: Arc::clone(store),
            busy,
            collects: false,
            _user: Arc::new(FileUse::begin(path, store)?),
        })
    }

    /// Gives the room to the disk that is kept for collecting, until that is done.
    pub(crate) fn collecting(mut self) -> Self {
        reserve::spend(&self.path);
        self.collects = true;
        self
    }

    /// Returns where the file is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the store for errors.
    pub(super) fn store(&self) -> &Arc<str> {
        &self.store
    }

    /// Returns how long to wait for others who write.
    pub(super) fn busy(&self) -> Duration {
        self.busy
    }

    /// Opens the file for writing, makes it where there is none, and brings it to the schema of this program.
    pub(crate) fn writer(&self) -> Result<Connection, StoreError> {
        self.make_folder()?;
        if !self.path.exists() {
            // SQLite gives what it makes beside a file the permissions of the file. If this fails, it says why.
            let _ = make_private(&self.path);
        }
        let connection = self.open_writer()?;
        if !self.collects {
            self.keep_reserve();
        }
        Ok(connection)
    }

    /// Keeps room for collecting, and a sign that there is a store; one that lacks it is as good until it is damaged.
    pub(super) fn keep_reserve(&self) {
        let _ = reserve::keep(&self.path);
    }

    fn open_writer(&self) -> Result<Connection, StoreError> {
        let was_there = self.was_there();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = self.connect(&self.path, flags)?;
        let failed = |error: rusqlite::Error| self.cannot_open(&error);
        let found = self.state(&connection)?;
        found.refuse(&self.store)?;
        self.refuse_lost(was_there, &found)?;
        if found.schema == 0 {
            // What is removed gives its room back to the disk; only a file without any table can be told so.
            let set = connection.execute_batch("pragma auto_vacuum = incremental");
            set.map_err(failed)?;
        }
        if connection.is_readonly("main").map_err(failed)? {
            return Err(StoreError::unavailable(
                &self.store,
                "cannot be written: it is read-only",
            ));
        }
        self.use_log(&connection)?;
        connection
            .execute_batch(&format!("{SYNC}; {LOG_SIZE}; {CACHE}"))
            .map_err(failed)?;
        self.migrate(&connection)?;
        Ok(connection)
    }

    /// Opens the file for reading, as its schema is.
    pub(super) fn reader(&self) -> Result<ReadConnection, StoreError> {
        if let Err(error) = fs::metadata(&self.path) {
            return Err(match error.kind() {
                ErrorKind::NotFound => StoreError::unknown("store", &*self.store),
                _ => {
                    let why = format!("cannot be opened: {}", error_text(&error));
                    StoreError::unavailable(&self.store, why)
                }
            });
        }
        let was_there = self.was_there();
        // A connection that may not write would leave the files that readers share behind. SQLite takes what it gets
        // where the file cannot be written.
        let connection = self.connect(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let looked = connection
            .execute_batch(&format!("pragma query_only = on; {CACHE}"))
            .and_then(|()| state(&connection));
        match looked {
            Ok(found) => {
                found.refuse(&self.store)?;
                self.refuse_lost(was_there, &found)?;
                Ok(ReadConnection {
                    connection,
                    frozen: None,
                })
            }
            Err(error) if is_closed_to_us(&error) => self.frozen_reader(&error),
            Err(error) => Err(store_error(&self.store, &error)),
        }
    }

    /// Opens a file in a folder that we cannot write, where SQLite finds no room for what readers share.
    ///
    /// That is right only as long as nobody writes, so it is checked around every use.
    fn frozen_reader(&self, first: &rusqlite::Error) -> Result<ReadConnection, StoreError> {
        let stamp = self.stamp();
        if stamp.log > 0 {
            let cause = if is_full(first) {
                "the disk is full"
            } else {
                "its folder is read-only"
            };
            let why = format!("has changes in its log that cannot be read, because {cause}");
            return Err(StoreError::unavailable(&self.store, why));
        }
        let uri = uri(&self.path);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = self.connect(Path::new(&uri), flags)?;
        let found = state(&connection).map_err(|_| self.cannot_open(first))?;
        found.refuse(&self.store)?;
        Ok(ReadConnection {
            connection,
            frozen: Some(stamp),
        })
    }

    /// Tells whether there was a store once.
    fn was_there(&self) -> bool {
        beside(&self.path, reserve::END).exists()
    }

    /// Refuses a file without anything in it where there was a store.
    fn refuse_lost(&self, was_there: bool, found: &State) -> Result<(), StoreError> {
        if was_there && found.schema == 0 {
            return Err(lost(&self.path, &self.store, "empty", reserve::END));
        }
        Ok(())
    }

    /// Checks that the file can be read and has the schema of this program, which an older one is brought to.
    pub(crate) fn check_readable(&self) -> Result<(), StoreError> {
        let reader = self.reader()?;
        let found = self.state(&reader.connection)?;
        if found.schema == 0 {
            return Err(StoreError::unknown("store", &*self.store));
        }
        if found.schema < KNOWN {
            drop(reader);
            self.writer().map_err(|error| {
                let why = format!(
                    "has schema {} and cannot be brought to {KNOWN}: {error}",
                    found.schema
                );
                StoreError::unavailable(&self.store, why)
            })?;
        }
        Ok(())
    }

    /// Tells whether a connection still shows what is in the file.
    pub(super) fn is_current(&self, reader: &ReadConnection) -> bool {
        reader
            .frozen
            .as_ref()
            .is_none_or(|stamp| *stamp == self.stamp())
    }

    pub(super) fn connect(&self, path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
        let failed = |error: rusqlite::Error| self.cannot_open(&error);
        if self.path.is_dir() {
            let why = "cannot be opened: it is a folder";
            return Err(StoreError::unavailable(&self.store, why));
        }
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        configure(&connection, self.busy).map_err(failed)?;
        Ok(connection)
    }

    fn state(&self, connection: &Connection) -> Result<State, StoreError> {
        state(connection).map_err(|error| self.cannot_open(&error))
    }

    /// Switches to the log that lets readers and a writer work side by side.
    ///
    /// SQLite does not wait for others who do the same at the same moment, so this does.
    fn use_log(&self, connection: &Connection) -> Result<(), StoreError> {
        let deadline = Instant::now() + self.busy;
        loop {
            let mode = connection.query_row("pragma journal_mode = wal", [], |row| {
                row.get::<_, String>(0)
            });
            match mode {
                Ok(mode) if mode == "wal" => return Ok(()),
                Ok(mode) => {
                    let why = format!("cannot keep a log beside it, only `{mode}`");
                    return Err(StoreError::unavailable(&self.store, why));
                }
                Err(error) if is_busy(&error) && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(self.cannot_open(&error)),
            }
        }
    }

    fn migrate(&self, connection: &Connection) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| store_error(&self.store, &error);
        if self.state(connection)?.schema == KNOWN {
            return Ok(());
        }
        connection
            .execute_batch("begin immediate")
            .map_err(failed)?;
        // Another process may have been faster.
        let stepped = self.state(connection).and_then(|found| {
            found.refuse(&self.store)?;
            let mut session = Session {
                connection,
                store: &self.store,
            };
            migrate::advance(&mut session, found.schema)?;
            let numbers =
                format!("pragma application_id = {APPLICATION}; pragma user_version = {KNOWN}");
            connection.execute_batch(&numbers).map_err(failed)?;
            connection.execute_batch("commit").map_err(failed)
        });
        if stepped.is_err() && !connection.is_autocommit() {
            connection.execute_batch("rollback").map_err(failed)?;
        }
        stepped
    }

    /// Makes the folder of the file where there is none.
    fn make_folder(&self) -> Result<(), StoreError> {
        let Some(folder) = self.path.parent() else {
            return Ok(());
        };
        if folder.as_os_str().is_empty() || folder.is_dir() {
            return Ok(());
        }
        make_folder(folder).map_err(|error| {
            let folder = folder.display();
            let why = format!("needs the folder `{folder}`: {}", error_text(&error));
            StoreError::unavailable(&self.store, why)
        })
    }

    /// Says why the file cannot be opened, as far as the system tells.
    fn cannot_open(&self, error: &rusqlite::Error) -> StoreError {
        if !is_closed_to_us(error) || is_full(error) {
            return store_error(&self.store, error);
        }
        let why = match fs::File::open(&self.path) {
            Err(error) => error_text(&error),
            Ok(_) => "its folder is read-only".to_owned(),
        };
        StoreError::unavailable(&self.store, format!("cannot be opened: {why}"))
    }

    fn stamp(&self) -> Stamp {
        let changed = |meta: Metadata| Some((meta.len(), meta.modified().ok()?));
        let log = beside(&self.path, "-wal");
        Stamp {
            file: fs::metadata(&self.path).ok().and_then(changed),
            log: fs::metadata(log).map_or(0, |meta| meta.len()),
        }
    }
}

/// Returns the name by which SQLite opens a file that nobody changes.
fn uri(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let bytes = absolute.as_os_str().as_encoded_bytes();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let mut uri = "file:".to_owned();
    for &byte in bytes {
        if plain(byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri + "?immutable=1"
}

/// Returns what the system says, in lower case and without its number.
fn error_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}
