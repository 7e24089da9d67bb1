//! Real paths in a text: those of somebody's machine, and not just anything with a slash in it.
//!
//! A text alone cannot tell a path of the disk from a route such as `/api/users`. So a path counts that begins like the
//! places where machines keep what belongs to their users, or like a folder that is known here. Web addresses, globs,
//! regular expressions and programs that every machine has (`/bin/sh`, `/dev/null`) do not.

use std::ops::Range;

use super::Mount;
use super::alias::{self, ENDS, leads_out};
use super::forms::{Folder, is_name};

/// The first parts of paths below which machines differ.
const TOPS: &[&str] = &[
    "Users", "Volumes", "cygdrive", "etc", "home", "mnt", "opt", "root", "srv", "tmp", "var",
];

/// The folder in which a runtime keeps packages and runs.
const STORE: &str = "runtime-store";

/// Returns where the first real path stands in a text.
pub(super) fn find(folders: &[Folder], text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let mut start = at;
        let found = match bytes[at] {
            b':' => match address(text, at) {
                Some(Address::Elsewhere { end }) => {
                    at = end;
                    continue;
                }
                Some(Address::File) => {
                    start -= "file".len();
                    true
                }
                Some(Address::Local { path }) => {
                    start = path;
                    is_real(folders, &text[path..])
                }
                None => {
                    start = start.saturating_sub(1);
                    is_drive(text, at)
                }
            },
            b'/' => stands_apart(text, at) && is_real(folders, &text[at..]),
            b'\\' => {
                stands_apart(text, at) && (is_share(text, at) || is_real(folders, &text[at..]))
            }
            b'@' => leaves_mount(&text[at..]),
            b'r' => is_store(text, at),
            _ => false,
        };
        if found {
            return Some(start..start + alias::path_len(&text[start..]).max(1));
        }
        at += 1;
    }
    None
}

/// What an address with a scheme leads to.
enum Address {
    /// Another machine; the address ends here.
    Elsewhere { end: usize },
    /// A file of this machine, which the scheme says.
    File,
    /// Something of this machine, as there is no other in the address; its path begins here.
    Local { path: usize },
}

/// Returns what the address leads to whose colon stands at a place.
fn address(text: &str, colon: usize) -> Option<Address> {
    let before = &text[..colon];
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let scheme = &before[before.trim_end_matches(is_scheme).len()..];
    let after = &text[colon + 1..];
    if scheme.eq_ignore_ascii_case("file") {
        let name = after.trim_start_matches(['/', '\\']);
        let named = name.starts_with(|c: char| is_name(c) || c == '%' || c == '.');
        return (name.len() < after.len() && named).then_some(Address::File);
    }
    let rest = after.strip_prefix("//")?;
    if scheme.len() < 2 {
        return None;
    }
    let start = colon + 3;
    let host = rest.find(|c: char| "/?#".contains(c) || ends_address(c));
    let host = host.unwrap_or(rest.len());
    // An editor's address has no host either: `vscode://file/…`.
    if host == 0 || &rest[..host] == "file" {
        return Some(Address::Local { path: start + host });
    }
    let end = rest.find(ends_address).unwrap_or(rest.len());
    Some(Address::Elsewhere { end: start + end })
}

fn ends_address(c: char) -> bool {
    c.is_whitespace() || "\"'`<>)]}|".contains(c)
}

/// Tells whether the colon at a place follows the letter of a drive.
fn is_drive(text: &str, colon: usize) -> bool {
    let mut before = text[..colon].chars();
    if !before.next_back().is_some_and(|c| c.is_ascii_alphabetic()) {
        return false;
    }
    let apart = match before.next_back() {
        // `\d:\d` is an expression, `\\?\C:\` a path.
        Some('\\') => before.as_str().ends_with(['?', '.']),
        Some(c) => !(c.is_ascii_alphanumeric() || c == '_' || c == '-'),
        None => true,
    };
    let rest = &text[colon + 1..];
    let path = &rest[..path_len(rest)];
    if !apart {
        return false;
    }
    match rest.chars().next() {
        Some('\\') => !is_expression(path),
        Some('/') => path
            .trim_start_matches('/')
            .starts_with(|c: char| is_name(c) || ".%$".contains(c)),
        _ => false,
    }
}

/// Tells whether what follows a colon is `\d+\s` and the like.
fn is_expression(path: &str) -> bool {
    let mut parts = path.split('\\').skip(1);
    parts.all(|part| {
        let mut chars = part.chars();
        let class = chars.next().is_some_and(|c| "dDwWsSbBnrtv".contains(c));
        class && chars.all(|c| "+*?.^$".contains(c))
    })
}

/// Tells whether a share of another machine is named at a place: `\\host\share`.
fn is_share(text: &str, at: usize) -> bool {
    let Some(rest) = text[at..].strip_prefix("\\\\") else {
        return false;
    };
    let host = rest.find(|c: char| !(is_name(c) || c == '.'));
    host.filter(|&host| host > 1)
        .and_then(|host| rest[host..].strip_prefix('\\'))
        .is_some_and(|share| share.starts_with(is_name))
}

/// Tells whether a path can begin at a separator, as nothing before it belongs to the path.
fn stands_apart(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let rest = &text[at..];
    match before.chars().next_back() {
        None => true,
        // Scripts without blanks between words put a path right after one.
        Some(c) if !c.is_ascii() => true,
        Some(c) if is_name(c) => is_flag(before),
        // The alias of a bundler and the mention of a file look alike.
        Some('@') => parts(&rest[..path_len(rest)]).first() == Some(&"Users"),
        Some('*') => is_bold(before, rest),
        Some(c) => !"./\\})]%~#$+?&".contains(c),
    }
}

/// Tells whether a text ends with an option of one letter, such as `-I`.
fn is_flag(before: &str) -> bool {
    let mut back = before.chars().rev();
    back.next();
    back.next() == Some('-') && back.next().is_none_or(char::is_whitespace)
}

/// Tells whether stars before a path are emphasis, which ends as it begins, and no glob.
fn is_bold(before: &str, rest: &str) -> bool {
    let stars = &before[before.trim_end_matches('*').len()..];
    let path = &rest[..path_len(rest)];
    !path.ends_with('/') && rest[path.len()..].starts_with(stars)
}

/// Tells whether a text begins with a real path; it begins with a separator.
fn is_real(folders: &[Folder], text: &str) -> bool {
    let path = &text[..path_len(text)];
    let parts = parts(path);
    let mut parts = parts.as_slice();
    // `/private/var` is `/var`, and `/c/Users` is on the drive C.
    if let [first, second, ..] = parts
        && (*first == "private" || first.len() == 1 && *second == "Users")
    {
        parts = &parts[1..];
    }
    let Some(first) = parts.first() else {
        return false;
    };
    let deep = parts
        .get(1)
        .is_some_and(|part| part.starts_with(|c: char| is_name(c) || ".@".contains(c)));
    (deep && TOPS.contains(first))
        || folders
            .iter()
            .any(|folder| is_beside(&self::parts(&folder.path), first, deep))
}

/// Tells whether a path is in the neighbourhood of a known folder: below the same top, or with a name that goes on.
fn is_beside(folder: &[&str], first: &str, deep: bool) -> bool {
    match folder {
        [] => false,
        [only] => first
            .strip_prefix(only)
            .is_some_and(|rest| rest.starts_with(|c: char| !c.is_alphabetic())),
        [top, ..] => deep && *top == first,
    }
}

/// Returns the parts of a path, without `.` and with `..` resolved.
fn parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

/// Returns how many bytes of the text belong to a path that begins it.
fn path_len(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || c == '*' || ENDS.contains(&c))
        .unwrap_or(text.len())
}

/// Tells whether a text begins with a path that names a mount and leaves it.
fn leaves_mount(text: &str) -> bool {
    let path = &text[..path_len(text)];
    Mount::ALL.iter().any(|mount| {
        let inner = path.strip_prefix(mount.alias());
        inner.is_some_and(|inner| inner.starts_with(['/', '\\']) && leads_out(inner))
    })
}

/// Tells whether the folder of a runtime is named at a place.
fn is_store(text: &str, at: usize) -> bool {
    let inner = text[at..].strip_prefix(STORE);
    let before = text[..at].chars().next_back();
    inner.is_some_and(|inner| inner.starts_with(['/', '\\']))
        && before.is_none_or(|c| !c.is_ascii() || !is_name(c))
}
