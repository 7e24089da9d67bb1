//! Labels of fingerprints: what says of a random text that it is none of the secrets.
//!
//! Only what stands directly before a text is looked at, so a label far away excuses nothing.

/// What names a digest, in whatever alphabet it is written.
const DIGESTS: &[&str] = &[
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "b3",
    "blake2b",
    "blake2s",
    "blake3",
    "h1",
    "checksum",
    "digest",
    "integrity",
];

/// What names an object by its digest, in hexadecimal digits.
const OBJECTS: &[&str] = &[
    "blob",
    "commit",
    "etag",
    "fingerprint",
    "hash",
    "head",
    "merge",
    "object",
    "oid",
    "parent",
    "ref",
    "reference",
    "rev",
    "revision",
    "sha",
    "tree",
];

/// The length of the name of a git commit.
const COMMIT: usize = 40;

/// The furthest that a label begins before its text.
const REACH: usize = 48;

/// Tells whether the label of a digest stands before a text.
pub(super) fn of_digest(text: &str, at: usize) -> bool {
    before(text, at).is_some_and(|label| DIGESTS.contains(&label.as_str()))
}

/// Tells whether a text begins with its label, as in `sha256-…`.
pub(super) fn is_digest(text: &str) -> bool {
    let rest = DIGESTS.iter().find_map(|label| text.strip_prefix(label));
    rest.is_some_and(|rest| rest.starts_with('-'))
}

/// Tells whether what stands before a text, or begins it, says that it is a fingerprint.
pub(super) fn excuses(text: &str, at: usize, hex: bool) -> bool {
    if of_digest(text, at) || is_digest(&text[at..]) {
        return true;
    }
    let object = || before(text, at).is_some_and(|label| OBJECTS.contains(&label.as_str()));
    hex && (is_pinned(text, at) || object())
}

/// Tells whether a text is a commit after `@` or `#`, as in `actions/checkout@…`.
fn is_pinned(text: &str, at: usize) -> bool {
    let digits = text[at..].bytes().take_while(u8::is_ascii_hexdigit);
    text[..at].ends_with(['@', '#']) && digits.take(COMMIT + 1).count() == COMMIT
}

/// Returns the last word before a text, in small letters; nothing if something else stands between.
fn before(text: &str, at: usize) -> Option<String> {
    let bytes = text.as_bytes();
    let near = &bytes[at.saturating_sub(REACH)..at];
    let gap = |byte: &&u8| b" \t\"'`=:>\\-_/@#(".contains(*byte);
    let near = &near[..near.len() - near.iter().rev().take_while(gap).count()];
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'-');
    let name = &near[near.len() - near.iter().rev().take_while(is_name).count()..];
    let lower = name.to_ascii_lowercase();
    // The digest of a password is worth hiding.
    if lower.windows(4).any(|part| part == b"pass") {
        return None;
    }
    let word = name
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphanumeric());
    let start = name.len() - word.count();
    let hump = (start + 1..name.len())
        .rev()
        .find(|&at| name[at].is_ascii_uppercase() && name[at - 1].is_ascii_lowercase());
    String::from_utf8(lower[hump.unwrap_or(start)..].to_vec()).ok()
}
