//! From real paths in a text to mounts.

use std::ops::Range;

use super::REDACTED;
use super::forms::{Folder, is_drive, is_name};

/// What ends a path in a text.
pub(super) const ENDS: &[char] = &[
    '"', '\'', '`', '<', '>', '|', ',', ';', '(', ')', '[', ']', '{', '}',
];

/// Which paths in a text get another name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those below a mount.
    Mounted,
    /// Every absolute path.
    Absolute,
}

/// Returns what is to stand in the place of paths in a text, in order.
pub(super) fn renamed(folders: &[Folder], text: &str, which: Which) -> Vec<(Range<usize>, String)> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match path_at(folders, text, at) {
            Some((end, name)) if name != REDACTED || which == Which::Absolute => {
                out.push((at..end, name));
                at = end;
            }
            _ => at += c.len_utf8(),
        }
    }
    out
}

/// Returns where the path ends that begins at a place of a text, and what stands for it.
fn path_at(folders: &[Folder], text: &str, at: usize) -> Option<(usize, String)> {
    let known = folders
        .iter()
        .find_map(|folder| Some((folder.at(text, at)?, folder)));
    if let Some((len, folder)) = known {
        let end = at + len;
        let rest = path_len(&text[end..]);
        return Some(match folder.mount {
            Some(mount) if text[end..].starts_with('\\') => {
                let inner = slashed(&text[end..end + rest]);
                (end + rest, format!("{}{inner}", mount.alias()))
            }
            Some(mount) => (end, mount.alias().to_owned()),
            None => (end + rest, REDACTED.to_owned()),
        });
    }
    if !begins_path(text, at) {
        return None;
    }
    let end = at + path_len(&text[at..]);
    let disk = folders.iter().find(|folder| folder.path == "/");
    let name = match disk.and_then(|folder| folder.mount) {
        Some(mount) if text[at..].starts_with('/') => {
            format!("{}{}", mount.alias(), &text[at..end])
        }
        _ => REDACTED.to_owned(),
    };
    Some((end, name))
}

/// Tells whether a path leads out of the folder that it begins in.
pub(super) fn leads_out(path: &str) -> bool {
    let mut depth = 0_usize;
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// Returns a path of backslashes, each once or twice, with slashes.
fn slashed(path: &str) -> String {
    path.replace("\\\\", "\\").replace('\\', "/")
}

/// Returns how many bytes of the text belong to a path that begins it.
pub(super) fn path_len(text: &str) -> usize {
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
