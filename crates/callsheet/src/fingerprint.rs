//! Fingerprints: one hash, one text form.
//!
//! BLAKE3 of the bytes, written `b3:` and 64 hexadecimal digits. Equal bytes, equal fingerprint.

use std::fmt;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, ErrorKind};

/// The hash of some bytes. Equal bytes, equal fingerprint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Returns the fingerprint of `bytes`.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(*blake3::hash(bytes.as_ref()).as_bytes())
    }

    /// Returns the bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Makes a fingerprint of its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns a fingerprint of this one that nobody can compute without the key.
    pub(crate) fn keyed(self, key: &[u8; 32]) -> Self {
        Self(*blake3::keyed_hash(key, &self.0).as_bytes())
    }

    /// Returns the fingerprint of a list of named texts; every name and length counts.
    pub fn of_named<'a>(items: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for (name, bytes) in items {
            for part in [name.as_bytes(), bytes] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("b3:")?;
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        text.strip_prefix("b3:")
            .and_then(|hex| blake3::Hash::from_hex(hex).ok())
            .map(|hash| Self(*hash.as_bytes()))
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::BadInput,
                    format!("`{text}` is not a valid fingerprint"),
                )
            })
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Written)
    }
}

/// Reads the text form where it stands: the documents of a seal have very many.
struct Written;

impl Visitor<'_> for Written {
    type Value = Fingerprint;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fingerprint")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Fingerprint, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_is_stable_and_parses_back() {
        let fingerprint = Fingerprint::of("");
        let text = "b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(fingerprint.to_string(), text);
        assert_eq!(text.parse::<Fingerprint>().unwrap(), fingerprint);
        assert!("b3:12".parse::<Fingerprint>().is_err());
    }

    #[test]
    fn moving_a_byte_between_name_and_text_changes_the_fingerprint() {
        let one = Fingerprint::of_named([("ab", b"c".as_slice())]);
        let other = Fingerprint::of_named([("a", b"bc".as_slice())]);
        assert_ne!(one, other);
    }
}
