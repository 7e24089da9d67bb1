//! The path of a project's root on one machine, and the name that stands for it in whatever leaves the machine.
//!
//! Text in, text out: nothing here looks at a disk.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

use crate::mounts::written_forms;

/// The path that stands for the root of a project, wherever that is.
pub const ROOT: &str = "/@project";

/// The paths of a project's root on this machine: as it was given, and without links.
///
/// ```
/// use callsheet::seal::RootPaths;
///
/// let paths = RootPaths::new(["/srv/ann/shop"]);
/// assert_eq!(paths.hide("cd /srv/ann/shop/src"), "cd /@project/src");
/// assert_eq!(paths.hide("file:%2Fsrv%2Fann%2Fshop"), "file:/@project");
/// assert_eq!(paths.hide("cd /srv/ann"), "cd /srv/ann");
/// ```
#[derive(Clone, Default)]
pub struct RootPaths(Option<Arc<Search>>);

struct Search {
    /// Every way to write the paths.
    forms: Vec<String>,
    /// Whether a form is so short that it counts only as a path of its own.
    short: Vec<bool>,
    automaton: AhoCorasick,
}

impl fmt::Debug for RootPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RootPaths(…)")
    }
}

impl PartialEq for RootPaths {
    fn eq(&self, other: &Self) -> bool {
        let forms = |paths: &Self| paths.0.as_ref().map(|search| search.forms.clone());
        forms(self) == forms(other)
    }
}

impl Eq for RootPaths {}

impl RootPaths {
    /// Makes them of absolute paths; others are no secret.
    pub fn new<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut forms: Vec<(String, bool)> = Vec::new();
        for path in paths {
            let path = path.as_ref().to_string_lossy();
            let path = path.trim_end_matches('/');
            if !path.starts_with('/') || path.starts_with(ROOT) {
                continue;
            }
            let short = path.matches('/').count() < 2;
            forms.extend(written_forms(path).into_iter().map(|form| (form, short)));
        }
        forms.sort();
        forms.dedup_by(|one, other| one.0 == other.0);
        let (forms, short): (Vec<String>, Vec<bool>) = forms.into_iter().unzip();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms);
        match automaton {
            Ok(automaton) if !forms.is_empty() => Self(Some(Arc::new(Search {
                forms,
                short,
                automaton,
            }))),
            _ => Self::default(),
        }
    }

    /// Tells whether there are no paths.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Tells whether a text holds one of the paths.
    pub(crate) fn are_in(&self, text: &[u8]) -> bool {
        self.find(text).next().is_some()
    }

    fn find<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = Range<usize>> + 't {
        let search = self.0.as_deref().into_iter();
        search.flat_map(move |search| {
            let found = search.automaton.find_iter(text);
            found
                .filter(|found| {
                    !search.short[found.pattern().as_usize()] || is_path(text, &found.range())
                })
                .map(|found| found.range())
        })
    }

    /// Returns a text with [`ROOT`] in the place of the paths.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.hide_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Whole paths of a text were replaced by a text.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Returns bytes with [`ROOT`] in the place of the paths.
    pub fn hide_bytes<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let mut out = Vec::new();
        let mut at = 0;
        for found in self.find(text) {
            out.extend_from_slice(&text[at..found.start]);
            out.extend_from_slice(ROOT.as_bytes());
            at = found.end;
        }
        if at == 0 {
            return Cow::Borrowed(text);
        }
        out.extend_from_slice(&text[at..]);
        Cow::Owned(out)
    }

    /// Hides the paths in all texts of a value, names of fields included; tells whether there were any.
    pub(crate) fn hide_value(&self, value: &mut Value) -> bool {
        let hide = |text: &mut String| match self.hide(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(hidden) => {
                *text = hidden;
                true
            }
        };
        match value {
            Value::String(text) => hide(text),
            Value::Array(items) => {
                let found = items.iter_mut().map(|item| self.hide_value(item));
                found.fold(false, |any, one| any | one)
            }
            Value::Object(fields) => {
                let mut any = false;
                for (mut name, mut field) in std::mem::take(fields) {
                    any |= hide(&mut name) | self.hide_value(&mut field);
                    fields.insert(name, field);
                }
                any
            }
            _ => false,
        }
    }

    /// Returns how many bytes at the end of a text may be the beginning of a path that goes on elsewhere.
    pub fn begun(&self, text: &[u8]) -> usize {
        let forms = self.0.iter().flat_map(|search| &search.forms);
        let begun = forms.map(|form| {
            let most = text.len().min(form.len() - 1);
            let lengths = (1..=most).rev();
            let begins = |len: &usize| form.as_bytes().starts_with(&text[text.len() - len..]);
            lengths.into_iter().find(begins).unwrap_or(0)
        });
        begun.max().unwrap_or(0)
    }
}

/// Tells whether a short form is a path of its own: `/app` is in `https://example.com/app`, too.
fn is_path(text: &[u8], found: &Range<usize>) -> bool {
    let is_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.~".contains(byte) || !byte.is_ascii();
    let before = text[..found.start].last();
    let after = text.get(found.end);
    !before.is_some_and(is_name) && !after.is_some_and(is_name)
}
