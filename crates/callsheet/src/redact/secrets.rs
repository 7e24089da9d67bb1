//! The secrets that a composition came upon, for whatever else is kept of it.

use std::collections::BTreeMap;
use std::fmt;

/// The secrets that a composition came upon, with their pseudonyms; they are never shown.
#[derive(Default)]
pub(crate) struct Secrets(BTreeMap<String, String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    pub(super) fn add(&mut self, secret: &str, pseudonym: &str) {
        self.0.insert(secret.to_owned(), pseudonym.to_owned());
    }

    /// Takes those of at least so many bytes out of a text, wherever they stand; tells whether there were any.
    pub(crate) fn scrub(&self, text: &mut String, least: usize) -> bool {
        let mut any = false;
        for (secret, pseudonym) in &self.0 {
            if (secret.len() >= least || secret == text) && text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), pseudonym);
                any = true;
            }
        }
        any
    }
}
