//! Every span without a transform is byte for byte its origin; spans have no gaps.

use proptest::prelude::*;

use super::*;

fn origin(text: &str) -> Arc<Origin> {
    Origin::new(OriginKind::File, "a.md", text)
}

fn check(traced: &Traced, raw: &str) {
    let mut at = 0;
    for span in traced.spans() {
        assert_eq!(span.range.start, at, "no gap");
        assert!(!span.range.is_empty());
        at = span.range.end;
        let Some(link) = &span.link else { continue };
        assert_eq!(
            link.line,
            crate::error::line_of(
                &raw.replace("\r\n", " \n").replace('\r', "\n"),
                link.range.start
            )
        );
        if link.transform.is_none() {
            assert_eq!(&traced.text()[span.range.clone()], &raw[link.range.clone()]);
        }
    }
    assert_eq!(at, traced.len());
}

#[test]
fn newlines_are_normalised_and_still_mapped() {
    let raw = "a\r\nb\rc\n\r\r\nd";
    let traced = Traced::normalised(raw.to_owned(), &origin(raw));
    assert_eq!(traced.text(), "a\nb\nc\n\n\nd");
    check(&traced, raw);
}

#[test]
fn json_escape_keeps_the_link() {
    let traced = Traced::whole("a\"b", &origin("a\"b")).json_escaped();
    assert_eq!(traced.text(), "a\\\"b");
    let link = traced.spans()[0].link.as_ref().unwrap();
    assert_eq!(
        (link.range.clone(), link.transform),
        (0..3, Some(Transform::JsonString))
    );
}

#[test]
fn xml_escape_links_every_character() {
    let raw = "a < b\n\"c\" && d>";
    let traced = Traced::whole(raw, &origin(raw)).xml_escaped();
    assert_eq!(traced.text(), "a &lt; b\n\"c\" &amp;&amp; d&gt;");
    let spans: Vec<_> = traced
        .spans()
        .iter()
        .map(|span| {
            let link = span.link.as_ref().unwrap();
            let escaped = link.transform == Some(Transform::XmlText);
            (
                &traced.text()[span.range.clone()],
                link.range.clone(),
                link.line,
                escaped,
            )
        })
        .collect();
    assert_eq!(
        spans,
        [
            ("a ", 0..2, 1, false),
            ("&lt;", 2..3, 1, true),
            (" b\n\"c\" ", 3..10, 1, false),
            ("&amp;", 10..11, 2, true),
            ("&amp;", 11..12, 2, true),
            (" d", 12..14, 2, false),
            ("&gt;", 14..15, 2, true),
        ]
    );
}

proptest! {
    #[test]
    fn any_text_any_slice(raw in "[a-c\r\n é]{0,40}", cut in any::<(prop::sample::Index, prop::sample::Index)>()) {
        let traced = Traced::normalised(raw.clone(), &origin(&raw));
        prop_assert_eq!(traced.text(), raw.replace("\r\n", "\n").replace('\r', "\n"));
        check(&traced, &raw);
        check(&traced.strip(), &raw);
        let marks: Vec<usize> = (0..=traced.len()).filter(|&at| traced.text().is_char_boundary(at)).collect();
        let (a, b) = (cut.0.get(&marks), cut.1.get(&marks));
        let part = traced.slice(*a.min(b)..*a.max(b));
        prop_assert_eq!(part.text(), &traced.text()[*a.min(b)..*a.max(b)]);
        check(&part, &raw);
        let mut joined = traced.slice(0..*a);
        joined.push(&traced.slice(*a..traced.len()));
        prop_assert_eq!(joined, traced);
    }
}
