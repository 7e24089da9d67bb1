//! stdout carries data, stderr carries talk; files are written whole or not at all.

use std::io::{self, Write as _};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::failure::Failure;

/// How much talk there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Talk {
    Quiet,
    Normal,
    Verbose,
}

/// Where data and talk go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) talk: Talk,
    pub(crate) json: bool,
}

impl Output {
    /// Writes exact bytes to stdout.
    pub(crate) fn data(self, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let written = out.write_all(bytes.as_ref()).and_then(|()| out.flush());
        written.map_err(|cause| Failure::refused("cannot write to stdout", &cause))
    }

    /// Writes to stdout what comes piece by piece; returns how many bytes that was.
    pub(crate) fn stream(
        self,
        write: impl FnOnce(&mut dyn io::Write) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let mut out = Counted(io::stdout().lock(), 0);
        write(&mut out)?;
        let flushed = out.flush();
        flushed.map_err(|cause| Failure::refused("cannot write to stdout", &cause))?;
        Ok(out.1)
    }

    /// Writes text for people to stdout, with styles where the terminal shows them.
    pub(crate) fn text(self, text: &str) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.map_err(|cause| Failure::refused("cannot write to stdout", &cause))
    }

    /// Writes one JSON document to stdout.
    pub(crate) fn document(self, document: &impl Serialize) -> Result<(), Failure> {
        self.data(pretty(document))
    }

    /// Says something on stderr.
    pub(crate) fn say(self, line: &str) {
        if self.talk > Talk::Quiet {
            // Nobody listens: the work goes on.
            let _ = writeln!(anstream::stderr(), "{line}");
        }
    }

    /// Says on stderr what a person should look at.
    pub(crate) fn warn(self, line: &str) {
        let yellow = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
        self.say(&format!("{yellow}warning{yellow:#}: {line}"));
    }

    /// Says on stderr what is good to know.
    pub(crate) fn note(self, line: &str) {
        let blue = Style::new().bold().fg_color(Some(AnsiColor::Blue.into()));
        self.say(&format!("{blue}note{blue:#}: {line}"));
    }
}

/// Returns a document as indented JSON with a newline at the end.
pub(crate) fn pretty(document: &impl Serialize) -> String {
    // Our documents have text keys only; serialising them cannot fail.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns a number of tokens for people: `950`, `12.3k`, `1.20M`.
pub(crate) fn human_tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}.{}k", tokens / 1_000, tokens % 1_000 / 100),
        _ => format!("{}.{:02}M", tokens / 1_000_000, tokens % 1_000_000 / 10_000),
    }
}

/// Writes a file whole or not at all: to a neighbour first, then renamed into place.
///
/// A link is followed, and what is no regular file (a terminal, a pipe, `/dev/null`) is written to, never replaced.
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
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = std::fs::metadata(&target).ok();
    if old
        .as_ref()
        .is_some_and(|old| !old.is_file() && !old.is_dir())
    {
        let device = std::fs::OpenOptions::new().write(true).open(&target);
        let mut out = Counted(device.map_err(|cause| refused(&cause))?, 0);
        write(&mut out)?;
        return Ok(out.1);
    }
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
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

/// Counts what is written.
struct Counted<W>(W, u64);

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
