//! One server for each store of a machine: a lock, and a file that says where it is.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::ServeError;

/// What is known of the server that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Running {
    /// The address to open, with the token that may do everything.
    pub url: String,
    /// The address without a token.
    pub address: String,
    /// The token that may do everything.
    pub token: String,
    /// The token that may only read.
    pub read_token: String,
    /// Its process.
    pub pid: u32,
}

/// The lock of a store; nobody else serves it as long as this is there.
#[derive(Debug)]
pub struct Instance {
    file: PathBuf,
    _lock: File,
}

impl Instance {
    /// Takes the lock in the directory of what the program keeps for the project.
    pub fn take(home: &Path) -> Result<Self, ServeError> {
        let path = home.join("serve.lock");
        let refused =
            |cause| ServeError::refused(format!("cannot lock `{}`", path.display()), cause);
        let mut options = File::options();
        let options = options.create(true).append(true).mode(0o600);
        let lock = options.open(&path).map_err(refused)?;
        let file = home.join("serve.json");
        match lock.try_lock() {
            Ok(()) => Ok(Self { file, _lock: lock }),
            Err(TryLockError::Error(cause)) => Err(refused(cause)),
            Err(TryLockError::WouldBlock) => {
                let running = fs::read_to_string(&file).ok();
                let running = running.and_then(|text| serde_json::from_str::<Running>(&text).ok());
                Err(running.map_or(ServeError::Starting, |running| {
                    ServeError::Busy(Box::new(running))
                }))
            }
        }
    }

    /// Says where the server is, to its owner only.
    pub(crate) fn publish(&self, running: &Running) -> Result<(), ServeError> {
        let text = serde_json::to_string_pretty(running).unwrap_or_default();
        let new = self.file.with_extension("json.new");
        let written = callsheet_store::write_private(&new, text);
        let written = written.and_then(|()| fs::rename(&new, &self.file));
        written.map_err(|cause| {
            ServeError::refused(format!("cannot write `{}`", self.file.display()), cause)
        })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Whoever comes next writes it anew; one that stays says nothing without the lock.
        let _ = fs::remove_file(&self.file);
    }
}
