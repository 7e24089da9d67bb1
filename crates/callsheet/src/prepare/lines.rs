//! Values on their way into a line, with a record of what they lost. What holds a real path that is below no mount does
//! not get there: the composition fails with the name of its field.

use super::fields::FieldText;
use crate::mounts::{Leak, Mount, Mounts, REDACTED, is_final, one_line};
use crate::omission::{Omission, Reason};
use crate::trace::{Traced, Transform};
use crate::{Error, ErrorKind};

/// Makes values fit for a line, and remembers what was cut or redacted.
pub(super) struct LineValues<'a> {
    pub(super) mounts: &'a Mounts,
    lacking: Vec<Omission>,
}

impl<'a> LineValues<'a> {
    pub(super) fn new(mounts: &'a Mounts) -> Self {
        Self {
            mounts,
            lacking: Vec::new(),
        }
    }

    pub(super) fn into_lacking(self) -> impl Iterator<Item = Omission> {
        self.lacking.into_iter()
    }

    /// Returns a value as it may stand in a line; one that is a path is below a mount.
    pub(super) fn value(&mut self, told: FieldText) -> Result<Traced, Error> {
        let path = told.path.clone();
        let line = self.line(told)?;
        let text = line.text();
        if is_absolute(text)
            && !text.contains(char::is_whitespace)
            && text[1..].contains(SEPARATORS)
        {
            return Err(outside(&path));
        }
        Ok(self.capped(&path, line))
    }

    /// Returns a longer value in one line, without a cap.
    pub(super) fn line(&self, told: FieldText) -> Result<Traced, Error> {
        let FieldText { path, text } = told;
        self.text(FieldText {
            path,
            text: one_line(text),
        })
    }

    /// Returns a text with the names of mounts in the place of their folders.
    pub(super) fn text(&self, told: FieldText) -> Result<Traced, Error> {
        let named = self.mounts.mounted_text(told.text);
        named.map_err(|leak| leaked(&told.path, leak))
    }

    /// Returns the path of a file: of a mount, or relative to the project.
    pub(super) fn file(&mut self, told: FieldText) -> Result<Traced, Error> {
        let path = told.path.clone();
        let line = self.line(named(told))?;
        if is_absolute(line.text()) || climbs(line.text()) {
            return Err(outside(&path));
        }
        let safe = without(line, "./");
        Ok(self.capped(&path, safe))
    }

    /// Returns the path of a file with its mount: one without a mount is below the project.
    pub(super) fn placed(name: &Traced) -> Traced {
        if is_final(name.text()) {
            return name.clone();
        }
        below(Mount::Project, name)
    }

    /// Returns the path of a file in the package, with its mount.
    pub(super) fn in_package(&mut self, told: FieldText) -> Result<Traced, Error> {
        let told = named(told);
        let inner = without(without(told.text, "@pkg/"), "./");
        if let Some(why) = misplaced(inner.text()) {
            let field = &told.path;
            let detail =
                format!("`{field}` {why}; it is a path in the package, such as `steps/step-01.md`");
            return Err(Error::new(ErrorKind::BadInput, detail));
        }
        let path = told.path.clone();
        let line = self.line(FieldText {
            text: inner,
            ..told
        })?;
        Ok(below(Mount::Package, &self.capped(&path, line)))
    }

    /// Returns a text in which real paths are redacted, and notes that they were.
    pub(super) fn scrubbed(&mut self, told: FieldText) -> Traced {
        let count = |text: &Traced| text.text().matches(REDACTED).count();
        let (before, bytes) = (count(&told.text), told.text.len());
        let clean = self.mounts.scrubbed(told.text);
        if count(&clean) > before {
            self.lost(&told.path, Reason::Redacted, bytes);
        }
        clean
    }

    fn capped(&mut self, field: &str, line: Traced) -> Traced {
        let len = line.len();
        let capped = self.mounts.cut(line);
        if capped.len() < len {
            self.lost(field, Reason::Capped, len - capped.len());
        }
        capped
    }

    /// Records what the value of a field lost.
    pub(super) fn lost(&mut self, field: &str, reason: Reason, bytes: usize) {
        let name = field.rsplit('.').next().unwrap_or(field);
        let name = name.split('[').next().unwrap_or(name);
        self.lacking.push(Omission {
            layer: String::new(),
            name: name.to_owned(),
            reason,
            bytes: bytes as u64,
            tokens: None,
            detail: String::new(),
            loss: None,
        });
    }
}

const SEPARATORS: [char; 2] = ['/', '\\'];

/// Puts mounts in the place of the names that workflow files have for them.
fn named(told: FieldText) -> FieldText {
    let names = [
        ("{project-root}", "@project"),
        ("{artifacts-root}", "@project/artifacts"),
        ("{package-root}", "@pkg"),
        ("{state-root}", "@state"),
    ];
    let text = names.into_iter().fold(told.text, |text, (name, mount)| {
        let found = text.text().match_indices(name);
        let parts: Vec<_> = found
            .map(|(at, name)| (at..at + name.len(), mount.to_owned()))
            .collect();
        if parts.is_empty() {
            return text;
        }
        text.replaced(&parts, Transform::Aliased)
    });
    FieldText { text, ..told }
}

/// Returns a path with its mount, which leads to where the path begins.
fn below(mount: Mount, path: &Traced) -> Traced {
    let first: String = path.text().chars().take(1).collect();
    let placed = format!("{}/{first}", mount.alias());
    if first.is_empty() {
        return Traced::frame(placed);
    }
    path.replaced(&[(0..first.len(), placed)], Transform::Converted)
}

/// Returns a text without what it may begin with.
fn without(text: Traced, start: &str) -> Traced {
    if text.text().starts_with(start) {
        return text.slice(start.len()..text.len());
    }
    text
}

/// Returns what is wrong with a path that is to lead to a file in the package.
fn misplaced(path: &str) -> Option<&'static str> {
    let folder = path.is_empty() || path.ends_with('/') || path.ends_with("/.") || path == ".";
    if is_absolute(path) || path.contains("://") {
        Some("is not relative")
    } else if path.contains('\\') || path.contains(char::is_control) {
        Some("has a backslash or a control character")
    } else if climbs(path) {
        Some("has `..` in it")
    } else if is_final(path) {
        Some("does not name a file of the package")
    } else {
        folder.then_some("does not name a file")
    }
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
        (super::user_input::INPUT, _) => {
            "leave it out, or set `scrubUserInput` to have it redacted"
        }
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
