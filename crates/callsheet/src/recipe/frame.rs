//! Frames: what stands around a section, a layer or a whole prompt.
//!
//! A frame is data of the recipe. File contents cannot close their own frame unnoticed: a body that holds the closing
//! text is a collision, and where the recipe asks for it the tag gets a suffix that occurs in no body.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use crate::freetext::{on_one_line, strict};
use crate::template::{Placeholder, interpolate, placeholders};
use crate::trace::{Traced, Transform};

/// How many bytes a frame may print.
pub(super) const MOST_BYTES: usize = 64 << 10;

/// What a placeholder counts that is filled with a name or a fence.
const OF_HOLE: usize = 1 << 10;

/// What is done to bodies and names inside a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Escape {
    /// Nothing.
    #[default]
    None,
    /// A double quote in a name becomes `&quot;`; bodies stay as they are.
    Attribute,
    /// Names and bodies become parts of JSON strings.
    Json,
    /// `&`, `<` and `>` in names and bodies become `&amp;`, `&lt;` and `&gt;`, a double quote in a name `&quot;`.
    Xml,
}

impl Escape {
    /// Tells whether a body is printed in another form than it has.
    pub(crate) fn changes_bodies(self) -> bool {
        matches!(self, Self::Json | Self::Xml)
    }

    /// Returns a body as it is printed.
    pub(crate) fn body(self, body: Cow<'_, Traced>) -> Cow<'_, Traced> {
        match self {
            Self::None | Self::Attribute => body,
            Self::Json => Cow::Owned(body.json_escaped()),
            Self::Xml => Cow::Owned(body.xml_escaped()),
        }
    }

    /// Returns a name as it is printed before or after a body.
    fn name(self, name: &Traced) -> Cow<'_, Traced> {
        match self {
            // A name of several lines would be a heading or an item of its own.
            Self::None if name.text().contains(['\n', '\r']) => on_one_line(name),
            Self::None => Cow::Borrowed(name),
            Self::Attribute => Cow::Owned(without_quotes(name)),
            Self::Json => Cow::Owned(name.json_escaped()),
            Self::Xml => Cow::Owned(without_quotes(&name.xml_escaped())),
        }
    }
}

fn without_quotes(name: &Traced) -> Traced {
    let quotes = name.text().match_indices('"');
    let parts: Vec<_> = quotes
        .map(|(at, _)| (at..at + 1, "&quot;".to_owned()))
        .collect();
    name.replaced(&parts, Transform::XmlText)
}

/// What a placeholder of a frame prints that a function fills, by its name.
type Hole<'a> = (&'a str, &'a Traced);

/// What stands before and after a text, with `{{tag}}`, `{{path}}`, `{{fence}}` and `{{language}}` in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Frame {
    /// The name that `{{tag}}` prints.
    #[serde(default)]
    pub(crate) tag: String,
    /// What stands before.
    #[serde(default)]
    pub(crate) open: String,
    /// What stands after.
    #[serde(default)]
    pub(crate) close: String,
    /// What stands between the texts inside; nothing means the separator of the recipe.
    pub(crate) separator: Option<String>,
    /// What is done to what stands inside.
    #[serde(default)]
    pub(crate) escape: Escape,
}

/// The frame of what has none: it prints nothing.
pub(super) static NONE: Frame = Frame {
    tag: String::new(),
    open: String::new(),
    close: String::new(),
    separator: None,
    escape: Escape::None,
};

impl Frame {
    /// Returns how many bytes it prints at most, not counting long names and fences.
    pub(crate) fn most_bytes(&self) -> usize {
        let holes = [&self.open, &self.close].map(|text| placeholders(text));
        let holes = holes.iter().flatten().map(|hole| match hole.name.as_str() {
            "tag" => self.tag.len(),
            _ => OF_HOLE,
        });
        let separator = self.separator.as_ref().map_or(0, String::len);
        let texts = self.open.len() + self.close.len() + separator;
        holes.fold(texts, usize::saturating_add)
    }

    /// Returns what stands before and after a body of that name.
    pub(crate) fn around(&self, name: &str, body: &str, suffix: &str) -> (String, String) {
        let print = |template: &str| {
            interpolate(template, |placeholder| match placeholder {
                "tag" => Some(format!("{}{suffix}", self.tag)),
                "path" => Some(self.escaped_name(name)),
                other => common(other, name, body),
            })
        };
        (print(&self.open), print(&self.close))
    }

    /// Returns the names of the tags that it has.
    pub(super) fn tags(&self) -> impl Iterator<Item = &str> {
        let texts = [self.open.as_str(), self.close.as_str()];
        let used = texts.iter().any(|text| text.contains("<{{tag}}"));
        let tag = used.then_some(self.tag.as_str());
        texts.into_iter().flat_map(strict::tag_names).chain(tag)
    }

    /// Returns what stands before in whole lines, where it shows what stands inside as it is.
    pub(super) fn lines_before(&self) -> &str {
        let longer = self.open.contains("{{fence}}");
        if longer || self.escape.changes_bodies() {
            return "";
        }
        let end = self.open.rfind('\n').map_or(0, |end| end + 1);
        &self.open[..end]
    }

    /// Returns what prints it around texts that a function makes.
    pub(crate) fn printer(&self) -> Printer<'_> {
        Printer {
            frame: self,
            open: placeholders(&self.open),
            close: placeholders(&self.close),
        }
    }

    fn escaped_name(&self, name: &str) -> String {
        match self.escape {
            Escape::None => name.to_owned(),
            Escape::Attribute => name.replace('"', "&quot;"),
            Escape::Json => {
                let quoted = Value::from(name).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            }
            Escape::Xml => crate::text::xml_escaped(name).replace('"', "&quot;"),
        }
    }

    /// Returns the text that would end the frame early, if a body can hold it.
    pub(crate) fn boundary(&self, suffix: &str) -> Option<String> {
        let fenced = self.close.contains("{{fence}}");
        if fenced || self.escape == Escape::Json {
            return None;
        }
        let (_, close) = self.around("", "", suffix);
        let close = close.trim();
        (!close.is_empty()).then(|| close.to_owned())
    }

    /// Tells whether the tag with this suffix occurs in the text, opening or closing.
    pub(crate) fn tag_occurs(&self, suffix: &str, text: &str) -> bool {
        if self.tag.is_empty() {
            return false;
        }
        let tag = format!("{}{suffix}", self.tag);
        let found =
            |needle: String| memchr::memmem::find(text.as_bytes(), needle.as_bytes()).is_some();
        match suffix {
            "" => found(format!("</{tag}>")),
            _ => found(format!("<{tag}")) || found(format!("</{tag}")),
        }
    }
}

/// Prints a frame around texts that a function makes, and keeps where they came from.
pub(crate) struct Printer<'a> {
    frame: &'a Frame,
    open: Vec<Placeholder>,
    close: Vec<Placeholder>,
}

impl Printer<'_> {
    /// Appends a text in the frame.
    pub(crate) fn put(&self, out: &mut Traced, holes: &[Hole<'_>], body: &Traced) {
        self.open(out, holes, body.text());
        out.push(&self.frame.escape.body(Cow::Borrowed(body)));
        self.close(out, holes, body.text());
    }

    /// Appends what stands before a body.
    pub(crate) fn open(&self, out: &mut Traced, holes: &[Hole<'_>], body: &str) {
        self.print((&self.frame.open, &self.open), out, holes, body);
    }

    /// Appends what stands behind a body.
    pub(crate) fn close(&self, out: &mut Traced, holes: &[Hole<'_>], body: &str) {
        self.print((&self.frame.close, &self.close), out, holes, body);
    }

    /// Prints a text of the frame; placeholders that nobody fills stay.
    fn print(
        &self,
        (template, places): (&str, &[Placeholder]),
        out: &mut Traced,
        holes: &[Hole<'_>],
        body: &str,
    ) {
        let filled = |name: &str| holes.iter().find(|(known, _)| *known == name);
        let path = || filled("path").map_or("", |(_, path)| path.text());
        let mut done = 0;
        for place in places {
            let value = match (filled(&place.name), place.name.as_str()) {
                (Some((_, value)), _) => self.frame.escape.name(value),
                (None, "tag") => Cow::Owned(Traced::frame(&self.frame.tag)),
                (None, other) => match common(other, path(), body) {
                    Some(text) => Cow::Owned(Traced::frame(text)),
                    None => continue,
                },
            };
            out.push_frame(&template[done..place.range.start]);
            out.push(&value);
            done = place.range.end;
        }
        out.push_frame(&template[done..]);
    }
}

/// Returns what the placeholders print that are the same in all frames.
fn common(placeholder: &str, name: &str, body: &str) -> Option<String> {
    match placeholder {
        "fence" => Some("`".repeat(fence_len(body))),
        "language" => Some(language(name).to_owned()),
        _ => None,
    }
}

/// Returns one more than the longest run of backticks, and three at least.
pub(crate) fn fence_len(body: &str) -> usize {
    let bytes = body.as_bytes();
    let (mut longest, mut run, mut last) = (0, 0, usize::MAX);
    for at in memchr::memchr_iter(b'`', bytes) {
        run = if at == last.wrapping_add(1) {
            run + 1
        } else {
            1
        };
        longest = longest.max(run);
        last = at;
    }
    (longest + 1).max(3)
}

/// Returns the ending of a file name, which is what fences name their language by.
fn language(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((stem, ending))
            if !stem.is_empty() && ending.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            ending
        }
        _ => "",
    }
}

/// Returns the suffixes that tags may get, shortest first: nothing, then `-0` … `-9`, `-a` … `-z`, `-00` …
pub fn suffixes() -> impl Iterator<Item = String> {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let numbered = (1u32..).flat_map(|width| {
        (0..36u64.saturating_pow(width)).map(move |mut number| {
            let mut digits = vec!['0'; width as usize];
            for digit in digits.iter_mut().rev() {
                *digit = char::from(DIGITS[usize::try_from(number % 36).unwrap_or(0)]);
                number /= 36;
            }
            format!("-{}", digits.into_iter().collect::<String>())
        })
    });
    std::iter::once(String::new()).chain(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Origin, OriginKind};

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        for (body, len) in [
            ("", 3),
            ("`a` ``b``", 3),
            ("```\n````", 5),
            ("`````", 6),
            ("` ` `", 3),
        ] {
            assert_eq!(fence_len(body), len, "{body}");
        }
    }

    #[test]
    fn suffixes_come_shortest_first() {
        let first: Vec<String> = suffixes().take(40).collect();
        assert_eq!(first[..3], ["", "-0", "-1"]);
        assert_eq!(first[36..40], ["-z", "-00", "-01", "-02"]);
    }

    #[test]
    fn a_function_fills_holes_of_its_own() {
        let frame = |escape| Frame {
            tag: "e".to_owned(),
            open: "<{{tag}} k=\"{{key}}\">{{other}}".to_owned(),
            close: "{{fence}}{{language}}</{{tag}}>".to_owned(),
            separator: None,
            escape,
        };
        let origin = Origin::new(OriginKind::Input, "k", "a\"<");
        let key = Traced::whole("a\"<", &origin);
        let path = Traced::frame("x.rs");
        let put = |escape| {
            let mut out = Traced::new();
            let holes = [("key", &key), ("path", &path)];
            frame(escape)
                .printer()
                .put(&mut out, &holes, &Traced::whole("a\"<", &origin));
            out
        };
        for (escape, expected) in [
            (Escape::None, "<e k=\"a\"<\">{{other}}a\"<```rs</e>"),
            (
                Escape::Attribute,
                "<e k=\"a&quot;<\">{{other}}a\"<```rs</e>",
            ),
            (Escape::Json, "<e k=\"a\\\"<\">{{other}}a\\\"<```rs</e>"),
            (
                Escape::Xml,
                "<e k=\"a&quot;&lt;\">{{other}}a\"&lt;```rs</e>",
            ),
        ] {
            assert_eq!(put(escape).text(), expected);
        }
        let spans = put(Escape::None).spans().to_vec();
        let links: Vec<bool> = spans.iter().map(|span| span.link.is_some()).collect();
        assert_eq!(links, [false, true, false, true, false]);
        let mut all = Traced::new();
        let xml = frame(Escape::Xml);
        xml.printer().open(&mut all, &[("key", &key)], "``` ````");
        xml.printer().close(&mut all, &[], "``` ````");
        assert_eq!(all.text(), "<e k=\"a&quot;&lt;\">{{other}}`````</e>");
    }

    #[test]
    fn names_are_escaped_as_the_frame_asks() {
        let frame = |escape| Frame {
            open: "{{path}}|{{language}}".to_owned(),
            escape,
            ..Frame::default()
        };
        assert_eq!(
            frame(Escape::Attribute).around("a\"&<.rs", "", "").0,
            "a&quot;&<.rs|rs"
        );
        assert_eq!(frame(Escape::Json).around("a\"\n", "", "").0, "a\\\"\\n|");
        assert_eq!(frame(Escape::None).around(".env", "", "").0, ".env|");
        assert_eq!(
            frame(Escape::Xml).around("a\"&<b>", "", "").0,
            "a&quot;&amp;&lt;b&gt;|"
        );
    }
}
