//! From real paths in a text to mounts.

use super::REDACTED;
use super::forms::{Folder, is_drive, is_name};

/// What ends a path in a text.
const ENDS: &[char] = &[
    '"', '\'', '`', '<', '>', '|', ',', ';', '(', ')', '[', ']', '{', '}',
];

pub(super) fn alias(folders: &[Folder], text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if let Some((len, folder)) = folders
            .iter()
            .find_map(|folder| Some((folder.at(text, at)?, folder)))
        {
            at += len;
            let rest = path_len(&text[at..]);
            match folder.mount {
                Some(mount) => {
                    out.push_str(mount.alias());
                    if text[at..].starts_with('\\') {
                        out.push_str(&slashed(&text[at..at + rest]));
                        at += rest;
                    }
                }
                None => {
                    out.push_str(REDACTED);
                    at += rest;
                }
            }
        } else if begins_path(text, at) {
            let end = at + path_len(&text[at..]);
            let disk = folders.iter().find(|folder| folder.path == "/");
            match disk.and_then(|folder| folder.mount) {
                Some(mount) if c == '/' => {
                    out.push_str(mount.alias());
                    out.push_str(&text[at..end]);
                }
                _ => out.push_str(REDACTED),
            }
            at = end;
        } else {
            out.push(c);
            at += c.len_utf8();
        }
    }
    out
}

/// Returns a path of backslashes, each once or twice, with slashes.
fn slashed(path: &str) -> String {
    path.replace("\\\\", "\\").replace('\\', "/")
}

/// Returns how many bytes of the text belong to a path that begins it.
fn path_len(text: &str) -> usize {
    let end = text
        .find(|c: char| c.is_whitespace() || ENDS.contains(&c))
        .unwrap_or(text.len());
    text[..end].trim_end_matches(['.', ':', '!', '?']).len()
}

/// Tells whether an absolute path begins at a place of a text.
fn begins_path(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let apart = before.is_none_or(|c| c.is_whitespace() || "\"'`([{=,;:|>".contains(c));
    if !apart {
        return false;
    }
    let rest = &text[at..];
    let name_after = |prefix: &str| {
        rest.strip_prefix(prefix)
            .and_then(|rest| rest.chars().next())
            .is_some_and(|c| is_name(c) || ".~@$%".contains(c))
    };
    name_after("/") || name_after("\\\\") || is_drive(rest) || rest.starts_with("file:/")
}
