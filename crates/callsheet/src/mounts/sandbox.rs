//! From a path with a mount to a real one, and never out of the mount.

use std::fmt;
use std::path::PathBuf;

use super::{Mount, Mounts};
use crate::inputs::Root;

/// What is going to be done with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written, and may be new.
    Write,
}

/// A path that a mount does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxViolation {
    why: String,
}

impl SandboxViolation {
    /// The code that programs branch on.
    pub const CODE: &'static str = "E_SANDBOX_VIOLATION";

    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

impl fmt::Display for SandboxViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Self::CODE, self.why)
    }
}

impl std::error::Error for SandboxViolation {}

impl Mounts {
    /// Returns the real path of a path with a mount, such as `@project/src/a.rs`.
    ///
    /// Refused are unknown mounts, absolute paths, `..` that leads out, links that lead out, and writing to `@pkg`. No
    /// part of the error is a real path.
    pub fn resolve(&self, path: &str, access: Access) -> Result<PathBuf, SandboxViolation> {
        let (mount, inner) = split(path)?;
        let shown = mount.alias();
        if access == Access::Write && mount == Mount::Package {
            return Err(SandboxViolation::new("`@pkg` is never written to"));
        }
        let inner = normalised(inner)
            .ok_or_else(|| SandboxViolation::new(format!("`{path}` leads out of `{shown}`")))?;
        let folder = self
            .homes
            .get(&mount)
            .ok_or_else(|| SandboxViolation::new(format!("there is no `{shown}` here")))?;
        let root = Root::open(folder)
            .map_err(|_| SandboxViolation::new(format!("`{shown}` cannot be opened")))?;
        root.confine(&inner).map_err(|refusal| {
            SandboxViolation::new(format!("`{path}` {}", refusal.reason.sentence()))
        })
    }
}

/// Splits a path into its mount and what follows.
fn split(path: &str) -> Result<(Mount, &str), SandboxViolation> {
    if path.contains(['\0', '\\']) {
        return Err(SandboxViolation::new(
            "a path has neither NUL characters nor backslashes",
        ));
    }
    if path.starts_with('/') {
        return Err(SandboxViolation::new(
            "an absolute path is not allowed; begin with a mount",
        ));
    }
    let (name, inner) = path.split_once('/').unwrap_or((path, ""));
    let mount = Mount::ALL.into_iter().find(|mount| mount.alias() == name);
    let mount = mount.ok_or_else(|| {
        SandboxViolation::new(format!(
            "`{path}` begins with no mount; there are `@project`, `@pkg` and `@state`"
        ))
    })?;
    Ok((mount, inner))
}

/// Removes `.` and resolves `..`; nothing if that leads out.
fn normalised(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
