//! The private folder of a run: what the agent is given, what it writes, and the evidence of what happened.
//!
//! It lives as long as the run. What is worth keeping is in the store before the folder goes.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The folder of all runs, in the folder of what the program keeps for a project.
const RUNS: &str = "runs";

/// How much room is set aside, so that a run that fills the disk can still be settled.
const RESERVE: usize = 1 << 20;

/// Less room than this on the disk explains a failure.
const NO_ROOM: u64 = 64 << 10;

/// The folder of one run.
#[derive(Clone, Debug)]
pub(crate) struct RunFolder(PathBuf);

impl RunFolder {
    /// Names the folder of a run; `home` is where the program keeps what belongs to the project.
    pub(crate) fn of(home: &Path, run: &str) -> Self {
        Self(home.join(RUNS).join(run))
    }

    /// Returns the runs that have a folder.
    pub(crate) fn all(home: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(home.join(RUNS));
        let names = entries.into_iter().flatten().flatten();
        names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect()
    }

    /// Makes the folder, for nobody but its owner.
    pub(crate) fn make(&self) -> io::Result<()> {
        let private = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        private(&self.0)?;
        private(&self.temporary())?;
        private(&self.state())?;
        for stream in [self.stdout(), self.stderr(), self.journal()] {
            self.write(&stream, b"")?;
        }
        self.write(&self.0.join("reserve"), &vec![b'.'; RESERVE])
    }

    /// Writes a file that nobody but its owner can read; its folders are made.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(parent)?;
        }
        let mut options = OpenOptions::new();
        let mut file: File = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(bytes)
    }

    /// Gives the room back that was set aside, and what only the agent needed.
    pub(crate) fn make_room(&self) {
        // Whatever cannot be removed takes no room that could be had.
        let _ = std::fs::remove_file(self.0.join("reserve"));
        let _ = std::fs::remove_dir_all(self.temporary());
        let _ = std::fs::remove_dir_all(self.state());
    }

    /// Returns how many bytes the agent has written.
    pub(crate) fn output_bytes(&self) -> u64 {
        let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
        size(self.stdout()) + size(self.stderr())
    }

    /// Tells whether the disk is full.
    pub(crate) fn has_no_room(&self) -> bool {
        rustix::fs::statvfs(&self.0)
            .is_ok_and(|room| room.f_bavail.saturating_mul(room.f_frsize) < NO_ROOM)
    }

    /// Removes the folder; one that is not there is fine.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn prompt(&self) -> PathBuf {
        self.0.join("prompt")
    }

    pub(crate) fn system(&self) -> PathBuf {
        self.0.join("system")
    }

    pub(crate) fn stdout(&self) -> PathBuf {
        self.0.join("stdout")
    }

    pub(crate) fn stderr(&self) -> PathBuf {
        self.0.join("stderr")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }

    /// Returns the file that says what was started, for whoever settles the run.
    pub(crate) fn facts(&self) -> PathBuf {
        self.0.join("facts.json")
    }

    /// Returns the file that says what was there before the agent of a task.
    pub(crate) fn before(&self) -> PathBuf {
        self.0.join("before.json")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    pub(crate) fn temporary(&self) -> PathBuf {
        self.0.join("tmp")
    }
}
