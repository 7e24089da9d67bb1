//! Redaction: secrets become stable pseudonyms before anything is printed.
//!
//! A pseudonym is `‹secret:KIND:HASH›`, where the hash is four digits of a keyed BLAKE3: the same secret is the same
//! text everywhere under one key, and says nothing about itself. The secret goes into no prompt, manifest, event,
//! error or source map, and where a fingerprint would be one of a text that holds it, that fingerprint is keyed.

mod entropy;
mod level;
mod rules;
mod secrets;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use level::Level;
pub use rules::{Rule, Rules};
pub(crate) use secrets::Secrets;

use crate::omission::Omission;
use crate::section::Section;
use crate::trace::{Origin, Traced, Transform};
use crate::{Error, Event, Fingerprint};

/// What keys are derived for; another purpose would have another text.
const PURPOSE: &str = "callsheet redaction of secrets 1";

/// What every pseudonym begins with.
const OPEN: &str = "‹secret:";

/// What every pseudonym ends with.
const CLOSE: &str = "›";

/// The key of a project: under one key, the same secret has the same pseudonym.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// Derives the key from what a project calls its own.
    pub fn derive(text: &str) -> Self {
        Self(blake3::derive_key(PURPOSE, text.as_bytes()))
    }
}

impl Default for Key {
    /// Returns the key of projects that have none of their own.
    fn default() -> Self {
        Self::derive("")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A secret that a section held, as the manifest records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Redaction {
    /// The layer of the section.
    pub layer: String,
    /// The section.
    pub section: String,
    /// The format of the secret.
    pub kind: String,
    /// What stands in its place.
    pub pseudonym: String,
    /// How often it stood in the section.
    pub count: usize,
}

/// Puts pseudonyms in the place of secrets.
///
/// ```
/// use callsheet::redact::{Key, Redactor};
///
/// let redactor = Redactor::new(Key::derive("my project"));
/// let text = redactor.text("git clone https://me:hunter2@example.com/repo");
/// assert!(text.starts_with("git clone https://me:‹secret:url-password:"));
/// assert_eq!(redactor.text(&text), text, "once is enough");
/// assert_eq!(redactor.text("nothing to hide"), "nothing to hide");
/// ```
#[derive(Clone, Debug)]
pub struct Redactor {
    key: Key,
    entropy: bool,
    rules: Rules,
}

impl Redactor {
    /// Makes one for a key, which knows the formats of secrets.
    pub fn new(key: Key) -> Self {
        Self {
            key,
            entropy: false,
            rules: Rules::default(),
        }
    }

    /// Gives it other rules than the built-in ones.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Makes it take out texts that look random, too; it finds more and is wrong more often.
    #[must_use]
    pub fn with_entropy(self) -> Self {
        Self {
            entropy: true,
            ..self
        }
    }

    /// Finds what has a known format; where nothing has, what looks random.
    fn find(&self, text: &str) -> Vec<rules::Hit<'_>> {
        let hits = self.rules.find(text);
        if self.entropy && hits.is_empty() {
            return entropy::find(text);
        }
        hits
    }

    fn pseudonym(&self, kind: &str, essence: &str) -> String {
        let hash = blake3::keyed_hash(&self.key.0, essence.as_bytes());
        let hex = hash.to_hex();
        format!("{OPEN}{kind}:{}{CLOSE}", &hex[..4])
    }

    /// Returns a text without its secrets.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.traced(&Traced::frame(text)) {
            Some(clean) => Cow::Owned(clean.into_parts().0),
            None => Cow::Borrowed(text),
        }
    }

    /// Returns a traced text without its secrets; nothing if it holds none.
    ///
    /// A pseudonym can bare the edge of another secret that touched the first, so the search goes on until it finds
    /// nothing.
    pub(crate) fn traced(&self, body: &Traced) -> Option<Traced> {
        self.traced_noting(body, &mut Secrets::default())
    }

    /// Does the same, and takes note of what it found.
    fn traced_noting(&self, body: &Traced, secrets: &mut Secrets) -> Option<Traced> {
        let mut clean: Option<Traced> = None;
        loop {
            let text = clean.as_ref().unwrap_or(body);
            let hits = self.find(text.text());
            if hits.is_empty() {
                return clean;
            }
            let hits: Vec<_> = hits
                .into_iter()
                .map(|hit| {
                    let secret = &text.text()[hit.range.clone()];
                    let essence = hit.essence.as_deref().unwrap_or(secret);
                    let pseudonym = self.pseudonym(hit.kind, essence);
                    secrets.add(secret, &pseudonym);
                    (hit.range, pseudonym)
                })
                .collect();
            clean = Some(text.replaced(&hits, Transform::Redacted));
        }
    }

    /// Takes the secrets out of all texts of a value, names of fields included; tells whether there were any.
    pub fn value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                let found = items.iter_mut().map(|item| self.value(item));
                found.fold(false, |any, one| any | one)
            }
            Value::Object(fields) => {
                let mut any = false;
                let taken = std::mem::take(fields);
                for (mut name, mut field) in taken {
                    any |= self.string(&mut name) | self.value(&mut field);
                    fields.insert(name, field);
                }
                any
            }
            _ => false,
        }
    }

    fn string(&self, text: &mut String) -> bool {
        let clean = match self.text(text) {
            Cow::Borrowed(_) => return false,
            Cow::Owned(clean) => clean,
        };
        *text = clean;
        true
    }

    /// Returns the fingerprint of a value; a keyed one if it holds secrets.
    pub(crate) fn fingerprint(&self, value: &Value) -> Fingerprint {
        let plain = Fingerprint::of(value.to_string());
        if self.value(&mut value.clone()) {
            plain.keyed(&self.key.0)
        } else {
            plain
        }
    }

    pub(crate) fn error(&self, error: Error) -> Error {
        error.map_texts(|text| self.text(text).into_owned())
    }

    pub(crate) fn event(&self, event: &mut Event) {
        for (_, value) in &mut event.payload {
            self.value(value);
        }
    }

    pub(crate) fn omission(&self, omission: &mut Omission) {
        self.string(&mut omission.name);
        self.string(&mut omission.detail);
    }

    /// Takes the secrets out of everything that is handed over; returns what it found in the sections.
    pub(crate) fn prompt(&self, sections: &mut [Section], tools: &mut [Value]) -> Secrets {
        for tool in tools {
            self.value(tool);
        }
        self.sections(sections)
    }

    /// Takes the secrets out of all sections: bodies, names, and what tells where they came from.
    fn sections(&self, sections: &mut [Section]) -> Secrets {
        let mut secrets = Secrets::default();
        let mut tainted: BTreeSet<Arc<Origin>> = BTreeSet::new();
        for section in sections.iter_mut() {
            self.string(&mut section.name);
            if let Some(clean) = self.traced_noting(&section.body, &mut secrets) {
                tainted.extend(redacted(&clean).map(|link| Arc::clone(&link.origin)));
                section.body = clean;
            }
        }
        let hide = |origin: &Arc<Origin>| {
            let name = self.text(&origin.name);
            let holds = tainted.contains(origin);
            if !holds && matches!(name, Cow::Borrowed(_)) {
                return Arc::clone(origin);
            }
            let fingerprint = if holds {
                origin.fingerprint.keyed(&self.key.0)
            } else {
                origin.fingerprint
            };
            Arc::new(Origin {
                kind: origin.kind,
                name: name.into_owned(),
                len: origin.len,
                fingerprint,
            })
        };
        for section in sections {
            section.body.map_origins(hide);
            section.source = hide(&section.source);
        }
        secrets
    }
}

impl Rules {
    /// Returns where a text may be cut so that at most `end` bytes stay: not within a secret.
    ///
    /// Half a secret has no known format any more, so nothing would find it afterwards.
    pub(crate) fn cut_at(&self, text: &str, end: usize) -> usize {
        let split = |hit: &rules::Hit<'_>| hit.range.start < end && end < hit.range.end;
        let hits = self.find(text);
        let split = hits.iter().find(|hit| split(hit));
        split.map_or(end, |hit| hit.range.start)
    }
}

fn redacted(body: &Traced) -> impl Iterator<Item = &crate::trace::Link> {
    body.spans()
        .iter()
        .filter_map(|span| span.link.as_ref())
        .filter(|link| link.transform == Some(Transform::Redacted))
}

/// Returns what was redacted in the sections of a prompt, in order.
pub(crate) fn records(sections: &[Section]) -> Vec<Redaction> {
    let mut records: Vec<Redaction> = Vec::new();
    for section in sections {
        let first = records.len();
        for span in section.body.spans() {
            let transform = span.link.as_ref().and_then(|link| link.transform);
            if transform != Some(Transform::Redacted) {
                continue;
            }
            let pseudonym = &section.body.text()[span.range.clone()];
            match records[first..]
                .iter_mut()
                .find(|record| record.pseudonym == pseudonym)
            {
                Some(record) => record.count += 1,
                None => records.push(Redaction {
                    layer: section.layer.clone(),
                    section: section.name.clone(),
                    kind: kind_of(pseudonym).to_owned(),
                    pseudonym: pseudonym.to_owned(),
                    count: 1,
                }),
            }
        }
    }
    records
}

fn kind_of(pseudonym: &str) -> &str {
    let inner = pseudonym.strip_prefix(OPEN).unwrap_or(pseudonym);
    inner.split(':').next().unwrap_or_default()
}
