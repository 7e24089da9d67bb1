//! Files that a command writes: whole or not at all, and never one over another.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use callsheet::Root;
use callsheet_run::below::{self, Below, Unwritten};

use crate::failure::Failure;

/// The name that means stdout where a file is asked for.
pub(crate) const STDOUT: &str = "-";

/// The directories in which the system shows the open files of a process.
const DESCRIPTORS: [&str; 3] = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"];

/// How many links a path may lead through.
const LINKS: usize = 40;

/// What tells one place for output from another.
#[derive(PartialEq, Eq)]
enum Destination {
    /// What is there already, by device and inode.
    There(u64, u64),
    /// A file that will be made, by its directory and its name.
    New(u64, u64, OsString),
}

impl Destination {
    /// Returns the place of an output; a terminal or `/dev/null` takes any number of them, one after the other.
    fn of(path: &Path) -> Option<Self> {
        let there = |found: Metadata| {
            let many = found.file_type().is_char_device();
            (!many).then(|| Self::There(found.dev(), found.ino()))
        };
        if is_stdout(path) {
            let stdout = io::stdout().as_fd().try_clone_to_owned().ok()?;
            return there(File::from(stdout).metadata().ok()?);
        }
        if let Ok(found) = std::fs::metadata(path) {
            return there(found);
        }
        let target = followed(path);
        let directory = std::fs::metadata(directory(&target)).ok()?;
        let name = target.file_name()?.to_owned();
        Some(Self::New(directory.dev(), directory.ino(), name))
    }
}

/// Refuses two outputs at one place, where one would destroy the other.
///
/// Each is a name for people and a path, with `-` for stdout.
pub(crate) fn refuse_shared(outputs: &[(&str, &Path)]) -> Result<(), Failure> {
    let destinations = outputs.iter().map(|(_, path)| Destination::of(path));
    let destinations: Vec<Option<Destination>> = destinations.collect();
    for (index, destination) in destinations.iter().enumerate() {
        let same = |other: &Option<Destination>| other.is_some() && other == destination;
        let Some(first) = destinations[..index].iter().position(same) else {
            continue;
        };
        let ((one, _), (other, path)) = (outputs[first], outputs[index]);
        let shown = match path.to_str() {
            Some(STDOUT | "/dev/stdout") => "stdout".to_owned(),
            _ => format!("`{}`", path.display()),
        };
        return Err(Failure::input(format!(
            "{one} and {other} would both be written to {shown}"
        ))
        .hint("name a file for each of them"));
    }
    Ok(())
}

/// Tells whether a path of the command line means stdout.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}

/// Empties a file that may be left from an earlier run; a pipe is left alone, it would end for whoever reads it.
pub(crate) fn clear_file(path: &Path) -> Result<(), Failure> {
    let stale = descriptor(&followed(path)).is_none() && path.is_file();
    if stale { write_file(path, "") } else { Ok(()) }
}

/// Returns the directory in which a path stands.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Follows the links at the end of a path, also one that leads to a file that does not exist yet.
///
/// The name of an open file (`/dev/fd/3`) is not followed: what is written has to go through it.
fn followed(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        if descriptor(&target).is_some() {
            break;
        }
        let Ok(link) = std::fs::read_link(&target) else {
            break;
        };
        target = directory(&target).join(link);
    }
    target
}

/// Returns which open file of this process a path names.
fn descriptor(path: &Path) -> Option<&str> {
    let mut within = DESCRIPTORS.iter();
    within.find_map(|open| path.strip_prefix(open).ok()?.to_str())
}

/// Writes a file whole or not at all: to a neighbour first, then renamed into place.
///
/// A link is followed. What is not a regular file (stdout, a terminal, a pipe) is written to, never replaced.
pub(crate) fn write_file(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    let shown = path.display();
    write_file_with(path, |out| {
        out.write_all(bytes.as_ref())
            .map_err(|cause| Failure::refused(&format!("cannot write `{shown}`"), &cause))
    })
    .map(|_| ())
}

/// Does the same with what comes piece by piece; returns how many bytes that was.
pub(crate) fn write_file_with(
    path: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let shown = path.display();
    let refused = |cause: &io::Error| Failure::refused(&format!("cannot write `{shown}`"), cause);
    let target = followed(path);
    if let Some(through) = through(path, &target) {
        let mut out = Counted(through.map_err(|cause| refused(&cause))?, 0);
        write(&mut out)?;
        out.flush().map_err(|cause| refused(&cause))?;
        return Ok(out.1);
    }
    let old = std::fs::metadata(&target).ok();
    let folder = directory(&target);
    let mut file = tempfile::Builder::new()
        .prefix(".callsheet-")
        .permissions_of_new_files()
        .tempfile_in(folder)
        .map_err(|cause| refused(&cause))?;
    let mut out = Counted(io::BufWriter::new(file.as_file_mut()), 0);
    write(&mut out)?;
    out.flush().map_err(|cause| refused(&cause))?;
    let bytes = out.1;
    drop(out);
    if let Some(old) = old.filter(std::fs::Metadata::is_file) {
        // A file that was private stays so.
        file.as_file()
            .set_permissions(old.permissions())
            .map_err(|cause| refused(&cause))?;
    }
    file.persist(&target)
        .map_err(|error| refused(&error.error))?;
    Ok(bytes)
}

/// Writes a file of a project whole or not at all; no link leads out of it.
pub(crate) fn write_below(root: &Root, path: &str, text: &str) -> Result<(), Failure> {
    below::write(root, path, text.as_bytes()).map_err(|why| unwritten(path, why))
}

/// Makes a directory of a project; no link leads out of it.
pub(crate) fn make_below(root: &Root, path: &str) -> Result<Below, Failure> {
    Below::make(root, path).map_err(|why| unwritten(path, why))
}

/// Returns the failure of a file of a project that is not written.
pub(crate) fn unwritten(path: &str, why: Unwritten) -> Failure {
    match why {
        Unwritten::Failed(cause) => Failure::refused(&format!("cannot write `{path}`"), &cause),
        why @ Unwritten::Refused(_) => {
            Failure::missing(format!("`{path}` {why}; nothing was written to it"))
        }
    }
}

/// Opens what is written to and never replaced: stdout, an open file, a terminal, a pipe.
fn through(path: &Path, target: &Path) -> Option<io::Result<Box<dyn io::Write>>> {
    if is_stdout(path) {
        return Some(Ok(Box::new(io::stdout())));
    }
    match descriptor(target) {
        Some("1") => return Some(Ok(Box::new(io::stdout()))),
        Some("2") => return Some(Ok(Box::new(io::stderr()))),
        // Opened anew it would begin at its first byte, over what is there.
        Some(_) => return Some(boxed(OpenOptions::new().append(true).open(target))),
        None => {}
    }
    let found = std::fs::metadata(target).ok()?;
    (!found.is_file() && !found.is_dir())
        .then(|| boxed(OpenOptions::new().write(true).open(target)))
}

fn boxed(opened: io::Result<File>) -> io::Result<Box<dyn io::Write>> {
    opened.map(|file| Box::new(file) as Box<dyn io::Write>)
}

/// Counts what is written.
pub(super) struct Counted<W>(pub(super) W, pub(super) u64);

impl<W: io::Write> io::Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        self.1 += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A temporary file is private; a result should have the permissions of any other new file.
trait NewFilePermissions {
    fn permissions_of_new_files(&mut self) -> &mut Self;
}

impl NewFilePermissions for tempfile::Builder<'_, '_> {
    #[cfg(unix)]
    fn permissions_of_new_files(&mut self) -> &mut Self {
        use std::os::unix::fs::PermissionsExt as _;
        self.permissions(std::fs::Permissions::from_mode(0o666))
    }

    #[cfg(not(unix))]
    fn permissions_of_new_files(&mut self) -> &mut Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_written_to_and_links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink("target", &link).unwrap();
        write_file(&link, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "new");
        assert!(link.is_symlink());
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&target, private).unwrap();
        write_file(&target, "newer").unwrap();
        let mode = std::fs::metadata(&target).unwrap().permissions();
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777,
            0o600
        );
        let null = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        write_file(&null, "gone").unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 3, "nothing is left behind");
    }
}
