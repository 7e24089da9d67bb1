//! Where a rendering prints to: own text makes structure, and values are made harmless for the place they stand in.

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

    /// Returns a value as part of a JSON string, in which the tags of the templates begin with an escape.
    pub(super) fn in_json(&self, value: &Traced) -> Traced {
        let mut out = Traced::with_capacity(value.len());
        let behind = self.tags("", value.text());
        let signs = behind
            .iter()
            .filter_map(|at| value.text()[..*at].rfind('<'));
        let cuts: Vec<usize> = signs.flat_map(|at| [at, at + 1]).collect();
        for (nth, piece) in value.cut(&cuts).iter().enumerate() {
            if nth % 2 == 0 {
                out.push(&piece.json_escaped());
            } else {
                let parts = [(0..piece.len(), "\\u003c".to_owned())];
                out.push(&piece.replaced(&parts, Transform::JsonString));
            }
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
    pending: Option<Traced>,
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
        self.out.len() + self.pending.as_ref().map_or(0, Traced::len)
    }

    pub(crate) fn finish(mut self) -> Traced {
        self.flush(None);
        self.out
    }

    /// Adds a text, run by run.
    pub(crate) fn put(&mut self, text: &Text) {
        if matches!(self.safety, Safety::Verbatim) {
            self.out.push(text.body());
            return;
        }
        let ends: Vec<usize> = text.runs().map(|(range, _)| range.end).collect();
        let cuts = &ends[..ends.len().saturating_sub(1)];
        let pieces = text.body().cut(cuts);
        for ((_, kind), piece) in text.runs().zip(&pieces) {
            match kind {
                Kind::Own => self.own(piece),
                Kind::Value => self.value(piece),
                Kind::Fit | Kind::Harmless | Kind::Attribute | Kind::Json => {
                    self.harmless(piece, kind);
                }
            }
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

    /// Adds a value.
    fn value(&mut self, text: &Traced) {
        if text.is_empty() {
            return;
        }
        if matches!(self.safety, Safety::Verbatim) {
            self.out.push(text);
            return;
        }
        self.flush(Some(text.text()));
        self.pending = Some(text.clone());
    }

    /// Adds a value that is harmless in most places.
    fn harmless(&mut self, text: &Traced, kind: Kind) {
        if text.is_empty() {
            return;
        }
        self.flush(Some(text.text()));
        let place = self.scene.place(None);
        let done = match (place, kind) {
            (Place::Attribute { .. }, Kind::Attribute) => text.clone(),
            (Place::Attribute { .. } | Place::Json | Place::Fence | Place::Info, _) => {
                self.made_harmless(text, place)
            }
            (_, Kind::Json) => text.clone(),
            _ => {
                let mut places = self.safety.tags(&self.scene.open, text.text());
                places.retain(|at| !text.text()[..*at].ends_with('\\'));
                with_backslashes(text, &places)
            }
        };
        self.scene.value(done.text());
        self.out.push(&done);
    }

    fn flush(&mut self, next: Option<&str>) {
        if let Some(value) = self.pending.take() {
            let place = self.scene.place(next);
            let done = self.made_harmless(&value, place);
            self.scene.value(done.text());
            self.out.push(&done);
        }
    }

    fn made_harmless(&self, value: &Traced, place: Place) -> Traced {
        match place {
            Place::Json => return self.safety.in_json(value),
            Place::Attribute { quoted } => return attribute(value, quoted),
            Place::Info => return info(value),
            Place::Line | Place::Block { .. } | Place::Fence => {}
        }
        let line = match place {
            Place::Line => on_one_line(value),
            _ => value.clone(),
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
        with_backslashes(&line, &places)
    }
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
