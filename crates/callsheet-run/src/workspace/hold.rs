//! The lock of a workspace: one process on this machine has it, and all that it started there.
//!
//! Should that process be killed, its git and its supervisors hold the lock until they are done. So nobody looks at files
//! that still change, and nobody has to wait for one who is alive and well.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::RunError;
use crate::drive::{Alive, Worker};

/// How long to wait for what a killed process started.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often the lock is tried meanwhile.
const LOOK: Duration = Duration::from_millis(10);

/// A workspace that nobody else on this machine has.
#[derive(Debug)]
pub(crate) struct Hold {
    file: File,
    /// The directory for what is needed while the workspace is held.
    scratch: PathBuf,
}

impl Hold {
    /// Takes the lock of that name, or says that somebody else has it.
    pub(super) fn take(folder: &Path, name: &str, busy: &str) -> Result<Self, RunError> {
        let refused = |cause| RunError::refused("cannot lock the workspace", cause);
        std::fs::create_dir_all(folder).map_err(refused)?;
        let mut options = File::options();
        let options = options.create(true).truncate(false).mode(0o600);
        let options = options.read(true).write(true);
        let path = folder.join(format!("{name}.lock"));
        let mut file = options.open(path).map_err(refused)?;
        let since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(cause)) => return Err(refused(cause)),
                Err(TryLockError::WouldBlock) => {
                    let holder = read(&mut file).map_err(refused)?;
                    if is_at_work(&holder) || since.elapsed() > PATIENCE {
                        return Err(RunError::NotNow(busy.to_owned()));
                    }
                    std::thread::sleep(LOOK);
                }
            }
        }
        let here = Worker::here()?.to_string();
        write(&mut file, &here).map_err(refused)?;
        let scratch = folder.join(format!("{name}.tmp"));
        let hold = Self { file, scratch };
        hold.clear();
        Ok(hold)
    }

    /// Returns the lock for a process that is started: it has it, too, as long as it lives.
    pub(crate) fn share(&self) -> Result<File, RunError> {
        let shared = self.file.try_clone();
        shared.map_err(|cause| RunError::refused("cannot share the lock of the workspace", cause))
    }

    /// Makes a directory that is gone when it is dropped, or when the workspace is held the next time.
    pub(crate) fn scratch(&self) -> Result<TempDir, RunError> {
        let made = || {
            let mut private = DirBuilder::new();
            private.recursive(true).mode(0o700).create(&self.scratch)?;
            tempfile::Builder::new().tempdir_in(&self.scratch)
        };
        made().map_err(|cause| RunError::refused("cannot make a temporary directory", cause))
    }

    /// Removes what nobody needs any more; what cannot be removed is in nobody's way.
    fn clear(&self) {
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.clear();
        // What a git left behind may still have the file; whoever waits does not wait for that.
        let _ = self.file.unlock();
    }
}

/// Tells whether the holder of the lock is alive; one that has not said its name yet is about to.
fn is_at_work(holder: &str) -> bool {
    !holder.is_empty() && Worker::is_alive(holder) != Alive::No
}

fn read(file: &mut File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

fn write(file: &mut File, holder: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(format!("{holder}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn one_who_is_alive_is_not_waited_for_and_what_a_dead_one_left_is() {
        let folder = tempfile::tempdir().unwrap();
        let take = || Hold::take(folder.path(), "task-1", "somebody has it");
        let hold = take().unwrap();
        let left = hold.scratch().unwrap().keep();
        assert_eq!(take().unwrap_err().to_string(), "somebody has it");
        drop(hold);
        assert!(!left.exists());
        // As if this process had been killed while a program goes on that it had started.
        let here = Worker::here().unwrap().to_string();
        let (process, _) = here.rsplit_once(':').unwrap();
        let lock = folder.path().join("task-1.lock");
        std::fs::create_dir_all(&left).unwrap();
        std::fs::write(&lock, format!("{process}:1\n")).unwrap();
        let file = File::open(&lock).unwrap();
        file.lock().unwrap();
        let mut program = Command::new("sleep");
        let mut left_over = program.arg("0.3").stdin(file).spawn().unwrap();
        // It has the lock, and nobody else does.
        drop(program);
        let hold = take().unwrap();
        assert!(left_over.try_wait().unwrap().is_some());
        assert!(!left.exists());
        drop(hold);
        take().unwrap();
    }
}
