//! What a rule has to be before anybody relies on it: well formed, and right about its own examples.
//!
//! An example may have `‹` and `›` around the secret, which then has to be exactly that. A `·` in it is left out, so that
//! a file of examples holds nothing that looks like a secret.

use std::ops::Range;

use super::{Rule, Table};
use crate::redact::CLOSE;
use crate::{Error, ErrorKind};

/// What begins the secret of an example.
const OPEN: char = '‹';

/// What is left out of an example.
const JOINT: char = '·';

/// The longest name of a rule.
const LONGEST_ID: usize = 40;

/// The most bits that a character can have.
const MOST_BITS: f64 = 8.0;

/// A text of a rule's examples, and where the secret is in it.
#[derive(Debug)]
pub(super) struct Example {
    pub(super) text: String,
    pub(super) secret: Option<Range<usize>>,
}

impl Example {
    pub(super) fn parse(example: &str) -> Self {
        let text = example.replace(JOINT, "");
        let marked = text.split_once(OPEN).and_then(|(before, rest)| {
            let (secret, after) = rest.split_once(CLOSE)?;
            Some((
                before.len()..before.len() + secret.len(),
                [before, secret, after].concat(),
            ))
        });
        match marked {
            Some((secret, text)) => Self {
                text,
                secret: Some(secret),
            },
            None => Self { text, secret: None },
        }
    }
}

impl Rule {
    /// Checks that the rule can be used and finds what its examples say.
    pub fn check(&self) -> Result<(), Error> {
        let of_id = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if self.id.is_empty() || self.id.len() > LONGEST_ID || !self.id.bytes().all(of_id) {
            let detail = format!(
                "`{}` is not a valid name for a rule; use lower-case letters, digits and `-`, {LONGEST_ID} at most",
                self.id
            );
            return Err(Error::new(ErrorKind::BadInput, detail));
        }
        if !self.enabled {
            return Ok(());
        }
        let wrong = |detail: String| {
            let detail = format!("rule `{}`: {detail}", self.id);
            Err(Error::new(ErrorKind::BadInput, detail))
        };
        if self.regex.is_empty() {
            return wrong("`regex` is missing".to_owned());
        }
        let expression = match self.compile() {
            Ok(expression) => expression,
            Err(error) => return wrong(complaint(&error)),
        };
        if expression.is_match(b"") {
            return wrong("`regex` matches an empty text, so it would match everywhere".to_owned());
        }
        if let Some(word) = self.keywords.iter().find(|word| !is_keyword(word)) {
            return wrong(format!(
                "`{word}` is not a valid keyword; use printable ASCII, two characters or more"
            ));
        }
        if self
            .entropy
            .is_some_and(|bits| !(0.0..=MOST_BITS).contains(&bits))
        {
            return wrong("`entropy` is not between 0 and 8 bits".to_owned());
        }
        self.check_examples().or_else(wrong)
    }

    fn check_examples(&self) -> Result<(), String> {
        let alone = Table::of(vec![self.clone()], Vec::new());
        for example in &self.hits {
            let Example { text, secret } = Example::parse(example);
            let found = alone.find(&text);
            let right = match secret {
                Some(secret) => found.iter().map(|hit| &hit.range).eq([&secret]),
                None => !found.is_empty(),
            };
            if !right {
                return Err(not_found(
                    &text,
                    found.first().map(|hit| &text[hit.range.clone()]),
                    self,
                ));
            }
        }
        for example in &self.misses {
            let text = example.replace(JOINT, "");
            if let Some(hit) = alone.find(&text).first() {
                let found = &text[hit.range.clone()];
                return Err(format!(
                    "it finds `{found}` in `{text}`, which is one of its `misses`"
                ));
            }
        }
        Ok(())
    }
}

fn not_found(text: &str, found: Option<&str>, rule: &Rule) -> String {
    let lower = text.to_ascii_lowercase();
    let has = |word: &String| lower.contains(&word.to_ascii_lowercase());
    match found {
        Some(found) => format!("it finds `{found}` in `{text}`, which is not what `hits` says"),
        None if !rule.keywords.is_empty() && !rule.keywords.iter().any(has) => {
            format!("`{text}`, one of its `hits`, has none of its `keywords`")
        }
        None => format!("it finds nothing in `{text}`, which is one of its `hits`"),
    }
}

fn is_keyword(word: &str) -> bool {
    word.len() >= 2
        && word
            .bytes()
            .all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

/// Returns what is wrong with an expression, in one line.
fn complaint(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "`regex` is too large".to_owned(),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            format!(
                "`regex` is not valid: {}",
                last.trim_start_matches("error: ")
            )
        }
    }
}
