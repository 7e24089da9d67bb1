//! Locks of files that processes on this machine wait for.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::RunError;

/// How often a lock is tried.
const TRY: Duration = Duration::from_millis(10);

/// Waits until nobody else has a lock; it is released when the file is closed.
///
/// It is not taken twice by one process.
pub(crate) fn wait(path: &Path, patience: Duration) -> Result<File, RunError> {
    let refused = |cause| RunError::refused(format!("cannot lock `{}`", path.display()), cause);
    let mut options = File::options();
    let file = options.create(true).append(true).mode(0o600).open(path);
    let file = file.map_err(refused)?;
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(cause)) => return Err(refused(cause)),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(TRY),
            Err(TryLockError::WouldBlock) => {
                let (path, patience) = (path.display(), patience.as_secs());
                return Err(RunError::NotNow(format!(
                    "another callsheet has held `{path}` for more than {patience} s; try again when it is done"
                )));
            }
        }
    }
}
