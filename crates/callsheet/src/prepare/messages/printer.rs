//! Values on their way into a line, with a record of what they lost.

use crate::mounts::{Mounts, REDACTED};
use crate::omission::{Omission, Reason};

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

    /// Returns a value as it may stand in a line.
    pub(super) fn value(&mut self, layer: &str, field: &str, value: &str) -> String {
        let safe = self.mounts.sanitise(value);
        let whole = self.mounts.line(value);
        if safe.len() < whole.len() {
            self.lost(layer, field, Reason::Capped, whole.len() - safe.len());
        }
        self.note_redacted(layer, field, value, &whole);
        safe
    }

    /// Returns a longer value in one line, without a cap.
    pub(super) fn line(&mut self, layer: &str, field: &str, value: &str) -> String {
        let line = self.mounts.line(value);
        self.note_redacted(layer, field, value, &line);
        line
    }

    /// Returns a path: of a mount, or relative; one that leads out is redacted.
    pub(super) fn path(&mut self, layer: &str, field: &str, path: &str) -> String {
        let named = [
            ("{project-root}", "@project"),
            ("{artifacts-root}", "@project/artifacts"),
            ("{package-root}", "@pkg"),
            ("{state-root}", "@state"),
        ]
        .into_iter()
        .fold(path.to_owned(), |path, (name, mount)| {
            path.replace(name, mount)
        });
        let safe = self.value(layer, field, &named);
        let safe = safe.strip_prefix("./").unwrap_or(&safe);
        if safe.split(['/', '\\']).any(|part| part == "..") {
            self.lost(layer, field, Reason::Redacted, path.len());
            return REDACTED.to_owned();
        }
        safe.to_owned()
    }

    fn note_redacted(&mut self, layer: &str, field: &str, value: &str, whole: &str) {
        let count = |text: &str| text.matches(REDACTED).count();
        if count(whole) > count(value) {
            self.lost(layer, field, Reason::Redacted, value.len());
        }
    }

    /// Records what a value lost.
    pub(super) fn lost(&mut self, layer: &str, field: &str, reason: Reason, bytes: usize) {
        self.omissions.push(Omission {
            layer: layer.to_owned(),
            name: field.to_owned(),
            reason,
            bytes: bytes as u64,
            tokens: None,
            detail: String::new(),
            loss: None,
        });
    }
}
