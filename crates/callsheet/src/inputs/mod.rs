//! What a composition reads: files below roots that the caller names.

mod glob;
mod path;
mod readings;
mod resolve;
mod root;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub use glob::Globs;
pub(crate) use glob::compile_glob;
pub use path::Located;
pub use readings::{Bodies, Readings};
pub(crate) use resolve::user;
pub use resolve::{Found, Listing};
pub use root::{Disk, MAX_FILE_BYTES, Root};

use crate::Error;
use crate::omission::{Reason, Refusal};
use crate::template::TemplateSet;
use crate::trace::{Origin, OriginKind, Traced};

/// The text of a file, with its provenance.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileText {
    /// The text, newlines normalised to LF.
    pub body: Traced,
    /// The file and the fingerprint of its raw bytes.
    pub source: Arc<Origin>,
}

/// What counts as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRule {
    /// Any valid UTF-8.
    Utf8,
    /// Valid UTF-8 without a NUL byte; anything else is binary.
    NoNul,
    /// Valid UTF-8 without a NUL byte; what is not UTF-8 is told from what is binary.
    Named,
}

impl FileText {
    /// Reads a file below a root; `shown` is the name it gets in the prompt.
    pub fn read(root: &Root, relative: &str, shown: &str, rule: TextRule) -> Result<Self, Refusal> {
        let text = read_text(root, relative, rule)?;
        let source = Origin::new(OriginKind::File, shown, &text);
        let body = Traced::normalised(text, &source);
        Ok(Self { body, source })
    }

    /// Reads a file below a root without its fingerprint, if nothing of the root is put on record.
    pub(crate) fn read_to_print(
        root: &Root,
        relative: &str,
        shown: &str,
        rule: TextRule,
    ) -> Result<Self, Refusal> {
        if root.is_recorded() {
            return Self::read(root, relative, shown, rule);
        }
        let text = read_text(root, relative, rule)?;
        let source = Origin::unrecorded(OriginKind::File, shown, text.len());
        let body = Traced::normalised(text, &source);
        Ok(Self { body, source })
    }
}

fn read_text(root: &Root, relative: &str, rule: TextRule) -> Result<String, Refusal> {
    root.read_as(relative, |bytes| rule.text(bytes))
}

impl TextRule {
    /// Returns bytes as text, or why they are none.
    pub(crate) fn text(self, bytes: Vec<u8>) -> Result<String, Refusal> {
        let size = bytes.len() as u64;
        if self != Self::Utf8 && memchr::memchr(0, &bytes).is_some() {
            return Err(Refusal::new(Reason::Binary).of_size(size));
        }
        let reason = match self {
            Self::Utf8 | Self::Named => Reason::NotUtf8,
            Self::NoNul => Reason::Binary,
        };
        // Of what is not plain ASCII, the standard library looks at every byte; copying is far cheaper than that.
        if !bytes.is_ascii()
            && let Ok(text) = simdutf8::basic::from_utf8(&bytes)
        {
            return Ok(text.to_owned());
        }
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let refusal = Refusal::new(reason).of_size(size);
            refusal.because(format!("invalid UTF-8 at byte {at}"))
        })
    }
}

/// Reads the templates of a folder; one that does not exist, or is a file, has none.
///
/// What is there and cannot be taken has a diagnostic, the folder itself too.
pub fn read_templates(disk: &Disk, folder: &Path) -> TemplateSet {
    templates_at(disk.find(folder), folder)
}

/// Reads the templates of a folder below a root; a link that leads out of the root is followed by nobody.
pub fn read_templates_below(disk: &Disk, root: &Path, relative: &str) -> TemplateSet {
    templates_at(disk.find_below(root, relative), Path::new(relative))
}

fn templates_at(found: Result<Option<Root>, Error>, folder: &Path) -> TemplateSet {
    match found {
        Ok(Some(root)) => templates_of(&root),
        Ok(None) => TemplateSet::default(),
        Err(error) => {
            let shown = folder.file_name().unwrap_or(folder.as_os_str());
            let why = format!("{}: {}", error.detail(), error.causes().join(", "));
            let mut none = TemplateSet::default();
            none.unreadable(&shown.to_string_lossy(), &why);
            none
        }
    }
}

fn templates_of(root: &Root) -> TemplateSet {
    let is_template = |name: &String| name.ends_with(".md");
    let listing = root.list("").unwrap_or_default();
    let odd = listing.odd_names.into_iter().filter(is_template);
    let odd = odd.map(|name| (name, Refusal::new(Reason::NameNotUtf8)));
    let mut refused: Vec<(String, Refusal)> = odd.collect();
    let mut files = Vec::new();
    for name in listing.names.into_iter().filter(is_template) {
        match root.read(&name) {
            Ok(bytes) => files.push((name, bytes)),
            Err(refusal) if refusal.reason == Reason::Folder => {}
            Err(refusal) => refused.push((name, refusal)),
        }
    }
    let mut templates = TemplateSet::parse(files);
    refused.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    for (name, refusal) in refused {
        templates.unreadable(&name, refusal.reason.sentence());
    }
    templates
}

/// Reads the files of a folder below a root that are wanted and texts, by name; a refusal comes with the path it is about.
pub(crate) fn read_folder(
    root: &Root,
    relative: &str,
    wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, String>, (String, Refusal)> {
    let listing = root.list_where(relative, wanted);
    let mut names = listing
        .map_err(|refusal| (relative.to_owned(), refusal))?
        .names;
    // With several unreadable files, always the same one is told.
    names.sort_unstable();
    let mut folder = BTreeMap::new();
    for name in names {
        let path = format!("{relative}/{name}");
        let bytes = root.read(&path).map_err(|refusal| (path, refusal))?;
        if let Ok(text) = String::from_utf8(bytes) {
            folder.insert(name, text);
        }
    }
    Ok(folder)
}

/// Maps a list on several threads; the result does not depend on how many.
pub(crate) fn map_parallel<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    const WORTH_A_THREAD: usize = 64;
    let worth = items.len() / WORTH_A_THREAD + 1;
    // Asking how many there are reads several files of the system, which a short list is not worth.
    let threads = match worth {
        1 => 1,
        _ => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    };
    map_on(threads.min(worth), items, &f)
}

fn map_on<T: Sync, R: Send>(threads: usize, items: &[T], f: &(impl Fn(&T) -> R + Sync)) -> Vec<R> {
    if threads <= 1 {
        return items.iter().map(f).collect();
    }
    std::thread::scope(|scope| {
        let chunks = items.chunks(items.len().div_ceil(threads).max(1));
        let running: Vec<_> = chunks
            .map(|chunk| scope.spawn(move || chunk.iter().map(f).collect::<Vec<R>>()))
            .collect();
        running
            .into_iter()
            .flat_map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_does_not_show() {
        let items: Vec<usize> = (0..1000).collect();
        let expected: Vec<usize> = items.iter().map(|n| n * n).collect();
        for threads in [1, 2, 3, 7, 64] {
            assert_eq!(map_on(threads, &items, &|n: &usize| n * n), expected);
        }
    }
}
