//! Values on their way into a line, with a record of what they lost. What holds a real path that is below no mount does
//! not get there: the composition fails with the name of its field.

use crate::mounts::{Leak, Mounts, REDACTED, is_final, one_line};
use crate::omission::{Omission, Reason};
use crate::trace::Traced;
use crate::{Error, ErrorKind};

/// Makes values safe to print, and remembers what was cut or redacted.
pub(super) struct Printer<'a> {
    pub(super) mounts: &'a Mounts,
    omissions: Vec<Omission>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(mounts: &'a Mounts) -> Self {
        Self {
            mounts,
            omissions: Vec::new(),
        }
    }

    pub(super) fn into_omissions(self) -> Vec<Omission> {
        self.omissions
    }

    /// Returns a value as it may stand in a line; one that is a path is below a mount.
    pub(super) fn value(&mut self, layer: &str, field: &str, value: &str) -> Result<String, Error> {
        let line = self.line(field, value)?;
        if is_absolute(&line)
            && !line.contains(char::is_whitespace)
            && line[1..].contains(SEPARATORS)
        {
            return Err(outside(field));
        }
        Ok(self.capped(layer, field, line))
    }

    /// Returns a longer value in one line, without a cap.
    pub(super) fn line(&self, field: &str, value: &str) -> Result<String, Error> {
        self.mounts
            .mounted(&one_line(value))
            .map_err(|leak| leaked(field, leak))
    }

    /// Returns a text with the names of mounts in the place of their folders.
    pub(super) fn text(&self, field: &str, text: Traced) -> Result<Traced, Error> {
        self.mounts
            .mounted_text(text)
            .map_err(|leak| leaked(field, leak))
    }

    /// Returns the path of a file: of a mount, or relative to the project.
    pub(super) fn file(&mut self, layer: &str, field: &str, path: &str) -> Result<String, Error> {
        let line = self.line(field, &named(path))?;
        if is_absolute(&line) || climbs(&line) {
            return Err(outside(field));
        }
        let safe = line.strip_prefix("./").unwrap_or(&line).to_owned();
        Ok(self.capped(layer, field, safe))
    }

    /// Returns the path of a file in the package, with its mount.
    pub(super) fn in_package(
        &mut self,
        layer: &str,
        field: &str,
        path: &str,
    ) -> Result<String, Error> {
        let bad = |why: &str| {
            let detail =
                format!("`{field}` {why}; it is a path in the package, such as `steps/step-01.md`");
            Error::new(ErrorKind::BadInput, detail)
        };
        let named = named(path);
        let inner = named.strip_prefix("@pkg/").unwrap_or(&named);
        let inner = inner.strip_prefix("./").unwrap_or(inner);
        if is_absolute(inner) || inner.contains("://") {
            return Err(bad("is not relative"));
        }
        if inner.contains('\\') || inner.contains(char::is_control) {
            return Err(bad("has a backslash or a control character"));
        }
        if climbs(inner) {
            return Err(bad("has `..` in it"));
        }
        if is_final(inner) {
            return Err(bad("does not name a file of the package"));
        }
        if inner.is_empty() || inner.ends_with('/') || inner.ends_with("/.") || inner == "." {
            return Err(bad("does not name a file"));
        }
        let line = self.line(field, inner)?;
        Ok(format!("@pkg/{}", self.capped(layer, field, line)))
    }

    /// Returns a text in which real paths are redacted, and notes that they were.
    pub(super) fn scrubbed(&mut self, layer: &str, field: &str, text: &Traced) -> Traced {
        let clean = self.mounts.scrubbed(text.clone());
        let count = |text: &Traced| text.text().matches(REDACTED).count();
        if count(&clean) > count(text) {
            self.lost(layer, field, Reason::Redacted, text.len());
        }
        clean
    }

    fn capped(&mut self, layer: &str, field: &str, line: String) -> String {
        let len = line.len();
        let capped = self.mounts.cut(line);
        if capped.len() < len {
            self.lost(layer, field, Reason::Capped, len - capped.len());
        }
        capped
    }

    /// Records what the value of a field lost.
    pub(super) fn lost(&mut self, layer: &str, field: &str, reason: Reason, bytes: usize) {
        let name = field.rsplit('.').next().unwrap_or(field);
        let name = name.split('[').next().unwrap_or(name);
        self.omissions.push(Omission {
            layer: layer.to_owned(),
            name: name.to_owned(),
            reason,
            bytes: bytes as u64,
            tokens: None,
            detail: String::new(),
        });
    }
}

const SEPARATORS: [char; 2] = ['/', '\\'];

/// Puts mounts in the place of the names that workflow files have for them.
fn named(path: &str) -> String {
    [
        ("{project-root}", "@project"),
        ("{artifacts-root}", "@project/artifacts"),
        ("{package-root}", "@pkg"),
        ("{state-root}", "@state"),
    ]
    .into_iter()
    .fold(path.to_owned(), |path, (name, mount)| {
        path.replace(name, mount)
    })
}

/// Tells whether a path begins at the root of a disk, at a drive or at somebody's home.
fn is_absolute(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    drive || path.starts_with(['/', '\\', '~'])
}

/// Tells whether a path goes up anywhere.
fn climbs(path: &str) -> bool {
    path.split(SEPARATORS).any(|part| part == "..")
}

fn leaked(field: &str, leak: Leak) -> Error {
    // Of a text of one line the line says nothing.
    let line = leak.line.filter(|line| *line > 1);
    let line = line.map_or_else(String::new, |line| format!(", line {line},"));
    let way = match (field, leak.folder) {
        (super::USER_INPUT, _) => "leave it out, or set `scrubUserInput` to have it redacted",
        (_, Some(_)) => "leave it out",
        (_, None) => "leave it out, or name a file below `@project`, `@pkg` or `@state`",
    };
    let detail = format!("`{field}`{line} holds {leak}, which no message may; {way}");
    Error::new(ErrorKind::BadInput, detail)
}

/// Makes the error of a file that is below no mount.
fn outside(field: &str) -> Error {
    let detail = format!(
        "`{field}` is a path outside of the project; write it relative to the project or below `@project`, `@pkg` or `@state`"
    );
    Error::new(ErrorKind::BadInput, detail)
}
