//! Texts that know where each of their bytes came from.
//!
//! A [`Traced`] is a text cut into spans without gaps. A span without an origin is *frame*: text of the recipe or
//! of the engine itself. A span with an origin and without a transform is byte for byte the named range of it.

mod replace;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Fingerprint;

/// What kind of thing a text came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OriginKind {
    /// Text written in a recipe file.
    Recipe,
    /// A template file.
    Template,
    /// A file below a root.
    File,
    /// A field of the input document.
    Input,
    /// Something computed from other sources, such as a tree of paths.
    Derived,
    /// What git said of a repository.
    Git,
    /// What a command of the project printed.
    Command,
}

/// The thing a text came from, and the fingerprint of that whole thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// What kind of thing it is.
    pub kind: OriginKind,
    /// The path of the file or of the field.
    pub name: String,
    /// The number of bytes of the whole thing as it was read.
    pub len: usize,
    /// The fingerprint of the whole thing as it was read.
    pub fingerprint: Fingerprint,
}

impl Origin {
    /// Makes the origin of `bytes`, shared by all spans that point into it.
    pub fn new(kind: OriginKind, name: impl Into<String>, bytes: impl AsRef<[u8]>) -> Arc<Self> {
        Arc::new(Self {
            kind,
            name: name.into(),
            len: bytes.as_ref().len(),
            fingerprint: Fingerprint::of(bytes),
        })
    }

    /// Makes the origin of bytes of which nobody will ask for the fingerprint; it has an empty one.
    pub(crate) fn unrecorded(kind: OriginKind, name: impl Into<String>, len: usize) -> Arc<Self> {
        Arc::new(Self {
            kind,
            name: name.into(),
            len,
            fingerprint: Fingerprint::from_bytes([0; 32]),
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            OriginKind::Recipe => "recipe",
            OriginKind::Template => "template",
            OriginKind::File => "file",
            OriginKind::Input => "input",
            OriginKind::Derived => "derived",
            OriginKind::Git => "git",
            OriginKind::Command => "command",
        };
        write!(f, "{kind}:{}", self.name)
    }
}

/// How bytes of an origin became bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Transform {
    /// A lone carriage return became a line feed.
    Newline,
    /// A template with logic printed this; the range is the whole template.
    Rendered,
    /// The text was escaped as part of a JSON string.
    JsonString,
    /// A character that has a meaning in XML was escaped.
    XmlText,
    /// The origin was put into another form, such as a value into text.
    Converted,
    /// A secret stood here; the text is its pseudonym.
    Redacted,
    /// A real path stood here; the text is the mount that stands for it.
    Aliased,
}

/// Where a span points to in its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Link {
    /// The thing the bytes came from.
    pub origin: Arc<Origin>,
    /// The byte range in it.
    pub range: Range<usize>,
    /// The line of its first byte, counted from 1.
    pub line: usize,
    /// What was done to the bytes; nothing means they are equal.
    pub transform: Option<Transform>,
}

/// Some consecutive bytes of a text with one provenance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Span {
    /// The byte range in the text.
    pub range: Range<usize>,
    /// Where the bytes came from; nothing means frame.
    pub link: Option<Link>,
}

impl Span {
    /// Returns the link of this span of `text` for a part of it only.
    pub(crate) fn cut(&self, link: &Link, part: &Range<usize>, text: &str) -> Link {
        if link.transform.is_some() {
            return link.clone();
        }
        let skipped = part.start - self.range.start;
        let before = &text.as_bytes()[self.range.start..part.start];
        Link {
            origin: Arc::clone(&link.origin),
            range: link.range.start + skipped..link.range.start + skipped + part.len(),
            line: link.line + memchr::memchr_iter(b'\n', before).count(),
            transform: None,
        }
    }
}

/// A text that knows where each of its bytes came from.
///
/// ```
/// use callsheet::trace::{Origin, OriginKind, Traced};
///
/// let file = "one\ntwo\n";
/// let origin = Origin::new(OriginKind::File, "list.txt", file);
/// let mut text = Traced::frame("> ");
/// text.push(&Traced::whole(file, &origin).slice(4..7));
///
/// assert_eq!(text.text(), "> two");
/// assert!(text.spans()[0].link.is_none(), "frame");
/// let link = text.spans()[1].link.as_ref().unwrap();
/// assert_eq!((link.origin.to_string().as_str(), link.line), ("file:list.txt", 2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    text: String,
    spans: Vec<Span>,
}

impl Traced {
    /// Makes an empty text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an empty text with room for `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            spans: Vec::new(),
        }
    }

    /// Makes a text of the recipe or the engine itself.
    pub fn frame(text: impl Into<String>) -> Self {
        Self::spanning(text.into(), None)
    }

    /// Makes a text that is the whole of `origin`.
    pub fn whole(text: impl Into<String>, origin: &Arc<Origin>) -> Self {
        let text = text.into();
        let link = Link {
            origin: Arc::clone(origin),
            range: 0..text.len(),
            line: 1,
            transform: None,
        };
        Self::spanning(text, Some(link))
    }

    /// Makes a text that `transform` made of the first `len` bytes of `origin`.
    pub fn transformed(
        text: impl Into<String>,
        origin: &Arc<Origin>,
        len: usize,
        transform: Transform,
    ) -> Self {
        let link = Link {
            origin: Arc::clone(origin),
            range: 0..len,
            line: 1,
            transform: Some(transform),
        };
        Self::spanning(text.into(), Some(link))
    }

    /// Makes a text of the whole of `origin` with CRLF and lone CR turned into LF.
    pub fn normalised(text: String, origin: &Arc<Origin>) -> Self {
        if memchr::memchr(b'\r', text.as_bytes()).is_none() {
            return Self::whole(text, origin);
        }
        Self::normalised_part(&text, origin, 0, 1)
    }

    /// Makes a text of the part of `origin` that begins at a byte in a line, with CRLF and lone CR turned into LF.
    pub(crate) fn normalised_part(
        text: &str,
        origin: &Arc<Origin>,
        offset: usize,
        mut line: usize,
    ) -> Self {
        let bytes = text.as_bytes();
        let link = |range: Range<usize>, line, transform| {
            Some(Link {
                origin: Arc::clone(origin),
                range: offset + range.start..offset + range.end,
                line,
                transform,
            })
        };
        let mut out = Self::with_capacity(bytes.len());
        let mut start = 0;
        for cr in memchr::memchr_iter(b'\r', bytes) {
            out.push_span(&text[start..cr], link(start..cr, line, None));
            line += memchr::memchr_iter(b'\n', &bytes[start..cr]).count();
            start = cr + 1;
            if bytes.get(start) != Some(&b'\n') {
                out.push_span("\n", link(cr..start, line, Some(Transform::Newline)));
                line += 1;
            }
        }
        out.push_span(&text[start..], link(start..bytes.len(), line, None));
        out
    }

    fn spanning(text: String, link: Option<Link>) -> Self {
        let spans = if text.is_empty() {
            Vec::new()
        } else {
            vec![Span {
                range: 0..text.len(),
                link,
            }]
        };
        Self { text, spans }
    }

    fn push_span(&mut self, text: &str, link: Option<Link>) {
        if text.is_empty() {
            return;
        }
        let start = self.text.len();
        self.text.push_str(text);
        let end = self.text.len();
        if let Some(last) = self.spans.last_mut()
            && continues(last.link.as_ref(), link.as_ref())
        {
            last.range.end = end;
            if let (Some(old), Some(new)) = (&mut last.link, &link) {
                old.range.end = new.range.end;
            }
            return;
        }
        self.spans.push(Span {
            range: start..end,
            link,
        });
    }

    /// Appends text of the recipe or the engine itself.
    pub fn push_frame(&mut self, text: &str) {
        self.push_span(text, None);
    }

    /// Appends another text with its provenance.
    pub fn push(&mut self, other: &Self) {
        for span in &other.spans {
            self.push_span(&other.text[span.range.clone()], span.link.clone());
        }
    }

    /// Returns the bytes in `range`, which must lie on character boundaries, with their provenance.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let mut out = Self::with_capacity(range.len());
        let from = self
            .spans
            .partition_point(|span| span.range.end <= range.start);
        for span in &self.spans[from..] {
            if span.range.start >= range.end {
                break;
            }
            let part = span.range.start.max(range.start)..span.range.end.min(range.end);
            let link = span
                .link
                .as_ref()
                .map(|link| span.cut(link, &part, &self.text));
            out.push_span(&self.text[part], link);
        }
        out
    }

    /// Returns the text without white space at both ends, as Python's `strip` sees it.
    #[must_use]
    pub fn strip(&self) -> Self {
        let start = self.text.len() - self.text.trim_start_matches(crate::text::is_space).len();
        self.slice(start..start + crate::text::strip(&self.text).len())
    }

    /// Returns the text as part of a JSON string, without the quotes around it.
    #[must_use]
    pub(crate) fn json_escaped(&self) -> Self {
        let mut out = Self::with_capacity(self.text.len() + self.text.len() / 16);
        for span in &self.spans {
            let escaped = crate::text::json_escaped(&self.text[span.range.clone()]);
            let link = span.link.clone().map(|link| match link.transform {
                // A pseudonym has nothing to escape.
                Some(Transform::Redacted) => link,
                _ => Link {
                    transform: Some(Transform::JsonString),
                    ..link
                },
            });
            out.push_span(&escaped, link);
        }
        out
    }

    /// Returns the text with `&`, `<` and `>` as XML has them; quotes stay.
    #[must_use]
    pub(crate) fn xml_escaped(&self) -> Self {
        let mut out = Self::with_capacity(self.text.len() + self.text.len() / 16);
        for span in &self.spans {
            let text = &self.text[span.range.clone()];
            let Some(link) = span.link.as_ref().filter(|link| link.transform.is_none()) else {
                out.push_span(&crate::text::xml_escaped(text), span.link.clone());
                continue;
            };
            let (mut done, mut line) = (0, link.line);
            let part = |range: Range<usize>, line, transform| Link {
                origin: Arc::clone(&link.origin),
                range: link.range.start + range.start..link.range.start + range.end,
                line,
                transform,
            };
            for (at, mark) in text.match_indices(['&', '<', '>']) {
                out.push_span(&text[done..at], Some(part(done..at, line, None)));
                line += memchr::memchr_iter(b'\n', &text.as_bytes()[done..at]).count();
                done = at + 1;
                let escaped = part(at..done, line, Some(Transform::XmlText));
                out.push_span(crate::text::xml_entity(mark), Some(escaped));
            }
            out.push_span(&text[done..], Some(part(done..text.len(), line, None)));
        }
        out
    }

    /// Tells whether this is the whole of `origin`, byte for byte.
    pub fn is_whole(&self, origin: &Arc<Origin>) -> bool {
        let [
            Span {
                link: Some(link), ..
            },
        ] = self.spans.as_slice()
        else {
            return false;
        };
        link.transform.is_none()
            && link.range == (0..origin.len)
            && Arc::ptr_eq(&link.origin, origin)
    }

    /// Returns the first thing that a part of the text came from.
    pub(crate) fn origin(&self) -> Option<&Arc<Origin>> {
        let mut links = self.spans.iter().filter_map(|span| span.link.as_ref());
        links.next().map(|link| &link.origin)
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the spans, in order and without gaps.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Tells whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Tells whether there is nothing but white space.
    pub(crate) fn is_blank(&self) -> bool {
        crate::text::strip(&self.text).is_empty()
    }

    /// Returns the text and its spans.
    pub(crate) fn into_parts(self) -> (String, Vec<Span>) {
        (self.text, self.spans)
    }
}

/// Tells whether `next` goes on where `last` ends, so that both are one span.
fn continues(last: Option<&Link>, next: Option<&Link>) -> bool {
    match (last, next) {
        (None, None) => true,
        (Some(last), Some(next)) => {
            last.transform.is_none()
                && next.transform.is_none()
                && last.range.end == next.range.start
                && Arc::ptr_eq(&last.origin, &next.origin)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
