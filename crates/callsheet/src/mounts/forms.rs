//! The written forms of a folder's path, and where a text holds one.

use std::ops::Range;

use super::Mount;
use crate::text::json_escaped;

/// A folder that must not be seen.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    pub(super) path: String,
    pub(super) mount: Option<Mount>,
    /// The words for it in an error, which never has the path itself.
    pub(super) what: &'static str,
    forms: Vec<String>,
    /// A path of one part, such as `/app`, is found only where no other part stands before it.
    short: bool,
}

impl Folder {
    /// Returns the folder unless the path is not absolute; relative ones cannot be told from any other text.
    pub(super) fn new(mount: Option<Mount>, what: &'static str, path: &str) -> Option<Self> {
        let cut = path.trim_end_matches(['/', '\\']);
        if !path.starts_with('/') && !is_windows(path) {
            return None;
        }
        let parts = cut
            .split(['/', '\\'])
            .filter(|part| !part.is_empty())
            .count();
        Some(Self {
            path: if cut.is_empty() { "/" } else { cut }.to_owned(),
            mount,
            what,
            forms: forms(cut),
            short: parts < 2,
        })
    }

    /// Returns the length of the written form that `text` has at `at`.
    pub(super) fn at(&self, text: &str, at: usize) -> Option<usize> {
        let rest = &text[at..];
        // Most characters begin no form, and texts are long.
        if !is_drive(&self.path) && !rest.starts_with(['/', '\\', '%']) {
            return None;
        }
        let form = self
            .forms
            .iter()
            .find(|form| rest.starts_with(form.as_str()) && ends_a_part(&rest[form.len()..]))?;
        let before = text[..at].chars().next_back();
        let apart = before.is_none_or(|c| !is_name(c) && c != '.');
        (apart || !self.short).then_some(form.len())
    }
}

/// Tells whether a text is an absolute path as Windows writes it.
pub(crate) fn is_windows(text: &str) -> bool {
    is_drive(text) || text.starts_with("\\\\")
}

/// Tells whether a text begins with a drive letter and a separator.
pub(super) fn is_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
        && !text[2..].starts_with("//")
}

/// Returns the first folder that a text holds, and where.
pub(super) fn find<'a>(folders: &'a [Folder], text: &str) -> Option<(Range<usize>, &'a Folder)> {
    text.char_indices().find_map(|(at, _)| {
        let folder = folders
            .iter()
            .find(|folder| folder.at(text, at).is_some())?;
        Some((at..at + folder.at(text, at)?, folder))
    })
}

/// Tells whether a character can be part of a name in a path.
pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// Tells whether a path part ends where `rest` begins; the dot that ends a sentence ends it as well.
fn ends_a_part(rest: &str) -> bool {
    let after = rest.trim_start_matches('.').chars().next();
    after.is_none_or(|c| !is_name(c))
}

/// Returns every way to write a path, the longest first; the root of a disk has none, as it is in every path.
pub(crate) fn forms(path: &str) -> Vec<String> {
    if path.is_empty() {
        return Vec::new();
    }
    let slashed = path.replace('\\', "/");
    let backslashed = path.replace('/', "\\");
    let upper = percent_encoded(&slashed, |byte| format!("%{byte:02X}"));
    let lower = percent_encoded(&slashed, |byte| format!("%{byte:02x}"));
    let mut forms = vec![
        upper.replace('/', "%2F"),
        lower.replace('/', "%2f"),
        upper,
        lower,
    ];
    for raw in [slashed, backslashed, path.to_owned()] {
        let inner = json_escaped(&raw);
        forms.push(inner.replace('/', "\\/"));
        forms.push(ascii_only(&inner));
        forms.push(inner);
        forms.push(raw);
    }
    forms.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
    forms.dedup();
    forms
}

fn percent_encoded(text: &str, code: impl Fn(u8) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&code(byte));
        }
    }
    out
}

/// Returns JSON text as programs write it that use ASCII only.
fn ascii_only(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}
