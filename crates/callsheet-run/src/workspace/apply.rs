//! The scope of a run, applied to its worktree before the agent is there.
//!
//! It is a help, not a wall: an agent can bring a file back or change its mode. What it did is looked at afterwards.

use std::os::unix::fs::PermissionsExt as _;

use callsheet::scope::ScopeGlobs;

use super::Ground;
use super::ground::os_path;
use crate::RunError;

/// Takes the files out of a worktree that the scope excludes; git is told that they are meant to be absent.
pub(super) fn exclude(ground: &Ground, exclude: &ScopeGlobs) -> Result<(), RunError> {
    if exclude.is_empty() {
        return Ok(());
    }
    let listed = ground.git(&["ls-files", "-t", "-z"])?;
    let mut absent = Vec::new();
    for entry in listed.split(|byte| *byte == 0) {
        let Some((tag, name)) = entry.split_at_checked(2) else {
            continue;
        };
        if !exclude.matches(&String::from_utf8_lossy(name)) {
            continue;
        }
        if tag != b"S " {
            absent.push(name);
        }
        let path = ground.path().join(os_path(name));
        match std::fs::remove_file(&path) {
            Err(cause) if path.symlink_metadata().is_ok() => {
                let what = format!("cannot take `{}` out of the worktree", path.display());
                return Err(RunError::refused(what, cause));
            }
            _ => {}
        }
    }
    ground.git_for(None, &["update-index", "--skip-worktree"], &absent)
}

/// Takes the right to write from every file that git knows and the task may not write, and gives it to the others.
pub(super) fn read_only(ground: &Ground, write: &ScopeGlobs) -> Result<(), RunError> {
    let listed = ground.git(&["ls-files", "-z"])?;
    let mut changed = false;
    for name in listed
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        let path = ground.path().join(os_path(name));
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        if !found.is_file() {
            continue;
        }
        let mode = found.permissions().mode();
        let wanted = if write.matches(&String::from_utf8_lossy(name)) {
            mode | 0o200
        } else {
            mode & !0o222
        };
        if mode != wanted {
            changed = true;
            let permissions = std::fs::Permissions::from_mode(wanted);
            std::fs::set_permissions(&path, permissions).map_err(|cause| {
                RunError::refused(
                    format!("cannot change the mode of `{}`", path.display()),
                    cause,
                )
            })?;
        }
    }
    if changed {
        // A new mode is a new time of change, by which git tells what it has to read again.
        ground
            .git(&["update-index", "-q", "--refresh"])
            .or_else(|error| match error {
                // It fails where files differ, which is for others to tell.
                RunError::Failed { .. } => Ok(Vec::new()),
                error => Err(error),
            })?;
    }
    Ok(())
}
