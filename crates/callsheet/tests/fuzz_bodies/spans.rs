//! Checks that every byte of a text says where it came from, and tells the truth.

use callsheet::Composition;
use callsheet::trace::{Link, Traced, Transform};

/// Asserts that the spans of a text cover it without gaps, and that those of `origin` hold its bytes.
pub(crate) fn assert_traced(body: &Traced, origin: &str, source: &str) {
    let mut end = 0;
    for span in body.spans() {
        assert_eq!(span.range.start, end, "a gap or an overlap");
        assert!(span.range.end > end, "an empty span");
        end = span.range.end;
        let text = &body.text()[span.range.clone()];
        if let Some(link) = &span.link
            && link.origin.name == origin
        {
            assert_linked(text, link, source);
        }
    }
    assert_eq!(end, body.len(), "bytes without a span");
}

fn assert_linked(text: &str, link: &Link, source: &str) {
    assert_eq!(link.origin.len, source.len());
    let bytes = &source[link.range.clone()];
    match link.transform {
        None => assert_eq!(text, bytes),
        Some(Transform::Newline) => assert_eq!((text, bytes), ("\n", "\r")),
        Some(_) => {}
    }
    assert_eq!(link.line, line_of(source, link.range.start));
}

/// Asserts that the source map covers the whole text.
pub(crate) fn assert_mapped(composed: &Composition) {
    let mut end = 0;
    for span in &composed.source_map.spans {
        assert_eq!(span.start, end, "a gap or an overlap");
        assert!(span.end > end, "an empty span");
        assert!(composed.text.is_char_boundary(span.end));
        end = span.end;
    }
    assert_eq!(end, composed.text.len(), "bytes without a span");
    assert_eq!(composed.manifest.bytes, composed.text.len());
}

/// Returns the line of a byte, counted from 1, where LF, CRLF and CR each end one.
fn line_of(source: &str, offset: usize) -> usize {
    1 + normalised(&source[..offset]).matches('\n').count()
        - usize::from(source[..offset].ends_with('\r') && source[offset..].starts_with('\n'))
}

/// Returns a text with all line ends as LF.
pub(crate) fn normalised(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}
