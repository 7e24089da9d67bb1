//! Where a rendering prints to: own text makes structure, and values are made harmless for the place they stand in.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::scene::{Place, Scene};
use super::text::{Kind, Text};
use crate::freetext::{on_one_line, strict, with_backslashes};
use crate::trace::{Traced, Transform};

/// What the values of a rendering may do.
#[derive(Clone, Debug, Default)]
pub(crate) enum Safety {
    /// They are printed as they are.
    #[default]
    Verbatim,
    /// They make no structure.
    Safe {
        /// The fields in which every text is fit for a line already.
        harmless: Arc<[&'static str]>,
        /// The tags that the templates have.
        tags: Arc<BTreeSet<String>>,
        /// Whether the recipe may print values as they are.
        raw: bool,
    },
}

impl Safety {
    /// Returns what the value of a field is.
    pub(super) fn kind_of(&self, path: &str) -> Kind {
        let first = path.split(['.', '[']).next().unwrap_or(path);
        match self {
            Self::Safe { harmless, .. } if harmless.contains(&first) => Kind::Fit,
            _ => Kind::Value,
        }
    }

    /// Returns where backslashes go so that a value has no tag of the templates; `open` is what values before it have.
    fn tags(&self, open: &str, value: &str) -> Vec<usize> {
        match self {
            Self::Safe { tags, .. } => strict::tags(open, value, tags),
            Self::Verbatim => Vec::new(),
        }
    }

    /// Returns a value as part of a JSON string; what would begin a tag of the templates, or a line for any reader, is an
    /// escape in it.
    pub(super) fn in_json(&self, value: &Traced) -> Traced {
        let text = value.text();
        let mut signs: Vec<usize> = self.tags("", text);
        signs = signs
            .iter()
            .filter_map(|at| text[..*at].rfind('<'))
            .collect();
        let breaks = text.match_indices(['\u{85}', '\u{2028}', '\u{2029}']);
        signs.extend(breaks.map(|(at, _)| at));
        signs.sort_unstable();
        signs.dedup();
        let ends = |at: &usize| text[*at..].chars().next().map_or(0, char::len_utf8);
        let cuts: Vec<usize> = signs.iter().flat_map(|at| [*at, at + ends(at)]).collect();
        let mut out = Traced::with_capacity(value.len());
        for (nth, piece) in value.cut(&cuts).iter().enumerate() {
            if nth % 2 == 0 {
                out.push(&piece.json_escaped());
                continue;
            }
            let sign = piece.text().chars().next().map_or(0, u32::from);
            let parts = [(0..piece.len(), format!("\\u{sign:04x}"))];
            out.push(&piece.replaced(&parts, Transform::JsonString));
        }
        out
    }

    /// Tells whether values may be printed as they are.
    pub(super) fn allows_raw(&self) -> bool {
        matches!(self, Self::Verbatim | Self::Safe { raw: true, .. })
    }
}

/// A text that grows by own text and by values.
#[derive(Debug, Default)]
pub(crate) struct Page {
    out: Traced,
    safety: Safety,
    scene: Scene,
    /// A value whose place depends on what follows it.
    pending: Option<Arc<Text>>,
}

impl Page {
    pub(crate) fn new(safety: Safety) -> Self {
        Self {
            safety,
            ..Self::default()
        }
    }

    /// Returns what the value of a field is.
    pub(crate) fn kind_of(&self, path: &str) -> Kind {
        self.safety.kind_of(path)
    }

    pub(super) fn len(&self) -> usize {
        self.out.len() + self.pending.as_ref().map_or(0, |value| value.len())
    }

    pub(crate) fn finish(mut self) -> Traced {
        self.flush(None);
        self.out
    }

    /// Adds a text, run by run.
    pub(crate) fn put(&mut self, text: &Arc<Text>) {
        if text.len() == 0 || matches!(self.safety, Safety::Verbatim) {
            self.out.push(text.body());
            return;
        }
        let Some(kind) = text.kind() else {
            for run in text.taken_apart() {
                self.put(&Arc::new(run));
            }
            return;
        };
        if kind == Kind::Own {
            return self.own(text.body());
        }
        self.flush(Some(text.as_str()));
        if kind == Kind::Value {
            self.pending = Some(Arc::clone(text));
        } else {
            self.harmless(text.body(), kind);
        }
    }

    /// Adds text of the recipe's author.
    pub(crate) fn own(&mut self, text: &Traced) {
        if !text.is_empty() {
            self.flush(Some(text.text()));
            self.out.push(text);
            if !matches!(self.safety, Safety::Verbatim) {
                self.scene.own(text.text());
            }
        }
    }

    /// Adds a value that is harmless in most places.
    fn harmless(&mut self, text: &Traced, kind: Kind) {
        let place = self.scene.place(None);
        let done = match (place, kind) {
            (Place::Attribute { .. }, Kind::Attribute) => Cow::Borrowed(text),
            (Place::Attribute { .. } | Place::Json | Place::Fence | Place::Info, _) => {
                self.made_harmless(text, place)
            }
            (_, Kind::Json) => Cow::Borrowed(text),
            _ => {
                let mut places = self.safety.tags(&self.scene.open, text.text());
                places.retain(|at| !text.text()[..*at].ends_with('\\'));
                signed(Cow::Borrowed(text), &places)
            }
        };
        self.scene.value(done.text());
        self.out.push(&done);
    }

    fn flush(&mut self, next: Option<&str>) {
        if let Some(value) = self.pending.take() {
            let place = self.scene.place(next);
            let done = self.made_harmless(value.body(), place);
            self.scene.value(done.text());
            self.out.push(&done);
        }
    }

    fn made_harmless<'v>(&self, value: &'v Traced, place: Place) -> Cow<'v, Traced> {
        match place {
            Place::Json => return Cow::Owned(self.safety.in_json(value)),
            Place::Attribute { quoted } => return Cow::Owned(attribute(value, quoted)),
            Place::Info => return Cow::Owned(info(value)),
            Place::Line | Place::Block { .. } | Place::Fence => {}
        }
        let line = match place {
            Place::Line => on_one_line(value),
            _ => Cow::Borrowed(value),
        };
        let text = line.text();
        let mut places = match place {
            Place::Block { items, tangled } => strict::in_block(text, items, tangled),
            Place::Fence => strict::in_fence(text, false),
            _ => {
                let sign = strict::in_line(&self.scene.head, self.scene.own, text);
                sign.into_iter().collect()
            }
        };
        places.extend(self.safety.tags(&self.scene.open, text));
        places.sort_unstable();
        places.dedup();
        signed(line, &places)
    }
}

/// Returns a value with backslashes at some places, which most values do not need.
fn signed<'v>(value: Cow<'v, Traced>, places: &[usize]) -> Cow<'v, Traced> {
    if places.is_empty() {
        return value;
    }
    Cow::Owned(with_backslashes(&value, places))
}

/// Returns a value as part of a tag: it ends neither the tag nor a quoted attribute of it.
pub(super) fn attribute(value: &Traced, quoted: bool) -> Traced {
    escaped(value, |c| {
        let bare = c.is_whitespace() || matches!(c, '=' | '`' | '/');
        let special = matches!(c, '&' | '<' | '>' | '"' | '\'') || c.is_control();
        let breaks = matches!(c, '\u{2028}' | '\u{2029}');
        match c {
            '&' => Some("&amp;".to_owned()),
            '<' => Some("&lt;".to_owned()),
            '>' => Some("&gt;".to_owned()),
            '"' => Some("&quot;".to_owned()),
            _ if special || breaks || bare && !quoted => Some(format!("&#{};", u32::from(c))),
            _ => None,
        }
    })
}

/// Returns a value as the language of a code block: it stays on its line and does not undo the fence.
fn info(value: &Traced) -> Traced {
    escaped(&on_one_line(value), |c| match c {
        '`' => Some("&#96;".to_owned()),
        '<' => Some("&lt;".to_owned()),
        _ => None,
    })
}

/// Returns a text with some characters escaped, each byte with its origin.
fn escaped(text: &Traced, escape: impl Fn(char) -> Option<String>) -> Traced {
    let found = text.text().char_indices();
    let parts: Vec<_> = found
        .filter_map(|(at, c)| Some((at..at + c.len_utf8(), escape(c)?)))
        .collect();
    text.replaced(&parts, Transform::XmlText)
}
